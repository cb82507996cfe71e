//! Vector operations against scalar references, over edge values and random ones.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "references are bit patterns"
)]

use super::support::{Rig, sample, v, vop3};

/// Runs `mnemonic` on v[2:3], v[4:5] and v[6:7] over many waves; compares v[10:11] with `expected`.
pub(super) fn check(mnemonic: &str, wide: bool, expected: impl Fn(u64, u64, u64) -> u64) {
    for round in 0..8_u64 {
        let mut rig = Rig::new();
        let value = |source: u64| move |lane: u32| sample((u64::from(lane) + round * 64) * 7 + source * 13);
        rig.set64(2, value(1));
        rig.set64(4, value(2));
        rig.set64(6, value(3));
        rig.run(&vop3(mnemonic, 10, [v(2), v(4), v(6)]));
        for lane in 0..64 {
            let [a, b, c] = [2, 4, 6].map(|register| rig.get64(register, lane));
            let got = if wide { rig.get64(10, lane) } else { rig.get(10, lane).into() };
            let want = expected(a, b, c);
            assert_eq!(got, want, "{mnemonic} {a:#x} {b:#x} {c:#x}: {got:#x}, not {want:#x}");
        }
    }
}

pub(super) fn check32(mnemonic: &str, expected: impl Fn(u32, u32, u32) -> u32) {
    check(mnemonic, false, |a, b, c| expected(a as u32, b as u32, c as u32).into());
}

pub(super) fn check16(mnemonic: &str, expected: impl Fn(u16, u16) -> u16) {
    check(mnemonic, false, |a, b, _| expected(a as u16, b as u16).into());
}

#[test]
pub(super) fn integers_of_32_bits() {
    check32("v_add_u32", |a, b, _| a.wrapping_add(b));
    check32("v_sub_u32", |a, b, _| a.wrapping_sub(b));
    check32("v_subrev_u32", |a, b, _| b.wrapping_sub(a));
    check32("v_mul_lo_u32", |a, b, _| a.wrapping_mul(b));
    check32("v_mul_hi_u32", |a, b, _| ((u128::from(a) * u128::from(b)) >> 32) as u32);
    check32("v_mul_hi_i32", |a, b, _| ((i128::from(a as i32) * i128::from(b as i32)) >> 32) as u32);
    check32("v_mul_i32_i24", |a, b, _| (((a << 8) as i32 >> 8).wrapping_mul((b << 8) as i32 >> 8)) as u32);
    check32("v_mul_u32_u24", |a, b, _| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff));
    check32("v_min_i32", |a, b, _| (a as i32).min(b as i32) as u32);
    check32("v_max_u32", |a, b, _| a.max(b));
    check32("v_med3_i32", |a, b, c| {
        let mut all = [a as i32, b as i32, c as i32];
        all.sort_unstable();
        all[1] as u32
    });
    check32("v_med3_u32", |a, b, c| {
        let mut all = [a, b, c];
        all.sort_unstable();
        all[1]
    });
    check32("v_add3_u32", |a, b, c| a.wrapping_add(b).wrapping_add(c));
    check32("v_lshl_add_u32", |a, b, c| a.wrapping_shl(b).wrapping_add(c));
    check32("v_add_lshl_u32", |a, b, c| a.wrapping_add(b).wrapping_shl(c));
    check32("v_mad_u32_u24", |a, b, c| (a & 0xff_ffff).wrapping_mul(b & 0xff_ffff).wrapping_add(c));
    check32("v_sad_u32", |a, b, c| c.wrapping_add(a.max(b) - a.min(b)));
    check32("v_sad_u8", |a, b, c| {
        (0..4).fold(c, |sum, n| sum.wrapping_add((a >> (8 * n) & 255).abs_diff(b >> (8 * n) & 255)))
    });
}

#[test]
pub(super) fn bits_of_32_bits() {
    check32("v_and_b32", |a, b, _| a & b);
    check32("v_xnor_b32", |a, b, _| !(a ^ b));
    check32("v_lshlrev_b32", |a, b, _| b.wrapping_shl(a));
    check32("v_ashrrev_i32", |a, b, _| (b as i32).wrapping_shr(a) as u32);
    check32("v_bfe_u32", |a, b, c| (u64::from(a.wrapping_shr(b)) & ((1_u64 << (c & 31)) - 1)) as u32);
    check32("v_bfe_i32", |a, b, c| {
        let width = c & 31;
        let field = (i64::from(a as i32) >> (b & 31)) as u64 & ((1 << width) - 1);
        if width > 0 && field >> (width - 1) & 1 == 1 {
            (field | u64::MAX << width) as u32
        } else {
            field as u32
        }
    });
    check32("v_bfi_b32", |a, b, c| b & a | c & !a);
    check32("v_perm_b32", |a, b, c| {
        let bytes: Vec<u8> = b.to_le_bytes().into_iter().chain(a.to_le_bytes()).collect();
        u32::from_le_bytes(c.to_le_bytes().map(|s| match s {
            0..=7 => bytes[usize::from(s)],
            8..=11 => {
                if bytes[usize::from(s - 8) * 2 + 1] > 127 {
                    255
                } else {
                    0
                }
            }
            12 => 0,
            _ => 255,
        }))
    });
    check32("v_alignbit_b32", |a, b, c| if c & 31 == 0 { b } else { b >> (c & 31) | a << (32 - (c & 31)) });
    check32(
        "v_alignbyte_b32",
        |a, b, c| if c & 3 == 0 { b } else { b >> (8 * (c & 3)) | a << (32 - 8 * (c & 3)) },
    );
    check32("v_bcnt_u32_b32", |a, b, _| ((0..32).filter(|n| a >> n & 1 == 1).count() as u32).wrapping_add(b));
    check32("v_ffbh_u32", |a, _, _| (0..32).find(|n| a >> (31 - n) & 1 == 1).unwrap_or(u32::MAX));
    check32("v_ffbh_i32", |a, _, _| (1..32).find(|n| a >> (31 - n) & 1 != a >> 31).unwrap_or(u32::MAX));
    check32("v_or3_b32", |a, b, c| a | b | c);
    check32("v_and_or_b32", |a, b, c| a & b | c);
    check32("v_xad_u32", |a, b, c| (a ^ b).wrapping_add(c));
    check32("v_bfrev_b32", |a, _, _| (0..32).fold(0, |r, n| r | (a >> n & 1) << (31 - n)));
}

#[test]
pub(super) fn integers_and_bits_of_64_bits() {
    check("v_lshlrev_b64", true, |a, b, _| b << (a & 63));
    check("v_lshrrev_b64", true, |a, b, _| b >> (a & 63));
    check("v_ashrrev_i64", true, |a, b, _| ((b as i64) >> (a & 63)) as u64);
    check("v_lshl_add_u64", true, |a, b, c| (a << (b & 7)).wrapping_add(c));
    check("v_mad_u64_u32", true, |a, b, c| (a & 0xffff_ffff).wrapping_mul(b & 0xffff_ffff).wrapping_add(c));
    check("v_mad_i64_i32", true, |a, b, c| {
        i64::from(a as i32).wrapping_mul(i64::from(b as i32)).wrapping_add(c as i64) as u64
    });
    check("v_mov_b64", true, |a, _, _| a);
}

#[test]
pub(super) fn integers_of_16_bits_clear_the_upper_half() {
    check16("v_add_u16", u16::wrapping_add);
    check16("v_mul_lo_u16", u16::wrapping_mul);
    check16("v_min_i16", |a, b| (a as i16).min(b as i16) as u16);
    check16("v_ashrrev_i16", |a, b| ((b as i16) >> (a & 15)) as u16);
    check16("v_max_u16", u16::max);
}

#[test]
pub(super) fn conversions_saturate_and_turn_nan_into_zero() {
    let float = |a: u64| f32::from_bits(a as u32);
    check("v_cvt_i32_f32", false, |a, _, _| {
        let x = f64::from(float(a));
        let clamped = if x.is_nan() { 0.0 } else { x.clamp(-2_147_483_648.0, 2_147_483_647.0).trunc() };
        u64::from(clamped as i64 as u32)
    });
    check("v_cvt_u32_f64", false, |a, _, _| {
        let x = f64::from_bits(a);
        if x.is_nan() || x <= 0.0 { 0 } else { x.min(4_294_967_295.0) as u64 }
    });
    check("v_cvt_f64_f32", true, |a, _, _| {
        let x = float(a);
        if x.is_nan() {
            f64::from_bits(f64::from(x).to_bits() | 1 << 51).to_bits()
        } else {
            f64::from(x).to_bits()
        }
    });
    check("v_cvt_f32_u32", false, |a, _, _| u64::from((a as u32 as f32).to_bits()));
    check("v_cvt_f64_i32", true, |a, _, _| f64::from(a as i32).to_bits());
    check("v_cvt_f32_ubyte2", false, |a, _, _| u64::from(f32::from((a >> 16) as u8).to_bits()));
    check("v_cvt_pk_i16_i32", false, |a, b, _| {
        let narrow = |x: u64| i64::from(x as i32).clamp(-32768, 32767) as u64 & 0xffff;
        narrow(a) | narrow(b) << 16
    });
}

#[test]
pub(super) fn float_arithmetic_equals_the_hosts_except_for_the_bits_of_nan() {
    fn same(got: u64, want: f32) -> bool {
        f32::from_bits(got as u32).is_nan() && want.is_nan() || got as u32 == want.to_bits()
    }
    type Operation = fn(f32, f32, f32) -> f32;
    let operations: [(&str, Operation); 10] = [
        ("v_add_f32", |a, b, _| a + b),
        ("v_sub_f32", |a, b, _| a - b),
        ("v_subrev_f32", |a, b, _| b - a),
        ("v_mul_f32", |a, b, _| a * b),
        ("v_fma_f32", f32::mul_add),
        ("v_trunc_f32", |a, _, _| a.trunc()),
        ("v_floor_f32", |a, _, _| a.floor()),
        ("v_rndne_f32", |a, _, _| a.round_ties_even()),
        ("v_rcp_f32", |a, _, _| 1.0 / a),
        ("v_sqrt_f32", |a, _, _| a.sqrt()),
    ];
    for (mnemonic, operation) in operations {
        for round in 0..16_u64 {
            let mut rig = Rig::new();
            for (register, source) in [(2, 1), (4, 2), (6, 3)] {
                rig.set(register, |lane| sample((u64::from(lane) + round * 64) * 5 + source * 11) as u32);
            }
            rig.run(&vop3(mnemonic, 10, [v(2), v(4), v(6)]));
            for lane in 0..64 {
                let [a, b, c] = [2, 4, 6].map(|register| f32::from_bits(rig.get(register, lane)));
                let got = rig.get(10, lane);
                assert!(same(got.into(), operation(a, b, c)), "{mnemonic} {a:e} {b:e} {c:e}: {got:#x}");
            }
        }
    }
}
