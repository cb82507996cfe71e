//! The driver's stream of notes (`AMDKFD_IOC_SMI_EVENTS`): what the device did to a program, one line each, for whoever
//! reads the descriptor.
//!
//! A reader writes a mask of the events that it wants, eight bytes, as often as it likes, and reads lines in the format of
//! Linux's `kfd_ioctl.h`, as of 6.11. A read never waits: with nothing to tell it is `EAGAIN`, as Linux's
//! `kfd_smi_events.c` has it, and `poll` waits. The descriptor is one end of a pair of sockets: what was written, and whether
//! the reader is gone, is looked at when there is something to tell or another one comes.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use parking_lot::Mutex;

use crate::clock;

/// `KFD_SMI_EVENT_*`
const VM_FAULT: u32 = 1;
const GPU_PRE_RESET: u32 = 3;
const UNMAP_FROM_GPU: u32 = 11;

/// `KFD_SVM_UNMAP_TRIGGER_UNMAP_FROM_CPU`
const UNMAPPED_BY_HOST: u32 = 2;

/// What a page is for the driver, as a power of two.
const PAGE_SHIFT: u32 = 12;

#[derive(Debug)]
struct Reader {
    agent: usize,
    /// Bit `n - 1` for each wanted event `n`.
    wanted: u64,
    end: OwnedFd,
}

/// All readers.
#[derive(Debug, Default)]
pub struct Notices {
    readers: Mutex<Vec<Reader>>,
    /// How often each agent hung.
    hangs: Mutex<HashMap<usize, u32>>,
}

impl Notices {
    /// A descriptor from which notes about `agent` can be read.
    ///
    /// # Errors
    /// The process has too many descriptors.
    pub fn open(&self, agent: usize) -> io::Result<OwnedFd> {
        let mut ends = [-1; 2];
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: there is room for two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both descriptors were made just now, and nobody else has them.
        let [theirs, end] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        // The driver's descriptor stays open when another program is executed.
        // SAFETY: changes the flags of a descriptor that is ours.
        if unsafe { libc::fcntl(theirs.as_raw_fd(), libc::F_SETFD, 0) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let mut readers = self.readers.lock();
        readers.retain_mut(Reader::look);
        readers.push(Reader { agent, wanted: 0, end });
        Ok(theirs)
    }

    /// A wave or packet of `agent` touched memory that it may not.
    pub(crate) fn memory_fault(&self, agent: usize) {
        self.tell(agent, VM_FAULT, || format!("{:x}:{}", std::process::id(), program_name()));
    }

    /// `agent` hangs.
    pub(crate) fn hang(&self, agent: usize) {
        let number = {
            let mut hangs = self.hangs.lock();
            let count = hangs.entry(agent).or_default();
            *count += 1;
            *count
        };
        // The number of the reset, and its cause: the driver's scheduler finds that a queue does not let go.
        self.tell(agent, GPU_PRE_RESET, || format!("{number:x} HWS hang"));
    }

    /// Memory of the program that `agent`, the driver's number of which is `gpu_id`, could reach by address is gone.
    pub fn unmapped(&self, agent: usize, gpu_id: u32, address: u64, bytes: u64) {
        self.tell(agent, UNMAP_FROM_GPU, || {
            format!(
                "{} -{} @{:x}({:x}) {gpu_id:x} {UNMAPPED_BY_HOST}",
                clock::system_nanoseconds(),
                std::process::id(),
                address >> PAGE_SHIFT,
                bytes >> PAGE_SHIFT
            )
        });
    }

    fn tell(&self, agent: usize, event: u32, text: impl Fn() -> String) {
        let mut readers = self.readers.lock();
        readers.retain_mut(|reader| {
            reader.look()
                && (reader.agent != agent
                    || reader.wanted >> (event - 1) & 1 == 0
                    || reader.send(&format!("{event:x} {}\n", text())))
        });
    }
}

impl Reader {
    /// Takes the masks that were written since the last look; whether somebody may still read.
    fn look(&mut self) -> bool {
        let mut mask = [0u8; 8];
        loop {
            let fd = self.end.as_raw_fd();
            // SAFETY: the buffer is ours and as long as is said.
            let got = unsafe { libc::recv(fd, mask.as_mut_ptr().cast(), mask.len(), 0) };
            match usize::try_from(got) {
                // The end of the stream.
                Ok(0) => return false,
                Ok(got) if got == mask.len() => self.wanted = u64::from_le_bytes(mask),
                // No mask: a write of less is refused by the driver.
                Ok(_) => {}
                Err(_) => return io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock,
            }
        }
    }

    /// Sends a line; whether somebody may still read. A reader that is behind loses lines, as with the driver.
    fn send(&self, line: &str) -> bool {
        let fd: RawFd = self.end.as_raw_fd();
        // SAFETY: the buffer is valid for its length.
        let sent = unsafe { libc::send(fd, line.as_ptr().cast(), line.len(), libc::MSG_NOSIGNAL) };
        sent >= 0 || io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock
    }
}

/// The name of the program's main thread, as the driver knows it.
fn program_name() -> String {
    std::fs::read_to_string("/proc/self/comm").map_or_else(|_| String::new(), |name| name.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Read, Write};

    use super::*;

    fn reader(notices: &Notices, agent: usize, mask: u64) -> File {
        let mut file = File::from(notices.open(agent).expect("descriptors"));
        file.write_all(&mask.to_le_bytes()).expect("a socket");
        file
    }

    #[test]
    fn a_reader_is_told_of_what_it_asked_for_on_its_agent() {
        let notices = Notices::default();
        let wants = |event: u32| 1u64 << (event - 1);
        let mut all = BufReader::new(reader(&notices, 0, wants(VM_FAULT) | wants(UNMAP_FROM_GPU)));
        let other_agent = reader(&notices, 1, u64::MAX);
        let other_event = reader(&notices, 0, wants(GPU_PRE_RESET));
        notices.unmapped(0, 0x5001, 0x7000_1000, 0x3000);
        notices.memory_fault(0);
        let mut line = String::new();
        all.read_line(&mut line).expect("a line");
        let pid = std::process::id();
        assert!(line.starts_with("b ") && line.ends_with(&format!(" -{pid} @70001(3) 5001 2\n")), "{line}");
        line.clear();
        all.read_line(&mut line).expect("a line");
        assert!(line.starts_with(&format!("1 {pid:x}:")), "{line}");
        for silent in [other_agent, other_event] {
            let mut poll = libc::pollfd { fd: silent.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one structure, which is ours.
            assert_eq!(unsafe { libc::poll(&raw mut poll, 1, 0) }, 0, "nothing to read");
        }
    }

    #[test]
    fn the_last_mask_counts_and_a_closed_reader_is_forgotten() {
        let notices = Notices::default();
        let mut file = reader(&notices, 0, u64::MAX);
        file.write_all(&0u64.to_le_bytes()).expect("a socket");
        notices.hang(0);
        file.write_all(&u64::MAX.to_le_bytes()).expect("a socket");
        notices.hang(0);
        let mut line = [0; 16];
        let read = file.read(&mut line).expect("a line");
        assert_eq!(&line[..read], b"3 2 HWS hang\n", "the first reset was not asked for");
        drop(file);
        notices.hang(0);
        assert!(notices.readers.lock().is_empty());
    }

    #[test]
    fn a_read_with_nothing_to_tell_does_not_wait() {
        let notices = Notices::default();
        let mut file = reader(&notices, 0, u64::MAX);
        let error = file.read(&mut [0; 16]).expect_err("nothing to tell");
        assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
    }

    #[test]
    fn a_closed_reader_is_forgotten_whatever_it_asked_for_and_whose_notes_it_read() {
        let notices = Notices::default();
        for (agent, mask) in [(0, 0), (1, 0), (1, u64::MAX)] {
            drop(reader(&notices, agent, mask));
            notices.hang(0);
            assert!(notices.readers.lock().is_empty(), "agent {agent}, mask {mask:#x}");
        }
        drop(reader(&notices, 0, 0));
        let _living = reader(&notices, 0, 0);
        assert_eq!(notices.readers.lock().len(), 1);
        // One that leaves lines unread.
        let unread = reader(&notices, 1, u64::MAX);
        notices.hang(1);
        drop(unread);
        notices.hang(0);
        assert_eq!(notices.readers.lock().len(), 1);
    }
}
