//! The device's memory: one sparse anonymous file, mapped once and for good.
//!
//! The program maps parts of the file at addresses of its choice; the device reads and writes through its own
//! mapping, which it never takes down. So the device can always reach its memory, whatever the program unmaps, and
//! only pages that somebody touched cost memory. Freed pages go back at once.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use parking_lot::Mutex;

use super::PAGE;

/// Sizes tried for the mapping, largest first: address-space limits may refuse the first.
const SIZES: [u64; 4] = [1 << 40, 1 << 38, 1 << 36, 1 << 34];

/// The file, its mapping, and which parts of it are taken.
#[derive(Debug)]
pub struct Backing {
    file: OwnedFd,
    base: *mut u8,
    bytes: u64,
    free: Mutex<Free>,
}

// SAFETY: `base` is only an address; every access through it goes by `Span`, which tolerates concurrent writers.
unsafe impl Send for Backing {}
// SAFETY: as for `Send`.
unsafe impl Sync for Backing {}

/// The unused parts of the file: holes by offset, and everything from `end` on.
#[derive(Debug)]
struct Free {
    holes: BTreeMap<u64, u64>,
    end: u64,
}

impl Backing {
    /// Makes and maps the file.
    ///
    /// # Errors
    /// What the kernel answers when it refuses the file or even the smallest mapping.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the name is a valid C string; the result is checked.
        let fd = unsafe { libc::memfd_create(c"model-gpu".as_ptr(), libc::MFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `fd` is fresh and owned by nobody else.
        let file = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut last = io::Error::from(io::ErrorKind::OutOfMemory);
        for bytes in SIZES {
            let (Ok(len), Ok(signed)) = (usize::try_from(bytes), i64::try_from(bytes)) else { continue };
            // SAFETY: plain system call on our own file.
            if unsafe { libc::ftruncate(fd, signed) } != 0 {
                last = io::Error::last_os_error();
                continue;
            }
            // SAFETY: a new mapping at an address of the kernel's choice disturbs no other memory.
            let base = unsafe {
                libc::mmap(
                    core::ptr::null_mut(),
                    len,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_SHARED | libc::MAP_NORESERVE,
                    fd,
                    0,
                )
            };
            if base == libc::MAP_FAILED {
                last = io::Error::last_os_error();
                continue;
            }
            // SAFETY: advice about the mapping just made: a child has no device, so it need not carry the pages.
            unsafe { libc::madvise(base, len, libc::MADV_DONTFORK) };
            let free = Mutex::new(Free { holes: BTreeMap::new(), end: 0 });
            return Ok(Self { file, base: base.cast(), bytes, free });
        }
        Err(last)
    }

    /// The file, for duplicates that stand for the device's nodes.
    #[must_use]
    pub fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Device and inode numbers of the file: they tell whether a descriptor is one of ours.
    ///
    /// # Errors
    /// What `fstat` answers.
    pub fn identity(&self) -> io::Result<(u64, u64)> {
        identity(self.fd())
    }

    /// The device's own address of file offset `offset`.
    #[must_use]
    pub fn host(&self, offset: u64) -> *mut u8 {
        assert!(offset < self.bytes, "offset {offset:#x} beyond the device's memory file");
        // The file is mapped whole, and mappings are smaller than `usize`.
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        // SAFETY: the assertion keeps the result inside the mapping.
        unsafe { self.base.add(offset) }
    }

    /// Takes `bytes` (rounded up to pages) out of the file, aligned to `align`, a power of two of at least a page.
    #[must_use]
    pub fn carve(&self, bytes: u64, align: u64) -> Option<u64> {
        let bytes = bytes.checked_next_multiple_of(PAGE)?;
        let mut free = self.free.lock();
        let fit = free.holes.iter().find_map(|(&at, &len)| {
            let start = at.checked_next_multiple_of(align)?;
            (start.checked_add(bytes)? <= at + len).then_some((at, len, start))
        });
        if let Some((at, len, start)) = fit {
            free.holes.remove(&at);
            if start > at {
                free.holes.insert(at, start - at);
            }
            if at + len > start + bytes {
                free.holes.insert(start + bytes, at + len - (start + bytes));
            }
            return Some(start);
        }
        let start = free.end.checked_next_multiple_of(align)?;
        let end = start.checked_add(bytes)?;
        if end > self.bytes {
            return None;
        }
        if start > free.end {
            let gap = free.end;
            free.holes.insert(gap, start - gap);
        }
        free.end = end;
        Some(start)
    }

    /// Gives back what `carve` returned; its pages go back to the system and read as zero from then on.
    pub fn release(&self, offset: u64, bytes: u64) {
        let bytes = bytes.next_multiple_of(PAGE);
        if let Ok(len) = usize::try_from(bytes) {
            // By the mapping and not by the descriptor, whose number the program may have closed and used again.
            // SAFETY: the range was carved out of the mapped file and nobody uses it any more. If the call fails the
            // pages merely stay.
            unsafe { libc::madvise(self.host(offset).cast(), len, libc::MADV_REMOVE) };
        }
        let mut free = self.free.lock();
        let (mut at, mut len) = (offset, bytes);
        if let Some((&before, &size)) = free.holes.range(..at).next_back()
            && before + size == at
        {
            free.holes.remove(&before);
            (at, len) = (before, len + size);
        }
        if let Some(size) = free.holes.remove(&(at + len)) {
            len += size;
        }
        if at + len == free.end {
            free.end = at;
        } else {
            free.holes.insert(at, len);
        }
    }
}

/// Device and inode numbers of the open file `fd`.
///
/// # Errors
/// What `fstat` answers.
pub fn identity(fd: RawFd) -> io::Result<(u64, u64)> {
    let mut status = core::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the buffer has the size of the structure; it is read only if the call filled it.
    unsafe {
        if libc::fstat(fd, status.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        let status = status.assume_init();
        Ok((status.st_dev, status.st_ino))
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        let len = usize::try_from(self.bytes).unwrap_or(0);
        // SAFETY: the mapping was made by `new` with this length, and nobody holds a span once the owner is gone.
        unsafe { libc::munmap(self.base.cast(), len) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_parts_are_taken_again_and_merge() {
        let backing = Backing::new().expect("memory file");
        let a = backing.carve(PAGE, PAGE).expect("a");
        let b = backing.carve(1, PAGE).expect("b");
        let c = backing.carve(PAGE, PAGE).expect("c");
        assert_eq!((b, c), (a + PAGE, a + 2 * PAGE));
        backing.release(a, PAGE);
        backing.release(b, 1);
        assert_eq!(backing.carve(2 * PAGE, PAGE), Some(a));
        backing.release(c, PAGE);
        backing.release(a, 2 * PAGE);
        assert_eq!(backing.free.lock().end, 0);
    }

    #[test]
    fn alignment_leaves_a_hole_that_is_used() {
        let backing = Backing::new().expect("memory file");
        let a = backing.carve(PAGE, PAGE).expect("a");
        let big = backing.carve(PAGE, 1 << 21).expect("big");
        assert_eq!(big % (1 << 21), 0);
        assert_eq!(backing.carve(PAGE, PAGE), Some(a + PAGE));
    }

    #[test]
    fn released_pages_read_as_zero() {
        let backing = Backing::new().expect("memory file");
        let at = backing.carve(PAGE, PAGE).expect("a page");
        // SAFETY: the page is mapped and nobody else uses it.
        let page = unsafe { crate::shared::Span::new(backing.host(at), 4096) };
        page.store(8, 77u64);
        backing.release(at, PAGE);
        assert_eq!(page.load::<u64>(8), 0);
    }
}
