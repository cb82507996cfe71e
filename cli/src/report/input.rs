//! Opening what a report is read from: a file, a pipe, or standard input.

use hsa_replay_contract::text::name_of;
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use crate::failure::say;

/// Opens a report; `-` is standard input.
pub fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    // Opening a pipe must not wait for its writer before anything was said.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_dir() {
        return Err(io::Error::other("is a directory: name a report"));
    }
    // Some devices never end; a terminal does, and so does the one that is empty.
    if kind.is_block_device()
        || kind.is_char_device() && !file.is_terminal() && path != Path::new("/dev/null")
    {
        return Err(io::Error::other("is a device: name a report"));
    }
    if kind.is_fifo() {
        wait_for_writer(path, &file)?;
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(Box::new(file))
}

/// Waits until a pipe has something to read or its writer is gone again, and says so if that is not the case yet: a program
/// that reports to the pipe needs its reader first.
fn wait_for_writer(path: &Path, file: &File) -> io::Result<()> {
    let mut descriptors = [PollFd::new(file, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut descriptors, Some(&now))? == 0 {
        say(format_args!("{}: is a pipe, and nobody has written to it: waiting", name_of(&path)));
        loop {
            match poll(&mut descriptors, None) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}
