//! What the environment and the config file ask for, read once, on the first HSA call.
//!
//! A setting that cannot be used is one line on standard error. Nothing is armed then, but the log and the real
//! runtime's path still count: they are about being the library, not about replay.

use std::ffi::OsString;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

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
    let (settings, error) = read();
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
            for warning in &settings.warnings {
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
