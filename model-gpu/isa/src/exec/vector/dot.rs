//! Dot products of narrow elements, and conversions of 8-bit floats.
//!
//! Integer sums wrap, or saturate with CLAMP. Float products are exact and added to the accumulator in ascending order, with
//! one rounding each.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::operand::{raw32, write32, write64};
use super::packed::half_row;
use crate::Target;
use crate::exec::lanes::{Row, map1, map2, map3};
use crate::exec::{Context, Flow};
use crate::float::arithmetic::fma32;
use crate::float::minifloat::{BF8, FP8, Minifloat};
use crate::float::{F16, Fp};
use crate::instruction::{Encoding, Inst, Op, Traits};
use crate::operand::{Part, Ty};

/// Element `n` of `bits` bits, sign-extended when `signed`.
fn element(value: u32, n: u32, bits: u32, signed: bool) -> i64 {
    let raised = value << (32 - bits * (n + 1));
    if signed { i64::from(raised as i32 >> (32 - bits)) } else { i64::from(raised >> (32 - bits)) }
}

/// The integer dot product of elements of `bits` bits.
fn integer_dot(cx: &mut Context<'_>, inst: &Inst, bits: u32, signed: bool) -> Flow {
    let clamp = inst.clamp;
    let row = map3(&raw32(cx, inst, 0), &raw32(cx, inst, 1), &raw32(cx, inst, 2), |a, b, c| {
        let start = if signed { i64::from(c as i32) } else { i64::from(c) };
        let sum = (0..32 / bits)
            .fold(start, |sum, n| sum + element(a, n, bits, signed) * element(b, n, bits, signed));
        match (clamp, signed) {
            (false, _) => sum as u32,
            (true, true) => sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32,
            (true, false) => sum.clamp(0, i64::from(u32::MAX)) as u32,
        }
    });
    write32(cx, inst, &row);
    Flow::Next
}

/// On gfx90a denormal elements, addends and sums are zero, whatever MODE says, as AMD describes the MI200.
fn half_dot(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let flush = cx.wave.config.target == Target::Gfx90a;
    let fp = if flush { Fp { flush_in32: true, flush_out32: true, ..cx.fp } } else { cx.fp };
    let sign = if inst.src[2].negate { 0x8000_0000 } else { 0 };
    let mut row: Row<f32> = map1(&raw32(cx, inst, 2), |sum| {
        let sum = f32::from_bits(sum ^ sign);
        if flush { fp.flush_in32(sum) } else { sum }
    });
    for high in [false, true] {
        // Only VOP3P says which halves meet; the other forms have none of its modifiers.
        let halves = |n| match inst.encoding {
            Encoding::Vop3p => half_row(cx, inst, n, high),
            _ => map1(&raw32(cx, inst, n), |value| (value >> if high { 16 } else { 0 }) as u16),
        };
        row = map3(&halves(0), &halves(1), &row, |a, b, sum| {
            let element = |bits| F16(bits).flush(flush).to_f32();
            fma32(fp, element(a), element(b), sum)
        });
    }
    <f32 as super::operand::Store>::store(cx, inst, &row);
    Flow::Next
}

macro_rules! dots {
    ($($name:ident $accumulate:literal $src:ident $dst:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$dst,
            src: [Ty::$src, Ty::$src, Ty::$dst],
            traits: Traits { accumulate: $accumulate, integer_clamp: true, ..Traits::NONE },
        };
    )* };
}

dots! {
    v_dot2_i32_i16 false B32 B32 |cx, inst| integer_dot(cx, inst, 16, true);
    v_dot2_u32_u16 false B32 B32 |cx, inst| integer_dot(cx, inst, 16, false);
    v_dot4_i32_i8 false B32 B32 |cx, inst| integer_dot(cx, inst, 8, true);
    v_dot4_u32_u8 false B32 B32 |cx, inst| integer_dot(cx, inst, 8, false);
    v_dot8_i32_i4 false B32 B32 |cx, inst| integer_dot(cx, inst, 4, true);
    v_dot8_u32_u4 false B32 B32 |cx, inst| integer_dot(cx, inst, 4, false);
    v_dot2_f32_f16 false PackedF16 F32 half_dot;
    v_dot2c_i32_i16 true B32 B32 |cx, inst| integer_dot(cx, inst, 16, true);
    v_dot4c_i32_i8 true B32 B32 |cx, inst| integer_dot(cx, inst, 8, true);
    v_dot8c_i32_i4 true B32 B32 |cx, inst| integer_dot(cx, inst, 4, true);
    v_dot2c_f32_f16 true PackedF16 F32 half_dot;
}

/// One 8-bit float, the byte that SDWA selects (byte 0 without it).
fn decode8(cx: &mut Context<'_>, inst: &Inst, format: Minifloat) -> Flow {
    let row = map1(&raw32(cx, inst, 0), |value| format.decode(value as u8));
    <f32 as super::operand::Store>::store(cx, inst, &row);
    Flow::Next
}

/// Two 8-bit floats, of the half that SDWA selects.
fn decode8_pair(cx: &mut Context<'_>, inst: &Inst, format: Minifloat) -> Flow {
    let part = |byte: u32| u64::from(format.decode(byte as u8).to_bits());
    let row = map1(&raw32(cx, inst, 0), |value| part(value) | part(value >> 8) << 32);
    write64(cx, inst, &row);
    Flow::Next
}

/// Two conversions into the half that the fourth OP_SEL bit names; the other half is kept.
fn encode8_pair(cx: &mut Context<'_>, inst: &Inst, format: Minifloat) -> Flow {
    let (a, b) = (float_row(cx, inst, 0), float_row(cx, inst, 1));
    let old = *cx.wave.vector.get(inst.dst);
    let shift = if inst.op_sel >> 3 & 1 == 1 { 16 } else { 0 };
    let saturate = cx.fp.saturate16;
    let row = map3(&a, &b, &old, |a, b, old| {
        let pair = u32::from(format.encode(a, saturate)) | u32::from(format.encode(b, saturate)) << 8;
        old & !(0xffff << shift) | pair << shift
    });
    write32(cx, inst, &row);
    Flow::Next
}

/// Stochastic rounding: the upper 20 bits of the second source are added below the mantissa that is kept. The upper two
/// OP_SEL bits name the byte that is written.
fn encode8_stochastic(cx: &mut Context<'_>, inst: &Inst, format: Minifloat) -> Flow {
    let a = float_row(cx, inst, 0);
    let random = raw32(cx, inst, 1);
    let old = *cx.wave.vector.get(inst.dst);
    let shift = u32::from(inst.op_sel >> 2 & 3) * 8;
    let nudged = map2(&a, &random, |a, random| {
        let bits = a.to_bits();
        f32::from_bits(bits & 0xff80_0000 | (bits & 0x7f_ffff).wrapping_add(random >> 12) & 0x7f_ffff)
    });
    let saturate = cx.fp.saturate16;
    let row = map2(&nudged, &old, |value, old| {
        old & !(0xff << shift) | u32::from(format.encode(value, saturate)) << shift
    });
    write32(cx, inst, &row);
    Flow::Next
}

fn float_row(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<f32> {
    <f32 as super::operand::Fetch>::fetch(cx, inst, n)
}

macro_rules! conversions {
    ($($name:ident [$a:ident $b:ident] $dst:ident $op_sel:literal $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$dst,
            src: [Ty::$a, Ty::$b, Ty::None],
            traits: Traits { op_sel: $op_sel, ..Traits::NONE },
        };
    )* };
}

conversions! {
    v_cvt_f32_fp8 [B32 None] F32 false |cx, inst| decode8(cx, inst, FP8);
    v_cvt_f32_bf8 [B32 None] F32 false |cx, inst| decode8(cx, inst, BF8);
    v_cvt_pk_f32_fp8 [B32 None] PackedF32 false |cx, inst| decode8_pair(cx, inst, FP8);
    v_cvt_pk_f32_bf8 [B32 None] PackedF32 false |cx, inst| decode8_pair(cx, inst, BF8);
    v_cvt_pk_fp8_f32 [F32 F32] B32 true |cx, inst| encode8_pair(cx, inst, FP8);
    v_cvt_pk_bf8_f32 [F32 F32] B32 true |cx, inst| encode8_pair(cx, inst, BF8);
    v_cvt_sr_fp8_f32 [F32 B32] B32 true |cx, inst| encode8_stochastic(cx, inst, FP8);
    v_cvt_sr_bf8_f32 [F32 B32] B32 true |cx, inst| encode8_stochastic(cx, inst, BF8);
}

/// Byte of a converted float inserted into the destination, whose other bytes are kept.
pub(crate) const v_cvt_pkaccum_u8_f32: Op = Op {
    exec: |cx, inst| {
        let (a, place) = (float_row(cx, inst, 0), raw32(cx, inst, 1));
        let old = *cx.wave.vector.get(inst.dst);
        let row = map3(&a, &place, &old, |a, place, old| {
            let shift = 8 * (place & 3);
            old & !(0xff << shift) | u32::from(a as u8) << shift
        });
        debug_assert!(inst.dst_part == Part::Whole);
        write32(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::B32,
    src: [Ty::F32, Ty::B32, Ty::None],
    traits: Traits::NONE,
};
