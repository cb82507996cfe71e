//! A `tracing` subscriber that needs nothing but the event: no thread-local storage, no lock that a fork could leave
//! closed.
//!
//! The usual formatting layers keep their buffer in thread-local storage and fail once it is destroyed, which is when
//! applications shut the runtime down from `atexit` handlers.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};

use hsa_replay_contract::message::write_all;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};

/// Where lines go.
#[derive(Debug)]
pub enum Output {
    /// File descriptor 2, not Rust's locked handle of it.
    StandardError,
    /// A file open for appending, and whether a line of it was lost.
    File(File, AtomicBool),
}

impl Output {
    pub fn file(file: File) -> Self {
        Self::File(file, AtomicBool::new(false))
    }

    /// Writes a line. A full disk must not hurt the application, so a line that is lost is lost; that is said once.
    fn write(&self, line: &[u8]) {
        let Self::File(file, lost) = self else { return write_all(libc::STDERR_FILENO, line) };
        let mut file = file;
        if let Err(error) = file.write_all(line)
            && !lost.swap(true, Ordering::Relaxed)
        {
            let said = format!("hsa-replay: the log is incomplete: {error}\n");
            write_all(libc::STDERR_FILENO, said.as_bytes());
        }
    }
}

/// Formats each event into one line and writes it at once.
#[derive(Debug)]
pub struct Lines {
    filter: Targets,
    output: Output,
}

impl Lines {
    pub fn new(filter: Targets, output: Output) -> Self {
        Self { filter, output }
    }

    fn line(event: &Event<'_>) -> Result<String, fmt::Error> {
        let metadata = event.metadata();
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mut line = String::new();
        write!(line, "{}.{:06} ", now.as_secs(), now.subsec_micros())?;
        write!(line, "{:5} {}[{}]", metadata.level().as_str(), metadata.target(), std::process::id())?;
        let mut fields = Fields { line: &mut line, result: Ok(()) };
        event.record(&mut fields);
        fields.result?;
        line.push('\n');
        Ok(line)
    }
}

impl Subscriber for Lines {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.enabled(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && self.filter.would_enable(metadata.target(), metadata.level())
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        self.filter.default_level().into_iter().chain(self.filter.iter().map(|(_, level)| level)).max()
    }

    fn event(&self, event: &Event<'_>) {
        let Ok(line) = Self::line(event) else { return };
        self.output.write(line.as_bytes());
    }

    // Spans are not used.
    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _span: &Id, _values: &Record<'_>) {}
    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}
    fn enter(&self, _span: &Id) {}
    fn exit(&self, _span: &Id) {}
}

struct Fields<'a> {
    line: &'a mut String,
    result: fmt::Result,
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.line, " {value:?}"),
            name => write!(self.line, " {name}={value:?}"),
        };
        self.result = self.result.and(written);
    }
}
