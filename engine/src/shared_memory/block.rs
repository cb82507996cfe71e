//! Host memory of the engine's own that devices reach.

use super::word::to_usize;
use crate::runtime::{Runtime, RuntimeResult};
use crate::sync::Arc;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};

/// An allocation of [`Runtime::allocate_host`], freed when dropped.
pub(crate) struct HostBlock {
    runtime: Arc<dyn Runtime>,
    address: u64,
    bytes: u64,
}

impl fmt::Debug for HostBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostBlock({:#x}, {} bytes)", self.address, self.bytes)
    }
}

impl HostBlock {
    pub(crate) fn new(runtime: &Arc<dyn Runtime>, bytes: u64) -> RuntimeResult<Self> {
        let address = runtime.allocate_host(bytes)?;
        Ok(Self { runtime: Arc::clone(runtime), address, bytes })
    }

    pub(crate) fn runtime(&self) -> &Arc<dyn Runtime> {
        &self.runtime
    }

    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of a range. Whoever lets a device write to the block (see [`crate::copy`]) looks only at ranges to which no copy
    /// is in flight.
    pub(crate) fn slice(&self, range: Range<u64>) -> &[u8] {
        assert!(range.start <= range.end && range.end <= self.bytes, "range {range:?} outside of {self:?}");
        let start = std::ptr::with_exposed_provenance::<u8>(to_usize(self.address + range.start));
        // SAFETY: the range lies in memory that the runtime gave to this value alone, zeroed and thus initialised; the host
        // writes only by `&mut self`, and devices do not write to it now, by the condition above.
        unsafe { std::slice::from_raw_parts(start, to_usize(range.end - range.start)) }
    }

    /// The same for writing.
    pub(crate) fn slice_mut(&mut self, range: Range<u64>) -> &mut [u8] {
        assert!(range.start <= range.end && range.end <= self.bytes, "range {range:?} outside of {self:?}");
        let start = std::ptr::with_exposed_provenance_mut::<u8>(to_usize(self.address + range.start));
        // SAFETY: as in `slice`; `&mut self` excludes other slices.
        unsafe { std::slice::from_raw_parts_mut(start, to_usize(range.end - range.start)) }
    }

    /// Puts bytes at the start of the block.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.slice_mut(0..bytes.len() as u64).copy_from_slice(bytes);
    }

    /// Gives the memory up without freeing it, because a device may still write there.
    pub(crate) fn leak(self) {
        std::mem::forget(self);
    }
}

/// Bytes of host memory that the application or the device may be writing, one at a time.
///
/// The caller has found out that the range is mapped: the inventory or the runtime knows it as host memory.
pub(crate) fn read_host(address: u64, bytes: u64) -> Vec<u8> {
    (address..address + bytes)
        .map(|address| {
            let byte = std::ptr::with_exposed_provenance_mut::<u8>(to_usize(address));
            // SAFETY: the range is mapped by the condition above, and an atomic access of a byte needs no alignment.
            unsafe { AtomicU8::from_ptr(byte) }.load(Ordering::Relaxed)
        })
        .collect()
}

impl Drop for HostBlock {
    fn drop(&mut self) {
        if let Err(error) = self.runtime.free_host(self.address) {
            tracing::warn!("{} bytes of host memory stay allocated: {error}", self.bytes);
        }
    }
}
