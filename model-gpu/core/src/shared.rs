//! Volatile and atomic access to memory that the host program and the device share.
//!
//! Rings, signals, kernel arguments and buffers are written by the program at any time, so nothing here ever makes
//! a reference into them: a [`Span`] hands out loads, stores, atomics and bulk copies, all bounds-checked.
//! This file is trusted with every such access of the device.

mod stream;

use core::marker::PhantomData;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// An integer that a [`Span`] can load and store whole.
pub trait Word: Copy {
    /// Size in bytes.
    const BYTES: usize;
    /// Loads with acquire order when aligned, byte by byte otherwise.
    ///
    /// # Safety
    /// `at` is valid for reads of `Self::BYTES` bytes.
    unsafe fn load(at: *mut u8) -> Self;
    /// Stores with release order when aligned, byte by byte otherwise.
    ///
    /// # Safety
    /// `at` is valid for writes of `Self::BYTES` bytes.
    unsafe fn store(self, at: *mut u8);
}

macro_rules! word {
    ($int:ty, $atomic:ty) => {
        impl Word for $int {
            const BYTES: usize = size_of::<$int>();
            unsafe fn load(at: *mut u8) -> Self {
                let typed = at.cast::<$int>();
                if typed.is_aligned() {
                    // SAFETY: valid by this function's contract, aligned by the test; atomics tolerate other writers.
                    unsafe { <$atomic>::from_ptr(typed) }.load(Ordering::Acquire)
                } else {
                    let mut bytes = [0u8; size_of::<$int>()];
                    for (i, byte) in bytes.iter_mut().enumerate() {
                        // SAFETY: `i` is below `BYTES`, and `at` is valid for that many bytes.
                        *byte = unsafe { at.add(i).read_volatile() };
                    }
                    <$int>::from_ne_bytes(bytes)
                }
            }
            unsafe fn store(self, at: *mut u8) {
                let typed = at.cast::<$int>();
                if typed.is_aligned() {
                    // SAFETY: valid by this function's contract, aligned by the test; atomics tolerate other writers.
                    unsafe { <$atomic>::from_ptr(typed) }.store(self, Ordering::Release);
                } else {
                    for (i, byte) in self.to_ne_bytes().into_iter().enumerate() {
                        // SAFETY: `i` is below `BYTES`, and `at` is valid for that many bytes.
                        unsafe { at.add(i).write_volatile(byte) };
                    }
                }
            }
        }
    };
}

word!(u8, AtomicU8);
word!(u16, AtomicU16);
word!(u32, AtomicU32);
word!(u64, AtomicU64);

/// A piece of host memory that stays mapped for `'v`, while others may write it.
#[derive(Clone, Copy, Debug)]
pub struct Span<'v> {
    at: *mut u8,
    bytes: usize,
    view: PhantomData<&'v ()>,
}

impl<'v> Span<'v> {
    /// Names `bytes` bytes at `at`.
    ///
    /// # Safety
    /// The bytes stay mapped for `'v`, readable, and writable too if the span is ever stored to.
    #[must_use]
    pub unsafe fn new(at: *mut u8, bytes: usize) -> Self {
        Self { at, bytes, view: PhantomData }
    }

    /// Address of the first byte.
    #[must_use]
    pub(crate) fn start(self) -> *mut u8 {
        self.at
    }

    /// Length in bytes.
    #[must_use]
    pub fn len(self) -> usize {
        self.bytes
    }

    /// Whether the span is empty.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.bytes == 0
    }

    /// Address of `len` bytes at `offset`.
    fn address(self, offset: usize, len: usize) -> *mut u8 {
        assert!(
            offset <= self.bytes && len <= self.bytes - offset,
            "access of {len} at {offset} beyond {}",
            self.bytes
        );
        // SAFETY: the assertion keeps the result inside the span, which is one mapped object.
        unsafe { self.at.add(offset) }
    }

    /// Loads one word (acquire).
    #[must_use]
    pub fn load<T: Word>(self, offset: usize) -> T {
        // SAFETY: `address` checked the bounds; the span's maker promised that the bytes are readable.
        unsafe { T::load(self.address(offset, T::BYTES)) }
    }

    /// Stores one word (release).
    pub fn store<T: Word>(self, offset: usize, value: T) {
        // SAFETY: `address` checked the bounds; the span's maker promised that the bytes are writable.
        unsafe { value.store(self.address(offset, T::BYTES)) }
    }

    /// The 32-bit atomic at `offset`, or nothing if that is not a multiple of four.
    #[must_use]
    pub fn atomic_u32(self, offset: usize) -> Option<&'v AtomicU32> {
        let at = self.address(offset, 4).cast::<u32>();
        // SAFETY: in bounds, mapped for `'v` by the maker's promise, aligned by the test.
        at.is_aligned().then(|| unsafe { AtomicU32::from_ptr(at) })
    }

    /// The 64-bit atomic at `offset`, or nothing if that is not a multiple of eight.
    #[must_use]
    pub fn atomic_u64(self, offset: usize) -> Option<&'v AtomicU64> {
        let at = self.address(offset, 8).cast::<u64>();
        // SAFETY: in bounds, mapped for `'v` by the maker's promise, aligned by the test.
        at.is_aligned().then(|| unsafe { AtomicU64::from_ptr(at) })
    }

    /// Copies the start of the span out to `to`.
    pub fn copy_out(self, to: &mut [u8]) {
        let from = self.address(0, to.len());
        // SAFETY: both sides are valid for `to.len()` bytes; `to` is ours alone, and `memmove` is opaque to the
        // compiler, so a concurrent writer can only mix old and new bytes.
        unsafe { libc::memmove(to.as_mut_ptr().cast(), from.cast(), to.len()) };
    }

    /// Copies `from` to the start of the span.
    pub fn copy_in(self, from: &[u8]) {
        let to = self.address(0, from.len());
        // SAFETY: as in `copy_out`, with the sides exchanged.
        unsafe { libc::memmove(to.cast(), from.as_ptr().cast(), from.len()) };
    }

    /// Copies `len` bytes from the start of `from`; the two may overlap.
    pub fn copy_from(self, from: Span<'_>, len: usize) {
        let (to, from) = (self.address(0, len), from.address(0, len));
        // SAFETY: both sides are checked to hold `len` mapped bytes, and `memmove` allows overlap.
        unsafe { libc::memmove(to.cast(), from.cast(), len) };
    }

    /// As [`Span::copy_from`], past the caches: faster for what is larger than they are, slower for who reads the bytes next.
    pub fn copy_past_caches(self, from: Span<'_>, len: usize) {
        let (target, source) = (self.address(0, len), from.address(0, len));
        if target.addr().abs_diff(source.addr()) < len {
            return self.copy_from(from, len);
        }
        // SAFETY: both sides are checked to hold `len` mapped bytes, and they do not overlap.
        unsafe { stream::copy(target, source, len) };
    }

    /// Fills the first `len` bytes with the byte pattern of `word`, starting at its lowest byte.
    pub fn fill(self, word: u32, len: usize) {
        let to = self.address(0, len);
        let pattern = word.to_le_bytes();
        if pattern.iter().all(|b| *b == pattern[0]) {
            // SAFETY: `address` checked that `len` bytes are ours to write.
            unsafe { libc::memset(to.cast(), i32::from(pattern[0]), len) };
            return;
        }
        for at in (0..len).step_by(4) {
            let rest = (len - at).min(4);
            if rest == 4 {
                self.store(at, word);
            } else {
                for (i, byte) in pattern.iter().take(rest).enumerate() {
                    self.store(at + i, *byte);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_words_round_trip() {
        let mut bytes = [0u8; 16];
        // SAFETY: the array outlives the span and nothing else touches it meanwhile.
        let span = unsafe { Span::new(bytes.as_mut_ptr(), 16) };
        span.store(3, 0x0102_0304_0506_0708_u64);
        assert_eq!(span.load::<u64>(3), 0x0102_0304_0506_0708);
        assert_eq!(span.load::<u8>(2), 0);
        assert!(span.atomic_u32(if (bytes.as_ptr() as usize).is_multiple_of(4) { 1 } else { 0 }).is_none());
    }

    #[test]
    fn fill_repeats_the_word_and_cuts_the_tail() {
        let mut bytes = [0u8; 8];
        // SAFETY: the array outlives the span and nothing else touches it meanwhile.
        unsafe { Span::new(bytes.as_mut_ptr(), 8) }.fill(0x4433_2211, 7);
        assert_eq!(bytes, [0x11, 0x22, 0x33, 0x44, 0x11, 0x22, 0x33, 0]);
    }

    #[test]
    #[should_panic(expected = "beyond 4")]
    fn an_access_beyond_the_span_is_refused() {
        let mut bytes = [0u8; 4];
        // SAFETY: the array outlives the span and nothing else touches it meanwhile.
        let _ = unsafe { Span::new(bytes.as_mut_ptr(), 4) }.load::<u64>(0);
    }
}
