//! Rounding and denormal modes: every operation in every combination of them, against exact results.
#![allow(clippy::cast_possible_truncation, reason = "operands are bit patterns")]

use super::support::{Rig, sample, v, vop3, vop3p};
use crate::float::F16;

/// A format: its numbers as f64, and the next one away from zero.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    Half,
    Single,
}

impl Size {
    fn read(self, bits: u32) -> f64 {
        match self {
            Size::Half => F16(bits as u16).to_f64(),
            Size::Single => f64::from(f32::from_bits(bits)),
        }
    }

    fn subnormal(self, value: f64) -> bool {
        let least = match self {
            Size::Half => 2.0_f64.powi(-14),
            Size::Single => f64::from(f32::MIN_POSITIVE),
        };
        value != 0.0 && value.abs() < least
    }

    /// Numbers of which sums, products and products plus numbers are exact in f64.
    fn operand(self, n: u64) -> u32 {
        let noise = sample(n * 7 + 101) as u32;
        match self {
            // Exponents from denormals up to 2^-4, and a few beyond.
            Size::Half => noise & 0x87ff | (noise >> 16 & 7) << 11,
            Size::Single => {
                let exponent = [0, 1, 2, 60, 64, 66, 127, 130][(noise >> 24 & 7) as usize];
                noise & 0x8000_0fff | exponent << 23 | (noise & 0xf000) << 7
            }
        }
    }
}

/// Whether `got` is `exact` rounded as mode `round` says: to nearest even, up, down, towards zero.
fn rounded(size: Size, round: u32, exact: f64, got: u32) -> bool {
    let value = size.read(got);
    if value == exact {
        return true;
    }
    // The neighbours of the result, by the order of bit patterns away from zero.
    let below = |bits: u32| if bits & 0x7fff_ffff == 0 { 0.0 } else { size.read(bits - 1) };
    let (sign, magnitude) = (exact.is_sign_negative(), exact.abs());
    if value.is_sign_negative() != sign {
        return false;
    }
    let away = if value.is_infinite() { f64::INFINITY } else { size.read(got + 1).abs() };
    let towards = match size {
        Size::Half if got & 0x7fff == 0 => 0.0,
        _ => below(got).abs(),
    };
    let (value, to_zero) = (value.abs(), matches!((round, sign), (3, _) | (1, true) | (2, false)));
    if round == 0 {
        let middle = |a: f64, b: f64| if b.is_infinite() { a } else { f64::midpoint(a, b) };
        let high = if value.is_infinite() { f64::INFINITY } else { middle(value, away) };
        let low = if value.is_infinite() { 0.0 } else { middle(towards, value) };
        let even = got & 1 == 0;
        (low < magnitude || low == magnitude && even) && (magnitude < high || magnitude == high && even)
    } else if to_zero {
        value <= magnitude && magnitude < away
    } else {
        towards < magnitude && magnitude <= value
    }
}

type Exact = fn(f64, f64, f64) -> f64;

fn check(mnemonic: &str, size: Size, packed: bool, exact: Exact) {
    for mode in 0..64_u32 {
        let (round, flush_in, flush_out) = (mode & 3, mode >> 2 & 1 == 0, mode >> 3 & 1 == 0);
        // The fields of the other size are different, so that a mix-up shows.
        let (own, other) = (round | (mode >> 2 & 3) << 4, (round ^ 3) | (!(mode >> 2) & 3) << 4);
        let (single, double) = if size == Size::Single { (own, other) } else { (other, own) };
        let mut rig = Rig::new();
        rig.wave.mode =
            0x300 | single & 3 | (double & 3) << 2 | (single >> 4 & 3) << 4 | (double >> 4 & 3) << 6;
        for (register, source) in [(2, 1), (4, 2), (6, 3)] {
            rig.set(register, |lane| size.operand(u64::from(lane + 64 * mode) * 3 + source));
        }
        if packed {
            rig.run(&vop3p(mnemonic, 10, [v(2), v(4), v(6)]));
        } else {
            rig.run(&vop3(mnemonic, 10, [v(2), v(4), v(6)]));
        }
        for lane in 0..64 {
            let input = |register| {
                let value = size.read(rig.get(register, lane));
                if flush_in && size.subnormal(value) { 0.0_f64.copysign(value) } else { value }
            };
            let exact = exact(input(2), input(4), input(6));
            let got = if size == Size::Half { rig.get(10, lane) & 0xffff } else { rig.get(10, lane) };
            let flushed = flush_out && size.read(got) == 0.0;
            let tiny = size.subnormal(exact) || exact.abs() < 1e-300;
            let good = if exact == 0.0 {
                size.read(got) == 0.0
            } else {
                rounded(size, round, exact, got) || flushed && tiny
            };
            assert!(good, "{mnemonic}, MODE {:#x}, lane {lane}: {got:#x} for {exact:e}", rig.wave.mode);
            assert!(!flush_out || !size.subnormal(size.read(got)), "{mnemonic} gives a denormal: {got:#x}");
        }
    }
}

#[test]
pub(super) fn results_are_rounded_and_flushed_as_mode_says() {
    check("v_mul_f32", Size::Single, false, |a, b, _| a * b);
    check("v_add_f16", Size::Half, false, |a, b, _| a + b);
    check("v_sub_f16", Size::Half, false, |a, b, _| a - b);
    check("v_mul_f16", Size::Half, false, |a, b, _| a * b);
    check("v_fma_f16", Size::Half, false, |a, b, c| a * b + c);
    check("v_pk_add_f16", Size::Half, true, |a, b, _| a + b);
    check("v_pk_mul_f16", Size::Half, true, |a, b, _| a * b);
    check("v_pk_fma_f16", Size::Half, true, |a, b, c| a * b + c);
}
