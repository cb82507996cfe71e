//! 16-bit integer arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "operands are bit patterns")]

use super::apply::{apply2, apply3, vector_ops};
use crate::instruction::{Op, Traits};
use crate::operand::Ty;

/// An operation that saturates with CLAMP; OP_SEL names the halves.
macro_rules! saturating {
    ($($name:ident [$($kind:ident),+] $apply:ident($($ty:ty),+) $wrapping:expr, $saturating:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| {
                if inst.clamp {
                    let f: fn($($ty),+) -> u16 = $saturating;
                    $apply(cx, inst, f)
                } else {
                    let f: fn($($ty),+) -> u16 = $wrapping;
                    $apply(cx, inst, f)
                }
            },
            dst: Ty::B16,
            src: [$(Ty::$kind),+],
            traits: Traits { op_sel: true, integer_clamp: true, ..Traits::NONE },
        };
    )* };
}

/// The nearest 16-bit number.
fn signed(value: i32) -> u16 {
    value.clamp(-0x8000, 0x7fff) as u16
}

saturating! {
    v_add_i16 [B16, B16, None] apply2(i16, i16) |a, b| a.wrapping_add(b) as u16, |a, b| a.saturating_add(b) as u16;
    v_sub_i16 [B16, B16, None] apply2(i16, i16) |a, b| a.wrapping_sub(b) as u16, |a, b| a.saturating_sub(b) as u16;
    v_mad_u16 [B16, B16, B16] apply3(u16, u16, u16) |a, b, c| a.wrapping_mul(b).wrapping_add(c),
        |a, b, c| (u32::from(a) * u32::from(b) + u32::from(c)).min(0xffff) as u16;
    v_mad_i16 [B16, B16, B16] apply3(i16, i16, i16) |a, b, c| a.wrapping_mul(b).wrapping_add(c) as u16,
        |a, b, c| signed(i32::from(a) * i32::from(b) + i32::from(c));
}

vector_ops! {
    v_mul_lo_u16(a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    v_lshlrev_b16(a: u16, b: u16) -> u16 { b << (a & 15) }
    v_lshrrev_b16(a: u16, b: u16) -> u16 { b >> (a & 15) }
    v_ashrrev_i16(a: u16, b: i16) -> i16 { b >> (a & 15) }
    v_min_i16(a: i16, b: i16) -> i16 { a.min(b) }
    v_max_i16(a: i16, b: i16) -> i16 { a.max(b) }
    v_min_u16(a: u16, b: u16) -> u16 { a.min(b) }
    v_max_u16(a: u16, b: u16) -> u16 { a.max(b) }

    v_mad_legacy_u16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_legacy_i16(a: i16, b: i16, c: i16) -> i16 { a.wrapping_mul(b).wrapping_add(c) }
    v_min3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.min(b).min(c) }
    v_max3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.max(b).max(c) }
    v_med3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.min(b).max(a.max(b).min(c)) }
    v_min3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.min(b).min(c) }
    v_max3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.max(b).max(c) }
    v_med3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.min(b).max(a.max(b).min(c)) }
}
