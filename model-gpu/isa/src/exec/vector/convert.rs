//! Conversions between number formats.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "float to integer casts saturate and turn NaN into zero, as the instructions do"
)]

use super::apply::vector_ops;
use crate::float::arithmetic::f64_to_f32;
use crate::float::classify::Float as _;
use crate::float::{F16, Fp, Round};

vector_ops! {
    v_cvt_f32_i32(fp; a: i32) -> f32 { f64_to_f32(fp, f64::from(a)) }
    v_cvt_f32_u32(fp; a: u32) -> f32 { f64_to_f32(fp, f64::from(a)) }
    v_cvt_u32_f32(a: f32) -> u32 { a as u32 }
    v_cvt_i32_f32(a: f32) -> i32 { a as i32 }
    v_cvt_rpi_i32_f32(a: f32) -> i32 { (f64::from(a) + 0.5).floor() as i32 }
    v_cvt_flr_i32_f32(a: f32) -> i32 { a.floor() as i32 }
    v_cvt_f32_ubyte0(a: u32) -> f32 { (a & 0xff) as f32 }
    v_cvt_f32_ubyte1(a: u32) -> f32 { (a >> 8 & 0xff) as f32 }
    v_cvt_f32_ubyte2(a: u32) -> f32 { (a >> 16 & 0xff) as f32 }
    v_cvt_f32_ubyte3(a: u32) -> f32 { (a >> 24) as f32 }
    v_cvt_off_f32_i4(a: u32) -> f32 { ((a << 28) as i32 >> 28) as f32 / 16.0 }

    v_cvt_i32_f64(a: f64) -> i32 { a as i32 }
    v_cvt_u32_f64(a: f64) -> u32 { a as u32 }
    v_cvt_f64_i32(a: i32) -> f64 { f64::from(a) }
    v_cvt_f64_u32(a: u32) -> f64 { f64::from(a) }
    v_cvt_f32_f64(fp; a: f64) -> f32 { f64_to_f32(fp, a) }
    v_cvt_f64_f32(a: f32) -> f64 { if a.is_nan() { widen_nan(a) } else { f64::from(a) } }

    v_cvt_f16_f32(fp; a: f32) -> F16 { if a.is_nan() { F16::from_f32(a, fp.round64) } else { fp.half(f64::from(a)) } }
    v_cvt_f32_f16(fp; a: F16) -> f32 {
        fp.flush_out32(if a.is_nan() { a.to_f32().quiet() } else { a.to_f32() })
    }
    v_cvt_f16_u16(fp; a: u16) -> F16 { fp.half(f64::from(a)) }
    v_cvt_f16_i16(fp; a: i16) -> F16 { fp.half(f64::from(a)) }
    v_cvt_u16_f16(a: F16) -> u16 { a.to_f32() as u16 }
    v_cvt_i16_f16(a: F16) -> i16 { a.to_f32() as i16 }
    v_cvt_norm_i16_f16(a: F16) -> i16 { signed_normal(a.to_f64()) }
    v_cvt_norm_u16_f16(a: F16) -> u16 { unsigned_normal(a.to_f64()) }

    v_cvt_pkrtz_f16_f32(fp; a: f32, b: f32) -> u32 {
        let narrow = |x: f32| u32::from(F16::from_f32(x, Round::TowardZero).flush(fp.flush_out64).0);
        narrow(a) | narrow(b) << 16
    }
    v_cvt_pknorm_i16_f32(a: f32, b: f32) -> u32 {
        u32::from(signed_normal(f64::from(a)) as u16) | u32::from(signed_normal(f64::from(b)) as u16) << 16
    }
    v_cvt_pknorm_u16_f32(a: f32, b: f32) -> u32 {
        u32::from(unsigned_normal(f64::from(a))) | u32::from(unsigned_normal(f64::from(b))) << 16
    }
    v_cvt_pknorm_i16_f16(a: F16, b: F16) -> u32 [op_sel: true] {
        u32::from(signed_normal(a.to_f64()) as u16) | u32::from(signed_normal(b.to_f64()) as u16) << 16
    }
    v_cvt_pknorm_u16_f16(a: F16, b: F16) -> u32 [op_sel: true] {
        u32::from(unsigned_normal(a.to_f64())) | u32::from(unsigned_normal(b.to_f64())) << 16
    }
    v_cvt_pk_u8_f32(fp; a: f32, b: u32, c: u32) -> u32 { insert_byte(rounded_byte(fp, a), b, c) }
}

/// A NaN as an f64: the payload moves to the top, made quiet.
fn widen_nan(a: f32) -> f64 {
    let bits = u64::from(a.to_bits());
    f64::from_bits((bits & 0x8000_0000) << 32 | 0x7ff8_0000_0000_0000 | (bits & 0x7f_ffff) << 29)
}

/// -1 to 1 as -32767 to 32767.
fn signed_normal(x: f64) -> i16 {
    (x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16
}

/// 0 to 1 as 0 to 65535.
fn unsigned_normal(x: f64) -> u16 {
    (x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16
}

fn rounded_byte(fp: Fp, a: f32) -> u32 {
    let whole = match fp.round32 {
        Round::NearestEven => a.round_ties_even(),
        Round::Up => a.ceil(),
        Round::Down => a.floor(),
        Round::TowardZero => a.trunc(),
    };
    u32::from(whole as u8)
}

fn insert_byte(byte: u32, place: u32, into: u32) -> u32 {
    let shift = 8 * (place & 3);
    into & !(0xff << shift) | byte << shift
}
