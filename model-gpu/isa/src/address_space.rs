//! GPU virtual memory as the interpreter sees it: a translation from device addresses to host memory.

use std::fmt;

/// What an access does to memory; decides which permission it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// A load.
    Read,
    /// A store.
    Write,
    /// A read-modify-write in one step.
    Atomic,
    /// An instruction fetch.
    Execute,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Atomic => "atomic",
            Access::Execute => "instruction fetch",
        })
    }
}

/// Why an address could not be accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FaultReason {
    /// Nothing is mapped at the address on this agent.
    Unmapped,
    /// The address is mapped without the permission that the access needs.
    Permission,
    /// The address is beyond the wave's scratch allocation.
    ScratchBounds,
    /// An atomic access at an address that is not a multiple of its size.
    Misaligned,
}

impl fmt::Display for FaultReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FaultReason::Unmapped => "nothing is mapped there",
            FaultReason::Permission => "the mapping does not permit it",
            FaultReason::ScratchBounds => "it lies beyond the wave's scratch",
            FaultReason::Misaligned => "an atomic must be aligned to its size",
        })
    }
}

/// An access that memory refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[error("{access} of device address {address:#x}: {reason}")]
pub struct MemoryFault {
    /// The device address of the first byte that could not be accessed.
    pub address: u64,
    /// What was tried.
    pub access: Access,
    /// Why it was refused.
    pub reason: FaultReason,
}

/// A contiguous range of device addresses backed by contiguous host memory.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// First device address of the range.
    pub start: u64,
    /// Bytes in the range; at least 1.
    pub length: u64,
    /// Host address of the byte at `start`.
    pub host: *mut u8,
    /// Accesses go by [`AddressSpace::cache`] and never straight to `host`.
    pub cached: bool,
}

/// A write-back cache in front of memory, shared by all waves that reach it. Memory is named by its host address.
///
/// An access with `through` has system scope: it takes effect in memory before it returns.
pub trait Cache {
    /// Loads `to.len()` bytes; naturally aligned values of up to 8 bytes at once.
    ///
    /// # Safety
    /// The bytes at `host` lie in a cached [`Span`], and the call is made before its promise ends.
    unsafe fn load(&self, host: *mut u8, to: &mut [u8]);

    /// Stores `from`; naturally aligned values of up to 8 bytes at once.
    ///
    /// # Safety
    /// As for [`load`](Self::load), and the span permits writes.
    unsafe fn store(&self, host: *mut u8, from: &[u8], through: bool);

    /// Replaces a value of `bytes` bytes, 4 or 8, by `f` of it in one step; gives the old value.
    ///
    /// # Safety
    /// As for [`store`](Self::store), and `host` is a multiple of `bytes`.
    unsafe fn modify(&self, host: *mut u8, bytes: usize, through: bool, f: &dyn Fn(u64) -> u64) -> u64;

    /// Writes everything that was stored so far to memory.
    fn write_back(&self);
}

/// The memory that a wave can address with FLAT, GLOBAL, SMEM and MUBUF instructions, once LDS and scratch
/// apertures have been taken out.
///
/// The interpreter accesses the returned host memory with relaxed atomic or volatile operations only, so other
/// threads (other waves, the CPU) may access it at the same time.
///
/// # Safety
/// For each `Ok(span)` that [`translate`](Self::translate) returns, the host range
/// `span.host .. span.host + span.length` must stay mapped in this process, readable, and writable if the access was
/// [`Access::Write`] or [`Access::Atomic`], until the call of [`Wave::run`](crate::Wave::run) or
/// [`Workgroup::run`](crate::Workgroup::run) that asked for it returns: translations are cached for that long.
/// The range must contain the address asked for and must not wrap.
pub unsafe trait AddressSpace {
    /// The largest known range around `address` that permits `access`.
    ///
    /// # Errors
    /// [`MemoryFault`] naming `address` when nothing is mapped there or the permission is missing.
    fn translate(&self, address: u64, access: Access) -> Result<Span, MemoryFault>;

    /// The cache in front of spans that say so; must exist if there are any.
    fn cache(&self) -> Option<&dyn Cache> {
        None
    }
}
