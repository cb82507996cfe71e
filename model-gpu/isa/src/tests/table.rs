//! Vector instructions, each against its definition.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "operands are bit patterns"
)]

use super::reference::{check, check16, check32};
use super::support::{Rig, sample, v, vop1, vop2, vop3, vop3p};
use crate::float::minifloat::{BF8, FP8};
use crate::float::{F16, Round};

fn half(value: f64) -> u16 {
    F16::from_f64(value, Round::NearestEven).0
}

fn wide(bits: u64) -> f64 {
    F16(bits as u16).to_f64()
}

/// Compares floats of `size` bits: all NaNs are alike, and so are zeros where only their order is in question.
fn floats(mnemonic: &str, size: u32, expected: impl Fn(u64, u64, u64) -> u64) {
    let nan = |bits: u64| match size {
        16 => wide(bits).is_nan(),
        32 => f32::from_bits(bits as u32).is_nan(),
        _ => f64::from_bits(bits).is_nan(),
    };
    for round in 0..4_u64 {
        let mut rig = Rig::new();
        for (register, source) in [(2, 1), (4, 2), (6, 3)] {
            rig.set64(register, |lane| sample((u64::from(lane) + round * 64) * 3 + source * 17));
        }
        rig.run(&vop3(mnemonic, 10, [v(2), v(4), v(6)]));
        let mask = if size == 64 { u64::MAX } else { (1 << size) - 1 };
        for lane in 0..64 {
            let [a, b, c] = [2, 4, 6].map(|register| rig.get64(register, lane) & mask);
            let got = if size == 64 { rig.get64(10, lane) } else { rig.get(10, lane).into() };
            let want = expected(a, b, c);
            let ordering = mnemonic.contains("min") || mnemonic.contains("max") || mnemonic.contains("med");
            if ordering && (nan(a) || nan(b) || nan(c)) {
                continue;
            }
            let zero = ordering && (got | want) & (mask >> 1) == 0;
            let same = got == want || nan(got) && nan(want) || zero;
            assert!(same, "{mnemonic} {a:#x} {b:#x} {c:#x}: {got:#x}, not {want:#x}");
        }
    }
}

fn floats16(mnemonic: &str, expected: impl Fn(f64, f64, f64) -> f64) {
    floats(mnemonic, 16, |a, b, c| half(expected(wide(a), wide(b), wide(c))).into());
}

fn floats32(mnemonic: &str, expected: impl Fn(f32, f32, f32) -> f32) {
    let f = |bits: u64| f32::from_bits(bits as u32);
    floats(mnemonic, 32, |a, b, c| expected(f(a), f(b), f(c)).to_bits().into());
}

fn floats64(mnemonic: &str, expected: impl Fn(f64, f64, f64) -> f64) {
    let f = f64::from_bits;
    floats(mnemonic, 64, |a, b, c| expected(f(a), f(b), f(c)).to_bits());
}

/// What is above the next whole number below, less than one; not a number for infinity.
fn fraction(a: f64, most: f64) -> f64 {
    let rest = a - a.floor();
    if rest > most { most } else { rest }
}

fn median<T: PartialOrd + Copy>(a: T, b: T, c: T) -> T {
    let mut all = [a, b, c];
    all.sort_by(|x, y| x.partial_cmp(y).unwrap_or(std::cmp::Ordering::Equal));
    all[1]
}

#[test]
pub(super) fn single_and_double_arithmetic() {
    floats32("v_max3_f32", |a, b, c| a.max(b).max(c));
    floats32("v_min3_f32", |a, b, c| a.min(b).min(c));
    floats32("v_med3_f32", median);
    floats32("v_ceil_f32", |a, _, _| a.ceil());
    floats32("v_rsq_f32", |a, _, _| (1.0 / f64::from(a).sqrt()) as f32);
    floats32("v_rcp_iflag_f32", |a, _, _| 1.0 / a);
    floats32("v_mul_legacy_f32", |a, b, _| if a == 0.0 || b == 0.0 { 0.0 } else { a * b });
    floats32("v_fmac_f32", |a, b, _| a.mul_add(b, 0.0));
    let flush = |x: f32| if x.is_subnormal() { 0.0_f32.copysign(x) } else { x };
    floats32("v_exp_legacy_f32", |a, _, _| flush(f64::from(a).exp2() as f32));
    floats32("v_log_legacy_f32", |a, _, _| f64::from(flush(a)).log2() as f32);
    floats64("v_add_f64", |a, b, _| a + b);
    floats64("v_mul_f64", |a, b, _| a * b);
    floats64("v_fma_f64", f64::mul_add);
    floats64("v_fmac_f64", |a, b, _| a.mul_add(b, 0.0));
    floats64("v_min_f64", |a, b, _| a.min(b));
    floats64("v_max_f64", |a, b, _| a.max(b));
    floats64("v_trunc_f64", |a, _, _| a.trunc());
    floats64("v_ceil_f64", |a, _, _| a.ceil());
    floats64("v_floor_f64", |a, _, _| a.floor());
    floats64("v_rndne_f64", |a, _, _| a.round_ties_even());
    floats64("v_fract_f64", |a, _, _| fraction(a, 1.0 - f64::EPSILON / 2.0));
    floats64("v_rcp_f64", |a, _, _| 1.0 / a);
    floats64("v_sqrt_f64", |a, _, _| a.sqrt());
    floats64("v_rsq_f64", |a, _, _| 1.0 / a.sqrt());
    floats64("v_frexp_mant_f64", |a, _, _| if a == 0.0 || !a.is_finite() { a } else { mantissa(a).0 });
    check("v_frexp_exp_i32_f64", false, |a, _, _| {
        let a = f64::from_bits(a);
        if a == 0.0 || !a.is_finite() { 0 } else { mantissa(a).1 as u32 as u64 }
    });
    floats("v_ldexp_f64", 64, |a, b, _| {
        let (mut a, mut by) = (f64::from_bits(a), (b as u32 as i32).clamp(-4200, 4200));
        if a == 0.0 || !a.is_finite() {
            return a.to_bits();
        }
        // Powers of two one after the other; a result that is rounded is rounded in the last step only.
        let (m, e) = mantissa(a);
        by += e;
        if by < -1100 {
            return (0.0_f64).copysign(a).to_bits();
        }
        if by > 1100 {
            return f64::INFINITY.copysign(a).to_bits();
        }
        a = m * 2.0_f64.powi(by.max(-1000) / 2);
        let rest = by.max(-1000) - by.max(-1000) / 2;
        a *= 2.0_f64.powi(rest);
        if by < -1000 { (a * 2.0_f64.powi(by + 1000)).to_bits() } else { a.to_bits() }
    });
}

/// A number as a mantissa in 0.5 to 1 and an exponent.
fn mantissa(a: f64) -> (f64, i32) {
    let (mut m, mut e) = (a, 0);
    while m.abs() >= 1.0 {
        m /= 2.0;
        e += 1;
    }
    while m.abs() < 0.5 {
        m *= 2.0;
        e -= 1;
    }
    (m, e)
}

#[test]
pub(super) fn half_arithmetic() {
    let twice = |a: f64, b: f64, c: f64| wide(half(a * b).into()) + c;
    for name in ["v_mad_f16", "v_mad_legacy_f16"] {
        floats16(name, twice);
    }
    for name in ["v_fma_f16", "v_fma_legacy_f16"] {
        floats16(name, |a, b, c| a.mul_add(b, c));
    }
    floats16("v_mac_f16", |a, b, _| twice(a, b, 0.0));
    floats16("v_sub_f16", |a, b, _| a - b);
    floats16("v_subrev_f16", |a, b, _| b - a);
    floats16("v_mul_f16", |a, b, _| a * b);
    floats16("v_min_f16", |a, b, _| a.min(b));
    floats16("v_max_f16", |a, b, _| a.max(b));
    floats16("v_min3_f16", |a, b, c| a.min(b).min(c));
    floats16("v_max3_f16", |a, b, c| a.max(b).max(c));
    floats16("v_med3_f16", median);
    floats16("v_trunc_f16", |a, _, _| a.trunc());
    floats16("v_ceil_f16", |a, _, _| a.ceil());
    floats16("v_floor_f16", |a, _, _| a.floor());
    floats16("v_rndne_f16", |a, _, _| a.round_ties_even());
    floats16("v_fract_f16", |a, _, _| fraction(a, 1.0 - 1.0 / 2048.0));
    floats16("v_rcp_f16", |a, _, _| 1.0 / a);
    floats16("v_sqrt_f16", |a, _, _| a.sqrt());
    floats16("v_rsq_f16", |a, _, _| 1.0 / a.sqrt());
    floats16("v_exp_f16", |a, _, _| a.exp2());
    floats16("v_log_f16", |a, _, _| a.log2());
    floats16("v_frexp_mant_f16", |a, _, _| if a == 0.0 || !a.is_finite() { a } else { mantissa(a).0 });
    check("v_frexp_exp_i16_f16", false, |a, _, _| {
        let a = wide(a);
        if a == 0.0 || !a.is_finite() { 0 } else { u64::from(mantissa(a).1 as u16) }
    });
    floats("v_ldexp_f16", 16, |a, b, _| {
        half(wide(a) * 2.0_f64.powi(i32::from(b as u16 as i16).clamp(-60, 60))).into()
    });
    // Angles are in turns.
    let turns =
        |f: fn(f64) -> f64| move |a: f64, _: f64, _: f64| if a.is_infinite() { f64::NAN } else { f(a) };
    for (name, f) in [("v_sin_f16", f64::sin as fn(f64) -> f64), ("v_cos_f16", f64::cos)] {
        for value in [0.0, 0.25, 0.125, -0.25, 0.5, 1.0, 1.75] {
            let mut rig = Rig::new();
            rig.set(2, |_| half(value).into());
            rig.run(&vop3(name, 10, [v(2), 0, 0]));
            let exact = turns(|x| x)(f(value * std::f64::consts::TAU), 0.0, 0.0);
            let got = wide(rig.get(10, 0).into());
            assert!((got - exact).abs() < 1e-3, "{name} {value}: {got}, not {exact}");
        }
    }
}

#[test]
pub(super) fn integers_of_16_and_24_bits() {
    check16("v_sub_u16", u16::wrapping_sub);
    check16("v_subrev_u16", |a, b| b.wrapping_sub(a));
    check16("v_lshlrev_b16", |a, b| b << (a & 15));
    check16("v_lshrrev_b16", |a, b| b >> (a & 15));
    check16("v_max_i16", |a, b| (a as i16).max(b as i16) as u16);
    check16("v_min_u16", u16::min);
    let three = |name: &str, f: fn(u16, u16, u16) -> u16| {
        check(name, false, |a, b, c| f(a as u16, b as u16, c as u16).into());
    };
    let signed =
        |f: fn(i16, i16, i16) -> i16| move |a: u16, b: u16, c: u16| f(a as i16, b as i16, c as i16) as u16;
    for name in ["v_mad_i16", "v_mad_u16", "v_mad_legacy_i16", "v_mad_legacy_u16"] {
        three(name, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    }
    three("v_max3_u16", |a, b, c| a.max(b).max(c));
    three("v_min3_u16", |a, b, c| a.min(b).min(c));
    three("v_med3_u16", median);
    for (name, f) in [
        ("v_max3_i16", (|a, b, c| a.max(b).max(c)) as fn(i16, i16, i16) -> i16),
        ("v_min3_i16", |a, b, c| a.min(b).min(c)),
        ("v_med3_i16", median),
    ] {
        let f = signed(f);
        check(name, false, |a, b, c| f(a as u16, b as u16, c as u16).into());
    }
    check32("v_mad_i32_i16", |a, b, c| {
        (i32::from(a as i16) * i32::from(b as i16)).wrapping_add(c as i32) as u32
    });
    check32("v_mad_u32_u16", |a, b, c| (u32::from(a as u16) * u32::from(b as u16)).wrapping_add(c));
    let low = |x: u32| (x << 8) as i32 >> 8;
    check32("v_mad_i32_i24", |a, b, c| low(a).wrapping_mul(low(b)).wrapping_add(c as i32) as u32);
    check32("v_mul_hi_i32_i24", |a, b, _| ((i64::from(low(a)) * i64::from(low(b))) >> 32) as u32);
    check32("v_mul_hi_u32_u24", |a, b, _| {
        ((u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)) >> 32) as u32
    });
}

#[test]
pub(super) fn integers_and_bits_of_32_bits() {
    check32("v_add_i32", u32_add);
    check32("v_sub_i32", |a, b, _| a.wrapping_sub(b));
    check32("v_or_b32", |a, b, _| a | b);
    check32("v_xor_b32", |a, b, _| a ^ b);
    check32("v_not_b32", |a, _, _| !a);
    check32("v_lshrrev_b32", |a, b, _| b >> (a & 31));
    check32("v_lshl_or_b32", |a, b, c| a << (b & 31) | c);
    check32("v_bfm_b32", |a, b, _| ((1_u32 << (a & 31)) - 1) << (b & 31));
    check32("v_ffbl_b32", |a, _, _| if a == 0 { u32::MAX } else { a.trailing_zeros() });
    check32("v_max_i32", |a, b, _| (a as i32).max(b as i32) as u32);
    check32("v_min_u32", |a, b, _| a.min(b));
    check32("v_max3_i32", |a, b, c| (a as i32).max(b as i32).max(c as i32) as u32);
    check32("v_min3_i32", |a, b, c| (a as i32).min(b as i32).min(c as i32) as u32);
    check32("v_max3_u32", |a, b, c| a.max(b).max(c));
    check32("v_min3_u32", |a, b, c| a.min(b).min(c));
    check32("v_pack_b32_f16", |a, b, _| a & 0xffff | b << 16);
    let bytes = |x: u32| x.to_le_bytes().map(u32::from);
    let differences = |a: u32, b: u32| (0..4).map(|n| bytes(a)[n].abs_diff(bytes(b)[n])).sum::<u32>();
    let masked = |a: u32, b: u32| {
        (0..4).filter(|n| bytes(b)[*n] != 0).map(|n| bytes(a)[n].abs_diff(bytes(b)[n])).sum::<u32>()
    };
    check32("v_sad_hi_u8", |a, b, c| (differences(a, b) << 16).wrapping_add(c));
    check32("v_msad_u8", |a, b, c| masked(a, b).wrapping_add(c));
    check32("v_sad_u16", |a, b, c| {
        let low = (a & 0xffff).abs_diff(b & 0xffff);
        low.wrapping_add((a >> 16).abs_diff(b >> 16)).wrapping_add(c)
    });
    check32("v_lerp_u8", |a, b, c| {
        u32::from_le_bytes(std::array::from_fn(|n| {
            ((bytes(a)[n] + bytes(b)[n] + (bytes(c)[n] & 1)) / 2) as u8
        }))
    });
    let windows = |sad: &dyn Fn(u32, u32) -> u32, a: u64, b: u64, c: u64| {
        (0..4).fold(0, |all, n| {
            let sum = (c >> (16 * n) & 0xffff) + u64::from(sad((a >> (8 * n)) as u32, b as u32));
            all | (sum & 0xffff) << (16 * n)
        })
    };
    check("v_qsad_pk_u16_u8", true, |a, b, c| windows(&differences, a, b, c));
    check("v_mqsad_pk_u16_u8", true, |a, b, c| windows(&masked, a, b, c));
    check32("v_sat_pk_u8_i16", |a, _, _| {
        let clamp = |x: u32| i32::from(x as u16 as i16).clamp(0, 255) as u32;
        clamp(a) | clamp(a >> 16) << 8
    });
    check32("v_cvt_pk_u16_u32", |a, b, _| a.min(0xffff) | b.min(0xffff) << 16);
}

fn u32_add(a: u32, b: u32, _: u32) -> u32 {
    a.wrapping_add(b)
}

#[test]
pub(super) fn conversions() {
    let single = |a: u64| f32::from_bits(a as u32);
    check("v_cvt_f32_i32", false, |a, _, _| u64::from((a as u32 as i32 as f32).to_bits()));
    check("v_cvt_f64_u32", true, |a, _, _| f64::from(a as u32).to_bits());
    for byte in [0, 1, 3] {
        let name = format!("v_cvt_f32_ubyte{byte}");
        check(&name, false, |a, _, _| u64::from(f32::from((a >> (8 * byte)) as u8).to_bits()));
    }
    check("v_cvt_u32_f32", false, |a, _, _| u64::from(single(a) as u32));
    check("v_cvt_i32_f64", false, |a, _, _| u64::from(f64::from_bits(a) as i32 as u32));
    check("v_cvt_flr_i32_f32", false, |a, _, _| u64::from(single(a).floor() as i32 as u32));
    check(
        "v_cvt_rpi_i32_f32",
        false,
        |a, _, _| u64::from((f64::from(single(a)) + 0.5).floor() as i32 as u32),
    );
    check("v_cvt_off_f32_i4", false, |a, _, _| {
        let four = (a & 15) as i32;
        u64::from(((if four > 7 { four - 16 } else { four }) as f32 / 16.0).to_bits())
    });
    floats("v_cvt_f32_f64", 64, |a, _, _| u64::from((f64::from_bits(a) as f32).to_bits()));
    floats("v_cvt_f32_f16", 32, |a, _, _| u64::from((wide(a) as f32).to_bits()));
    check("v_cvt_f16_u16", false, |a, _, _| half(f64::from(a as u16)).into());
    check("v_cvt_f16_i16", false, |a, _, _| half(f64::from(a as u16 as i16)).into());
    check("v_cvt_u16_f16", false, |a, _, _| u64::from(wide(a) as u16));
    check("v_cvt_i16_f16", false, |a, _, _| u64::from(wide(a) as i16 as u16));
    let snorm = |x: f64| u64::from((x.clamp(-1.0, 1.0) * 32767.0).round_ties_even() as i16 as u16);
    let unorm = |x: f64| u64::from((x.clamp(0.0, 1.0) * 65535.0).round_ties_even() as u16);
    check("v_cvt_norm_i16_f16", false, |a, _, _| snorm(wide(a)));
    check("v_cvt_norm_u16_f16", false, |a, _, _| unorm(wide(a)));
    check("v_cvt_pknorm_i16_f16", false, |a, b, _| snorm(wide(a)) | snorm(wide(b)) << 16);
    check("v_cvt_pknorm_u16_f16", false, |a, b, _| unorm(wide(a)) | unorm(wide(b)) << 16);
    let f = |a: u64| f64::from(single(a));
    check("v_cvt_pknorm_i16_f32", false, |a, b, _| snorm(f(a)) | snorm(f(b)) << 16);
    check("v_cvt_pknorm_u16_f32", false, |a, b, _| unorm(f(a)) | unorm(f(b)) << 16);
    check("v_cvt_pk_u8_f32", false, |a, b, c| {
        let shift = 8 * (b & 3);
        c & 0xffff_ffff & !(0xff << shift) | u64::from(single(a).round_ties_even() as u8) << shift
    });
    check("v_cvt_pkaccum_u8_f32", false, |a, b, _| u64::from(single(a) as u8) << (8 * (b & 3)));
    for round in 0..8 {
        let mut rig = Rig::new();
        for (register, source) in [(2, 1), (4, 2)] {
            rig.set(register, |lane| sample(u64::from(lane) * 3 + round * 199 + source) as u32);
        }
        rig.run(&vop3("v_cvt_pkrtz_f16_f32", 10, [v(2), v(4), 0]));
        for lane in 0..64 {
            for (register, shift) in [(2, 0), (4, 16)] {
                let exact = f64::from(f32::from_bits(rig.get(register, lane)));
                let got = wide((rig.get(10, lane) >> shift).into());
                // Towards zero: not beyond, and the next number would be.
                let bits = (rig.get(10, lane) >> shift) as u16;
                let next = if bits & 0x7fff < 0x7bff { F16(bits + 1).to_f64().abs() } else { f64::INFINITY };
                let good = exact.is_nan() && got.is_nan()
                    || got == exact
                    || got.abs() <= exact.abs() && exact.abs() < next;
                assert!(good, "{exact:e}: {got:e}");
            }
        }
    }
}

#[test]
pub(super) fn conversions_of_8_bit_floats() {
    let mut rig = Rig::new();
    rig.set(2, |lane| (lane * 4) | ((lane * 4 + 1) << 8) | 0x7700_0000);
    for (one, pair, format) in
        [("v_cvt_f32_fp8", "v_cvt_pk_f32_fp8", FP8), ("v_cvt_f32_bf8", "v_cvt_pk_f32_bf8", BF8)]
    {
        rig.run(&[vop1(one, 10, v(2)), vop1(pair, 12, v(2))]);
        for lane in 0..64 {
            let [low, high, ..] = rig.get(2, lane).to_le_bytes();
            assert_eq!(rig.get(10, lane), format.decode(low).to_bits());
            assert_eq!(
                (rig.get(12, lane), rig.get(13, lane)),
                (format.decode(low).to_bits(), format.decode(high).to_bits())
            );
        }
    }
    rig.set(2, |lane| (lane as f32 - 30.5).to_bits());
    rig.set(4, |lane| (lane as f32 / 16.0).to_bits());
    for (pair, format) in [("v_cvt_pk_fp8_f32", FP8), ("v_cvt_pk_bf8_f32", BF8)] {
        rig.set(10, |_| 0xaaaa_bbbb);
        rig.run(&vop3(pair, 10, [v(2), v(4), 0]));
        for lane in 0..64 {
            let encoded = |register| u32::from(format.encode(f32::from_bits(rig.get(register, lane)), false));
            assert_eq!(rig.get(10, lane), 0xaaaa_0000 | encoded(2) | encoded(4) << 8);
        }
    }
    // Nothing random: as without. The second source is zero, so what is cut off decides alone.
    for (one, format) in [("v_cvt_sr_fp8_f32", FP8), ("v_cvt_sr_bf8_f32", BF8)] {
        rig.set(2, |lane| format.decode(lane as u8).to_bits());
        rig.set(4, |_| 0);
        rig.set(10, |_| 0);
        rig.run(&vop3(one, 10, [v(2), v(4), 0]));
        assert!((0..64).all(|lane| rig.get(10, lane) == lane as u32), "{one} of numbers that the format has");
    }
}

#[test]
pub(super) fn cube_maps_choose_the_largest_coordinate() {
    let cases = [
        ([1.0, 2.0, 3.0], 4.0, 6.0, 1.0, -2.0),
        ([1.0, 2.0, -3.0], 5.0, -6.0, -1.0, -2.0),
        ([1.0, 3.0, 2.0], 2.0, 6.0, 1.0, 2.0),
        ([1.0, -3.0, 2.0], 3.0, -6.0, 1.0, -2.0),
        ([3.0, 1.0, 2.0], 0.0, 6.0, -2.0, -1.0),
        ([-3.0, 1.0, 2.0], 1.0, -6.0, 2.0, -1.0),
    ];
    for (xyz, id, ma, sc, tc) in cases {
        let mut rig = Rig::new();
        for (register, value) in [2, 4, 6].into_iter().zip(xyz) {
            rig.set(register, |_| f32::to_bits(value));
        }
        for (mnemonic, expected) in
            [("v_cubeid_f32", id), ("v_cubema_f32", ma), ("v_cubesc_f32", sc), ("v_cubetc_f32", tc)]
        {
            rig.run(&vop3(mnemonic, 10, [v(2), v(4), v(6)]));
            assert_eq!(f32::from_bits(rig.get(10, 0)), expected, "{mnemonic} {xyz:?}");
        }
    }
}

#[test]
pub(super) fn division_steps_of_doubles_and_halves_join() {
    for n in 0..40 {
        let (a, b) = (f64::from_bits(sample(n * 3 + 50)), f64::from_bits(sample(n * 7 + 11)));
        if !(a / b).is_normal()
            || !a.is_normal()
            || !b.is_normal()
            || (a.to_bits() >> 52 & 0x7ff).abs_diff(b.to_bits() >> 52 & 0x7ff) > 700
        {
            continue;
        }
        let mut rig = Rig::new();
        rig.set64(2, |_| a.to_bits());
        rig.set64(4, |_| b.to_bits());
        let mut code = vec![];
        let scale = |dst: u32, src: [u32; 3]| {
            let [low, high] = vop3("v_div_scale_f64", dst, src);
            [low | 106 << 8, high]
        };
        code.extend(scale(6, [v(4), v(4), v(2)]));
        code.extend(scale(8, [v(2), v(4), v(2)]));
        code.push(vop1("v_rcp_f64", 10, v(6)));
        // One Newton step on the reciprocal, then quotient and remainder.
        let negated = |mnemonic: &str, dst: u32, src: [u32; 3]| {
            let [low, high] = vop3(mnemonic, dst, src);
            [low, high | 1 << 29]
        };
        code.extend(negated("v_fma_f64", 12, [v(6), v(10), 242]));
        code.extend(vop3("v_fma_f64", 10, [v(10), v(12), v(10)]));
        code.extend(vop3("v_mul_f64", 14, [v(8), v(10), 0]));
        code.extend(negated("v_fma_f64", 16, [v(6), v(14), v(8)]));
        code.extend(vop3("v_div_fmas_f64", 18, [v(16), v(10), v(14)]));
        code.extend(vop3("v_div_fixup_f64", 20, [v(18), v(4), v(2)]));
        rig.run(&code);
        assert_eq!(f64::from_bits(rig.get64(20, 0)), a / b, "{a:e} / {b:e}");
    }
    for name in ["v_div_fixup_f16", "v_div_fixup_legacy_f16"] {
        for (q, b, a, expected) in
            [(0x3c00, 0x4000, 0x4000, 0x3c00), (0x3c00, 0, 0x4000, 0x7c00), (0x3c00, 0x7c00, 0xc000, 0x8000)]
        {
            let mut rig = Rig::new();
            for (register, value) in [(2, q), (4, b), (6, a)] {
                rig.set(register, |_| value);
            }
            rig.run(&vop3(name, 10, [v(2), v(4), v(6)]));
            assert_eq!(rig.get(10, 0), expected, "{name} of {a:#x} / {b:#x}");
        }
    }
}

/// Packed operations on both halves, and with the second source's halves exchanged.
fn packed(mnemonic: &str, float: bool, f: impl Fn(u16, u16, u16) -> u16) {
    for swapped in [false, true] {
        let mut rig = Rig::new();
        for (register, source) in [(2, 1), (4, 2), (6, 3)] {
            rig.set(register, |lane| sample(u64::from(lane) * 5 + source * 31) as u32);
        }
        let [low, high] = vop3p(mnemonic, 10, [v(2), v(4), v(6)]);
        rig.run(&if swapped { [low | 2 << 11, high & !(2 << 27)] } else { [low, high] });
        for lane in 0..64 {
            let part = |register: u8, n: u32| (rig.get(register, lane) >> (16 * n)) as u16;
            for n in 0..2 {
                let b = part(4, if swapped { 1 - n } else { n });
                let (got, want) = (part(10, n), f(part(2, n), b, part(6, n)));
                let nan = float && wide(got.into()).is_nan() && wide(want.into()).is_nan();
                let inputs_nan = [part(2, n), b].iter().any(|x| wide((*x).into()).is_nan());
                let ordering = float && (mnemonic.contains("min") || mnemonic.contains("max"));
                let loose = ordering && (inputs_nan || (got | want) & 0x7fff == 0);
                assert!(
                    got == want || nan || loose,
                    "{mnemonic} {:#x} {b:#x} {:#x}: {got:#x}, not {want:#x}",
                    part(2, n),
                    part(6, n)
                );
            }
        }
    }
}

#[test]
pub(super) fn packed_16_bit_operations() {
    packed("v_pk_mad_i16", false, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    packed("v_pk_mad_u16", false, |a, b, c| a.wrapping_mul(b).wrapping_add(c));
    packed("v_pk_mul_lo_u16", false, |a, b, _| a.wrapping_mul(b));
    packed("v_pk_add_i16", false, |a, b, _| a.wrapping_add(b));
    packed("v_pk_sub_i16", false, |a, b, _| a.wrapping_sub(b));
    packed("v_pk_sub_u16", false, |a, b, _| a.wrapping_sub(b));
    packed("v_pk_lshlrev_b16", false, |a, b, _| b << (a & 15));
    packed("v_pk_lshrrev_b16", false, |a, b, _| b >> (a & 15));
    packed("v_pk_ashrrev_i16", false, |a, b, _| (b as i16 >> (a & 15)) as u16);
    packed("v_pk_max_i16", false, |a, b, _| (a as i16).max(b as i16) as u16);
    packed("v_pk_min_i16", false, |a, b, _| (a as i16).min(b as i16) as u16);
    packed("v_pk_max_u16", false, |a, b, _| a.max(b));
    packed("v_pk_min_u16", false, |a, b, _| a.min(b));
    let f = |x: u16| wide(x.into());
    packed("v_pk_fma_f16", true, |a, b, c| half(f(a).mul_add(f(b), f(c))));
    packed("v_pk_mul_f16", true, |a, b, _| half(f(a) * f(b)));
    packed("v_pk_min_f16", true, |a, b, _| half(f(a).min(f(b))));
    packed("v_pk_max_f16", true, |a, b, _| half(f(a).max(f(b))));
    let mut rig = Rig::new();
    rig.set(2, |_| 0x4000_3c00);
    rig.set(3, |_| 0x4200_4000);
    rig.set(10, |_| 0x3c00_3c00);
    rig.run(&[vop2("v_pk_fmac_f16", 10, v(2), 3)]);
    assert_eq!(rig.get(10, 0), 0x4700_4200, "2 * 3 + 1 and 1 * 2 + 1");
}

#[test]
pub(super) fn packed_singles_select_halves_of_pairs() {
    let mut rig = Rig::new();
    let pairs = [(2, [1.5_f32, 2.5]), (4, [3.0, 5.0]), (6, [7.0, 11.0])];
    for (register, [low, high]) in pairs {
        rig.set64(register, |_| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32);
    }
    let result = |rig: &Rig| [f32::from_bits(rig.get(10, 9)), f32::from_bits(rig.get(11, 9))];
    for (mnemonic, expected) in
        [("v_pk_add_f32", [4.5, 7.5]), ("v_pk_mul_f32", [4.5, 12.5]), ("v_pk_fma_f32", [11.5, 23.5])]
    {
        rig.run(&vop3p(mnemonic, 10, [v(2), v(4), v(6)]));
        assert_eq!(result(&rig), expected, "{mnemonic}");
    }
    // Both halves of the second source from its upper register.
    let [low, high] = vop3p("v_pk_mul_f32", 10, [v(2), v(4), 0]);
    rig.run(&[low | 2 << 11, high]);
    assert_eq!(result(&rig), [7.5, 12.5]);
    // A move takes its low result by OP_SEL of source 0, the high one by that of source 1.
    let [low, high] = vop3p("v_pk_mov_b32", 10, [v(2), v(4), 0]);
    rig.run(&[low | 1 << 11, high]);
    assert_eq!(result(&rig), [2.5, 3.0]);
}

#[test]
pub(super) fn mixed_precision_writes_one_half() {
    let mut rig = Rig::new();
    rig.set(2, |_| 1.5_f32.to_bits());
    rig.set(4, |_| 2.0_f32.to_bits());
    rig.set(6, |_| 0.25_f32.to_bits());
    rig.set(10, |_| 0x1111_2222);
    for (mnemonic, expected) in [("v_fma_mixlo_f16", 0x1111_4280), ("v_fma_mixhi_f16", 0x4280_4280)] {
        let [low, high] = vop3p(mnemonic, 10, [v(2), v(4), v(6)]);
        // All sources single: OP_SEL_HI clear.
        rig.run(&[low & !(1 << 14), high & !(3 << 27)]);
        assert_eq!(rig.get(10, 0), expected, "{mnemonic}");
    }
}

#[test]
pub(super) fn dot_products_of_integers() {
    let element = |x: u32, n: u32, bits: u32, signed: bool| {
        let raised = x << (32 - bits * (n + 1));
        if signed { raised as i32 >> (32 - bits) } else { (raised >> (32 - bits)) as i32 }
    };
    for (mnemonic, bits, signed) in [
        ("v_dot2_i32_i16", 16, true),
        ("v_dot2_u32_u16", 16, false),
        ("v_dot4_i32_i8", 8, true),
        ("v_dot4_u32_u8", 8, false),
        ("v_dot8_i32_i4", 4, true),
        ("v_dot8_u32_u4", 4, false),
        ("v_dot2c_i32_i16", 16, true),
        ("v_dot4c_i32_i8", 8, true),
        ("v_dot8c_i32_i4", 4, true),
    ] {
        let mut rig = Rig::new();
        for (register, source) in [(2, 1), (4, 2), (6, 3), (10, 3)] {
            rig.set(register, |lane| sample(u64::from(lane) * 5 + source * 31) as u32);
        }
        if mnemonic.contains("c_") {
            rig.run(&[vop2(mnemonic, 10, v(2), 4)]);
        } else {
            rig.run(&vop3p(mnemonic, 10, [v(2), v(4), v(6)]));
        }
        for lane in 0..64 {
            let expected = (0..32 / bits).fold(rig.get(6, lane), |sum, n| {
                let [a, b] = [2, 4].map(|register| element(rig.get(register, lane), n, bits, signed));
                sum.wrapping_add(a.wrapping_mul(b) as u32)
            });
            assert_eq!(rig.get(10, lane), expected, "{mnemonic}");
        }
    }
}

#[test]
pub(super) fn moves_between_files_and_registers() {
    let mut rig = Rig::new();
    rig.set(2, |lane| 100 + lane);
    rig.set(3, |lane| 200 + lane);
    rig.wave.set_exec(!1);
    rig.run(&[vop1("v_swap_b32", 2, v(3)), vop1("v_nop", 0, 0), vop1("v_clrexcp", 0, 0)]);
    assert_eq!([rig.get(2, 0), rig.get(2, 1), rig.get(3, 1)], [100, 201, 101]);
    rig.run(&vop3p("v_accvgpr_write_b32", 7, [v(2), 0, 0]));
    assert_eq!((rig.wave.acc(7)[0], rig.wave.acc(7)[1]), (0, 201));
    rig.run(&[vop1("v_accvgpr_mov_b32", 8, v(7))]);
    rig.run(&vop3p("v_accvgpr_read_b32", 9, [v(8), 0, 0]));
    assert_eq!(rig.get(9, 1), 201);
}

#[test]
pub(super) fn literals_and_borrows() {
    let mut rig = Rig::new();
    rig.set(2, |_| 3.0_f32.to_bits());
    rig.set(3, |_| 5.0_f32.to_bits());
    rig.run(&[vop2("v_fmamk_f32", 10, v(2), 3), 2.0_f32.to_bits()]);
    assert_eq!(f32::from_bits(rig.get(10, 0)), 11.0, "3 * literal + 5");
    rig.run(&[vop2("v_fmaak_f32", 10, v(2), 3), 2.0_f32.to_bits()]);
    assert_eq!(f32::from_bits(rig.get(10, 0)), 17.0, "3 * 5 + literal");
    rig.set(2, |lane| lane);
    rig.set(3, |_| 5);
    rig.run(&[vop2("v_subrev_co_u32", 10, v(2), 3)]);
    assert_eq!((rig.get(10, 2), rig.get(10, 7)), (3, 5_u32.wrapping_sub(7)));
    assert_eq!(rig.wave.vcc(), !0x3f, "a borrow where the first source is greater");
    rig.run(&[vop2("v_subbrev_co_u32", 10, v(2), 3)]);
    assert_eq!((rig.get(10, 5), rig.get(10, 6)), (0, 5_u32.wrapping_sub(7)));
}
