//! Rounding, denormals, NaN, output modifiers, special instructions.

use super::support::{Rig, sample, v, vop1, vop2, vop3, vop3p};
use crate::float::minifloat::{BF8, FP8};
use crate::float::narrow::{BFLOAT, HALF, SINGLE, narrow};
use crate::float::{F16, Round};

/// The result of one operation on lane 0, with MODE set.
fn with_mode(mode: u32, mnemonic: &str, sources: [u32; 3]) -> u32 {
    let mut rig = Rig::new();
    rig.wave.mode = mode;
    for (register, value) in (2..).zip(sources) {
        rig.set(register, |_| value);
    }
    rig.run(&vop3(mnemonic, 10, [v(2), v(3), v(4)]));
    rig.get(10, 0)
}

const IEEE: u32 = 0x300;
const KEEP_DENORMALS: u32 = 0xf0;

#[test]
pub(super) fn rounding_modes_decide_inexact_results() {
    let one = 1.0_f32.to_bits();
    let tiny = 2.0_f32.powi(-30).to_bits();
    let up = f32::from_bits(one + 1).to_bits();
    let add = |round: u32| with_mode(IEEE | KEEP_DENORMALS | round, "v_add_f32", [one, tiny, 0]);
    assert_eq!([add(0), add(1), add(2), add(3)], [one, up, one, one]);
    let negative = |round: u32| {
        with_mode(IEEE | KEEP_DENORMALS | round, "v_add_f32", [one | 1 << 31, tiny | 1 << 31, 0])
    };
    assert_eq!(
        [negative(0), negative(1), negative(2), negative(3)].map(|bits| bits & 0x7fff_ffff),
        [one, one, up, one]
    );
    let fma = |round: u32| with_mode(IEEE | KEEP_DENORMALS | round, "v_fma_f32", [tiny, tiny, one]);
    assert_eq!([fma(0), fma(1), fma(2)], [one, up, one]);
    // Halves use the other two bits.
    let half = |round: u32| {
        with_mode(IEEE | KEEP_DENORMALS | round << 2, "v_cvt_f16_f32", [1.0001_f32.to_bits(), 0, 0])
    };
    assert_eq!([half(0), half(1), half(2), half(3)], [0x3c00, 0x3c01, 0x3c00, 0x3c00]);
}

#[test]
pub(super) fn denormals_are_flushed_when_mode_says_so() {
    let denormal = 0x8000_0001;
    assert_eq!(with_mode(IEEE | KEEP_DENORMALS, "v_mul_f32", [denormal, 1.0_f32.to_bits(), 0]), denormal);
    assert_eq!(with_mode(IEEE, "v_mul_f32", [denormal, 1.0_f32.to_bits(), 0]), 0x8000_0000);
    let small = f32::MIN_POSITIVE.to_bits();
    assert_eq!(with_mode(IEEE | 0x10, "v_mul_f32", [small, 0.5_f32.to_bits(), 0]), 0);
    assert_eq!(with_mode(IEEE, "v_add_f16", [0x0001, 0x0001, 0]), 0);
    assert_eq!(with_mode(IEEE | KEEP_DENORMALS, "v_add_f16", [0x0001, 0x0001, 0]), 2);
}

#[test]
pub(super) fn minimum_and_maximum_order_zeros_and_prefer_numbers() {
    let run = |mnemonic, a, b| with_mode(IEEE | KEEP_DENORMALS, mnemonic, [a, b, 0]);
    let (quiet, signaling, one) = (0x7fc0_0001, 0x7f80_0001, 1.0_f32.to_bits());
    assert_eq!(run("v_min_f32", 0, 1 << 31), 1 << 31);
    assert_eq!(run("v_max_f32", 1 << 31, 0), 0);
    assert_eq!(run("v_min_f32", quiet, one), one);
    assert_eq!(run("v_max_f32", one, quiet), one);
    assert_eq!(run("v_max_f32", one, signaling), 0x7fc0_0001);
    assert_eq!(with_mode(KEEP_DENORMALS, "v_max_f32", [one, signaling, 0]), one, "without IEEE");
}

#[test]
pub(super) fn invalid_operations_give_the_negative_quiet_nan() {
    let infinity = f32::INFINITY.to_bits();
    let run = |mnemonic, a, b| with_mode(IEEE | KEEP_DENORMALS, mnemonic, [a, b, 0]);
    assert_eq!(run("v_sub_f32", infinity, infinity), 0xffc0_0000);
    assert_eq!(run("v_mul_f32", infinity, 0), 0xffc0_0000);
    assert_eq!(run("v_add_f32", 0x7f80_0005, 0x7fc0_0007), 0x7fc0_0005, "the first operand, made quiet");
}

#[test]
pub(super) fn clamp_and_output_multiplier_apply_to_the_result() {
    let mut rig = Rig::new();
    rig.set(2, |lane| [2.0_f32, -1.0, 0.25, f32::NAN][lane as usize % 4].to_bits());
    let mut clamped = vop3("v_add_f32", 10, [v(2), 128, 128]);
    clamped[0] |= 1 << 15;
    let mut doubled = vop3("v_add_f32", 11, [v(2), 128, 128]);
    doubled[1] |= 1 << 27;
    let mut words = clamped.to_vec();
    words.extend(doubled);
    rig.run(&words);
    let results: Vec<_> = (0..4).map(|lane| f32::from_bits(rig.get(10, lane))).collect();
    assert_eq!(results, [1.0, 0.0, 0.25, 0.0]);
    assert_eq!(f32::from_bits(rig.get(11, 0)), 2.0, "ignored while denormals are kept");
    rig.wave.mode = IEEE;
    rig.run(&words);
    assert_eq!(f32::from_bits(rig.get(11, 0)), 4.0);
}

#[test]
pub(super) fn modifiers_negate_and_take_absolute_values() {
    let mut rig = Rig::new();
    rig.set(2, |_| (-3.0_f32).to_bits());
    rig.set(4, |_| 5.0_f32.to_bits());
    let mut words = vop3("v_add_f32", 10, [v(2), v(4), 128]);
    words[0] |= 1 << 8;
    words[1] |= 1 << 30;
    rig.run(&words);
    assert_eq!(f32::from_bits(rig.get(10, 0)), 3.0 - 5.0);
}

#[test]
pub(super) fn division_steps_give_the_correctly_rounded_quotient() {
    // The compiler's expansion: scale, reciprocal, refine, multiply-add with scale, fix up.
    let program = || {
        let mut words = Vec::new();
        let fma = |dst: u32, src: [u32; 3], neg: u32| {
            let mut pair = vop3("v_fma_f32", dst, src);
            pair[1] |= neg << 29;
            pair
        };
        let mut scale = vop3("v_div_scale_f32", 4, [v(3), v(3), v(2)]);
        scale[0] |= 20 << 8;
        words.extend(scale);
        let mut scale = vop3("v_div_scale_f32", 5, [v(2), v(3), v(2)]);
        scale[0] |= 106 << 8;
        words.extend(scale);
        words.push(vop1("v_rcp_f32", 6, v(4)));
        words.extend(fma(7, [v(4), v(6), 242], 1));
        words.extend(fma(6, [v(7), v(6), v(6)], 0));
        words.push(vop2("v_mul_f32", 7, v(5), 6));
        words.extend(fma(8, [v(4), v(7), v(5)], 1));
        words.extend(fma(7, [v(8), v(6), v(7)], 0));
        words.extend(fma(8, [v(4), v(7), v(5)], 1));
        words.extend(vop3("v_div_fmas_f32", 9, [v(8), v(6), v(7)]));
        words.extend(vop3("v_div_fixup_f32", 10, [v(9), v(3), v(2)]));
        words
    };
    for round in 0..200_u64 {
        let mut rig = Rig::new();
        #[allow(clippy::cast_possible_truncation, reason = "random bits")]
        let value = |lane: u32, salt: u64| sample((u64::from(lane) + round * 64) * 3 + salt) as u32;
        rig.set(2, |lane| value(lane, 1));
        rig.set(3, |lane| value(lane, 2));
        rig.run(&program());
        for lane in 0..64 {
            let (a, b) = (f32::from_bits(rig.get(2, lane)), f32::from_bits(rig.get(3, lane)));
            let (got, want) = (f32::from_bits(rig.get(10, lane)), a / b);
            assert!(
                got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan(),
                "{a:e} / {b:e}: {got:e}"
            );
        }
    }
}

#[test]
pub(super) fn classes_are_one_hot() {
    let values = [
        0x7f80_0001,
        0x7fc0_0000,
        0xff80_0000,
        0xbf80_0000,
        0x8000_0001,
        0x8000_0000,
        0,
        1,
        0x3f80_0000,
        0x7f80_0000,
    ];
    let mut rig = Rig::new();
    rig.set(2, |lane| values[lane as usize % 10]);
    rig.set(3, |lane| 1 << (lane % 10));
    rig.run(&vop3("v_cmp_class_f32", 10, [v(2), v(3), 128]));
    assert_eq!(rig.wave.sgpr64(10), u64::MAX);
    rig.set(3, |lane| 0x3ff & !(1 << (lane % 10)));
    rig.run(&vop3("v_cmp_class_f32", 10, [v(2), v(3), 128]));
    assert_eq!(rig.wave.sgpr64(10), 0);
}

#[test]
pub(super) fn mantissa_exponent_and_scaling_are_exact() {
    let run = |mnemonic, a: f32, b: u32| with_mode(IEEE | KEEP_DENORMALS, mnemonic, [a.to_bits(), b, 0]);
    assert_eq!(f32::from_bits(run("v_frexp_mant_f32", 12.0, 0)), 0.75);
    assert_eq!(run("v_frexp_exp_i32_f32", 12.0, 0), 4);
    assert_eq!(run("v_frexp_exp_i32_f32", f32::from_bits(1), 0), (-148_i32).cast_unsigned());
    assert_eq!(f32::from_bits(run("v_ldexp_f32", 0.75, 4)), 12.0);
    assert_eq!(run("v_ldexp_f32", 1.0, (-149_i32).cast_unsigned()), 1);
    assert_eq!(run("v_ldexp_f32", 1.0, 1000), f32::INFINITY.to_bits());
    assert_eq!(f32::from_bits(run("v_fract_f32", -0.25, 0)), 0.75);
    assert_eq!(f32::from_bits(run("v_sin_f32", 0.25, 0)), 1.0);
    assert_eq!(f32::from_bits(run("v_cos_f32", 0.5, 0)), -1.0);
    assert_eq!(f32::from_bits(run("v_exp_f32", 3.0, 0)), 8.0);
    assert_eq!(f32::from_bits(run("v_log_f32", 8.0, 0)), 3.0);
}

#[test]
pub(super) fn argument_reduction_pieces_join_to_two_over_pi() {
    let piece = |segment: u32| {
        let mut rig = Rig::new();
        rig.set64(2, |_| 1.0_f64.to_bits());
        rig.run(&vop3("v_trig_preop_f64", 10, [v(2), 128 + segment, 128]));
        f64::from_bits(rig.get64(10, 0))
    };
    assert_eq!(piece(0) + piece(1), std::f64::consts::FRAC_2_PI);
    assert!(piece(1) < piece(0) * 2.0_f64.powi(-52) && piece(2) < piece(1));
}

#[test]
pub(super) fn halves_round_trip_and_round_once() {
    for bits in 0..=u16::MAX {
        let half = F16(bits);
        if !half.is_nan() {
            assert_eq!(F16::from_f32(half.to_f32(), Round::NearestEven), half);
        }
    }
    assert_eq!(narrow(65519.99, HALF, Round::NearestEven), 0x7bff);
    assert_eq!(narrow(65520.0, HALF, Round::NearestEven), 0x7c00);
    assert_eq!(narrow(1e9, HALF, Round::TowardZero), 0x7bff);
    assert_eq!(narrow(2.0_f64.powi(-25), HALF, Round::NearestEven), 0);
    assert_eq!(narrow(2.0_f64.powi(-25) * 1.0001, HALF, Round::NearestEven), 1);
    assert_eq!(narrow(-1.0 - 2.0_f64.powi(-8), BFLOAT, Round::NearestEven), 0xbf80);
    for n in 0..20_000 {
        let value = f64::from_bits(sample(n));
        #[allow(clippy::cast_possible_truncation, reason = "the reference")]
        let want = value as f32;
        if !value.is_nan() {
            assert_eq!(narrow(value, SINGLE, Round::NearestEven), want.to_bits(), "{value:e}");
        }
    }
}

#[test]
pub(super) fn eight_bit_floats_round_trip() {
    for format in [FP8, BF8] {
        for bits in 0..=u8::MAX {
            assert_eq!(format.encode(format.decode(bits), false), bits);
        }
    }
    assert_eq!((FP8.decode(0x7f), BF8.decode(0x7f)), (240.0, 57344.0));
    assert_eq!((FP8.encode(1e6, false), FP8.encode(-0.0, false), FP8.encode(1.0, false)), (0x80, 0, 0x40));
}

#[test]
pub(super) fn packed_halves_select_and_negate_their_halves() {
    let mut rig = Rig::new();
    rig.set(2, |_| 0x4000_3c00);
    rig.set(3, |_| 0x4200_4000);
    let plain = vop3p("v_pk_add_f16", 10, [v(2), v(3), 128]);
    let mut swapped = vop3p("v_pk_add_f16", 11, [v(2), v(3), 128]);
    swapped[0] |= 1 << 11;
    swapped[1] &= !(1 << 27);
    let mut mixed = vop3p("v_fma_mix_f32", 12, [v(2), v(3), 242]);
    mixed[0] = mixed[0] & !(1 << 14) | 1 << 12;
    let mut words = plain.to_vec();
    words.extend(swapped);
    words.extend(mixed);
    rig.run(&words);
    assert_eq!(rig.get(10, 5), 0x4500_4200);
    assert_eq!(rig.get(11, 5), 0x4400_4400);
    assert_eq!(f32::from_bits(rig.get(12, 5)), 4.0, "1.0 times the upper half plus a single");
}
