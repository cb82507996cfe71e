//! The program's own memory: whether pages that it registers exist and permit what the device may do with them.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader};

/// One line of `/proc/self/maps` (proc_pid_maps(5)): first address, end, and whether it may be written and read.
fn parse(line: &str) -> Option<(u64, u64, bool, bool)> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let permissions = rest.as_bytes();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some((
        number(start)?,
        number(end)?,
        permissions.get(1) == Some(&b'w'),
        permissions.first() == Some(&b'r'),
    ))
}

/// Whether all of `[start, end)` is mapped by the program, and permits `access` if that is given.
///
/// # Errors
/// The system does not tell.
pub(super) fn is_mapped(start: u64, end: u64, access: Option<Access>) -> io::Result<bool> {
    let mut at = start;
    for line in BufReader::new(File::open("/proc/self/maps")?).split(b'\n') {
        // Paths at the end of a line may have any bytes.
        let line = String::from_utf8_lossy(&line?).into_owned();
        let Some((first, last, writes, reads)) = parse(&line) else {
            return Err(io::Error::new(io::ErrorKind::InvalidData, line));
        };
        if last <= at {
            continue;
        }
        let permitted = match access {
            None => true,
            Some(Access::Read) => reads,
            Some(Access::Write) => reads && writes,
        };
        if first > at || !permitted {
            return Ok(false);
        }
        at = last;
        if at >= end {
            return Ok(true);
        }
    }
    Ok(at >= end)
}

/// What the device will do with the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Load from them.
    Read,
    /// Load and store.
    Write,
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Memory, PAGE, Request, Rights};
    use crate::Refusal;

    /// Two pages of the program of which the second is gone; the first page's address.
    fn page_before_a_hole(protection: i32) -> u64 {
        let two = 2 * 4096;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a fresh anonymous mapping at no fixed address.
        let at = unsafe { libc::mmap(core::ptr::null_mut(), two, protection, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        // SAFETY: the second page of the mapping made just now, which nobody uses. No access: nothing takes its place.
        assert_eq!(unsafe { libc::mprotect(at.wrapping_add(4096), 4096, libc::PROT_NONE) }, 0);
        at.expose_provenance() as u64
    }

    fn register(memory: &Memory, user: u64, bytes: u64, writable: bool) -> Result<(), Refusal> {
        let rights = Rights { writable, executable: false, public: false, coherent: false };
        let request = Request { agent: 0, kind: Kind::User, address: user, bytes, user, rights };
        memory.allocate(&request).map(|_| ())
    }

    #[test]
    fn only_pages_that_exist_and_permit_it_are_registered() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        let plain = page_before_a_hole(libc::PROT_READ | libc::PROT_WRITE);
        assert_eq!(register(&memory, plain, PAGE, true), Ok(()));
        assert_eq!(register(&memory, plain, 2 * PAGE, true), Err(Refusal::NotMapped));
        let constant = page_before_a_hole(libc::PROT_READ);
        assert_eq!(register(&memory, constant, PAGE, false), Ok(()));
        assert_eq!(register(&memory, constant, PAGE, true), Err(Refusal::NotMapped));
        // The first page of the address space is never mapped.
        assert_eq!(register(&memory, 1, 16, false), Err(Refusal::NotMapped));
    }

    #[test]
    fn only_pages_that_exist_are_shared() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        let at = page_before_a_hole(libc::PROT_READ | libc::PROT_WRITE);
        assert_eq!(memory.share(at, PAGE, 1, true), Ok(()));
        assert!(memory.view(0).load::<u32>(at).is_ok());
        assert_eq!(memory.share(PAGE, PAGE, 1, true), Err(Refusal::NotMapped));
        assert!(memory.view(0).load::<u32>(PAGE).is_err());
        assert_eq!(memory.share(PAGE, PAGE, 0, true), Ok(()), "nothing to take away is no error");
    }
}
