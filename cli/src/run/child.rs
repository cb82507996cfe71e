//! The program as a child: started, signalled, reaped.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use super::progress::{self, Line};
use super::shown;
use super::signals::{self, Arrived, Blocked};
use crate::failure::{CANNOT_RUN, Failure, NOT_FOUND};

/// A program that ended.
#[derive(Debug)]
pub struct Ended {
    /// Its process.
    pub pid: u32,
    status: ExitStatus,
}

impl Ended {
    /// Its exit code, or 128+N for the signal N that ended it.
    pub fn exit_code(&self) -> u8 {
        let code = self.status.code().or_else(|| self.status.signal().map(|signal| 128 + signal));
        code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
    }

    /// Its exit code, if no signal ended it.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        self.status.signal()
    }
}

/// Why a program did not run to its end under our eyes.
#[derive(Debug)]
pub enum RunError {
    /// It could not be started.
    Start(io::Error),
    /// Something failed on our side.
    Ours(io::Error),
}

impl RunError {
    /// The failure of `run` for the program `name`.
    pub fn into_failure(self, name: &OsStr) -> Failure {
        match self {
            Self::Ours(error) => Failure::run(format!("cannot wait for {}: {error}", shown(name))),
            Self::Start(error) => {
                let code = if error.kind() == io::ErrorKind::NotFound { NOT_FOUND } else { CANNOT_RUN };
                Failure { code, message: Some(format!("cannot run {}: {error}", shown(name))) }
            }
        }
    }
}

/// Runs `program` to its end. The report of an earlier process with the same number is emptied first, where a template for its
/// name is given. The progress line, if there is one, is kept up to date meanwhile.
pub fn run(
    program: &mut Command,
    stale: Option<&Path>,
    blocked: &Blocked,
    mut progress: Option<&mut Line>,
) -> Result<Ended, RunError> {
    let mut stale = stale.map(StaleReport::new);
    let inherited = blocked.before();
    // SAFETY: between fork and exec the closure only formats a number into memory reserved before, and calls getpid,
    // open, close, signal and sigprocmask, which are async-signal-safe; it neither allocates nor locks.
    unsafe {
        program.pre_exec(move || {
            inherited.restore();
            if let Some(stale) = &mut stale {
                stale.empty();
            }
            Ok(())
        });
    }
    let mut child = program.spawn().map_err(RunError::Start)?;
    let pid = child.id();
    loop {
        if let Some(status) = child.try_wait().map_err(RunError::Ours)? {
            return Ok(Ended { pid, status });
        }
        let patience = progress.is_some().then_some(progress::LOOK);
        match blocked.wait(patience).map_err(RunError::Ours)? {
            Arrived::Nothing => progress.iter_mut().for_each(|line| line.look()),
            Arrived::Child | Arrived::FromTerminal => {}
            Arrived::ToForward(signal) => signals::send(pid, signal),
        }
    }
}

/// The report that a process of the child's number would append to. Only the child knows its number before it runs.
struct StaleReport {
    parts: Vec<Vec<u8>>,
    path: Vec<u8>,
}

impl StaleReport {
    fn new(template: &Path) -> Self {
        const DIGITS: usize = 10;
        let mut parts = vec![Vec::new()];
        let mut rest = template.as_os_str().as_bytes();
        while let Some((&byte, after)) = rest.split_first() {
            if let Some(after) = rest.strip_prefix(b"{pid}") {
                parts.push(Vec::new());
                rest = after;
            } else {
                if let Some(part) = parts.last_mut() {
                    part.push(byte);
                }
                rest = after;
            }
        }
        let capacity = parts.iter().map(|part| part.len() + DIGITS).sum::<usize>() + 1;
        Self { parts, path: Vec::with_capacity(capacity) }
    }

    /// Empties the file of this process's number if there is one. Runs in the child, before exec.
    fn empty(&mut self) {
        if self.parts.len() < 2 {
            return;
        }
        let pid = std::process::id();
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                push_number(&mut self.path, pid);
            }
            self.path.extend_from_slice(part);
        }
        self.path.push(0);
        // SAFETY: `path` ends with a zero byte; the descriptor is closed at once and used for nothing else.
        unsafe {
            let flags = libc::O_WRONLY | libc::O_TRUNC | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
            let file = libc::open(self.path.as_ptr().cast(), flags);
            if file >= 0 {
                libc::close(file);
            }
        }
    }
}

/// Appends a decimal number without allocating, given room.
fn push_number(bytes: &mut Vec<u8>, mut number: u32) {
    let start = bytes.len();
    loop {
        bytes.push(b'0' + u8::try_from(number % 10).unwrap_or(0));
        number /= 10;
        if number == 0 {
            break;
        }
    }
    bytes[start..].reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stale_report_of_this_number_is_emptied_and_no_other() {
        let folder = tempfile::tempdir().expect("folder");
        let own = folder.path().join(format!("r-{}.jsonl", std::process::id()));
        let other = folder.path().join("r-1.jsonl");
        for file in [&own, &other] {
            std::fs::write(file, "stale").expect("file");
        }
        let mut stale = StaleReport::new(&folder.path().join("r-{pid}.jsonl"));
        let room = stale.path.capacity();
        stale.empty();
        assert_eq!(stale.path.capacity(), room, "nothing may be allocated between fork and exec");
        assert_eq!(std::fs::read(own).expect("own"), b"");
        assert_eq!(std::fs::read(other).expect("other"), b"stale");
    }

    #[test]
    fn numbers_are_decimal() {
        for number in [0, 7, 10, 4_194_304, u32::MAX] {
            let mut bytes = Vec::new();
            push_number(&mut bytes, number);
            assert_eq!(bytes, number.to_string().as_bytes());
        }
    }
}
