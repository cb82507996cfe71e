//! The three steps of IEEE division: `v_div_scale`, `v_div_fmas`, `v_div_fixup`.
//!
//! `v_div_scale` moves numerator or denominator away from the ends of the range and says in VCC that the quotient must
//! be moved back, which `v_div_fmas` does (up when the quotient is at least 2, else down), rounding once.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::apply::vector_ops;
use super::carry::write_mask_result;
use super::operand::{Fetch, Store};
use crate::exec::lanes::{collect, map3};
use crate::exec::{Context, Flow};
use crate::float::arithmetic::{fma32, fma64, scaled_fma32, scaled_fma64};
use crate::float::classify::Float;
use crate::float::{F16, Fp};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

vector_ops! {
    v_div_fixup_f32(a: f32, b: f32, c: f32) -> f32 {
        fixup(a, b, c, quotient32(c.to_bits().into(), b.to_bits().into()), [f32::INFINITY, 0.0], f32::copysign)
    }
    v_div_fixup_f64(a: f64, b: f64, c: f64) -> f64 {
        fixup(a, b, c, quotient64(c.to_bits().into(), b.to_bits().into()), [f64::INFINITY, 0.0], f64::copysign)
    }
    v_div_fixup_f16(a: F16, b: F16, c: F16) -> F16 [op_sel: true] { fixup16(a, b, c) }
    v_div_fixup_legacy_f16(a: F16, b: F16, c: F16) -> F16 { fixup16(a, b, c) }
}

fn fixup16(a: F16, b: F16, c: F16) -> F16 {
    let copysign = |x: F16, sign: F16| F16(x.0 & 0x7fff | sign.0 & 0x8000);
    fixup(a, b, c, Range::Inside, [F16(0x7c00), F16(0)], copysign)
}

/// Whether the exponents alone put a quotient out of its format's range.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Range {
    /// Below half the least denormal.
    Below,
    Inside,
    /// Above the largest number.
    Above,
}

/// What the exponents of a numerator's and a denominator's bits say.
pub(super) fn quotient32(numerator: u128, denominator: u128) -> Range {
    range(numerator >> 23 & 0xff, denominator >> 23 & 0xff, -150, 129)
}

/// The same for double precision.
pub(super) fn quotient64(numerator: u128, denominator: u128) -> Range {
    range(numerator >> 52 & 0x7ff, denominator >> 52 & 0x7ff, -1075, 1025)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "exponents have 11 bits")]
fn range(numerator: u128, denominator: u128, low: i32, high: i32) -> Range {
    let difference = numerator as i32 - denominator as i32;
    if difference < low {
        Range::Below
    } else if difference >= high {
        Range::Above
    } else {
        Range::Inside
    }
}

/// The special cases of `c / b`, whose computed quotient is `a`.
fn fixup<F: Float>(
    a: F,
    b: F,
    c: F,
    range: Range,
    [infinity, zero]: [F; 2],
    copysign: impl Fn(F, F) -> F,
) -> F {
    // `one` with the sign of the quotient.
    let signed = |x: F| {
        let positive = copysign(x, infinity);
        if b.negative() == c.negative() {
            positive
        } else {
            copysign(positive, if b.negative() { b } else { c })
        }
    };
    if c.nan() {
        c.quiet()
    } else if b.nan() {
        b.quiet()
    } else if (b.zero() && c.zero()) || (b.infinite() && c.infinite()) {
        F::INVALID
    } else if b.zero() || c.infinite() || (range == Range::Above && !b.infinite() && !c.zero()) {
        signed(infinity)
    } else if b.infinite() || c.zero() || range == Range::Below {
        signed(zero)
    } else {
        signed(a)
    }
}

/// The exponent field.
#[allow(clippy::cast_possible_wrap, reason = "the field has 8 bits")]
fn biased32(x: f32) -> i32 {
    (x.to_bits() >> 23 & 0xff) as i32
}

/// The exponent field.
#[allow(clippy::cast_possible_truncation, reason = "the field has 11 bits")]
fn biased64(x: f64) -> i32 {
    (x.to_bits() >> 52 & 0x7ff) as i32
}

/// The power of two by which one format's numbers are moved, and the limits that ask for it.
struct Scale {
    up: f64,
    near_max: i32,
    tiny: i32,
    least_normal: f64,
}

const SCALE32: Scale = Scale {
    up: 18_446_744_073_709_551_616.0,
    near_max: 96,
    tiny: 23,
    least_normal: f32::MIN_POSITIVE as f64,
};

/// `v_div_scale`: the factor for the value (1 none, 2 up, 3 down, 0 not a number), and whether the quotient must be
/// moved back. `quotient_denormal` and `reciprocal_denormal` are judged without rounding.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Factor {
    #[default]
    One,
    Up,
    Down,
    Invalid,
}

/// What `v_div_scale` needs to know of its operands.
struct Case {
    zero: bool,
    exponent_difference: i32,
    numerator_exponent: i32,
    denominator_denormal: bool,
    reciprocal_denormal: bool,
    quotient_denormal: bool,
    is_denominator: bool,
    is_numerator: bool,
}

fn choose(case: &Case, near_max: i32, tiny: i32) -> (Factor, bool) {
    let up_if = |condition: bool| if condition { Factor::Up } else { Factor::One };
    if case.zero {
        (Factor::Invalid, false)
    } else if case.exponent_difference >= near_max {
        (up_if(case.is_denominator), true)
    } else if case.denominator_denormal {
        (Factor::Up, false)
    } else if case.reciprocal_denormal && case.quotient_denormal {
        // The quotient grows by as much as the denominator shrinks, and `v_div_fmas` moves it back down.
        (if case.is_denominator { Factor::Down } else { Factor::One }, true)
    } else if case.reciprocal_denormal {
        (Factor::Down, false)
    } else if case.quotient_denormal {
        (up_if(case.is_numerator), true)
    } else {
        (up_if(case.numerator_exponent <= tiny), false)
    }
}

fn scale32(a: f32, b: f32, c: f32) -> (f32, bool) {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return (if a.is_nan() { a.quiet() } else { a }, false);
    }
    let quotient = f64::from(c) / f64::from(b);
    let case = Case {
        zero: b == 0.0 || c == 0.0,
        exponent_difference: biased32(c) - biased32(b),
        numerator_exponent: biased32(c),
        denominator_denormal: b.is_subnormal(),
        reciprocal_denormal: b.abs() > 2.0_f32.powi(126) && b.is_finite(),
        quotient_denormal: quotient != 0.0 && quotient.abs() < SCALE32.least_normal,
        is_denominator: a == b,
        is_numerator: a == c,
    };
    let (factor, back) = choose(&case, SCALE32.near_max, SCALE32.tiny);
    #[allow(clippy::cast_possible_truncation, reason = "2^64 is an f32")]
    let up = SCALE32.up as f32;
    let value = match factor {
        Factor::One => a,
        Factor::Up => a * up,
        Factor::Down => a / up,
        Factor::Invalid => f32::INVALID,
    };
    (value, back)
}

fn scale64(a: f64, b: f64, c: f64) -> (f64, bool) {
    if a.is_nan() || b.is_nan() || c.is_nan() {
        return (if a.is_nan() { a.quiet() } else { a }, false);
    }
    let quotient = c / b;
    let up = 2.0_f64.powi(128);
    let case = Case {
        zero: b == 0.0 || c == 0.0,
        exponent_difference: biased64(c) - biased64(b),
        numerator_exponent: biased64(c),
        denominator_denormal: b.is_subnormal(),
        reciprocal_denormal: b.abs() > 2.0_f64.powi(1022) && b.is_finite(),
        quotient_denormal: c.is_finite() && b.is_finite() && quotient.abs() < f64::MIN_POSITIVE,
        is_denominator: a == b,
        is_numerator: a == c,
    };
    let (factor, back) = choose(&case, 768, 53);
    let value = match factor {
        Factor::One => a,
        Factor::Up => a * up,
        Factor::Down => a / up,
        Factor::Invalid => f64::INVALID,
    };
    (value, back)
}

/// Runs a scaling function over the lanes: the value goes to the vector destination, the flag to the scalar one.
fn div_scale<F: Fetch + Store>(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(F, F, F) -> (F, bool)) -> Flow
where
    (F, bool): Default,
{
    let out = map3(&F::fetch(cx, inst, 0), &F::fetch(cx, inst, 1), &F::fetch(cx, inst, 2), f);
    let mask = collect(&out.map(|(_, flag)| flag));
    F::store(cx, inst, &out.map(|(value, _)| value));
    write_mask_result(cx, inst, mask);
    Flow::Next
}

const SCALE_TRAITS: Traits = Traits { carry_out: true, ..Traits::NONE };

pub(crate) const v_div_scale_f32: Op = Op {
    exec: |cx, inst| div_scale(cx, inst, scale32),
    dst: Ty::F32,
    src: [Ty::F32; 3],
    traits: SCALE_TRAITS,
};
pub(crate) const v_div_scale_f64: Op = Op {
    exec: |cx, inst| div_scale(cx, inst, scale64),
    dst: Ty::F64,
    src: [Ty::F64; 3],
    traits: SCALE_TRAITS,
};

/// Runs a multiply-add over the lanes, with a post-scale where VCC is set.
fn div_fmas<F: Fetch + Store>(
    cx: &mut Context<'_>,
    inst: &Inst,
    plain: impl Fn(Fp, F, F, F) -> F,
    scaled: impl Fn(Fp, F, F, F) -> F,
) -> Flow {
    let (a, b, c) = (F::fetch(cx, inst, 0), F::fetch(cx, inst, 1), F::fetch(cx, inst, 2));
    let fp = cx.fp;
    let mut out = map3(&a, &b, &c, |a, b, c| plain(fp, a, b, c));
    for lane in crate::exec::lanes::active(cx.wave.vcc()) {
        out[lane] = scaled(fp, a[lane], b[lane], c[lane]);
    }
    F::store(cx, inst, &out);
    Flow::Next
}

pub(crate) const v_div_fmas_f32: Op = Op {
    exec: |cx, inst| {
        div_fmas(cx, inst, fma32, |fp, a, b, c: f32| {
            scaled_fma32(fp, a, b, c, if biased32(c) > 127 { 64 } else { -64 })
        })
    },
    dst: Ty::F32,
    src: [Ty::F32; 3],
    traits: Traits::NONE,
};
pub(crate) const v_div_fmas_f64: Op = Op {
    exec: |cx, inst| {
        div_fmas(cx, inst, fma64, |fp, a, b, c: f64| {
            scaled_fma64(fp, a, b, c, if biased64(c) > 1023 { 128 } else { -128 })
        })
    },
    dst: Ty::F64,
    src: [Ty::F64; 3],
    traits: Traits::NONE,
};
