//! 16-bit integer arithmetic.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::apply::vector_ops;

vector_ops! {
    v_mul_lo_u16(a: u16, b: u16) -> u16 { a.wrapping_mul(b) }
    v_lshlrev_b16(a: u16, b: u16) -> u16 { b << (a & 15) }
    v_lshrrev_b16(a: u16, b: u16) -> u16 { b >> (a & 15) }
    v_ashrrev_i16(a: u16, b: i16) -> i16 { b >> (a & 15) }
    v_min_i16(a: i16, b: i16) -> i16 { a.min(b) }
    v_max_i16(a: i16, b: i16) -> i16 { a.max(b) }
    v_min_u16(a: u16, b: u16) -> u16 { a.min(b) }
    v_max_u16(a: u16, b: u16) -> u16 { a.max(b) }

    v_add_i16(a: i16, b: i16) -> i16 [op_sel: true] { a.wrapping_add(b) }
    v_sub_i16(a: i16, b: i16) -> i16 [op_sel: true] { a.wrapping_sub(b) }
    v_mad_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_legacy_u16(a: u16, b: u16, c: u16) -> u16 { a.wrapping_mul(b).wrapping_add(c) }
    v_mad_legacy_i16(a: i16, b: i16, c: i16) -> i16 { a.wrapping_mul(b).wrapping_add(c) }
    v_min3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.min(b).min(c) }
    v_max3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.max(b).max(c) }
    v_med3_i16(a: i16, b: i16, c: i16) -> i16 [op_sel: true] { a.min(b).max(a.max(b).min(c)) }
    v_min3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.min(b).min(c) }
    v_max3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.max(b).max(c) }
    v_med3_u16(a: u16, b: u16, c: u16) -> u16 [op_sel: true] { a.min(b).max(a.max(b).min(c)) }
}
