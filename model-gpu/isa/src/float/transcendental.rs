//! The functions that hardware specifies only to a tolerance.
//!
//! The model computes each in f64 (the host's library, whose error is far below half a unit of f32) and rounds once, to
//! nearest even. So `rcp`, `sqrt` and `rsq` of f32 and f16 are correctly rounded in all but the rarest cases, and `exp`
//! (base 2), `log` (base 2), `sin` and `cos` (argument in revolutions) are within one unit in the last place. For f64,
//! `sqrt` and `rcp` are correctly rounded and `rsq` is `1 / sqrt(x)` with two roundings. Real hardware returns slightly
//! less accurate values, which the compiler's expansions (division, square root) refine to the same end result.

use super::classify::{Float as _, nan_of};

/// `f` at `x`, with NaN in, NaN out.
fn through_f64(x: f32, f: impl Fn(f64) -> f64) -> f32 {
    if x.is_nan() {
        return nan_of(x, x, x);
    }
    let result = f(f64::from(x));
    if result.is_nan() {
        return f32::INVALID;
    }
    #[allow(clippy::cast_possible_truncation, reason = "rounding to nearest is meant")]
    {
        result as f32
    }
}

pub(crate) fn rcp32(x: f32) -> f32 {
    through_f64(x, |x| 1.0 / x)
}

pub(crate) fn sqrt32(x: f32) -> f32 {
    through_f64(x, f64::sqrt)
}

pub(crate) fn rsq32(x: f32) -> f32 {
    through_f64(x, |x| 1.0 / x.sqrt())
}

pub(crate) fn exp32(x: f32) -> f32 {
    through_f64(x, f64::exp2)
}

pub(crate) fn log32(x: f32) -> f32 {
    through_f64(x, f64::log2)
}

/// Sine of `2 * pi * x`.
pub(crate) fn sin32(x: f32) -> f32 {
    through_f64(x, |x| revolutions(x).0)
}

/// Cosine of `2 * pi * x`.
pub(crate) fn cos32(x: f32) -> f32 {
    through_f64(x, |x| revolutions(x).1)
}

/// Sine and cosine of `2 * pi * x`. The argument is reduced exactly to an eighth of a revolution, so that multiples of
/// a quarter give exact results.
fn revolutions(x: f64) -> (f64, f64) {
    if x.is_infinite() {
        return (f64::NAN, f64::NAN);
    }
    let turn = x - x.trunc();
    let eighths = (turn * 4.0).round();
    let rest = (turn - eighths / 4.0) * std::f64::consts::TAU;
    let (sin, cos) = (rest.sin(), rest.cos());
    let (sin, cos) = match eighths.rem_euclid(4.0) {
        q if q < 0.5 => (sin, cos),
        q if q < 1.5 => (cos, -sin),
        q if q < 2.5 => (-sin, -cos),
        _ => (-cos, sin),
    };
    // A zero sine takes the sign of the argument.
    (if sin == 0.0 { 0.0_f64.copysign(x) } else { sin }, cos)
}

pub(crate) fn rcp64(x: f64) -> f64 {
    if x.is_nan() { x.quiet() } else { 1.0 / x }
}

pub(crate) fn sqrt64(x: f64) -> f64 {
    if x.is_nan() {
        x.quiet()
    } else if x < 0.0 {
        f64::INVALID
    } else {
        x.sqrt()
    }
}

pub(crate) fn rsq64(x: f64) -> f64 {
    if x.is_nan() {
        x.quiet()
    } else if x < 0.0 {
        f64::INVALID
    } else {
        1.0 / x.sqrt()
    }
}
