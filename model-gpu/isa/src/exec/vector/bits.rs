//! Moves, logic, shifts and bit fields.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::apply::vector_ops;

vector_ops! {
    v_mov_b32(a: u32) -> u32 { a }
    v_mov_b64(a: u64) -> u64 { a }
    v_not_b32(a: u32) -> u32 { !a }
    v_bfrev_b32(a: u32) -> u32 { a.reverse_bits() }
    v_ffbh_u32(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    v_ffbl_b32(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.trailing_zeros() } }
    v_ffbh_i32(a: u32) -> u32 { sign_run(a) }

    v_and_b32(a: u32, b: u32) -> u32 { a & b }
    v_or_b32(a: u32, b: u32) -> u32 { a | b }
    v_xor_b32(a: u32, b: u32) -> u32 { a ^ b }
    v_xnor_b32(a: u32, b: u32) -> u32 { !(a ^ b) }

    v_lshlrev_b32(a: u32, b: u32) -> u32 { b << (a & 31) }
    v_lshrrev_b32(a: u32, b: u32) -> u32 { b >> (a & 31) }
    v_ashrrev_i32(a: u32, b: i32) -> i32 { b >> (a & 31) }
    v_lshlrev_b64(a: u32, b: u64) -> u64 { b << (a & 63) }
    v_lshrrev_b64(a: u32, b: u64) -> u64 { b >> (a & 63) }
    v_ashrrev_i64(a: u32, b: i64) -> i64 { b >> (a & 63) }

    v_bfe_u32(a: u32, b: u32, c: u32) -> u32 { (a >> (b & 31)) & mask(c) }
    v_bfe_i32(a: i32, b: u32, c: u32) -> i32 {
        let width = c & 31;
        if width == 0 {
            0
        } else {
            ((a >> (b & 31)) << (32 - width)) >> (32 - width)
        }
    }
    v_bfi_b32(a: u32, b: u32, c: u32) -> u32 { (a & b) | (!a & c) }
    v_bfm_b32(a: u32, b: u32) -> u32 { mask(a) << (b & 31) }
    v_bcnt_u32_b32(a: u32, b: u32) -> u32 { a.count_ones().wrapping_add(b) }

    v_lshl_add_u32(a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)).wrapping_add(c) }
    v_add_lshl_u32(a: u32, b: u32, c: u32) -> u32 { a.wrapping_add(b) << (c & 31) }
    v_lshl_or_b32(a: u32, b: u32, c: u32) -> u32 { (a << (b & 31)) | c }
    v_and_or_b32(a: u32, b: u32, c: u32) -> u32 { (a & b) | c }
    v_or3_b32(a: u32, b: u32, c: u32) -> u32 { a | b | c }
    v_xad_u32(a: u32, b: u32, c: u32) -> u32 { (a ^ b).wrapping_add(c) }
    v_lshl_add_u64(a: u64, b: u32, c: u64) -> u64 { (a << (b & 7)).wrapping_add(c) }

    v_alignbit_b32(a: u32, b: u32, c: u32) -> u32 { (joined(a, b) >> (c & 31)) as u32 }
    v_alignbyte_b32(a: u32, b: u32, c: u32) -> u32 { (joined(a, b) >> (8 * (c & 3))) as u32 }
    v_perm_b32(a: u32, b: u32, c: u32) -> u32 {
        u32::from_le_bytes(c.to_le_bytes().map(|selector| permuted_byte(joined(a, b), selector)))
    }
    v_pack_b32_f16(a: crate::float::F16, b: crate::float::F16) -> u32 [op_sel: true] {
        u32::from(a.0) | u32::from(b.0) << 16
    }
}

/// The low `width & 31` bits.
fn mask(width: u32) -> u32 {
    (1 << (width & 31)) - 1
}

/// `a` above `b`.
fn joined(a: u32, b: u32) -> u64 {
    u64::from(a) << 32 | u64::from(b)
}

/// The bit from the top at which the sign run ends, or all ones when it does not.
pub(crate) fn sign_run(a: u32) -> u32 {
    let flipped = if (a as i32) < 0 { !a } else { a };
    if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
}

/// One byte of `v_perm_b32`: 0 to 7 a byte of the pair, 8 to 11 the sign of a 16-bit part, 12 zero, above 12 ones.
fn permuted_byte(pair: u64, selector: u8) -> u8 {
    match selector {
        0..=7 => (pair >> (8 * selector)) as u8,
        8..=11 => {
            let top = u64::from(selector - 8) * 16 + 15;
            if pair >> top & 1 == 1 { 0xff } else { 0 }
        }
        12 => 0,
        _ => 0xff,
    }
}
