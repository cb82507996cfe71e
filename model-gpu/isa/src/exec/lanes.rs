//! Tight loops over the 64 lanes of a wave.
//!
//! [`wide_fn`] compiles a loop twice: for AVX2 with FMA, and for hosts without, chosen at run time. The operation is a closure
//! that is inlined into both. There are some thousand of these loops, so what is the same for many is kept out of them: the
//! copy for old hosts calls functions for its operands, and both do for operands that are rare.

use crate::WAVE_SIZE;

/// A register's worth of values.
pub(crate) type Row<T> = [T; WAVE_SIZE];

/// Whether the host has the wide instructions. A build with `--cfg model_gpu_narrow` acts as on a host without.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn wide() -> bool {
    !cfg!(model_gpu_narrow)
        && std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("fma")
}

/// Defines a generic function twice: compiled for AVX2 with FMA, where its body becomes wide as a whole with everything that
/// is inlined into it, and for the build's own target. The body may have another form for the second, after `else`.
macro_rules! wide_fn {
    ($(#[$meta:meta])* fn $name:ident / $wide:ident / $body:ident
     [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty $block:block) => {
        #[inline(always)]
        fn $body<$($generics)*>($($arg: $ty),*) -> $ret $block

        crate::exec::lanes::wide_fn! { @ $(#[$meta])* $name $wide $body $body [$($generics)*] ($($arg: $ty),*) -> $ret }
    };
    ($(#[$meta:meta])* fn $name:ident / $wide:ident / $body:ident
     [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty $block:block else $old:ident $other:block) => {
        #[inline(always)]
        fn $body<$($generics)*>($($arg: $ty),*) -> $ret $block

        #[inline(never)]
        fn $old<$($generics)*>($($arg: $ty),*) -> $ret $other

        crate::exec::lanes::wide_fn! { @ $(#[$meta])* $name $wide $body $old [$($generics)*] ($($arg: $ty),*) -> $ret }
    };
    (@ $(#[$meta:meta])* $name:ident $wide:ident $body:ident $old:ident
     [$($generics:tt)*] ($($arg:ident : $ty:ty),*) -> $ret:ty) => {
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma")]
        fn $wide<$($generics)*>($($arg: $ty),*) -> $ret {
            $body($($arg),*)
        }

        $(#[$meta])*
        #[inline(always)]
        pub(crate) fn $name<$($generics)*>($($arg: $ty),*) -> $ret {
            #[cfg(target_arch = "x86_64")]
            if crate::exec::lanes::wide() {
                // SAFETY: the host has AVX2 and FMA, which is all that the function requires of its caller.
                return unsafe { $wide($($arg),*) };
            }
            $old($($arg),*)
        }
    };
}

pub(crate) use wide_fn;

macro_rules! mapping {
    ($name:ident, $($arg:ident : $ty:ident),+) => {
        /// Applies `f` to every lane.
        #[inline(always)]
        pub(crate) fn $name<$($ty: Copy,)+ R: Copy + Default>(
            $($arg: &Row<$ty>,)+
            f: impl Fn($($ty),+) -> R,
        ) -> Row<R> {
            let mut out = [R::default(); WAVE_SIZE];
            for lane in 0..WAVE_SIZE {
                out[lane] = f($($arg[lane]),+);
            }
            out
        }
    };
}

mapping!(map1, a: A);
mapping!(map2, a: A, b: B);
mapping!(map3, a: A, b: B, c: C);

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
