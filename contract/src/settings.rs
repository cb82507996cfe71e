//! The layers option, environment and config file, resolved into one [`Settings`].
//!
//! An option beats the environment, the environment beats the file. Every error names the place that holds the bad
//! value. The library reads [`Settings::from_environment`]; the command adds its options with
//! [`Settings::resolve`].

mod error;
mod file;
mod layer;
pub mod value;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use error::SettingError;
pub use file::read_config_file;
pub use layer::{
    Given, Layer, PARENT_VARIABLE, PROGRESS_VARIABLE, RUN_VARIABLE, Source, is_unknown_variable,
};

use crate::record::{Allow, SessionConfig};
use crate::{KernelFilter, LaunchWindow, OPTIONS, OptionId};

/// Passes of a selected dispatch when nothing says otherwise.
pub const DEFAULT_PASSES: NonZeroU16 = NonZeroU16::new(2).expect("two is not zero");

/// The report's name when nothing says otherwise.
pub const DEFAULT_OUTPUT: &str = "hsa-replay-{pid}.jsonl";

/// The longest that one window may take when nothing says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// What was asked for, checked and with defaults filled in.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many times a selected dispatch runs.
    pub passes: NonZeroU16,
    /// Which kernels are candidates.
    pub kernel: KernelFilter,
    /// Which of the matching dispatches are candidates.
    pub launches: LaunchWindow,
    /// Whether memory is compared after each pass.
    pub check: bool,
    /// The report's name, with its placeholders not yet expanded.
    pub output: PathBuf,
    /// Where the bytes of written ranges are stored; `None` stores none.
    pub dump_writes: Option<PathBuf>,
    /// The longest that one window may take.
    pub timeout: Duration,
    /// The most bytes that one window's snapshot may take; `None` means half of the memory available then.
    pub budget: Option<u64>,
    /// What is replayed although it is not safe in general; ascending, without repetition.
    pub allow: Vec<Allow>,
    /// Which kernels wait for the host, another agent or another process, besides those that are known.
    pub waiting: Option<KernelFilter>,
    /// Whether a tainted window ends the process.
    pub strict: bool,
    /// Whether the program's child processes take part.
    pub follow_children: bool,
    /// What is logged; `None` means nothing.
    pub log: Option<String>,
    /// Where the log goes, with its placeholders not yet expanded; `None` means standard error.
    pub log_file: Option<PathBuf>,
    /// The real runtime; `None` means that it is searched for.
    pub runtime: Option<PathBuf>,
    /// The library whose callbacks hear of each replay.
    pub tool: Option<PathBuf>,
    /// The library to attach (read by the command only).
    pub shim: Option<PathBuf>,
    /// The config file that took part.
    pub config: Option<PathBuf>,
    /// The run that this process belongs to ([`RUN_VARIABLE`]); `None` outside of `run`.
    pub run: Option<String>,
    /// One line for each thing that looks like a mistake but does no harm, for example an unknown variable.
    pub warnings: Vec<String>,
    given: BTreeMap<OptionId, Given>,
}

impl Settings {
    /// Resolves environment and config file, as the library does in the program it is loaded into.
    ///
    /// `vars` is the environment; `read_file` reads the config file that it may name, in general
    /// [`read_config_file`].
    pub fn from_environment(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Self, SettingError> {
        Self::resolve(Layer::default(), vars, read_file)
    }

    /// Resolves options, environment and config file, as the command does.
    pub fn resolve(
        options: Layer,
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        read_file: impl FnOnce(&Path) -> io::Result<Vec<u8>>,
    ) -> Result<Self, SettingError> {
        let mut run = None;
        let vars = vars.into_iter().inspect(|(name, text)| {
            if name == RUN_VARIABLE {
                run = text.to_str().filter(|text| !text.is_empty()).map(str::to_owned);
            }
        });
        let (environment, warnings) = Layer::from_variables(vars);
        let named = options.get(OptionId::Config).or_else(|| environment.get(OptionId::Config));
        let file = match named {
            None => Layer::default(),
            Some(given) => {
                let path = Path::new(&given.text);
                let bytes = read_file(path).map_err(|error| {
                    SettingError::new(given.place(OptionId::Config), format!("cannot be read: {error}"))
                })?;
                file::parse(path, &bytes)?
            }
        };
        let mut given = file.into_values();
        given.extend(environment.into_values());
        given.extend(options.into_values());
        let settings = Self::check(given, run, warnings)?;
        Ok(settings.with_idle_options_named())
    }

    /// Adds a line for each option that has no effect beside the others.
    fn with_idle_options_named(mut self) -> Self {
        let idle = [
            (OptionId::LogFile, self.log.is_none(), "nothing is logged without --log"),
            (OptionId::DumpWrites, !self.check, "nothing is stored without --check"),
        ];
        for (id, is_idle, why) in idle {
            // What `run` hands on as a variable, it has spoken of.
            let heard = |given: &Given| self.run.is_some() && given.source == Source::Environment;
            if let Some(given) = self.given.get(&id).filter(|given| is_idle && !heard(given)) {
                self.warnings.push(format!("{}: has no effect, since {why}", given.place(id)));
            }
        }
        self
    }

    fn check(
        given: BTreeMap<OptionId, Given>,
        run: Option<String>,
        warnings: Vec<String>,
    ) -> Result<Self, SettingError> {
        let values = Values(&given);
        Ok(Self {
            passes: values.parse(OptionId::Passes, value::passes)?.unwrap_or(DEFAULT_PASSES),
            kernel: values.parse(OptionId::Kernel, value::expression)?.unwrap_or_default(),
            launches: LaunchWindow {
                skip: values.parse(OptionId::LaunchSkip, value::count)?.unwrap_or(0),
                count: values.parse(OptionId::LaunchCount, value::count)?,
            },
            check: values.parse(OptionId::Check, value::switch)?.unwrap_or(true),
            output: values.path(OptionId::Output)?.unwrap_or_else(|| DEFAULT_OUTPUT.into()),
            dump_writes: values.path(OptionId::DumpWrites)?,
            timeout: values.parse(OptionId::Timeout, value::duration)?.unwrap_or(DEFAULT_TIMEOUT),
            budget: values.parse(OptionId::Budget, value::size)?,
            allow: values.parse(OptionId::Allow, value::kinds)?.unwrap_or_default(),
            waiting: values.parse(OptionId::Waiting, value::expression)?,
            strict: values.parse(OptionId::Strict, value::switch)?.unwrap_or(false),
            follow_children: values.parse(OptionId::FollowChildren, value::switch)?.unwrap_or(true),
            log: values.parse(OptionId::Log, value::log_filter)?,
            log_file: values.path(OptionId::LogFile)?,
            runtime: values.path(OptionId::Runtime)?,
            tool: values.path(OptionId::Tool)?,
            shim: values.path(OptionId::Shim)?,
            config: values.path(OptionId::Config)?,
            run,
            warnings,
            given,
        })
    }

    /// Whether the library replays at all: the number of passes is known from an option, the environment or the
    /// file. Otherwise it forwards every call and does nothing else.
    pub fn armed(&self) -> bool {
        self.given.contains_key(&OptionId::Passes)
    }

    /// Where the value of `id` came from; `None` for a default.
    pub fn source_of(&self, id: OptionId) -> Option<&Source> {
        self.given.get(&id).map(|given| &given.source)
    }

    /// Every variable that gives a process the same settings without a config file, in the table's order.
    /// Names of files are as given: relative ones depend on the process's working directory.
    pub fn to_variables(&self) -> Vec<(&'static str, OsString)> {
        OPTIONS
            .iter()
            .filter(|spec| !matches!(spec.id, OptionId::Config | OptionId::Shim))
            .filter_map(|spec| self.given.get(&spec.id).map(|given| (spec.variable, given.text.clone())))
            .collect()
    }

    /// The settings as the report's session record shows them.
    pub fn to_record(&self) -> SessionConfig {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        SessionConfig {
            passes: self.passes.get(),
            kernel: self.kernel.pattern().map(str::to_owned),
            launch_skip: self.launches.skip,
            launch_count: self.launches.count,
            check: self.check,
            output: text(&self.output),
            dump_writes: self.dump_writes.as_deref().map(text),
            timeout: self.timeout.as_secs_f64(),
            budget: self.budget,
            allow: self.allow.clone(),
            waiting: self.waiting.as_ref().and_then(KernelFilter::pattern).map(str::to_owned),
            strict: self.strict,
            follow_children: self.follow_children,
            log: self.log.clone(),
            log_file: self.log_file.as_deref().map(text),
            runtime: self.runtime.as_deref().map(text),
            tool: self.tool.as_deref().map(text),
            config: self.config.as_deref().map(text),
        }
    }
}

/// The values of all layers, the strongest for each option.
struct Values<'a>(&'a BTreeMap<OptionId, Given>);

impl Values<'_> {
    /// The option's value, parsed; an error names the place that holds it.
    fn parse<T>(
        &self,
        id: OptionId,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, SettingError> {
        let Some(given) = self.0.get(&id) else { return Ok(None) };
        let fail = |problem| SettingError::new(given.place(id), problem);
        let text = given.text.to_str().ok_or_else(|| fail("must be UTF-8 text".to_owned()))?;
        parse(text).map(Some).map_err(fail)
    }

    /// The option's value as the name of a file.
    fn path(&self, id: OptionId) -> Result<Option<PathBuf>, SettingError> {
        match self.0.get(&id) {
            Some(given) if given.text.is_empty() => {
                Err(SettingError::new(given.place(id), "must name a file"))
            }
            given => Ok(given.map(|given| PathBuf::from(&given.text))),
        }
    }
}

#[cfg(test)]
mod tests;
