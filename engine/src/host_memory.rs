//! Host memory of the application, which it may give back at any time.
//!
//! It is read by way of the kernel, for which memory that is not there is an error and no crash, and nobody who frees memory has to
//! wait for a reader. Mappings of a driver that the kernel does not read for others are read directly.

use crate::shared_memory::read_host;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Reads the process's own memory. Opened for each use, since a program may close every descriptor it finds.
#[derive(Debug)]
pub(crate) struct HostMemory {
    file: Option<File>,
}

impl HostMemory {
    pub(crate) fn open() -> Self {
        Self { file: File::open("/proc/self/mem").ok() }
    }

    /// Whether memory that is not there does no harm; not so without `/proc`.
    pub(crate) fn is_safe(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes that others may be writing; `None` where there is no memory, where the kernel does not read a driver's, and without
    /// `/proc`.
    pub(crate) fn read_by_kernel(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        read_from(self.file.as_ref()?, address, bytes)
    }

    /// Bytes that others may be writing; `None` where there is no memory. Without `/proc` the caller must know better.
    pub(crate) fn read(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let Some(file) = &self.file else {
            return Some(read_host(address, bytes));
        };
        if let Some(read) = read_from(file, address, bytes) {
            return Some(read);
        }
        let maps = std::fs::read("/proc/self/maps").ok()?;
        is_mapped(&String::from_utf8_lossy(&maps), address..address.checked_add(bytes)?)
            .then(|| read_host(address, bytes))
    }
}

fn read_from(file: &File, address: u64, bytes: u64) -> Option<Vec<u8>> {
    let mut read = vec![0; usize::try_from(bytes).ok()?];
    file.read_exact_at(&mut read, address).is_ok().then_some(read)
}

/// Whether all of a range may be read, by the lines of `/proc/self/maps`, which are in order.
fn is_mapped(maps: &str, range: Range<u64>) -> bool {
    let mut at = range.start;
    for line in maps.lines() {
        let mut fields = line.split_ascii_whitespace();
        let Some((start, end)) = fields.next().and_then(|field| field.split_once('-')) else { continue };
        let (Ok(start), Ok(end)) = (u64::from_str_radix(start, 16), u64::from_str_radix(end, 16)) else {
            continue;
        };
        if start <= at && at < end && fields.next().is_some_and(|rights| rights.starts_with('r')) {
            at = end;
        }
    }
    at >= range.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_mapped_where_readable_mappings_adjoin() {
        let maps = "1000-3000 rw-p 00000000 00:00 0\n3000-4000 r--s 00001000 00:05 7 /dev/dri/renderD128\n\
            4000-5000 ---p 00000000 00:00 0\n6000-7000 rw-p 00000000 00:00 0 [stack]\n";
        for (range, mapped) in [
            (0x1000..0x4000, true),
            (0x2ff8..0x3008, true),
            (0x3ff8..0x4008, false),
            (0x4000..0x4008, false),
            (0x5000..0x5008, false),
            (0x6ff8..0x7000, true),
            (0x6ff8..0x7001, false),
            (0xff8..0x1008, false),
        ] {
            assert_eq!(is_mapped(maps, range.clone()), mapped, "{range:x?}");
        }
    }

    #[test]
    fn memory_that_is_not_there_is_nothing_and_no_crash() {
        let there = Box::new(0x0123_4567_89ab_cdef_u64);
        let address = std::ptr::from_ref(&*there).addr() as u64;
        let memory = HostMemory::open();
        assert!(memory.is_safe());
        assert_eq!(memory.read(address, 8), Some(there.to_ne_bytes().to_vec()));
        for nowhere in [0, 0x1000, u64::MAX - 7, 1 << 63] {
            assert_eq!(memory.read(nowhere, 8), None, "{nowhere:#x}");
        }
    }
}
