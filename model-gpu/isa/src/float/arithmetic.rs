//! Addition, multiplication and fused multiply-add in every rounding mode.
//!
//! Rounding to nearest even is the host's own arithmetic; the directed modes, which HIP programs rarely use, go through
//! a software implementation.

use rustc_apfloat::ieee::{Double, Quad, Single};
use rustc_apfloat::{Float as _, FloatConvert as _, Round as SoftRound, Status};

use super::classify::nan_of;
use super::{F16, Fp, Round};

/// A rounding mode as the software float has it.
pub(crate) fn soft(round: Round) -> SoftRound {
    match round {
        Round::NearestEven => SoftRound::NearestTiesToEven,
        Round::Up => SoftRound::TowardPositive,
        Round::Down => SoftRound::TowardNegative,
        Round::TowardZero => SoftRound::TowardZero,
    }
}

fn single(value: f32) -> Single {
    Single::from_bits(u128::from(value.to_bits()))
}

fn double(value: f64) -> Double {
    Double::from_bits(u128::from(value.to_bits()))
}

#[allow(clippy::cast_possible_truncation, reason = "the soft float's bits are 32 wide")]
fn from_single(value: Single) -> f32 {
    f32::from_bits(value.to_bits() as u32)
}

#[allow(clippy::cast_possible_truncation, reason = "the soft float's bits are 64 wide")]
fn from_double(value: Double) -> f64 {
    f64::from_bits(value.to_bits() as u64)
}

macro_rules! binary {
    ($name32:ident, $name64:ident, $op:tt, $soft:ident) => {
        #[inline(always)]
        pub(crate) fn $name32(fp: Fp, a: f32, b: f32) -> f32 {
            let result = if fp.round32 == Round::NearestEven {
                a $op b
            } else {
                from_single(single(a).$soft(single(b), soft(fp.round32)).value)
            };
            fp.flush_out32(if result.is_nan() { nan_of(a, b, b) } else { result })
        }

        #[inline(always)]
        pub(crate) fn $name64(fp: Fp, a: f64, b: f64) -> f64 {
            let result = if fp.round64 == Round::NearestEven {
                a $op b
            } else {
                from_double(double(a).$soft(double(b), soft(fp.round64)).value)
            };
            fp.flush_out64(if result.is_nan() { nan_of(a, b, b) } else { result })
        }
    };
}

binary!(add32, add64, +, add_r);
binary!(mul32, mul64, *, mul_r);

/// `a * b + c`, rounded once.
#[inline(always)]
pub(crate) fn fma32(fp: Fp, a: f32, b: f32, c: f32) -> f32 {
    let result = if fp.round32 == Round::NearestEven {
        a.mul_add(b, c)
    } else {
        from_single(single(a).mul_add_r(single(b), single(c), soft(fp.round32)).value)
    };
    fp.flush_out32(if result.is_nan() { nan_of(a, b, c) } else { result })
}

/// `a * b + c`, rounded once.
#[inline(always)]
pub(crate) fn fma64(fp: Fp, a: f64, b: f64, c: f64) -> f64 {
    let result = if fp.round64 == Round::NearestEven {
        a.mul_add(b, c)
    } else {
        from_double(double(a).mul_add_r(double(b), double(c), soft(fp.round64)).value)
    };
    fp.flush_out64(if result.is_nan() { nan_of(a, b, c) } else { result })
}

/// Rounds an exact or sufficiently precise f64 result to f16, with the NaN rule for its operands.
fn half(fp: Fp, result: f64, a: F16, b: F16, c: F16) -> F16 {
    if result.is_nan() {
        return nan_of(a, b, c);
    }
    fp.half(result)
}

/// f64 holds the sum of two halves exactly.
pub(crate) fn add16(fp: Fp, a: F16, b: F16) -> F16 {
    let sum = a.to_f64() + b.to_f64();
    if sum == 0.0 && fp.round64 == Round::Down && a.0 != b.0 {
        // An exact zero of unlike signs is negative when rounding down.
        return F16(0x8000);
    }
    half(fp, sum, a, b, b)
}

/// f64 holds the product of two halves exactly.
pub(crate) fn mul16(fp: Fp, a: F16, b: F16) -> F16 {
    half(fp, a.to_f64() * b.to_f64(), a, b, b)
}

/// `a * b + c`, rounded once: the product is exact in f64, and where the sum is not, its f64 rounding lies far from any
/// point where halves round differently. Directed modes look at the residue.
pub(crate) fn fma16(fp: Fp, a: F16, b: F16, c: F16) -> F16 {
    let product = a.to_f64() * b.to_f64();
    let addend = c.to_f64();
    if fp.round64 == Round::NearestEven {
        return half(fp, product + addend, a, b, c);
    }
    half(fp, add64(Fp { flush_out64: false, ..fp }, product, addend), a, b, c)
}

/// Conversion from f64.
#[allow(clippy::cast_possible_truncation, reason = "rounding to nearest is the conversion")]
pub(crate) fn f64_to_f32(fp: Fp, value: f64) -> f32 {
    if value.is_nan() {
        return f32::from_bits(super::narrow::narrow(value, super::narrow::SINGLE, fp.round32));
    }
    let result = if fp.round32 == Round::NearestEven {
        value as f32
    } else {
        f32::from_bits(super::narrow::narrow(value, super::narrow::SINGLE, fp.round32))
    };
    fp.flush_out32(result)
}

/// `(a * b + c) * 2^by`, rounded once.
pub(crate) fn scaled_fma32(fp: Fp, a: f32, b: f32, c: f32, by: i32) -> f32 {
    let exact = odd_fma(quad(single(a).convert(&mut false).value), b.into(), c.into(), by);
    let result: Single = exact.convert_r(soft(fp.round32), &mut false).value;
    let result = from_single(result);
    fp.flush_out32(if result.is_nan() { nan_of(a, b, c) } else { result })
}

/// `(a * b + c) * 2^by`, rounded once.
pub(crate) fn scaled_fma64(fp: Fp, a: f64, b: f64, c: f64, by: i32) -> f64 {
    let exact = odd_fma(quad(double(a)), b, c, by);
    let result: Double = exact.convert_r(soft(fp.round64), &mut false).value;
    let result = from_double(result);
    fp.flush_out64(if result.is_nan() { nan_of(a, b, c) } else { result })
}

fn quad(value: Double) -> Quad {
    value.convert(&mut false).value
}

/// `(a * b + c) * 2^by` in quadruple precision, rounded to odd: a later rounding to a narrower format is then exact.
fn odd_fma(a: Quad, b: f64, c: f64, by: i32) -> Quad {
    let sum = a.mul_add_r(quad(double(b)), quad(double(c)), SoftRound::TowardZero);
    let odd = if sum.status.contains(Status::INEXACT) {
        Quad::from_bits(sum.value.to_bits() | 1)
    } else {
        sum.value
    };
    odd.scalbn_r(by, SoftRound::TowardZero)
}
