//! Half-precision arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, reason = "results are narrowed by definition")]

use super::apply::vector_ops;
use crate::float::arithmetic::{add16, fma16, mul16};
use crate::float::classify::{Float as _, maximum, median, minimum};
use crate::float::transcendental as fun;
use crate::float::{F16, Fp, Round};
use crate::instruction::Literal;

vector_ops! {
    v_add_f16(fp; a: F16, b: F16) -> F16 { add16(fp, a, b) }
    v_sub_f16(fp; a: F16, b: F16) -> F16 { add16(fp, a, negated(b)) }
    v_subrev_f16(fp; a: F16, b: F16) -> F16 { add16(fp, b, negated(a)) }
    v_mul_f16(fp; a: F16, b: F16) -> F16 { mul16(fp, a, b) }
    v_mac_f16(fp; a: F16, b: F16, c: F16) -> F16 [accumulate: true] { add16(fp, mul16(fp, a, b), c) }
    v_madmk_f16(fp; a: F16, b: F16, c: F16) -> F16 [literal: Literal::Multiplier] { add16(fp, mul16(fp, a, b), c) }
    v_madak_f16(fp; a: F16, b: F16, c: F16) -> F16 [literal: Literal::Addend] { add16(fp, mul16(fp, a, b), c) }
    v_fma_f16(fp; a: F16, b: F16, c: F16) -> F16 [op_sel: true] { fma16(fp, a, b, c) }
    v_fma_legacy_f16(fp; a: F16, b: F16, c: F16) -> F16 { fma16(fp, a, b, c) }
    v_mad_f16(fp; a: F16, b: F16, c: F16) -> F16 [op_sel: true] { add16(fp, mul16(fp, a, b), c) }
    v_mad_legacy_f16(fp; a: F16, b: F16, c: F16) -> F16 { add16(fp, mul16(fp, a, b), c) }

    v_min_f16(fp; a: F16, b: F16) -> F16 { minimum(fp.ieee, a, b).flush(fp.flush_out64) }
    v_max_f16(fp; a: F16, b: F16) -> F16 { maximum(fp.ieee, a, b).flush(fp.flush_out64) }
    v_min3_f16(fp; a: F16, b: F16, c: F16) -> F16 [op_sel: true] {
        minimum(fp.ieee, minimum(fp.ieee, a, b), c).flush(fp.flush_out64)
    }
    v_max3_f16(fp; a: F16, b: F16, c: F16) -> F16 [op_sel: true] {
        maximum(fp.ieee, maximum(fp.ieee, a, b), c).flush(fp.flush_out64)
    }
    v_med3_f16(fp; a: F16, b: F16, c: F16) -> F16 [op_sel: true] {
        median(fp.ieee, a, b, c).flush(fp.flush_out64)
    }

    v_trunc_f16(fp; a: F16) -> F16 { through(fp, a, f64::trunc) }
    v_ceil_f16(fp; a: F16) -> F16 { through(fp, a, f64::ceil) }
    v_floor_f16(fp; a: F16) -> F16 { through(fp, a, f64::floor) }
    v_rndne_f16(fp; a: F16) -> F16 { through(fp, a, f64::round_ties_even) }
    v_fract_f16(fp; a: F16) -> F16 {
        if a.infinite() {
            F16::INVALID
        } else {
            through(fp, a, |x| (x - x.floor()).min(F16(0x3bff).to_f64()))
        }
    }
    v_rcp_f16(fp; a: F16) -> F16 { nearest(fp, a, |x| 1.0 / x) }
    v_rsq_f16(fp; a: F16) -> F16 { nearest(fp, a, |x| 1.0 / x.sqrt()) }
    v_sqrt_f16(fp; a: F16) -> F16 { nearest(fp, a, f64::sqrt) }
    v_exp_f16(fp; a: F16) -> F16 { nearest(fp, a, f64::exp2) }
    v_log_f16(fp; a: F16) -> F16 { nearest(fp, a, f64::log2) }
    v_sin_f16(fp; a: F16) -> F16 { nearest(fp, a, |x| f64::from(fun::sin32(x as f32))) }
    v_cos_f16(fp; a: F16) -> F16 { nearest(fp, a, |x| f64::from(fun::cos32(x as f32))) }

    v_frexp_mant_f16(a: F16) -> F16 {
        if a.is_nan() {
            a.quiet()
        } else if a.infinite() || a.zero() {
            a
        } else {
            let power = super::float64::exponent(a.to_f64());
            F16::from_f64(a.to_f64() * 2.0_f64.powi(-power), Round::NearestEven)
        }
    }
    v_frexp_exp_i16_f16(a: F16) -> i16 {
        if a.is_nan() || a.infinite() || a.zero() { 0 } else { super::float64::exponent(a.to_f64()) as i16 }
    }
    v_ldexp_f16(fp; a: F16, b: i16) -> F16 {
        through(fp, a, |x| x * 2.0_f64.powi(i32::from(b).clamp(-100, 100)))
    }
}

fn negated(a: F16) -> F16 {
    F16(a.0 ^ 0x8000)
}

/// `f` computed in f64 and rounded as MODE says.
fn through(fp: Fp, a: F16, f: impl Fn(f64) -> f64) -> F16 {
    rounded(fp, fp.round64, a, f)
}

/// `f` computed in f64 and rounded to nearest even, as the transcendental unit does in every mode.
fn nearest(fp: Fp, a: F16, f: impl Fn(f64) -> f64) -> F16 {
    rounded(fp, Round::NearestEven, a, f)
}

fn rounded(fp: Fp, round: Round, a: F16, f: impl Fn(f64) -> f64) -> F16 {
    if a.is_nan() {
        return a.quiet();
    }
    let result = f(a.to_f64());
    if result.is_nan() { F16::INVALID } else { Fp { round64: round, ..fp }.half(result) }
}
