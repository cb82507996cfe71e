//! The one place that names locks and atomics, so that a model checker can put its own in their place.

pub(crate) use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};
pub(crate) use std::sync::Arc;
pub(crate) use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering, fence};

/// [`fence`] of order `SeqCst` for a thread that has just let a [`Mutex`] go, without the cost of another.
///
/// This rests on `parking_lot` 0.12: letting its lock go is a compare-and-swap, since it may find sleepers; in that case the lock of their list is let go after it, by
/// a read-modify-write too. On x86 these are locked instructions, which neither loads nor stores pass (Intel SDM volume 3, "Memory
/// Ordering"; AMD64 APM volume 2, "Memory System"). Only the compiler is left to be kept from moving a load up.
#[inline]
pub(crate) fn fence_after_unlock() {
    #[cfg(target_arch = "x86_64")]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}
