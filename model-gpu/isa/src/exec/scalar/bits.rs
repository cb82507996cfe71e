//! Scalar logic, shifts, bit fields and bit searches.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::alu::custom;
use super::operand::scalar_ops;
use crate::exec::Flow;
use crate::instruction::{Op, Traits};
use crate::operand::Ty;

scalar_ops! {
    nonzero s_not_b32(a: u32) -> u32 { !a }
    nonzero s_not_b64(a: u64) -> u64 { !a }
    nonzero s_wqm_b32(a: u32) -> u32 { whole_quads(u64::from(a)) as u32 }
    nonzero s_wqm_b64(a: u64) -> u64 { whole_quads(a) }
    nonzero s_quadmask_b32(a: u32) -> u32 { quad_mask(u64::from(a)) as u32 }
    nonzero s_quadmask_b64(a: u64) -> u64 { quad_mask(a) }
    keep s_brev_b32(a: u32) -> u32 { a.reverse_bits() }
    keep s_brev_b64(a: u64) -> u64 { a.reverse_bits() }
    nonzero s_bcnt0_i32_b32(a: u32) -> u32 { a.count_zeros() }
    nonzero s_bcnt0_i32_b64(a: u64) -> u32 { a.count_zeros() }
    nonzero s_bcnt1_i32_b32(a: u32) -> u32 { a.count_ones() }
    nonzero s_bcnt1_i32_b64(a: u64) -> u32 { a.count_ones() }
    keep s_ff0_i32_b32(a: u32) -> u32 { first_one(u64::from(!a)) }
    keep s_ff0_i32_b64(a: u64) -> u32 { first_one(!a) }
    keep s_ff1_i32_b32(a: u32) -> u32 { first_one(u64::from(a)) }
    keep s_ff1_i32_b64(a: u64) -> u32 { first_one(a) }
    keep s_flbit_i32_b32(a: u32) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    keep s_flbit_i32_b64(a: u64) -> u32 { if a == 0 { u32::MAX } else { a.leading_zeros() } }
    keep s_flbit_i32(a: u32) -> u32 { crate::exec::vector::bits::sign_run(a) }
    keep s_flbit_i32_i64(a: u64) -> u32 {
        let flipped = if (a as i64) < 0 { !a } else { a };
        if flipped == 0 { u32::MAX } else { flipped.leading_zeros() }
    }
    keep s_bitreplicate_b64_b32(a: u32) -> u64 {
        (0..32).fold(0, |acc, n| acc | (u64::from(a >> n & 1) * 3) << (2 * n))
    }

    nonzero s_and_b32(a: u32, b: u32) -> u32 { a & b }
    nonzero s_and_b64(a: u64, b: u64) -> u64 { a & b }
    nonzero s_or_b32(a: u32, b: u32) -> u32 { a | b }
    nonzero s_or_b64(a: u64, b: u64) -> u64 { a | b }
    nonzero s_xor_b32(a: u32, b: u32) -> u32 { a ^ b }
    nonzero s_xor_b64(a: u64, b: u64) -> u64 { a ^ b }
    nonzero s_andn2_b32(a: u32, b: u32) -> u32 { a & !b }
    nonzero s_andn2_b64(a: u64, b: u64) -> u64 { a & !b }
    nonzero s_orn2_b32(a: u32, b: u32) -> u32 { a | !b }
    nonzero s_orn2_b64(a: u64, b: u64) -> u64 { a | !b }
    nonzero s_nand_b32(a: u32, b: u32) -> u32 { !(a & b) }
    nonzero s_nand_b64(a: u64, b: u64) -> u64 { !(a & b) }
    nonzero s_nor_b32(a: u32, b: u32) -> u32 { !(a | b) }
    nonzero s_nor_b64(a: u64, b: u64) -> u64 { !(a | b) }
    nonzero s_xnor_b32(a: u32, b: u32) -> u32 { !(a ^ b) }
    nonzero s_xnor_b64(a: u64, b: u64) -> u64 { !(a ^ b) }

    nonzero s_lshl_b32(a: u32, b: u32) -> u32 { a << (b & 31) }
    nonzero s_lshl_b64(a: u64, b: u32) -> u64 { a << (b & 63) }
    nonzero s_lshr_b32(a: u32, b: u32) -> u32 { a >> (b & 31) }
    nonzero s_lshr_b64(a: u64, b: u32) -> u64 { a >> (b & 63) }
    nonzero s_ashr_i32(a: i32, b: u32) -> i32 { a >> (b & 31) }
    nonzero s_ashr_i64(a: i64, b: u32) -> i64 { a >> (b & 63) }
    keep s_bfm_b32(a: u32, b: u32) -> u32 { ((1 << (a & 31)) - 1) << (b & 31) }
    keep s_bfm_b64(a: u32, b: u32) -> u64 { ((1u64 << (a & 63)) - 1) << (b & 63) }
    nonzero s_bfe_u32(a: u32, b: u32) -> u32 { field(u64::from(a), b & 31, b) as u32 }
    nonzero s_bfe_i32(a: i32, b: u32) -> i32 { signed_field(i64::from(a), b & 31, b, 32) as i32 }
    nonzero s_bfe_u64(a: u64, b: u32) -> u64 { field(a, b & 63, b) }
    nonzero s_bfe_i64(a: i64, b: u32) -> i64 { signed_field(a, b & 63, b, 64) }
}

/// The field of `a` at `offset` whose width is in bits 22:16 of `descriptor`.
fn field(a: u64, offset: u32, descriptor: u32) -> u64 {
    let shifted = a >> offset;
    let width = descriptor >> 16 & 0x7f;
    if width >= 64 { shifted } else { shifted & ((1 << width) - 1) }
}

/// As [`field`], sign-extended; a width beyond the register is the register's.
fn signed_field(a: i64, offset: u32, descriptor: u32, register: u32) -> i64 {
    let shifted = a >> offset;
    let width = (descriptor >> 16 & 0x7f).min(register);
    if width == 0 { 0 } else { shifted << (64 - width) >> (64 - width) }
}

fn first_one(a: u64) -> u32 {
    if a == 0 { u32::MAX } else { a.trailing_zeros() }
}

/// Each group of four bits that has one set becomes all ones.
fn whole_quads(a: u64) -> u64 {
    (0..16).fold(0, |acc, n| if a >> (4 * n) & 15 != 0 { acc | 15 << (4 * n) } else { acc })
}

/// One bit for each group of four that has one set.
fn quad_mask(a: u64) -> u64 {
    (0..16).fold(0, |acc, n| acc | u64::from(a >> (4 * n) & 15 != 0) << n)
}

custom! {
    s_bitset0_b32 [B32] -> B32 |cx, inst| {
        let bit = 1 << (cx.scalar32(&inst.src[0]) & 31);
        let value = cx.pair(inst.dst) as u32 & !bit;
        cx.set_scalar(inst.dst, value);
        Flow::Next
    };
    s_bitset1_b32 [B32] -> B32 |cx, inst| {
        let bit = 1 << (cx.scalar32(&inst.src[0]) & 31);
        let value = cx.pair(inst.dst) as u32 | bit;
        cx.set_scalar(inst.dst, value);
        Flow::Next
    };
    s_bitset0_b64 [B32] -> B64 |cx, inst| {
        let bit = 1 << (cx.scalar32(&inst.src[0]) & 63);
        let value = cx.pair(inst.dst) & !bit;
        cx.set_pair(inst.dst, value);
        Flow::Next
    };
    s_bitset1_b64 [B32] -> B64 |cx, inst| {
        let bit = 1 << (cx.scalar32(&inst.src[0]) & 63);
        let value = cx.pair(inst.dst) | bit;
        cx.set_pair(inst.dst, value);
        Flow::Next
    };
}
