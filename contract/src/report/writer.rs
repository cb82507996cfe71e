//! Appending records to a report from inside someone else's process.
//!
//! Each record is one line and one `write(2)` on a descriptor opened with `O_APPEND`, so that the lines of several
//! threads and processes do not mix and a killed process leaves whole lines. What may go wrong is returned, never
//! thrown at the application: the file's descriptor is out of the way of the application's own, a descriptor that
//! the application closed and reused is not written to, and a pipe neither blocks for long nor raises `SIGPIPE`, and a line that
//! it does not take as a whole is ended there, since the next one may be another process's.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Instant;

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use super::patience::Patience;
use super::{expand_origin, expand_pid};
use crate::Record;
use crate::size_signal::SizeSignalHeld;

/// The report's descriptor is this one or above, where programs that count on low numbers do not look.
const LOWEST_DESCRIPTOR: i32 = 480;

/// What a nearly full pipe gets at a time: one byte less than a page of it, so that a line end always fits behind (pipe(7),
/// `PIPE_BUF`; small writes are put behind what the last page holds).
const PIPE_PART: usize = 4095;

/// A report cannot be opened. It prints as one line.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", crate::text::name_of(path))]
pub struct OpenError {
    /// The report's file.
    pub path: PathBuf,
    /// What is wrong and what to do.
    pub problem: String,
}

/// A record is lost. It prints as one line.
#[derive(Debug, thiserror::Error)]
#[error("{}: cannot write the report: {source}", crate::text::name_of(path))]
pub struct WriteError {
    /// The report's file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
    /// Records lost so far, with this one. The first loss is worth saying, the others are not.
    pub lost: u64,
}

impl WriteError {
    /// Whether this is the first loss.
    pub fn is_first(&self) -> bool {
        self.lost == 1
    }
}

/// An open report.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    target: Target,
    line: Vec<u8>,
    /// The last record was cut off: the next one starts with a line end of its own.
    torn: bool,
    /// The pipe did not move in time: until it does, records do not wait for it.
    stalled: bool,
    lost: u64,
}

impl Writer {
    /// Opens the report of process `pid` for appending and creates it if needed; placeholders in `template` are expanded.
    /// Never waits, not even for a pipe's reader.
    pub fn open(template: &Path, pid: u32) -> Result<Self, OpenError> {
        let path = expand_pid(&expand_origin(template), pid);
        let target = Target::open(&path)?;
        let state = State { target, line: Vec::new(), torn: false, stalled: false, lost: 0 };
        Ok(Self { path, state: Mutex::new(state) })
    }

    /// The report's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one record. After an error the next record is tried again.
    pub fn write(&self, record: &Record) -> Result<(), WriteError> {
        let mut state = self.state.lock();
        let state = &mut *state;
        let _size_held = SizeSignalHeld::new();
        // Dropped first: it gives back the mask that it found.
        let _pipe_held = state.target.is_pipe.then(SizeSignalHeld::of_pipes);
        state.append(&self.path, record).map_err(|source| {
            state.lost += 1;
            WriteError { path: self.path.clone(), source, lost: state.lost }
        })
    }

    /// Records lost so far.
    pub fn lost(&self) -> u64 {
        self.state.lock().lost
    }
}

impl State {
    fn append(&mut self, path: &Path, record: &Record) -> io::Result<()> {
        self.line.clear();
        if self.torn {
            self.line.push(b'\n');
        }
        serde_json::to_writer(&mut self.line, record)?;
        self.line.push(b'\n');
        if !self.target.is_ours() {
            self.target.replace(path)?;
        }
        let mut written = 0;
        let mut patience = None;
        while written < self.line.len() {
            let part = self.target.part_of(&self.line[written..]);
            match self.target.file.write(part) {
                Ok(0) => return Err(self.cut_off(written, io::ErrorKind::WriteZero.into())),
                Ok(count) => {
                    written += count;
                    self.stalled = false;
                    patience.iter_mut().for_each(Patience::moved);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.stalled => {
                    let patience = patience.get_or_insert_with(|| Patience::begin(self.target.queued()));
                    while !self.target.wait_until(patience.deadline()) {
                        if !patience.goes_on(Instant::now(), self.target.queued()) {
                            self.stalled = true;
                            let error = io::Error::new(error.kind(), patience.ended());
                            return Err(self.cut_off(written, error));
                        }
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    let error = io::Error::new(error.kind(), "the pipe's reader is gone");
                    return Err(self.cut_off(written, error));
                }
                Err(error) => return Err(self.cut_off(written, error)),
            }
        }
        self.torn = false;
        Ok(())
    }

    fn cut_off(&mut self, written: usize, error: io::Error) -> io::Error {
        // A line end that was owed and not even written is still owed.
        self.torn |= written > 0;
        if written > 0 && self.target.is_pipe {
            self.torn = !matches!(self.target.file.write(b"\n"), Ok(1));
        }
        error
    }
}

/// The descriptor and the file it must still be.
#[derive(Debug)]
struct Target {
    file: File,
    identity: (u64, u64),
    is_pipe: bool,
}

impl Target {
    fn open(path: &Path) -> Result<Self, OpenError> {
        let opened = open_to_write(path, false).and_then(|(file, is_pipe)| {
            let file = out_of_the_way(file)?;
            Ok(Self { identity: identity(&file.metadata()?), file, is_pipe })
        });
        opened.map_err(|error| OpenError { path: path.to_owned(), problem: explain(&error) })
    }

    /// Whether the descriptor is still the report's: programs that become daemons close every descriptor, and the
    /// number may then name a file of their own.
    fn is_ours(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| identity(&metadata) == self.identity)
    }

    /// Opens the report again. The old number is the application's now: it is not closed.
    fn replace(&mut self, path: &Path) -> io::Result<()> {
        let again = Self::open(path).map_err(|error| io::Error::other(error.problem))?;
        let _not_ours = std::mem::replace(self, again).file.into_raw_fd();
        Ok(())
    }

    /// How much of a line is written at once: all of it, unless a pipe might take only a part and leave no room for a line end.
    fn part_of<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        if !self.is_pipe || rest.len() <= PIPE_PART {
            return rest;
        }
        let capacity = rustix::pipe::fcntl_getpipe_size(&self.file).unwrap_or(0);
        // Pages of the pipe that are in use may hold as little as half of what they could.
        let used = usize::try_from(self.queued()).unwrap_or(usize::MAX).saturating_mul(2);
        if used.saturating_add(rest.len()) <= capacity { rest } else { &rest[..PIPE_PART] }
    }

    /// Bytes in the pipe that nobody has read yet.
    fn queued(&self) -> u64 {
        rustix::io::ioctl_fionread(&self.file).unwrap_or(0)
    }

    /// Waits for room in a pipe; false when there is none by `deadline`.
    fn wait_until(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let Ok(timeout) = Timespec::try_from(left) else { return false };
        let mut descriptors = [PollFd::new(&self.file, PollFlags::OUT)];
        match poll(&mut descriptors, Some(&timeout)) {
            Ok(ready) => ready > 0,
            Err(error) => error == rustix::io::Errno::INTR && !left.is_zero(),
        }
    }
}

/// Where a pipe was looked at, its open end: a reader takes the last writer's leaving for the end, so whoever looked stays
/// until the program has ended.
#[derive(Debug)]
#[must_use = "a pipe's reader leaves when this is dropped"]
pub struct Held {
    _pipe: Option<File>,
}

/// Empties the report before a program starts, and finds out now whether it can be written.
///
/// Where the name holds `{pid}` there is nothing to empty yet: then the folder must exist and be writable.
pub fn prepare(template: &Path) -> Result<Held, OpenError> {
    check_place(template, true)
}

/// Finds out now whether a file, such as the log, can be appended to; `{pid}` as for [`prepare`].
pub fn check_appendable(template: &Path) -> Result<Held, OpenError> {
    check_place(template, false)
}

fn check_place(template: &Path, truncate: bool) -> Result<Held, OpenError> {
    let fail = |path: &Path, problem| OpenError { path: path.to_owned(), problem };
    if expand_pid(template, 0) == template {
        return open_to_write(template, truncate)
            .map(|(file, is_pipe)| Held { _pipe: is_pipe.then_some(file) })
            .map_err(|error| fail(template, explain(&error)));
    }
    let sample = expand_pid(template, std::process::id());
    if sample.is_dir() {
        return Err(fail(template, explain(&io::ErrorKind::IsADirectory.into())));
    }
    let folder = match template.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(fail(template, explain(&io::ErrorKind::IsADirectory.into()))),
    };
    if expand_pid(folder, 0) != folder {
        let problem =
            "a folder of its own for each process is not made: {pid} may stand in the file's name alone";
        return Err(fail(template, problem.to_owned()));
    }
    writable_folder(folder)
        .map_err(|error| fail(template, format!("its folder cannot be written: {error}")))?;
    Ok(Held { _pipe: None })
}

/// Makes the folder for dumps before a program starts, and finds out now whether files can be made in it.
pub fn prepare_folder(folder: &Path) -> Result<(), OpenError> {
    std::fs::create_dir_all(folder).and_then(|()| writable_folder(folder)).map_err(|error| OpenError {
        path: folder.to_owned(),
        problem: format!("is no folder for dumps: {error}"),
    })
}

fn writable_folder(folder: &Path) -> io::Result<()> {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK)?;
    if folder.is_dir() { Ok(()) } else { Err(io::ErrorKind::NotADirectory.into()) }
}

/// Opens a file for appending, and says whether it is a pipe. Never waits for a pipe's reader.
fn open_to_write(path: &Path, truncate: bool) -> io::Result<(File, bool)> {
    let mut wanted = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::APPEND;
    if truncate {
        wanted |= OFlags::TRUNC;
    }
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .custom_flags(flags(wanted)?)
        .open(path)?;
    let is_pipe = file.metadata()?.file_type().is_fifo();
    Ok((file, is_pipe))
}

fn flags(flags: OFlags) -> io::Result<i32> {
    i32::try_from(flags.bits()).map_err(io::Error::other)
}

/// Moves the descriptor to a high number, where the limit allows it.
fn out_of_the_way(file: File) -> io::Result<File> {
    Ok(rustix::io::fcntl_dupfd_cloexec(&file, LOWEST_DESCRIPTOR).map(File::from).unwrap_or(file))
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn explain(error: &io::Error) -> String {
    match rustix::io::Errno::from_io_error(error) {
        Some(rustix::io::Errno::ISDIR) => "is a directory: name a file".to_owned(),
        Some(rustix::io::Errno::NXIO) => "is a pipe that nobody reads: start its reader first".to_owned(),
        _ if error.kind() == io::ErrorKind::IsADirectory => "is a directory: name a file".to_owned(),
        _ => format!("cannot be opened for writing: {error}"),
    }
}
