//! Single-precision arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::apply::vector_ops;
use crate::float::Fp;
use crate::float::arithmetic::{add32, fma32, mul32};
use crate::float::classify::{Float as _, maximum, median, minimum};
use crate::float::transcendental as fun;
use crate::instruction::Literal;

vector_ops! {
    v_add_f32(fp; a: f32, b: f32) -> f32 { add32(fp, a, b) }
    v_sub_f32(fp; a: f32, b: f32) -> f32 { add32(fp, a, -b) }
    v_subrev_f32(fp; a: f32, b: f32) -> f32 { add32(fp, b, -a) }
    v_mul_f32(fp; a: f32, b: f32) -> f32 { mul32(fp, a, b) }
    v_mul_legacy_f32(fp; a: f32, b: f32) -> f32 { if a == 0.0 || b == 0.0 { 0.0 } else { mul32(fp, a, b) } }
    v_fma_f32(fp; a: f32, b: f32, c: f32) -> f32 { fma32(fp, a, b, c) }
    v_fmac_f32(fp; a: f32, b: f32, c: f32) -> f32 [accumulate: true] { fma32(fp, a, b, c) }
    v_fmamk_f32(fp; a: f32, b: f32, c: f32) -> f32 [literal: Literal::Multiplier] { fma32(fp, a, b, c) }
    v_fmaak_f32(fp; a: f32, b: f32, c: f32) -> f32 [literal: Literal::Addend] { fma32(fp, a, b, c) }

    v_mac_f32(fp; a: f32, b: f32, c: f32) -> f32 [accumulate: true] { mad32(fp, a, b, c) }
    v_madmk_f32(fp; a: f32, b: f32, c: f32) -> f32 [literal: Literal::Multiplier] { mad32(fp, a, b, c) }
    v_madak_f32(fp; a: f32, b: f32, c: f32) -> f32 [literal: Literal::Addend] { mad32(fp, a, b, c) }
    v_mad_f32(fp; a: f32, b: f32, c: f32) -> f32 { mad32(fp, a, b, c) }
    v_mad_legacy_f32(fp; a: f32, b: f32, c: f32) -> f32 {
        if a == 0.0 || b == 0.0 { add32(without_denormals(fp), 0.0, flushed(c)) } else { mad32(fp, a, b, c) }
    }

    v_min_f32(fp; a: f32, b: f32) -> f32 { fp.flush_out32(minimum(fp.ieee, a, b)) }
    v_max_f32(fp; a: f32, b: f32) -> f32 { fp.flush_out32(maximum(fp.ieee, a, b)) }
    v_min3_f32(fp; a: f32, b: f32, c: f32) -> f32 {
        fp.flush_out32(minimum(fp.ieee, minimum(fp.ieee, a, b), c))
    }
    v_max3_f32(fp; a: f32, b: f32, c: f32) -> f32 {
        fp.flush_out32(maximum(fp.ieee, maximum(fp.ieee, a, b), c))
    }
    v_med3_f32(fp; a: f32, b: f32, c: f32) -> f32 { fp.flush_out32(median(fp.ieee, a, b, c)) }

    v_trunc_f32(fp; a: f32) -> f32 { rounded(a, f32::trunc, fp) }
    v_ceil_f32(fp; a: f32) -> f32 { rounded(a, f32::ceil, fp) }
    v_floor_f32(fp; a: f32) -> f32 { rounded(a, f32::floor, fp) }
    v_rndne_f32(fp; a: f32) -> f32 { rounded(a, f32::round_ties_even, fp) }
    v_fract_f32(fp; a: f32) -> f32 {
        if a.is_nan() || a.is_infinite() {
            if a.is_nan() { a.quiet() } else { f32::INVALID }
        } else {
            fp.flush_out32((a - a.floor()).min(f32::from_bits(0x3f7f_ffff)))
        }
    }

    v_rcp_f32(fp; a: f32) -> f32 { fp.flush_out32(fun::rcp32(a)) }
    v_rcp_iflag_f32(fp; a: f32) -> f32 { fp.flush_out32(fun::rcp32(a)) }
    v_rsq_f32(fp; a: f32) -> f32 { fp.flush_out32(fun::rsq32(a)) }
    v_sqrt_f32(fp; a: f32) -> f32 { fp.flush_out32(fun::sqrt32(a)) }
    v_exp_f32(_fp; a: f32) -> f32 { flushed(fun::exp32(a)) }
    v_log_f32(_fp; a: f32) -> f32 { fun::log32(flushed(a)) }
    v_exp_legacy_f32(_fp; a: f32) -> f32 { flushed(fun::exp32(a)) }
    v_log_legacy_f32(_fp; a: f32) -> f32 { fun::log32(flushed(a)) }
    v_sin_f32(_fp; a: f32) -> f32 { fun::sin32(a) }
    v_cos_f32(_fp; a: f32) -> f32 { fun::cos32(a) }

    v_frexp_exp_i32_f32(a: f32) -> i32 {
        if a.is_nan() || a.is_infinite() || a == 0.0 { 0 } else { exponent(a) }
    }
    v_frexp_mant_f32(a: f32) -> f32 {
        if a.is_nan() {
            a.quiet()
        } else if a.is_infinite() || a == 0.0 {
            a
        } else {
            scale(f64::from(a), -exponent(a))
        }
    }
    v_ldexp_f32(fp; a: f32, b: i32) -> f32 {
        if a.is_nan() { a.quiet() } else { crate::float::arithmetic::f64_to_f32(fp, power(f64::from(a), b)) }
    }

    v_cubeid_f32(a: f32, b: f32, c: f32) -> f32 {
        let (face, negative) = major_axis(a, b, c);
        (2 * face + u8::from(negative)).into()
    }
    v_cubema_f32(a: f32, b: f32, c: f32) -> f32 {
        2.0 * match major_axis(a, b, c).0 {
            0 => a,
            1 => b,
            _ => c,
        }
    }
    v_cubesc_f32(a: f32, b: f32, c: f32) -> f32 {
        match major_axis(a, b, c) {
            (0, false) => -c,
            (0, true) => c,
            (1, _) | (2, false) => a,
            _ => -a,
        }
    }
    v_cubetc_f32(a: f32, b: f32, c: f32) -> f32 {
        match major_axis(a, b, c) {
            (1, false) => c,
            (1, true) => -c,
            _ => -b,
        }
    }
}

/// A product and a sum, each rounded. Denormals are zeros whatever MODE says.
fn mad32(fp: Fp, a: f32, b: f32, c: f32) -> f32 {
    let fp = without_denormals(fp);
    add32(fp, mul32(fp, flushed(a), flushed(b)), flushed(c))
}

fn without_denormals(fp: Fp) -> Fp {
    Fp { flush_in32: true, flush_out32: true, ..fp }
}

fn rounded(a: f32, f: impl Fn(f32) -> f32, fp: Fp) -> f32 {
    if a.is_nan() { a.quiet() } else { fp.flush_out32(f(a)) }
}

/// `v_exp_f32`, `v_log_f32` and `v_mad_f32` never handle denormals, whatever MODE says.
fn flushed(a: f32) -> f32 {
    if a.is_subnormal() { 0.0_f32.copysign(a) } else { a }
}

/// The exponent that makes the mantissa lie in 0.5 to 1.
fn exponent(a: f32) -> i32 {
    crate::exec::vector::float64::exponent(f64::from(a))
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "scaling a number of 24 significant bits into 0.5 to 1 is exact"
)]
fn scale(a: f64, by: i32) -> f32 {
    power(a, by) as f32
}

/// `a * 2^by`, exact for every f32 `a` and every result near the range of f32.
fn power(a: f64, by: i32) -> f64 {
    let by = by.clamp(-600, 600);
    a * f64::from(2.0_f32).powi(by)
}

/// Index of the coordinate of the largest magnitude, z before y before x, and whether it is negative.
fn major_axis(a: f32, b: f32, c: f32) -> (u8, bool) {
    if c.abs() >= a.abs() && c.abs() >= b.abs() {
        (2, c < 0.0)
    } else if b.abs() >= a.abs() {
        (1, b < 0.0)
    } else {
        (0, a < 0.0)
    }
}
