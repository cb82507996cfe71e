//! What the device says on standard error: one line for each error, and a trace when asked for.
//!
//! Lines go out in one write each, so that lines of several threads and of the host program do not mix.

use core::fmt;
use core::sync::atomic::{AtomicBool, Ordering};

static TRACING: AtomicBool = AtomicBool::new(false);

/// Turns the trace on or off.
pub fn set_tracing(on: bool) {
    TRACING.store(on, Ordering::Relaxed);
}

/// Whether the trace is on.
#[must_use]
pub fn tracing() -> bool {
    TRACING.load(Ordering::Relaxed)
}

/// Writes one line, with the device's name in front.
pub fn line(text: fmt::Arguments<'_>) {
    let line = format!("model-gpu: {text}\n");
    // SAFETY: the buffer is valid for its length. A short or failed write to standard error is nothing to act on.
    let _ = unsafe { libc::write(2, line.as_ptr().cast(), line.len()) };
}

/// Reports an error: always printed, one line.
#[macro_export]
macro_rules! say {
    ($($arg:tt)*) => { $crate::report::line(format_args!($($arg)*)) };
}

/// Reports progress: printed only while the trace is on.
#[macro_export]
macro_rules! trace {
    ($($arg:tt)*) => { if $crate::report::tracing() { $crate::report::line(format_args!($($arg)*)) } };
}
