//! Double-precision arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::apply::vector_ops;
use crate::float::Fp;
use crate::float::arithmetic::{add64, fma64, mul64};
use crate::float::classify::{Float as _, maximum, minimum};
use crate::float::transcendental as fun;

vector_ops! {
    v_add_f64(fp; a: f64, b: f64) -> f64 { add64(fp, a, b) }
    v_mul_f64(fp; a: f64, b: f64) -> f64 { mul64(fp, a, b) }
    v_fma_f64(fp; a: f64, b: f64, c: f64) -> f64 { fma64(fp, a, b, c) }
    v_fmac_f64(fp; a: f64, b: f64, c: f64) -> f64 [accumulate: true] { fma64(fp, a, b, c) }
    v_min_f64(fp; a: f64, b: f64) -> f64 { fp.flush_out64(minimum(fp.ieee, a, b)) }
    v_max_f64(fp; a: f64, b: f64) -> f64 { fp.flush_out64(maximum(fp.ieee, a, b)) }

    v_trunc_f64(fp; a: f64) -> f64 { rounded(a, f64::trunc, fp) }
    v_ceil_f64(fp; a: f64) -> f64 { rounded(a, f64::ceil, fp) }
    v_floor_f64(fp; a: f64) -> f64 { rounded(a, f64::floor, fp) }
    v_rndne_f64(fp; a: f64) -> f64 { rounded(a, f64::round_ties_even, fp) }
    v_fract_f64(fp; a: f64) -> f64 {
        if a.is_nan() || a.is_infinite() {
            if a.is_nan() { a.quiet() } else { f64::INVALID }
        } else {
            fp.flush_out64((a - a.floor()).min(f64::from_bits(0x3fef_ffff_ffff_ffff)))
        }
    }

    v_rcp_f64(fp; a: f64) -> f64 { fp.flush_out64(fun::rcp64(a)) }
    v_rsq_f64(fp; a: f64) -> f64 { fp.flush_out64(fun::rsq64(a)) }
    v_sqrt_f64(fp; a: f64) -> f64 { fp.flush_out64(fun::sqrt64(a)) }

    v_frexp_exp_i32_f64(a: f64) -> i32 {
        if a.is_nan() || a.is_infinite() || a == 0.0 { 0 } else { exponent(a) }
    }
    v_frexp_mant_f64(a: f64) -> f64 {
        if a.is_nan() {
            a.quiet()
        } else if a.is_infinite() || a == 0.0 {
            a
        } else {
            scale(a, -exponent(a))
        }
    }
    v_ldexp_f64(fp; a: f64, b: i32) -> f64 {
        if a.is_nan() { a.quiet() } else { fp.flush_out64(ldexp(fp, a, b)) }
    }
    v_trig_preop_f64(a: f64, b: u32) -> f64 { trig_preop(a, b) }
}

fn rounded(a: f64, f: impl Fn(f64) -> f64, fp: Fp) -> f64 {
    if a.is_nan() { a.quiet() } else { fp.flush_out64(f(a)) }
}

/// The exponent that makes the mantissa lie in 0.5 to 1, for a finite number other than zero.
#[allow(clippy::cast_possible_truncation, reason = "an exponent has 11 bits")]
pub(crate) fn exponent(a: f64) -> i32 {
    if a.is_subnormal() {
        return exponent(a * 2.0_f64.powi(64)) - 64;
    }
    (a.to_bits() >> 52 & 0x7ff) as i32 - 1022
}

/// `a * 2^by`, in steps that do not leave the range before the last one; exact unless the end result is denormal.
fn scale(a: f64, by: i32) -> f64 {
    let mut value = a;
    let mut left = by.clamp(-2200, 2200);
    while left > 1000 {
        value *= 2.0_f64.powi(1000);
        left -= 1000;
    }
    while left < -1000 {
        value *= 2.0_f64.powi(-1000);
        left += 1000;
    }
    value * 2.0_f64.powi(left)
}

/// `a * 2^by` rounded once: the mantissa is scaled exactly to an exponent from which one multiplication remains.
fn ldexp(fp: Fp, a: f64, by: i32) -> f64 {
    if a == 0.0 || a.is_infinite() {
        return a;
    }
    let power = exponent(a);
    let mantissa = scale(a, -power);
    let total = power.saturating_add(by).clamp(-1300, 1300);
    if total < -1000 {
        // mantissa * 2^-1000 is exact; the last step rounds.
        return mul64(fp, mantissa * 2.0_f64.powi(-900), scale(1.0, total + 900));
    }
    mul64(fp, mantissa * 2.0_f64.powi(total.min(1000)), scale(1.0, (total - 1000).max(0)))
}

/// Bits of 2/pi after the binary point, most significant first.
const TWO_OVER_PI: [u64; 19] = [
    0xa2f9_836e_4e44_1529,
    0xfc27_57d1_f534_ddc0,
    0xdb62_9599_3c43_9041,
    0xfe51_63ab_debb_c561,
    0xb724_6e3a_424d_d2e0,
    0x0649_2eea_09d1_921c,
    0xfe1d_eb1c_b129_a73e,
    0xe882_35f5_2ebb_4484,
    0xe99c_7026_b45f_7e41,
    0x3991_d639_8353_39f4,
    0x9c84_5f8b_bdf9_283b,
    0x1ff8_97ff_de05_980f,
    0xef2f_118b_5a0a_6d1f,
    0x6d36_7ecf_27cb_09b7,
    0x4f46_3f66_9e5f_ea2d,
    0x7527_bac7_ebe5_f17b,
    0x3d07_39f7_8a52_92ea,
    0x6bfb_5fb1_1f8d_5d08,
    0x5603_3046_fc7b_6bab,
];

/// A 53-bit piece of 2/pi for argument reduction: piece `segment` (of which five bits count), shifted by the exponent
/// of `a`, scaled by the place of the piece.
#[allow(clippy::cast_precision_loss, reason = "53 bits fit")]
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "exponents and shifts are small"
)]
fn trig_preop(a: f64, segment: u32) -> f64 {
    let raw_exponent = (a.to_bits() >> 52 & 0x7ff) as i32;
    let mut shift = (segment & 31) as i32 * 53;
    if raw_exponent > 1077 {
        shift += raw_exponent - 1077;
    }
    let bit = |n: i32| -> u64 {
        let word = usize::try_from(n / 64).unwrap_or(usize::MAX);
        TWO_OVER_PI.get(word).map_or(0, |word| word >> (63 - n % 64) & 1)
    };
    let piece = (0..53).fold(0u64, |acc, n| acc << 1 | bit(shift + n));
    let mut power = -53 - shift;
    if raw_exponent >= 1968 {
        power += 128;
    }
    scale(piece as f64, power)
}
