//! Copies that go past the caches, as those of a copy engine do.
//!
//! A store that goes past the caches does not first read the line that it fills, which is a third of a large copy's traffic. The
//! processor fetches ahead within a page only, so several pages are read side by side.

const LINE: usize = 64;
const PAGE: usize = 4096;
/// Pages that are read side by side.
const PAGES: usize = 4;

/// Copies.
///
/// # Safety
/// `len` bytes are valid on both sides, which do not overlap.
#[cfg(target_arch = "x86_64")]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    let head = to.align_offset(LINE).min(len);
    let end = head + (len - head) / (PAGES * PAGE) * (PAGES * PAGE);
    // SAFETY: everything from 0 to `len` is touched once, the middle by whole groups of pages and at an aligned target.
    unsafe {
        libc::memcpy(to.cast(), from.cast(), head);
        if std::arch::is_x86_feature_detected!("avx") {
            middle_avx(to.add(head), from.add(head), end - head);
        } else {
            middle(to.add(head), from.add(head), end - head);
        }
        libc::memcpy(to.add(end).cast(), from.add(end).cast(), len - end);
        // These stores are in no order with others: whoever sees the completion is to see all of them.
        core::arch::x86_64::_mm_sfence();
    }
}

/// # Safety
/// As for [`copy`]; `len` is a multiple of the pages read side by side, `to` of a line.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx")]
unsafe fn middle_avx(to: *mut u8, from: *const u8, len: usize) {
    use core::arch::x86_64::{__m256i, _MM_HINT_T0, _mm_prefetch, _mm256_loadu_si256, _mm256_stream_si256};
    for group in (0..len).step_by(PAGES * PAGE) {
        for line in (group..group + PAGE).step_by(2 * LINE) {
            // SAFETY: all lines lie in the group, which lies in `len`; what is fetched ahead need not exist.
            unsafe {
                let mut bytes = [[core::mem::zeroed::<__m256i>(); 4]; PAGES];
                for (page, bytes) in bytes.iter_mut().enumerate() {
                    let source = from.add(line + page * PAGE);
                    _mm_prefetch::<_MM_HINT_T0>(source.wrapping_add(4 * LINE).cast());
                    _mm_prefetch::<_MM_HINT_T0>(source.wrapping_add(5 * LINE).cast());
                    for (part, bytes) in bytes.iter_mut().enumerate() {
                        *bytes = _mm256_loadu_si256(source.cast::<__m256i>().add(part));
                    }
                }
                for (page, bytes) in bytes.into_iter().enumerate() {
                    let target = to.add(line + page * PAGE).cast::<__m256i>();
                    for (part, bytes) in bytes.into_iter().enumerate() {
                        _mm256_stream_si256(target.add(part), bytes);
                    }
                }
            }
        }
    }
}

/// # Safety
/// As for [`middle_avx`].
#[cfg(target_arch = "x86_64")]
unsafe fn middle(to: *mut u8, from: *const u8, len: usize) {
    use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
    for group in (0..len).step_by(PAGES * PAGE) {
        for line in (group..group + PAGE).step_by(LINE) {
            for page in 0..PAGES {
                // SAFETY: the line lies in the group, which lies in `len`.
                unsafe {
                    let source = from.add(line + page * PAGE).cast::<__m128i>();
                    let target = to.add(line + page * PAGE).cast::<__m128i>();
                    let bytes = [0, 1, 2, 3].map(|part| _mm_loadu_si128(source.add(part)));
                    for (part, bytes) in bytes.into_iter().enumerate() {
                        _mm_stream_si128(target.add(part), bytes);
                    }
                }
            }
        }
    }
}

/// # Safety
/// As above.
#[cfg(not(target_arch = "x86_64"))]
pub(super) unsafe fn copy(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller's.
    unsafe { libc::memcpy(to.cast(), from.cast(), len) };
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;

    const LARGE: usize = (2 << 20) + 1;

    #[test]
    fn a_large_copy_moves_exactly_its_bytes_however_they_lie() {
        // SAFETY: here and below, the bytes outlive the span and nothing else touches them meanwhile.
        let span = |bytes: &mut [u8]| unsafe { Span::new(bytes.as_mut_ptr(), bytes.len()) };
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * LARGE).collect();
        for (to, from, len) in [
            (0, 0, LARGE),
            (1, 3, LARGE),
            (63, 64, LARGE + PAGE),
            (7, 0, LARGE + 3 * PAGE + 127),
            (0, 5, PAGE),
        ] {
            let (mut source, mut target) = (bytes.clone(), vec![0xff; 2 * LARGE]);
            span(&mut target[to..to + len]).copy_past_caches(span(&mut source[from..from + len]), len);
            assert!(target[to..to + len] == bytes[from..from + len], "{to} {from} {len}");
            let beside = target[..to].iter().chain(&target[to + len..]);
            assert!(beside.into_iter().all(|byte| *byte == 0xff), "{to} {from} {len}");
        }
    }

    #[test]
    fn a_large_copy_to_memory_that_it_is_read_from_is_as_if_it_were_read_first() {
        // SAFETY: both spans are of one vector that outlives them.
        let span = |bytes: &mut [u8]| unsafe { Span::new(bytes.as_mut_ptr(), bytes.len()) };
        let bytes: Vec<u8> = (0..=250).cycle().take(3 * LARGE).collect();
        for (to, from) in [(1, 0), (0, 1), (LARGE - 1, 0), (0, LARGE - 1), (LARGE, 0)] {
            let mut moved = bytes.clone();
            let (source, target) = (span(&mut moved[from..from + LARGE]), span(&mut moved[to..to + LARGE]));
            target.copy_past_caches(source, LARGE);
            assert!(moved[to..to + LARGE] == bytes[from..from + LARGE], "{from} to {to}");
        }
    }

    /// Without the vector instructions of newer processors.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn older_processors_copy_the_same_bytes() {
        #[repr(align(64))]
        struct Aligned([u8; 2 * PAGES * PAGE]);
        let mut source = Aligned([0; 2 * PAGES * PAGE]);
        source.0.iter_mut().zip((0..=250).cycle()).for_each(|(byte, value)| *byte = value);
        let mut target = Box::new(Aligned([0; 2 * PAGES * PAGE]));
        // SAFETY: both sides have this many bytes, and the target is aligned.
        unsafe { middle(target.0.as_mut_ptr(), source.0.as_ptr(), source.0.len()) };
        core::sync::atomic::fence(core::sync::atomic::Ordering::SeqCst);
        assert!(target.0 == source.0);
    }
}
