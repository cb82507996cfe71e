//! Scalar comparisons: they set SCC.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::operand::Scalar;
use crate::exec::Flow;
use crate::instruction::{Op, Traits};
use crate::operand::Ty;

macro_rules! comparisons {
    ($($name:ident($ta:ty, $tb:ty) $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| {
                fn relation(f: impl Fn($ta, $tb) -> bool, a: $ta, b: $tb) -> bool {
                    f(a, b)
                }
                cx.wave.scc = relation($f, <$ta as Scalar>::fetch(cx, inst, 0), <$tb as Scalar>::fetch(cx, inst, 1));
                Flow::Next
            },
            dst: Ty::None,
            src: [<$ta as Scalar>::TY, <$tb as Scalar>::TY, Ty::None],
            traits: Traits::NONE,
        };
    )* };
}

// The SOPK forms compare the destination register with the immediate; the decoder gives them as two sources.
comparisons! {
    s_cmp_eq_i32(i32, i32) |a, b| a == b;
    s_cmp_lg_i32(i32, i32) |a, b| a != b;
    s_cmp_gt_i32(i32, i32) |a, b| a > b;
    s_cmp_ge_i32(i32, i32) |a, b| a >= b;
    s_cmp_lt_i32(i32, i32) |a, b| a < b;
    s_cmp_le_i32(i32, i32) |a, b| a <= b;
    s_cmp_eq_u32(u32, u32) |a, b| a == b;
    s_cmp_lg_u32(u32, u32) |a, b| a != b;
    s_cmp_gt_u32(u32, u32) |a, b| a > b;
    s_cmp_ge_u32(u32, u32) |a, b| a >= b;
    s_cmp_lt_u32(u32, u32) |a, b| a < b;
    s_cmp_le_u32(u32, u32) |a, b| a <= b;
    s_cmp_eq_u64(u64, u64) |a, b| a == b;
    s_cmp_lg_u64(u64, u64) |a, b| a != b;
    s_bitcmp0_b32(u32, u32) |a, b| a >> (b & 31) & 1 == 0;
    s_bitcmp1_b32(u32, u32) |a, b| a >> (b & 31) & 1 == 1;
    s_bitcmp0_b64(u64, u32) |a, b| a >> (b & 63) & 1 == 0;
    s_bitcmp1_b64(u64, u32) |a, b| a >> (b & 63) & 1 == 1;
}
