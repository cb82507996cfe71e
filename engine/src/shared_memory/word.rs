//! Atomic access to one word at an address.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

macro_rules! atomic_at {
    ($name:ident, $atomic:ty, $integer:ty) => {
        /// The word at `address` as an atomic.
        ///
        /// # Safety
        /// `address` is aligned for the word, lies in memory that stays mapped readable and writable for `'a`, and every
        /// concurrent access to it is a device's or a single machine access of at most that size.
        pub(super) unsafe fn $name<'a>(address: u64) -> &'a $atomic {
            let pointer = std::ptr::with_exposed_provenance_mut::<$integer>(to_usize(address));
            // SAFETY: alignment, validity for 'a and the absence of conflicting plain accesses are the caller's obligations.
            unsafe { <$atomic>::from_ptr(pointer) }
        }
    };
}

atomic_at!(atomic_u16, AtomicU16, u16);
atomic_at!(atomic_u32, AtomicU32, u32);
atomic_at!(atomic_u64, AtomicU64, u64);

/// An address as a pointer-sized integer; the engine exists on 64-bit hosts only.
#[allow(clippy::cast_possible_truncation, reason = "checked by the assertion")]
pub(super) const fn to_usize(address: u64) -> usize {
    const { assert!(usize::BITS == 64, "HSA's large machine model has 64-bit addresses") };
    address as usize
}
