//! Messages: `tracing` events to standard error or a file when `HSA_REPLAY_LOG` asks for them, and single lines that
//! are always shown.
//!
//! `HSA_REPLAY_LOG` is a list of `target=level` or `level`, for example `info` or `hsa_replay_engine=trace`;
//! `HSA_REPLAY_LOG_FILE` a file that is appended to. A line is one write: lines of several processes do not mix,
//! nothing is buffered, no thread is needed, so that lines come out of a forked child and at exit as well, after
//! thread-local storage is gone.

mod subscriber;

use std::fmt;
use std::path::Path;

use hsa_replay_contract::Settings;
use hsa_replay_contract::report::expand_pid;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
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
            let path = expand_pid(template, std::process::id());
            let file =
                append_to(&path).map_err(|why| format!("HSA_REPLAY_LOG_FILE={}: {why}", path.display()))?;
            Output::File(file)
        }
    };
    Ok(Lines::new(targets, output))
}

fn append_to(path: &Path) -> Result<RollingFileAppender, String> {
    let name = path.file_name().and_then(|name| name.to_str()).ok_or("not the name of a file")?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() {
        return Err("is a folder".to_owned());
    }
    RollingFileAppender::builder().rotation(Rotation::NEVER).filename_prefix(name).build(folder).map_err(
        |error| std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string),
    )
}

/// Shows one line on standard error whatever the log's setting is: for what the user has to know. The log gets it as
/// well.
pub fn say(line: fmt::Arguments<'_>) {
    tracing::warn!("{line}");
    subscriber::write_all(libc::STDERR_FILENO, format!("hsa-replay: {line}\n").as_bytes());
}
