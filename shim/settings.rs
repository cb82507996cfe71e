//! What the environment and the config file ask for, read once, on the first HSA call.
//!
//! A setting that cannot be used is one line on standard error. Nothing is armed then, but the log and the real
//! runtime's path still count: they are about being the library, not about replay.

use std::ffi::OsString;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use hsa_replay_contract::settings::read_config_file;
use hsa_replay_contract::{OPTIONS, OptionId, Settings};

use crate::log;

/// Settings that hold although another one is bad, fewer and fewer: one of them may be the bad one.
const KEPT: [&[OptionId]; 4] = [
    &[OptionId::Config, OptionId::Runtime, OptionId::Log, OptionId::LogFile],
    &[OptionId::Runtime, OptionId::Log, OptionId::LogFile],
    &[OptionId::Runtime],
    &[],
];

static SETTINGS: AtomicPtr<Settings> = AtomicPtr::new(null_mut());

/// The process's settings. The first call reads them and sets logging up.
pub fn get() -> &'static Settings {
    let known = SETTINGS.load(Ordering::Acquire);
    if !known.is_null() {
        // SAFETY: published below, never freed or written again.
        return unsafe { &*known };
    }
    let (mut settings, error) = read();
    let capped =
        variable(ABORT_VARIABLE).and_then(|abort| cap_timeout(&mut settings, &abort.to_string_lossy()));
    let mine = Box::into_raw(Box::new(settings));
    // No lock: a thread that holds the dynamic loader's could wait for it (see `bind`). Of several readers the first
    // one speaks.
    match SETTINGS.compare_exchange(null_mut(), mine, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            // SAFETY: just published, see above.
            let settings = unsafe { &*mine };
            log::init(settings);
            if let Some(error) = error {
                log::say(format_args!("{error}; replay is off"));
            }
            for warning in settings.warnings.iter().chain(&capped) {
                log::say(format_args!("{warning}"));
            }
            settings
        }
        Err(first) => {
            // SAFETY: `mine` was not published, so nobody else has it.
            drop(unsafe { Box::from_raw(mine) });
            // SAFETY: as for `known`.
            unsafe { &*first }
        }
    }
}

/// Whole seconds after which the runtime (ROCr 6.4 and up) ends a program that waits for a signal, zero for never.
const ABORT_VARIABLE: &str = "HSA_SIGNAL_WAIT_ABORT_TIMEOUT";

/// A wait of the program's spans a window and the kernel itself, so a window may take half of what the runtime allows. Gives the
/// line that says so, where replay is asked for.
fn cap_timeout(settings: &mut Settings, abort: &str) -> Option<String> {
    // As the runtime reads it: what follows the digits does not count.
    let digits: String = abort.trim_start().chars().take_while(char::is_ascii_digit).collect();
    let seconds = digits.parse::<u32>().ok().filter(|&seconds| seconds > 0)?;
    let most = Duration::from_secs(seconds.into()) / 2;
    if settings.timeout <= most {
        return None;
    }
    settings.timeout = most;
    let most = most.as_secs_f64();
    settings.armed().then(|| {
        format!(
            "{ABORT_VARIABLE}={seconds} ends programs that wait longer: a window may take {most} s, not more"
        )
    })
}

fn read() -> (Settings, Option<String>) {
    match Settings::from_environment(variables(), read_config_file) {
        Ok(settings) => (settings, None),
        Err(error) => (keep_what_is_right(), Some(error.to_string())),
    }
}

fn keep_what_is_right() -> Settings {
    let kept = KEPT.iter().find_map(|options| {
        let is_kept = |name: &OsString| {
            OPTIONS.iter().any(|spec| options.contains(&spec.id) && name.as_os_str() == spec.variable)
        };
        let kept =
            Settings::from_environment(variables().filter(|(name, _)| is_kept(name)), read_config_file);
        // A config file says more than what may be kept.
        let is_ours =
            |name: &str| OPTIONS.iter().any(|spec| options.contains(&spec.id) && name == spec.variable);
        let ours = kept.ok()?.to_variables().into_iter().filter(|(name, _)| is_ours(name));
        Settings::from_environment(ours.map(|(name, value)| (name.into(), value)), read_config_file).ok()
    });
    kept.unwrap_or_else(|| unreachable!("without variables all settings are defaults"))
}

/// The environment, empty for a program that runs with more rights than its user (set-user-ID and the like): the user
/// must not choose what such a program loads or where it writes. The dynamic loader does the same with its own
/// variables.
pub fn variables() -> impl Iterator<Item = (OsString, OsString)> {
    // SAFETY: reads an entry of the vector that the kernel gave the process.
    let trusted = unsafe { libc::getauxval(libc::AT_SECURE) } == 0;
    std::env::vars_os().filter(move |_| trusted)
}

/// One variable of [`variables`].
pub fn variable(name: &str) -> Option<OsString> {
    variables().find(|(known, _)| known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capped(timeout: &str, abort: &str) -> (Duration, Option<String>) {
        let variables = [("HSA_REPLAY_PASSES", "2"), ("HSA_REPLAY_TIMEOUT", timeout)];
        let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let mut settings = Settings::from_environment(variables, |_| Ok(Vec::new())).expect("good settings");
        let said = cap_timeout(&mut settings, abort);
        (settings.timeout, said)
    }

    #[test]
    fn a_window_takes_half_of_what_the_runtime_lets_a_program_wait() {
        for never in ["", "0", "-1", "no"] {
            assert_eq!(capped("60", never), (Duration::from_secs(60), None), "{never}");
        }
        assert_eq!(capped("60", "120"), (Duration::from_secs(60), None));
        for abort in ["30", " 30s"] {
            let (timeout, said) = capped("60", abort);
            assert_eq!(timeout, Duration::from_secs(15));
            assert!(said.expect("said").contains("HSA_SIGNAL_WAIT_ABORT_TIMEOUT=30"));
        }
        assert_eq!(capped("60", "1").0, Duration::from_millis(500));
    }
}
