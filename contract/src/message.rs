//! Lines for the user, written by a library in somebody else's program: a standard error that is closed, full or read by nobody must do
//! the program no harm.

use crate::size_signal::SizeSignalHeld;

/// Shows one line on standard error. Where that cannot be, nothing happens.
pub fn say(line: &str) {
    write_all(libc::STDERR_FILENO, format!("hsa-replay: {line}\n").as_bytes());
}

/// Writes all bytes, or gives up in silence: there is nowhere left to complain to. A reader that has left (SIGPIPE) and a file that may
/// not grow (SIGXFSZ) do not end the program.
pub fn write_all(descriptor: i32, mut bytes: &[u8]) {
    let _size_held = SizeSignalHeld::new();
    let _pipe_held = SizeSignalHeld::of_pipes();
    while !bytes.is_empty() {
        // SAFETY: the slice is readable for its whole length.
        let written = unsafe { libc::write(descriptor, bytes.as_ptr().cast(), bytes.len()) };
        match usize::try_from(written) {
            Ok(0) => return,
            Ok(count) => bytes = &bytes[count..],
            Err(_) if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}
