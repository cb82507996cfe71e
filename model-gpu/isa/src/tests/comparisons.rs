//! Every comparison, vector and scalar, by what its name says.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use std::cmp::Ordering;

use super::support::{Rig, sample, sopc, sopk, v, vop3};
use crate::Target;
use crate::float::F16;
use crate::instruction::Encoding;

/// How two operands of a type compare; none when one is not a number.
fn order(ty: &str, a: u64, b: u64) -> Option<Ordering> {
    Some(match ty {
        "i16" => (a as i16).cmp(&(b as i16)),
        "u16" => (a as u16).cmp(&(b as u16)),
        "i32" => (a as i32).cmp(&(b as i32)),
        "u32" => (a as u32).cmp(&(b as u32)),
        "i64" => (a as i64).cmp(&(b as i64)),
        "u64" => a.cmp(&b),
        "f16" => return F16(a as u16).to_f64().partial_cmp(&F16(b as u16).to_f64()),
        "f32" => return f32::from_bits(a as u32).partial_cmp(&f32::from_bits(b as u32)),
        "f64" => return f64::from_bits(a).partial_cmp(&f64::from_bits(b)),
        _ => panic!("{ty}"),
    })
}

/// What a condition says of an order. Conditions with `n` in front are true for unordered operands.
fn holds(condition: &str, order: Option<Ordering>) -> bool {
    match condition {
        "f" => false,
        "t" | "tru" => true,
        "lt" => order == Some(Ordering::Less),
        "eq" => order == Some(Ordering::Equal),
        "gt" => order == Some(Ordering::Greater),
        "le" => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        "ge" => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        "lg" => matches!(order, Some(Ordering::Less | Ordering::Greater)),
        "ne" | "neq" => order != Some(Ordering::Equal),
        "o" => order.is_some(),
        "u" => order.is_none(),
        _ => !holds(condition.strip_prefix('n').unwrap_or_else(|| panic!("{condition}")), order),
    }
}

#[test]
pub(super) fn vector_comparisons_do_what_their_names_say() {
    for row in crate::tables::rows(Target::Gfx942, Encoding::Vopc) {
        let [_, kind, condition, ty] =
            row.mnemonic.split('_').collect::<Vec<_>>().try_into().expect("four parts");
        if condition == "class" {
            continue;
        }
        for round in 0..3 {
            let mut rig = Rig::new();
            rig.set64(2, |lane| sample(u64::from(lane) + round * 64));
            // Some pairs are equal.
            rig.set64(4, |lane| {
                sample(if lane % 3 == 0 { u64::from(lane) + round * 64 } else { u64::from(lane) * 7 + 3 })
            });
            rig.wave.set_exec(0xffff_ffff_ffff_0ff0);
            rig.run(&vop3(row.mnemonic, 20, [v(2), v(4), 0]));
            let expected = (0..64).fold(0, |mask, lane| {
                let result = holds(condition, order(ty, rig.get64(2, lane), rig.get64(4, lane)));
                mask | u64::from(result) << lane
            }) & 0xffff_ffff_ffff_0ff0;
            assert_eq!(rig.wave.sgpr64(20), expected, "{}", row.mnemonic);
            let exec = if kind == "cmpx" { expected } else { 0xffff_ffff_ffff_0ff0 };
            assert_eq!(rig.wave.exec(), exec, "{}", row.mnemonic);
        }
    }
}

#[test]
pub(super) fn class_tests_look_at_one_bit_of_the_second_source() {
    // Signaling and quiet NaN, -infinity, -normal, -denormal, -0, and the same upwards.
    let singles = [
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
    let halves = [0x7c01, 0x7e00, 0xfc00, 0xbc00, 0x8001, 0x8000, 0, 1, 0x3c00, 0x7c00];
    let doubles = [
        0x7ff0_0000_0000_0001,
        0x7ff8_0000_0000_0000,
        0xfff0_0000_0000_0000,
        0xbff0_0000_0000_0000,
        0x8000_0000_0000_0001,
        0x8000_0000_0000_0000,
        0,
        1,
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
    ];
    for (ty, values) in [("f32", singles), ("f16", halves), ("f64", doubles)] {
        for kind in ["cmp", "cmpx"] {
            let mnemonic = format!("v_{kind}_class_{ty}");
            for (class, value) in values.into_iter().enumerate() {
                let mut rig = Rig::new();
                rig.set64(2, |_| value);
                rig.set(4, |lane| 1 << (lane % 10));
                rig.run(&vop3(&mnemonic, 20, [v(2), v(4), 0]));
                let expected = (0..64).fold(0, |mask, lane| mask | u64::from(lane % 10 == class) << lane);
                assert_eq!(rig.wave.sgpr64(20), expected, "{mnemonic} of {value:#x}");
                assert_eq!(rig.wave.exec(), if kind == "cmpx" { expected } else { u64::MAX });
            }
        }
    }
}

#[test]
pub(super) fn scalar_comparisons_do_what_their_names_say() {
    for row in crate::tables::rows(Target::Gfx942, Encoding::Sopc) {
        let parts: Vec<_> = row.mnemonic.split('_').collect();
        let ["s", "cmp", condition, ty] = parts.as_slice() else { continue };
        for n in 0..100 {
            let (a, b) = (sample(n), if n % 3 == 0 { sample(n) } else { sample(n * 5 + 1) });
            let mut rig = Rig::new();
            rig.wave.set_sgpr64(2, a);
            rig.wave.set_sgpr64(4, b);
            rig.run(&[sopc(row.mnemonic, 2, 4)]);
            assert_eq!(rig.wave.scc(), holds(condition, order(ty, a, b)), "{} {a:#x} {b:#x}", row.mnemonic);
        }
    }
    for row in crate::tables::rows(Target::Gfx942, Encoding::Sopk) {
        let parts: Vec<_> = row.mnemonic.split('_').collect();
        let ["s", "cmpk", condition, ty] = parts.as_slice() else { continue };
        for a in [0_u32, 5, 0x7fff, 0x8000, 0xffff_8000, 0xffff_fffb, u32::MAX] {
            for k in [0_u16, 5, 0x7fff, 0x8000, 0xfffb, 0xffff] {
                let mut rig = Rig::new();
                rig.wave.set_sgpr(2, a);
                rig.run(&[sopk(row.mnemonic, 2, k)]);
                let b = if *ty == "i32" { i32::from(k as i16) as u32 } else { k.into() };
                let expected = holds(condition, order(ty, a.into(), b.into()));
                assert_eq!(rig.wave.scc(), expected, "{} {a:#x} {k:#x}", row.mnemonic);
            }
        }
    }
}

#[test]
pub(super) fn bit_comparisons_test_the_bit_that_the_second_operand_names() {
    for (mnemonic, expected) in
        [("s_bitcmp0_b32", false), ("s_bitcmp1_b32", true), ("s_bitcmp0_b64", false), ("s_bitcmp1_b64", true)]
    {
        for bit in 0..64 {
            let mut rig = Rig::new();
            let value = 0x8421_0f3c_5a96_e17d_u64;
            rig.wave.set_sgpr64(2, value);
            rig.wave.set_sgpr(4, bit);
            rig.run(&[sopc(mnemonic, 2, 4)]);
            let at = if mnemonic.ends_with("32") { bit % 32 } else { bit };
            assert_eq!(rig.wave.scc(), (value >> at & 1 == 1) == expected, "{mnemonic} {bit}");
        }
    }
}
