//! Memory that belongs to the device of another process: a piece of that device's memory file, mapped here too.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// File offsets from here on stand for memory of other devices in this program's own mappings: no memory file is as large.
pub const FOREIGN_OFFSETS: u64 = 1 << 44;

/// The mapping, and what keeps the memory alive on the other side.
#[derive(Debug)]
pub struct Foreign {
    file: OwnedFd,
    offset: u64,
    base: *mut u8,
    bytes: usize,
    /// Held open so that the other process keeps the memory.
    hold: OwnedFd,
}

// SAFETY: `base` is an address only; accesses go through `Span`, which tolerates concurrent writers.
unsafe impl Send for Foreign {}
// SAFETY: as for `Send`.
unsafe impl Sync for Foreign {}

impl Foreign {
    /// Maps `bytes` bytes of `file` from `offset` on.
    ///
    /// # Errors
    /// What the kernel answers when it refuses the mapping.
    pub(super) fn map(file: OwnedFd, offset: u64, bytes: u64, hold: OwnedFd) -> io::Result<Self> {
        let too_large = || io::Error::from(io::ErrorKind::InvalidInput);
        let len = usize::try_from(bytes).map_err(|_| too_large())?;
        let at = i64::try_from(offset).map_err(|_| too_large())?;
        // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
        let base = unsafe {
            let protection = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(core::ptr::null_mut(), len, protection, libc::MAP_SHARED, file.as_raw_fd(), at)
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice about the mapping just made: a child has no device, so it need not carry the pages.
        unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
        Ok(Self { file, offset, base: base.cast(), bytes: len, hold })
    }

    /// The address of the first byte.
    pub(super) fn host(&self) -> *mut u8 {
        self.base
    }

    /// The descriptor that stands for the memory.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.hold.as_raw_fd()
    }

    /// The other device's memory file, and the memory's offset in it.
    #[must_use]
    pub fn place(&self) -> (RawFd, u64) {
        (self.file.as_raw_fd(), self.offset)
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length; whoever reaches it holds this object.
        unsafe { libc::munmap(self.base.cast(), self.bytes) };
    }
}
