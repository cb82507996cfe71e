//! Tight loops over the 64 lanes of a wave.
//!
//! Each loop exists twice: compiled for the build's own target, and for AVX2 with FMA where the host has it, chosen at
//! run time. The operation is a closure that is inlined into both.

use crate::WAVE_SIZE;

/// A register's worth of values.
pub(crate) type Row<T> = [T; WAVE_SIZE];

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

macro_rules! mapping {
    ($name:ident, $body:ident, $wide:ident, $($arg:ident : $ty:ident),+) => {
        #[inline(always)]
        fn $body<$($ty: Copy,)+ R: Copy + Default>($($arg: &Row<$ty>,)+ f: impl Fn($($ty),+) -> R) -> Row<R> {
            let mut out = [R::default(); WAVE_SIZE];
            for lane in 0..WAVE_SIZE {
                out[lane] = f($($arg[lane]),+);
            }
            out
        }

        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $wide<$($ty: Copy,)+ R: Copy + Default>($($arg: &Row<$ty>,)+ f: impl Fn($($ty),+) -> R) -> Row<R> {
            $body($($arg,)+ f)
        }

        /// Applies `f` to every lane.
        #[inline(always)]
        pub(crate) fn $name<$($ty: Copy,)+ R: Copy + Default>(
            $($arg: &Row<$ty>,)+
            f: impl Fn($($ty),+) -> R,
        ) -> Row<R> {
            #[cfg(target_arch = "x86_64")]
            if wide() {
                // SAFETY: the host has AVX2 and FMA, which is all that the function requires of its caller.
                return unsafe { $wide($($arg,)+ f) };
            }
            $body($($arg,)+ f)
        }
    };
}

mapping!(map1, map1_body, map1_wide, a: A);
mapping!(map2, map2_body, map2_wide, a: A, b: B);
mapping!(map3, map3_body, map3_wide, a: A, b: B, c: C);

/// Copies `from` to `to` in the lanes of `mask`.
#[inline(always)]
pub(crate) fn blend(to: &mut Row<u32>, from: &Row<u32>, mask: u64) {
    if mask == u64::MAX {
        *to = *from;
        return;
    }
    for lane in 0..WAVE_SIZE {
        if mask >> lane & 1 == 1 {
            to[lane] = from[lane];
        }
    }
}

/// A mask with the bit of each lane for which the row is true.
#[inline(always)]
pub(crate) fn collect(row: &Row<bool>) -> u64 {
    let mut mask = 0;
    for (lane, bit) in row.iter().enumerate() {
        mask |= u64::from(*bit) << lane;
    }
    mask
}

/// The lanes of a mask, in ascending order.
pub(crate) fn active(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        if mask == 0 {
            return None;
        }
        let lane = mask.trailing_zeros() as usize;
        mask &= mask - 1;
        Some(lane)
    })
}
