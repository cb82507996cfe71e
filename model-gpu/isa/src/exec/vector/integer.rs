//! 32-bit and 64-bit integer arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::apply::{apply2, vector_ops};
use crate::instruction::{Op, Traits};
use crate::operand::Ty;

/// An addition or subtraction that saturates with CLAMP.
macro_rules! saturating {
    ($($name:ident($ty:ty, $kind:ident) $wrapping:expr, $saturating:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| {
                if inst.clamp {
                    let f: fn($ty, $ty) -> $ty = $saturating;
                    apply2(cx, inst, f)
                } else {
                    apply2(cx, inst, $wrapping)
                }
            },
            dst: Ty::$kind,
            src: [Ty::$kind, Ty::$kind, Ty::None],
            traits: Traits { integer_clamp: true, ..Traits::NONE },
        };
    )* };
}

saturating! {
    v_add_u32(u32, B32) |a: u32, b: u32| a.wrapping_add(b), |a, b| a.saturating_add(b);
    v_sub_u32(u32, B32) |a: u32, b: u32| a.wrapping_sub(b), |a, b| a.saturating_sub(b);
    v_subrev_u32(u32, B32) |a: u32, b: u32| b.wrapping_sub(a), |a, b| b.saturating_sub(a);
    v_add_i32(i32, B32) |a: i32, b: i32| a.wrapping_add(b), |a, b| a.saturating_add(b);
    v_sub_i32(i32, B32) |a: i32, b: i32| a.wrapping_sub(b), |a, b| a.saturating_sub(b);
    v_add_u16(u16, B16) |a: u16, b: u16| a.wrapping_add(b), |a, b| a.saturating_add(b);
    v_sub_u16(u16, B16) |a: u16, b: u16| a.wrapping_sub(b), |a, b| a.saturating_sub(b);
    v_subrev_u16(u16, B16) |a: u16, b: u16| b.wrapping_sub(a), |a, b| b.saturating_sub(a);
}

vector_ops! {
    v_mul_i32_i24(a: u32, b: u32) -> u32 { (signed24(a) * signed24(b)) as u32 }
    v_mul_hi_i32_i24(a: u32, b: u32) -> u32 { ((signed24(a) * signed24(b)) >> 32) as u32 }
    v_mul_u32_u24(a: u32, b: u32) -> u32 { (unsigned24(a) * unsigned24(b)) as u32 }
    v_mul_hi_u32_u24(a: u32, b: u32) -> u32 { ((unsigned24(a) * unsigned24(b)) >> 32) as u32 }
    v_mad_i32_i24(a: u32, b: u32, c: u32) -> u32 { ((signed24(a) * signed24(b)) as u32).wrapping_add(c) }
    v_mad_u32_u24(a: u32, b: u32, c: u32) -> u32 { ((unsigned24(a) * unsigned24(b)) as u32).wrapping_add(c) }

    v_mul_lo_u32(a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    v_mul_hi_u32(a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    v_mul_hi_i32(a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }

    v_min_i32(a: i32, b: i32) -> i32 { a.min(b) }
    v_max_i32(a: i32, b: i32) -> i32 { a.max(b) }
    v_min_u32(a: u32, b: u32) -> u32 { a.min(b) }
    v_max_u32(a: u32, b: u32) -> u32 { a.max(b) }
    v_min3_i32(a: i32, b: i32, c: i32) -> i32 { a.min(b).min(c) }
    v_max3_i32(a: i32, b: i32, c: i32) -> i32 { a.max(b).max(c) }
    v_med3_i32(a: i32, b: i32, c: i32) -> i32 { a.min(b).max(a.max(b).min(c)) }
    v_min3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).min(c) }
    v_max3_u32(a: u32, b: u32, c: u32) -> u32 { a.max(b).max(c) }
    v_med3_u32(a: u32, b: u32, c: u32) -> u32 { a.min(b).max(a.max(b).min(c)) }
    v_add3_u32(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b).wrapping_add(c) }

    v_mad_u32_u16(a: u16, b: u16, c: u32) -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) }
    v_mad_i32_i16(a: i16, b: i16, c: i32) -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) }

    v_sad_u32(a: u32, b: u32, c: u32) -> u32 { a.abs_diff(b).wrapping_add(c) }
    v_sad_u16(a: u32, b: u32, c: u32) -> u32 {
        c.wrapping_add((a & 0xffff).abs_diff(b & 0xffff)).wrapping_add((a >> 16).abs_diff(b >> 16))
    }
    v_sad_u8(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(byte_differences(a, b)) }
    v_sad_hi_u8(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(byte_differences(a, b) << 16) }
    v_msad_u8(a: u32, b: u32, c: u32) -> u32 { c.wrapping_add(masked_differences(a, b)) }
    v_lerp_u8(a: u32, b: u32, c: u32) -> u32 {
        let (a, b, c) = (a.to_le_bytes(), b.to_le_bytes(), c.to_le_bytes());
        u32::from_le_bytes(std::array::from_fn(|n| {
            ((u16::from(a[n]) + u16::from(b[n]) + u16::from(c[n] & 1)) >> 1) as u8
        }))
    }
    v_qsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 { sad_windows(a, b, c, byte_differences) }
    v_mqsad_pk_u16_u8(a: u64, b: u32, c: u64) -> u64 { sad_windows(a, b, c, masked_differences) }

    v_cvt_pk_u16_u32(a: u32, b: u32) -> u32 { a.min(0xffff) | b.min(0xffff) << 16 }
    v_cvt_pk_i16_i32(a: i32, b: i32) -> u32 {
        let narrow = |value: i32| u32::from(value.clamp(-0x8000, 0x7fff) as u16);
        narrow(a) | narrow(b) << 16
    }
    v_sat_pk_u8_i16(a: u32) -> u32 {
        let narrow = |value: u32| i32::from(value as u16 as i16).clamp(0, 255) as u32;
        narrow(a) | narrow(a >> 16) << 8
    }
}

fn signed24(value: u32) -> i64 {
    i64::from((value << 8) as i32 >> 8)
}

fn unsigned24(value: u32) -> u64 {
    u64::from(value & 0xff_ffff)
}

fn byte_differences(a: u32, b: u32) -> u32 {
    a.to_le_bytes().into_iter().zip(b.to_le_bytes()).map(|(a, b)| u32::from(a.abs_diff(b))).sum()
}

/// Bytes whose reference (second operand) is zero do not count.
pub(super) fn masked_differences(a: u32, b: u32) -> u32 {
    a.to_le_bytes()
        .into_iter()
        .zip(b.to_le_bytes())
        .filter(|(_, b)| *b != 0)
        .map(|(a, b)| u32::from(a.abs_diff(b)))
        .sum()
}

/// The four sums of the windows at bytes 0 to 3 of `a`, each added to a 16-bit part of `c`.
fn sad_windows(a: u64, b: u32, c: u64, sum: impl Fn(u32, u32) -> u32) -> u64 {
    (0..4).fold(0, |acc, n| {
        let part = (c >> (16 * n)) as u16;
        acc | u64::from(part.wrapping_add(sum((a >> (8 * n)) as u32, b) as u16)) << (16 * n)
    })
}
