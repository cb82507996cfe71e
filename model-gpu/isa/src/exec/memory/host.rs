//! Volatile and atomic access to host memory that other threads access too.
//!
//! Aligned accesses are single relaxed atomic operations; others are made of bytes. Read-modify-writes are sequentially
//! consistent host atomics.

use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

macro_rules! access {
    ($load:ident, $store:ident, $ty:ty, $atomic:ty) => {
        /// # Safety
        /// The bytes at `at` must be mapped and readable, and stay so during the call; others may access them, but
        /// only as this module does or from another process or the CPU side of the program.
        #[inline(always)]
        pub(crate) unsafe fn $load(at: *mut u8) -> $ty {
            const SIZE: usize = size_of::<$ty>();
            if at.addr().is_multiple_of(SIZE) {
                // SAFETY: aligned by the check; mapped by the caller's promise; no reference outlives the expression.
                return unsafe { <$atomic>::from_ptr(at.cast()) }.load(Ordering::Relaxed);
            }
            let mut bytes = [0; SIZE];
            for (n, byte) in bytes.iter_mut().enumerate() {
                // SAFETY: a byte is always aligned; it lies in the mapped range by the caller's promise.
                *byte = unsafe { AtomicU8::from_ptr(at.add(n)) }.load(Ordering::Relaxed);
            }
            <$ty>::from_le_bytes(bytes)
        }

        /// # Safety
        /// As for loads, and the bytes must be writable.
        #[inline(always)]
        pub(crate) unsafe fn $store(at: *mut u8, value: $ty) {
            const SIZE: usize = size_of::<$ty>();
            if at.addr().is_multiple_of(SIZE) {
                // SAFETY: aligned by the check; mapped and writable by the caller's promise.
                unsafe { <$atomic>::from_ptr(at.cast()) }.store(value, Ordering::Relaxed);
                return;
            }
            for (n, byte) in value.to_le_bytes().into_iter().enumerate() {
                // SAFETY: a byte is always aligned; it lies in the mapped range by the caller's promise.
                unsafe { AtomicU8::from_ptr(at.add(n)) }.store(byte, Ordering::Relaxed);
            }
        }
    };
}

access!(load8, store8, u8, AtomicU8);
access!(load16, store16, u16, AtomicU16);
access!(load32, store32, u32, AtomicU32);
access!(load64, store64, u64, AtomicU64);

macro_rules! modify {
    ($name:ident, $ty:ty, $atomic:ty) => {
        /// Replaces the value by `f` of it in one step; gives the old value.
        ///
        /// # Safety
        /// As for stores, and `at` must be a multiple of the value's size.
        pub(crate) unsafe fn $name(at: *mut u8, f: impl Fn($ty) -> $ty) -> $ty {
            // SAFETY: aligned, mapped and writable by the caller's promise.
            let atomic = unsafe { <$atomic>::from_ptr(at.cast()) };
            let mut old = atomic.load(Ordering::Relaxed);
            loop {
                match atomic.compare_exchange_weak(old, f(old), Ordering::SeqCst, Ordering::Relaxed) {
                    Ok(_) => return old,
                    Err(seen) => old = seen,
                }
            }
        }
    };
}

modify!(modify32, u32, AtomicU32);
modify!(modify64, u64, AtomicU64);
