//! The driver's stream of notes (`AMDKFD_IOC_SMI_EVENTS`): what the device did to a program, one line each, for whoever
//! reads the descriptor.
//!
//! A reader writes a mask of the events that it wants, eight bytes, as often as it likes, and reads lines in the format of
//! Linux's `kfd_ioctl.h`. The descriptor is one end of a pair of sockets: what was written is looked at when there is
//! something to tell.

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
}

impl Notices {
    /// A descriptor from which notes about `agent` can be read.
    ///
    /// # Errors
    /// The process has too many descriptors.
    pub fn open(&self, agent: usize) -> io::Result<OwnedFd> {
        let mut ends = [-1; 2];
        let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC;
        // SAFETY: there is room for two descriptors.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both descriptors were made just now, and nobody else has them.
        let [theirs, end] = ends.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
        self.readers.lock().push(Reader { agent, wanted: 0, end });
        Ok(theirs)
    }

    /// A wave or packet of `agent` touched memory that it may not.
    pub(crate) fn memory_fault(&self, agent: usize) {
        self.tell(agent, VM_FAULT, || format!("{:x}:{}", std::process::id(), program_name()));
    }

    /// `agent` hangs.
    pub(crate) fn hang(&self, agent: usize) {
        // The number of the reset; the queue that hangs goes on in no later one.
        self.tell(agent, GPU_PRE_RESET, || "1".to_owned());
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
            reader.agent != agent || {
                reader.look();
                reader.wanted >> (event - 1) & 1 == 0 || reader.send(&format!("{event:x} {}\n", text()))
            }
        });
    }
}

impl Reader {
    /// Takes the masks that were written since the last look.
    fn look(&mut self) {
        let mut mask = [0u8; 8];
        loop {
            let fd = self.end.as_raw_fd();
            // SAFETY: the buffer is ours and as long as is said.
            let got = unsafe { libc::recv(fd, mask.as_mut_ptr().cast(), mask.len(), libc::MSG_DONTWAIT) };
            if usize::try_from(got) != Ok(mask.len()) {
                return;
            }
            self.wanted = u64::from_le_bytes(mask);
        }
    }

    /// Sends a line; whether somebody may still read. A reader that is behind loses lines, as with the driver.
    fn send(&self, line: &str) -> bool {
        let fd: RawFd = self.end.as_raw_fd();
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: the buffer is valid for its length.
        let sent = unsafe { libc::send(fd, line.as_ptr().cast(), line.len(), flags) };
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
        let mut line = [0; 4];
        file.read_exact(&mut line).expect("a line");
        assert_eq!(&line, b"3 1\n");
        drop(file);
        notices.hang(0);
        assert!(notices.readers.lock().is_empty());
    }
}
