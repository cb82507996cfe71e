//! Scalar arithmetic, selection and moves.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::operand::scalar_ops;
use crate::exec::Flow;
use crate::instruction::{Op, Traits};
use crate::operand::Ty;

scalar_ops! {
    keep s_mov_b32(a: u32) -> u32 { a }
    keep s_mov_b64(a: u64) -> u64 { a }
    keep s_sext_i32_i8(a: u32) -> i32 { i32::from(a as i8) }
    keep s_sext_i32_i16(a: u32) -> i32 { i32::from(a as i16) }
    nonzero s_abs_i32(a: i32) -> i32 { a.wrapping_abs() }

    scc s_add_u32(a: u32, b: u32) -> u32 { a.overflowing_add(b) }
    scc s_sub_u32(a: u32, b: u32) -> u32 { a.overflowing_sub(b) }
    scc s_add_i32(a: i32, b: i32) -> i32 { a.overflowing_add(b) }
    scc s_sub_i32(a: i32, b: i32) -> i32 { a.overflowing_sub(b) }
    scc s_min_i32(a: i32, b: i32) -> i32 { (a.min(b), a < b) }
    scc s_min_u32(a: u32, b: u32) -> u32 { (a.min(b), a < b) }
    scc s_max_i32(a: i32, b: i32) -> i32 { (a.max(b), a >= b) }
    scc s_max_u32(a: u32, b: u32) -> u32 { (a.max(b), a >= b) }
    nonzero s_absdiff_i32(a: i32, b: i32) -> i32 { a.wrapping_sub(b).wrapping_abs() }
    keep s_mul_i32(a: u32, b: u32) -> u32 { a.wrapping_mul(b) }
    keep s_mul_hi_u32(a: u32, b: u32) -> u32 { ((u64::from(a) * u64::from(b)) >> 32) as u32 }
    keep s_mul_hi_i32(a: i32, b: i32) -> i32 { ((i64::from(a) * i64::from(b)) >> 32) as i32 }
    scc s_lshl1_add_u32(a: u32, b: u32) -> u32 { shift_add(a, b, 1) }
    scc s_lshl2_add_u32(a: u32, b: u32) -> u32 { shift_add(a, b, 2) }
    scc s_lshl3_add_u32(a: u32, b: u32) -> u32 { shift_add(a, b, 3) }
    scc s_lshl4_add_u32(a: u32, b: u32) -> u32 { shift_add(a, b, 4) }
    keep s_pack_ll_b32_b16(a: u32, b: u32) -> u32 { a & 0xffff | b << 16 }
    keep s_pack_lh_b32_b16(a: u32, b: u32) -> u32 { a & 0xffff | b & 0xffff_0000 }
    keep s_pack_hh_b32_b16(a: u32, b: u32) -> u32 { a >> 16 | b & 0xffff_0000 }
    keep s_movk_i32(a: i32) -> i32 { a }
}

fn shift_add(a: u32, b: u32, by: u32) -> (u32, bool) {
    let sum = (u64::from(a) << by) + u64::from(b);
    (sum as u32, sum >> 32 != 0)
}

/// An operation on 32 bits with access to the context.
macro_rules! custom {
    ($($name:ident [$($src:ident),*] -> $dst:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$dst,
            src: crate::exec::scalar::alu::sources([$(Ty::$src),*]),
            traits: Traits::NONE,
        };
    )* };
}

/// Pads a list of source kinds.
pub(crate) const fn sources<const N: usize>(given: [Ty; N]) -> [Ty; 3] {
    let mut all = [Ty::None; 3];
    let mut n = 0;
    while n < N {
        all[n] = given[n];
        n += 1;
    }
    all
}

custom! {
    s_addc_u32 [B32, B32] -> B32 |cx, inst| {
        let sum = u64::from(cx.scalar32(&inst.src[0])) + u64::from(cx.scalar32(&inst.src[1])) + u64::from(cx.wave.scc);
        cx.set_scalar(inst.dst, sum as u32);
        cx.wave.scc = sum >> 32 != 0;
        Flow::Next
    };
    s_subb_u32 [B32, B32] -> B32 |cx, inst| {
        let difference =
            i64::from(cx.scalar32(&inst.src[0])) - i64::from(cx.scalar32(&inst.src[1])) - i64::from(cx.wave.scc);
        cx.set_scalar(inst.dst, difference as u32);
        cx.wave.scc = difference < 0;
        Flow::Next
    };
    s_cselect_b32 [B32, B32] -> B32 |cx, inst| {
        let value = cx.scalar32(&inst.src[usize::from(!cx.wave.scc)]);
        cx.set_scalar(inst.dst, value);
        Flow::Next
    };
    s_cselect_b64 [B64, B64] -> B64 |cx, inst| {
        let value = cx.scalar64(&inst.src[usize::from(!cx.wave.scc)]);
        cx.set_pair(inst.dst, value);
        Flow::Next
    };
    s_cmov_b32 [B32] -> B32 |cx, inst| {
        if cx.wave.scc {
            let value = cx.scalar32(&inst.src[0]);
            cx.set_scalar(inst.dst, value);
        }
        Flow::Next
    };
    s_cmov_b64 [B64] -> B64 |cx, inst| {
        if cx.wave.scc {
            let value = cx.scalar64(&inst.src[0]);
            cx.set_pair(inst.dst, value);
        }
        Flow::Next
    };
    s_addk_i32 [B32] -> B32 |cx, inst| {
        let (sum, overflow) = (cx.pair(inst.dst) as i32).overflowing_add(cx.scalar32(&inst.src[0]) as i32);
        cx.set_scalar(inst.dst, sum as u32);
        cx.wave.scc = overflow;
        Flow::Next
    };
    s_mulk_i32 [B32] -> B32 |cx, inst| {
        let product = (cx.pair(inst.dst) as u32).wrapping_mul(cx.scalar32(&inst.src[0]));
        cx.set_scalar(inst.dst, product);
        Flow::Next
    };
}

pub(crate) use custom;
