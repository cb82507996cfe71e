//! The environment variables: `MODEL_GPU_*`, read once.

mod names;

use std::ffi::OsString;
use std::sync::{Arc, OnceLock};

use model_gpu_core::faults::{FaultPlan, parse_size};
use model_gpu_core::{AGENT_LIMIT, Target, say};

/// Sizes of a GPU's memory; past the upper one, the runtime finds no room for it in the apertures.
const VRAM_SIZES: std::ops::RangeInclusive<u64> = 256 << 20..=1 << 40;

/// What the variables say.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `MODEL_GPU_TARGET`: instruction set of every GPU.
    pub(crate) target: Target,
    /// `MODEL_GPU_AGENTS`: number of GPUs.
    pub(crate) agents: usize,
    /// `MODEL_GPU_VRAM`: bytes of each GPU's memory.
    pub(crate) vram_bytes: u64,
    /// `MODEL_GPU_STRICT_VRAM`: the program cannot touch ordinary VRAM.
    pub(crate) strict_vram: bool,
    /// `MODEL_GPU_COUNTERS`: print counters at exit.
    pub(crate) counters: bool,
    /// `MODEL_GPU_LOG`: trace what the device is asked and does.
    pub(crate) log: bool,
    /// `MODEL_GPU_FAULTS`: what shall misbehave.
    pub(crate) faults: Arc<FaultPlan>,
    /// `MODEL_GPU_HELPERS`: threads that execute work-groups beside the queues' own.
    pub(crate) helpers: usize,
    /// `MODEL_GPU_SEED`: decides the order of work that may overlap.
    pub(crate) seed: u64,
    /// `MODEL_GPU_CACHE`: stores of waves stay in a write-back cache until a release of system scope.
    pub(crate) cache: bool,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            target: Target::default(),
            agents: 1,
            vram_bytes: 4 << 30,
            strict_vram: true,
            counters: false,
            log: false,
            faults: Arc::default(),
            helpers: cores.saturating_sub(1).min(63),
            seed: 0,
            cache: false,
        }
    }
}

impl Settings {
    /// Reads variables; a value that makes no sense is reported and leaves the default.
    fn read(get: impl Fn(&str) -> Option<OsString>, mut say: impl FnMut(String)) -> Self {
        let mut settings = Self::default();
        let text = |name: &str| {
            debug_assert!(names::NAMES.contains(&name), "{name} is in the table");
            get(name).map(|value| names::shown(value.to_string_lossy().trim())).filter(|v| !v.is_empty())
        };
        let flag = |name: &str, default: bool, say: &mut dyn FnMut(String)| match text(name).as_deref() {
            None => default,
            Some("1" | "on" | "yes" | "true") => true,
            Some("0" | "off" | "no" | "false") => false,
            Some(other) => {
                say(format!("{name}={other}: expected 0 or 1; using {}", u8::from(default)));
                default
            }
        };
        settings.strict_vram = flag("MODEL_GPU_STRICT_VRAM", settings.strict_vram, &mut say);
        settings.counters = flag("MODEL_GPU_COUNTERS", settings.counters, &mut say);
        settings.cache = flag("MODEL_GPU_CACHE", settings.cache, &mut say);
        settings.log = flag("MODEL_GPU_LOG", settings.log, &mut say);
        if let Some(value) = text("MODEL_GPU_TARGET") {
            match Target::ALL.into_iter().find(|target| target.name() == value) {
                Some(target) => settings.target = target,
                None => {
                    let known = Target::ALL.map(Target::name).join(" or ");
                    say(format!("MODEL_GPU_TARGET={value}: expected {known}; using {}", settings.target));
                }
            }
        }
        if let Some(value) = text("MODEL_GPU_AGENTS") {
            match value.parse() {
                Ok(n) if (1..=AGENT_LIMIT).contains(&n) => settings.agents = n,
                _ => say(format!(
                    "MODEL_GPU_AGENTS={value}: expected 1 to {AGENT_LIMIT}; using {}",
                    settings.agents
                )),
            }
        }
        if let Some(value) = text("MODEL_GPU_VRAM") {
            match parse_size(&value).map(|bytes| bytes & !0xfff) {
                Some(bytes) if VRAM_SIZES.contains(&bytes) => settings.vram_bytes = bytes,
                _ => say(format!("MODEL_GPU_VRAM={value}: expected 256M to 1T, such as 16G; using 4G")),
            }
        }
        if let Some(value) = text("MODEL_GPU_FAULTS") {
            match FaultPlan::parse(&value) {
                Ok(plan) => settings.faults = Arc::new(plan),
                Err(error) => say(format!("MODEL_GPU_FAULTS={value}: {error}; nothing will misbehave")),
            }
        }
        if let Some(value) = text("MODEL_GPU_HELPERS") {
            match value.parse() {
                Ok(n) if n <= 1024 => settings.helpers = n,
                _ => {
                    say(format!("MODEL_GPU_HELPERS={value}: expected 0 to 1024; using {}", settings.helpers))
                }
            }
        }
        if let Some(value) = text("MODEL_GPU_SEED") {
            match value.parse() {
                Ok(seed) => settings.seed = seed,
                Err(_) => say(format!("MODEL_GPU_SEED={value}: expected 0 to {}; using 0", u64::MAX)),
            }
        }
        settings
    }
}

/// The process's settings.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| {
        let settings = Settings::read(|name| std::env::var_os(name), |line| say!("{line}"));
        for line in names::complaints(std::env::vars_os().map(|(name, _)| name)) {
            say!("{line}");
        }
        model_gpu_core::report::set_tracing(settings.log);
        settings
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_and_heard(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        let mut lines = Vec::new();
        let get = |name: &str| pairs.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
        let settings = Settings::read(get, |line| lines.push(line));
        (settings, lines)
    }

    fn read(pairs: &[(&str, &str)]) -> Settings {
        read_and_heard(pairs).0
    }

    fn numbers(settings: &Settings) -> (usize, u64, usize) {
        (settings.agents, settings.vram_bytes, settings.helpers)
    }

    #[test]
    fn nothing_set_means_the_defaults() {
        assert_eq!(numbers(&read(&[])), numbers(&Settings::default()));
        assert_eq!(numbers(&read(&[("MODEL_GPU_AGENTS", "")])), numbers(&Settings::default()));
    }

    #[test]
    fn each_variable_is_read() {
        let settings = read(&[
            ("MODEL_GPU_TARGET", "gfx90a"),
            ("MODEL_GPU_AGENTS", "2"),
            ("MODEL_GPU_VRAM", "16G"),
            ("MODEL_GPU_STRICT_VRAM", "0"),
            ("MODEL_GPU_COUNTERS", "1"),
            ("MODEL_GPU_LOG", "on"),
            ("MODEL_GPU_HELPERS", "0"),
            ("MODEL_GPU_SEED", "7"),
            ("MODEL_GPU_CACHE", "1"),
            ("MODEL_GPU_FAULTS", "copy#1=fail"),
        ]);
        assert_eq!(settings.target, Target::Gfx90a);
        assert_eq!((numbers(&settings), settings.seed), ((2, 16 << 30, 0), 7));
        assert_eq!((settings.strict_vram, settings.counters, settings.log), (false, true, true));
        assert!(settings.cache && !Settings::default().cache);
        assert!(format!("{:?}", settings.faults).contains("Copy"));
    }

    #[test]
    fn a_memory_size_that_no_runtime_can_address_leaves_the_default() {
        for (size, bytes) in [("256M", 256 << 20), ("1T", 1 << 40)] {
            assert_eq!(read(&[("MODEL_GPU_VRAM", size)]).vram_bytes, bytes);
        }
        for size in ["0", "255M", "1025G", "16T", "18446744073709551615"] {
            let settings = read(&[("MODEL_GPU_VRAM", size)]);
            assert_eq!(settings.vram_bytes, Settings::default().vram_bytes, "{size}");
        }
    }

    #[test]
    fn nonsense_in_any_variable_is_named_in_one_line_and_leaves_the_default() {
        let default = format!("{:?}", Settings::default());
        for (name, value) in [
            ("MODEL_GPU_TARGET", "gfx1100"),
            ("MODEL_GPU_AGENTS", "0"),
            ("MODEL_GPU_AGENTS", "two"),
            ("MODEL_GPU_AGENTS", "-1"),
            ("MODEL_GPU_VRAM", "12Q"),
            ("MODEL_GPU_VRAM", "99999999999999T"),
            ("MODEL_GPU_VRAM", "G"),
            ("MODEL_GPU_STRICT_VRAM", "2"),
            ("MODEL_GPU_CACHE", "write-back"),
            ("MODEL_GPU_COUNTERS", "all"),
            ("MODEL_GPU_LOG", "maybe"),
            ("MODEL_GPU_LOG", "may\nbe"),
            ("MODEL_GPU_HELPERS", "1025"),
            ("MODEL_GPU_HELPERS", "0x4"),
            ("MODEL_GPU_FAULTS", "copy#1=explode"),
            ("MODEL_GPU_SEED", "18446744073709551616"),
            ("MODEL_GPU_SEED", "seven"),
        ] {
            let (settings, lines) = read_and_heard(&[(name, value)]);
            assert_eq!(format!("{settings:?}"), default, "{name}={value}");
            let [line] = &lines[..] else { panic!("{name}={value}: {lines:?}") };
            assert!(line.starts_with(&format!("{name}={}: ", names::shown(value))), "{line}");
            assert!(!line.contains('\n'), "{line}");
        }
    }

    #[test]
    fn good_values_are_taken_in_silence() {
        for name in names::NAMES {
            assert_eq!(read_and_heard(&[(name, "")]).1, [""; 0]);
        }
        assert_eq!(
            read_and_heard(&[("MODEL_GPU_FAULTS", "copy#1=fail"), ("MODEL_GPU_SEED", "7")]).1,
            [""; 0]
        );
    }
}
