//! 16-bit floats, and rounding of an f64 to a narrower format in one step.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bit fields are taken apart"
)]

use super::Round;

/// An IEEE half-precision number, by its bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct F16(pub(crate) u16);

/// Explicit mantissa bits and exponent bits of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) mantissa: u32,
    pub(crate) exponent: u32,
}

pub(crate) const HALF: Format = Format { mantissa: 10, exponent: 5 };
pub(crate) const BFLOAT: Format = Format { mantissa: 7, exponent: 8 };
pub(crate) const SINGLE: Format = Format { mantissa: 23, exponent: 8 };

/// Rounds `value` to `format` and gives its bits. NaNs are made quiet and keep the upper bits of their payload.
pub(crate) fn narrow(value: f64, format: Format, round: Round) -> u32 {
    let Format { mantissa, exponent } = format;
    let bits = value.to_bits();
    let negative = bits >> 63 == 1;
    let sign = u32::from(negative) << (mantissa + exponent);
    let infinity = ((1u32 << exponent) - 1) << mantissa;
    if value.is_nan() {
        let payload = (bits & ((1 << 52) - 1)) >> (52 - mantissa);
        return sign | infinity | payload as u32 | 1 << (mantissa - 1);
    }
    if value.is_infinite() {
        return sign | infinity;
    }
    if value == 0.0 {
        return sign;
    }
    let fraction = bits & ((1 << 52) - 1);
    let raw_exponent = (bits >> 52 & 0x7ff) as i32;
    let (significand, power) = if raw_exponent == 0 {
        let shift = fraction.leading_zeros() as i32 - 11;
        (fraction << shift, -1022 - shift)
    } else {
        (fraction | 1 << 52, raw_exponent - 1023)
    };
    let bias = (1i32 << (exponent - 1)) - 1;
    let biased = power + bias;
    if biased >= (1i32 << exponent) - 1 {
        let to_infinity = match round {
            Round::NearestEven => true,
            Round::Up => !negative,
            Round::Down => negative,
            Round::TowardZero => false,
        };
        return sign | if to_infinity { infinity } else { infinity - 1 };
    }
    let shift = (52 - mantissa as i32 + if biased <= 0 { 1 - biased } else { 0 }).min(62) as u32;
    let kept = (significand >> shift) as u32;
    let rest = significand & ((1 << shift) - 1);
    let half = 1u64 << (shift - 1);
    let up = match round {
        Round::NearestEven => rest > half || (rest == half && kept & 1 == 1),
        Round::Up => !negative && rest != 0,
        Round::Down => negative && rest != 0,
        Round::TowardZero => false,
    };
    let base = if biased <= 0 { 0 } else { ((biased - 1) as u32) << mantissa };
    sign | (base + kept + u32::from(up))
}

impl F16 {
    /// The same number as an f32; a signaling NaN stays one.
    #[inline(always)]
    pub(crate) fn to_f32(self) -> f32 {
        let bits = u32::from(self.0);
        let sign = (bits & 0x8000) << 16;
        let magnitude = bits & 0x7fff;
        let wide = if magnitude >= 0x7c00 {
            0x7f80_0000 | (magnitude & 0x3ff) << 13
        } else if magnitude >= 0x400 {
            (magnitude << 13) + (112 << 23)
        } else {
            // A denormal half is an integer multiple of 2^-24, exact in f32.
            (magnitude as f32 * f32::from_bits((127 - 24) << 23)).to_bits()
        };
        f32::from_bits(sign | wide)
    }

    pub(crate) fn to_f64(self) -> f64 {
        f64::from(self.to_f32())
    }

    /// Rounds an f32.
    pub(crate) fn from_f32(value: f32, round: Round) -> F16 {
        F16::from_f64(f64::from(value), round)
    }

    /// Rounds an f64, once.
    pub(crate) fn from_f64(value: f64, round: Round) -> F16 {
        F16(narrow(value, HALF, round) as u16)
    }

    pub(crate) fn is_nan(self) -> bool {
        self.0 & 0x7fff > 0x7c00
    }

    pub(crate) fn is_subnormal(self) -> bool {
        self.0 & 0x7c00 == 0 && self.0 & 0x3ff != 0
    }

    pub(crate) fn flush(self, when: bool) -> F16 {
        if when && self.is_subnormal() { F16(self.0 & 0x8000) } else { self }
    }
}

/// A bfloat16 as an f32.
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Rounds an f32 to bfloat16.
pub(crate) fn f32_to_bf16(value: f32, round: Round) -> u16 {
    narrow(f64::from(value), BFLOAT, round) as u16
}
