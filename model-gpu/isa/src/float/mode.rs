//! The floating-point fields of the MODE register.

use super::F16;

/// Rounding modes, as FP_ROUND encodes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Round {
    NearestEven,
    Up,
    Down,
    TowardZero,
}

impl Round {
    fn from_bits(bits: u32) -> Self {
        match bits & 3 {
            0 => Round::NearestEven,
            1 => Round::Up,
            2 => Round::Down,
            _ => Round::TowardZero,
        }
    }
}

/// MODE decoded, for all operand types at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fp {
    /// Rounding of f32.
    pub(crate) round32: Round,
    /// Rounding of f64 and f16.
    pub(crate) round64: Round,
    /// Flush f32 denormal inputs to zero.
    pub(crate) flush_in32: bool,
    /// Flush f32 denormal results to zero.
    pub(crate) flush_out32: bool,
    /// Flush f64 and f16 denormal inputs to zero.
    pub(crate) flush_in64: bool,
    /// Flush f64 and f16 denormal results to zero.
    pub(crate) flush_out64: bool,
    /// FP16_OVFL: what is too large for f16 becomes the largest number instead of infinity.
    pub(crate) saturate16: bool,
    /// Clamping turns NaN into zero.
    pub(crate) dx10_clamp: bool,
    /// Signaling NaNs are made quiet by minimum, maximum and their like.
    pub(crate) ieee: bool,
}

impl Fp {
    /// What compilers set for HIP and OpenCL kernels: nearest even, denormals kept, DX10_CLAMP, IEEE.
    pub(crate) const DEFAULT: Fp = Fp {
        round32: Round::NearestEven,
        round64: Round::NearestEven,
        flush_in32: false,
        flush_out32: false,
        flush_in64: false,
        flush_out64: false,
        saturate16: false,
        dx10_clamp: true,
        ieee: true,
    };

    /// Decodes MODE bits 9:0 and 23.
    pub(crate) fn from_mode(mode: u32) -> Self {
        Fp {
            round32: Round::from_bits(mode),
            round64: Round::from_bits(mode >> 2),
            flush_in32: mode >> 4 & 1 == 0,
            flush_out32: mode >> 5 & 1 == 0,
            flush_in64: mode >> 6 & 1 == 0,
            flush_out64: mode >> 7 & 1 == 0,
            saturate16: mode >> 23 & 1 == 1,
            dx10_clamp: mode >> 8 & 1 == 1,
            ieee: mode >> 9 & 1 == 1,
        }
    }

    /// Rounds a result to f16. An infinite result stays so whatever FP16_OVFL says.
    pub(crate) fn half(self, result: f64) -> F16 {
        let half = F16::from_f64(result, self.round64);
        if self.saturate16 && result.is_finite() && half.0 & 0x7fff == 0x7c00 {
            return F16(half.0 - 1);
        }
        half.flush(self.flush_out64)
    }

    pub(crate) fn flush_in32(self, value: f32) -> f32 {
        if self.flush_in32 && value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
    }

    pub(crate) fn flush_out32(self, value: f32) -> f32 {
        if self.flush_out32 && value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
    }

    pub(crate) fn flush_in64(self, value: f64) -> f64 {
        if self.flush_in64 && value.is_subnormal() { 0.0_f64.copysign(value) } else { value }
    }

    pub(crate) fn flush_out64(self, value: f64) -> f64 {
        if self.flush_out64 && value.is_subnormal() { 0.0_f64.copysign(value) } else { value }
    }
}
