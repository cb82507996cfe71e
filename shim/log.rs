//! Messages: `tracing` events to standard error or a file when `HSA_REPLAY_LOG` asks for them, and single lines that
//! are always shown.
//!
//! `HSA_REPLAY_LOG` is a list of `target=level` or `level`, for example `info` or `hsa_replay_engine=trace`;
//! `HSA_REPLAY_LOG_FILE` a file that is appended to. A line is one write: lines of several processes do not mix,
//! nothing is buffered, no thread is needed, so that lines come out of a forked child and at exit as well, after
//! thread-local storage is gone.

mod subscriber;

use std::fmt;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use hsa_replay_contract::report::{expand_origin, expand_pid};
use hsa_replay_contract::{Settings, message};
use tracing_subscriber::filter::Targets;

use subscriber::{Lines, Output};

/// Sets logging up as the settings say. Called once.
pub fn init(settings: &Settings) {
    let Some(filter) = settings.log.as_deref() else { return };
    match open(filter, settings.log_file.as_deref()) {
        // Somebody else's subscriber cannot be there: the crate's statics are this library's own.
        Ok(lines) => drop(tracing::subscriber::set_global_default(lines)),
        Err(why) => say(format_args!("{why}; logging stays off")),
    }
}

fn open(filter: &str, file: Option<&Path>) -> Result<Lines, String> {
    let targets: Targets = filter.parse().map_err(|error| format!("HSA_REPLAY_LOG={filter}: {error}"))?;
    let output = match file {
        None => Output::StandardError,
        Some(template) => {
            let path = expand_pid(&expand_origin(template), std::process::id());
            let file = append_to(&path).map_err(|why| format!("the log {}: {why}", path.display()))?;
            Output::file(file)
        }
    };
    Ok(Lines::new(targets, output))
}

fn append_to(path: &Path) -> Result<File, String> {
    if path.is_dir() {
        return Err("is a folder".to_owned());
    }
    // A pipe without a reader must not hold the application up.
    let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = OpenOptions::new().append(true).create(true).custom_flags(flags).open(path);
    file.map_err(|error| format!("cannot be opened: {error}"))
}

/// Shows one line on standard error whatever the log's setting is: for what the user has to know. The log gets it as
/// well.
pub fn say(line: fmt::Arguments<'_>) {
    tracing::warn!("{line}");
    message::say(&line.to_string());
}
