//! Host memory of the application, which it may give back at any time.
//!
//! It is read by way of the kernel, for which memory that is not there is an error and no crash, and nobody who frees memory has to
//! wait for a reader.

use crate::shared_memory::read_host;
use std::fs::File;
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

    /// Bytes that others may be writing; `None` where there is no memory. Without `/proc` the caller must know better.
    pub(crate) fn read(&self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let Some(file) = &self.file else {
            return Some(read_host(address, bytes));
        };
        let mut read = vec![0; usize::try_from(bytes).ok()?];
        file.read_exact_at(&mut read, address).ok()?;
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
