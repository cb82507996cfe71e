//! Packed operations: two 16-bit or two 32-bit results in one instruction.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::apply::{Given, Mode, Operation, Usual};
use super::operand::{modify16, raw32, raw64, write_mask, write32, write64};
use crate::WAVE_SIZE;
use crate::exec::lanes::{Row, blend, map1, map3, wide_fn};
use crate::exec::{Context, Flow};
use crate::float::arithmetic::{add16, add32, fma16, fma32, mul16, mul32};
use crate::float::classify::{maximum, minimum};
use crate::float::{F16, Fp};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::{Kind, Ty};

/// Whether source `n` of the low (0) or high (1) result comes from its upper half.
fn upper(inst: &Inst, n: usize, high: bool) -> bool {
    (if high { inst.op_sel_hi } else { inst.op_sel }) >> n & 1 == 1
}

fn negated(inst: &Inst, n: usize, high: bool) -> bool {
    if high { inst.neg_hi >> n & 1 == 1 } else { inst.src[n].negate }
}

/// The 16-bit parts of a source for the low or high result.
#[inline(always)]
pub(super) fn half_row(cx: &Context<'_>, inst: &Inst, n: usize, high: bool) -> Row<u16> {
    let shift = if upper(inst, n, high) { 16 } else { 0 };
    let sign = if negated(inst, n, high) { 0x8000 } else { 0 };
    map1(&raw32(cx, inst, n), |value| (value >> shift) as u16 ^ sign)
}

#[inline(always)]
fn join(low: &Row<u16>, high: &Row<u16>) -> Row<u32> {
    std::array::from_fn(|lane| u32::from(low[lane]) | u32::from(high[lane]) << 16)
}

/// One half of a packed operation. No closure, which would not be inlined at both places, and then not be wide.
#[inline(always)]
fn result16(cx: &Context<'_>, inst: &Inst, high: bool, f: impl Fn(u16, u16, u16) -> u16) -> Row<u16> {
    let [a, b, c] = [0, 1, 2].map(|n| half_row(cx, inst, n, high));
    map3(&a, &b, &c, f)
}

wide_fn! {
/// Both halves of a packed operation.
fn packed16 / packed16_wide / packed16_body [F: Fn(u16, u16, u16) -> u16]
(cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
    let row = join(&result16(cx, inst, false, &f), &result16(cx, inst, true, &f));
    write32(cx, inst, &row);
    Flow::Next
}
}

fn packed_f16(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(Fp, F16, F16, F16) -> F16) -> Flow {
    let fp = cx.fp;
    let clamp = inst.clamp;
    packed16(cx, inst, |a, b, c| {
        let [a, b, c] = [a, b, c].map(|bits| F16(bits).flush(fp.flush_in64));
        modify16(fp, clamp, 0, f(fp, a, b, c)).0
    })
}

/// An operation on 16-bit integers. With CLAMP the second function is used.
macro_rules! packed_integers {
    ($($name:ident $sources:literal $f:expr $(, clamp $g:expr)?;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| {
                $(if inst.clamp {
                    return packed16(cx, inst, $g);
                })?
                packed16(cx, inst, $f)
            },
            dst: Ty::PackedB16,
            src: [Ty::PackedB16, Ty::PackedB16, if $sources == 3 { Ty::PackedB16 } else { Ty::None }],
            traits: Traits { integer_clamp: { let clamped: &[&str] = &[$(stringify!($g))?]; !clamped.is_empty() }, ..Traits::NONE },
        };
    )* };
}

fn signed(f: impl Fn(i16, i16) -> i16) -> impl Fn(u16, u16, u16) -> u16 {
    move |a, b, _| f(a as i16, b as i16) as u16
}

fn saturate_signed(value: i32) -> u16 {
    value.clamp(-0x8000, 0x7fff) as u16
}

packed_integers! {
    v_pk_mad_i16 3 |a, b, c| a.wrapping_mul(b).wrapping_add(c),
        clamp |a, b, c| saturate_signed(i32::from(a as i16) * i32::from(b as i16) + i32::from(c as i16));
    v_pk_mad_u16 3 |a, b, c| a.wrapping_mul(b).wrapping_add(c),
        clamp |a, b, c| (u32::from(a) * u32::from(b) + u32::from(c)).min(0xffff) as u16;
    v_pk_mul_lo_u16 2 |a, b, _| a.wrapping_mul(b);
    v_pk_add_i16 2 |a, b, _| a.wrapping_add(b), clamp signed(i16::saturating_add);
    v_pk_sub_i16 2 |a, b, _| a.wrapping_sub(b), clamp signed(i16::saturating_sub);
    v_pk_add_u16 2 |a, b, _| a.wrapping_add(b), clamp |a, b, _| a.saturating_add(b);
    v_pk_sub_u16 2 |a, b, _| a.wrapping_sub(b), clamp |a, b, _| a.saturating_sub(b);
    v_pk_lshlrev_b16 2 |a, b, _| b << (a & 15);
    v_pk_lshrrev_b16 2 |a, b, _| b >> (a & 15);
    v_pk_ashrrev_i16 2 |a, b, _| ((b as i16) >> (a & 15)) as u16;
    v_pk_max_i16 2 signed(Ord::max);
    v_pk_min_i16 2 signed(Ord::min);
    v_pk_max_u16 2 |a, b, _| a.max(b);
    v_pk_min_u16 2 |a, b, _| a.min(b);
}

macro_rules! packed_halves {
    ($($name:ident $sources:literal $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| packed_f16(cx, inst, $f),
            dst: Ty::PackedF16,
            src: [Ty::PackedF16, Ty::PackedF16, if $sources == 3 { Ty::PackedF16 } else { Ty::None }],
            traits: Traits::NONE,
        };
    )* };
}

packed_halves! {
    v_pk_fma_f16 3 fma16;
    v_pk_add_f16 2 |fp, a, b, _| add16(fp, a, b);
    v_pk_mul_f16 2 |fp, a, b, _| mul16(fp, a, b);
    v_pk_min_f16 2 |fp, a, b, _| minimum(fp.ieee, a, b).flush(fp.flush_out64);
    v_pk_max_f16 2 |fp, a, b, _| maximum(fp.ieee, a, b).flush(fp.flush_out64);
}

/// Multiply-accumulate of both halves; the destination is the third source.
pub(crate) const v_pk_fmac_f16: Op = Op {
    exec: |cx, inst| {
        let fp = cx.fp;
        let rows: [Row<u32>; 3] = std::array::from_fn(|n| raw32(cx, inst, n));
        let row = map3(&rows[0], &rows[1], &rows[2], |a, b, c| {
            let part = |shift: u32| {
                let [a, b, c] = [a, b, c].map(|value| F16((value >> shift) as u16).flush(fp.flush_in64));
                u32::from(fma16(fp, a, b, c).0) << shift
            };
            part(0) | part(16)
        });
        write32(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::PackedF16,
    src: [Ty::PackedF16; 3],
    traits: Traits { accumulate: true, ..Traits::NONE },
};

/// The 32-bit parts of a source for the low or high result: a register of a pair, or half of a constant.
#[inline(always)]
pub(super) fn single_row(cx: &Context<'_>, inst: &Inst, n: usize, high: bool) -> Row<f32> {
    let src = &inst.src[n];
    let upper = upper(inst, n, high);
    let raw = match src.kind {
        Kind::Vector => *cx.wave.vector.get(src.register + u16::from(upper)),
        _ => [(cx.scalar64(src) >> if upper { 32 } else { 0 }) as u32; WAVE_SIZE],
    };
    let sign = if negated(inst, n, high) { 0x8000_0000 } else { 0 };
    let row = map1(&raw, |value| f32::from_bits(value ^ sign));
    if cx.fp.flush_in32 {
        let fp = cx.fp;
        return map1(&row, |value| fp.flush_in32(value));
    }
    row
}

/// An operation on three singles, of which it may ignore the last.
pub(crate) trait OnSingles: Operation<Args = (f32, f32, f32), Out = f32> {}
impl<O: Operation<Args = (f32, f32, f32), Out = f32>> OnSingles for O {}

/// One half of a packed operation on singles; see [`result16`].
#[inline(always)]
fn result32<M: Mode, O: OnSingles>(
    cx: &Context<'_>,
    inst: &Inst,
    high: bool,
    mode: M,
    _operation: O,
) -> Row<u32> {
    let (a, b, c) =
        (single_row(cx, inst, 0, high), single_row(cx, inst, 1, high), single_row(cx, inst, 2, high));
    let out = map3(&a, &b, &c, |a, b, c| O::call(mode.fp(), (a, b, c)));
    if inst.clamp {
        // NaN becomes zero, as everything that is not above zero does.
        return map1(&out, |x| if x > 0.0 { x.min(1.0).to_bits() } else { 0 });
    }
    map1(&out, f32::to_bits)
}

wide_fn! {
/// Both halves of a packed operation on singles.
fn packed_f32 / packed_f32_wide / packed_f32_body [M: Mode, O: OnSingles]
(cx: &mut Context<'_>, inst: &Inst, mode: M, operation: O) -> Flow {
    let (low, high) = (result32(cx, inst, false, mode, operation), result32(cx, inst, true, mode, operation));
    let mask = write_mask(cx, inst);
    blend(cx.wave.vector.get_mut(inst.dst), &low, mask);
    blend(cx.wave.vector.get_mut(inst.dst + 1), &high, mask);
    Flow::Next
}
}

macro_rules! packed_singles {
    ($($name:ident $sources:literal |$fp:ident, $a:ident, $b:ident, $c:ident| $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| {
                #[derive(Clone, Copy)]
                struct Lane;
                impl Operation for Lane {
                    type Args = (f32, f32, f32);
                    type Out = f32;
                    #[inline(always)]
                    fn call($fp: Fp, ($a, $b, $c): Self::Args) -> f32 {
                        $f
                    }
                }
                let fp = cx.fp;
                if fp == Fp::DEFAULT {
                    packed_f32(cx, inst, Usual, Lane)
                } else {
                    packed_f32(cx, inst, Given(fp), Lane)
                }
            },
            dst: Ty::PackedF32,
            src: [Ty::PackedF32, Ty::PackedF32, if $sources == 3 { Ty::PackedF32 } else { Ty::None }],
            traits: Traits::NONE,
        };
    )* };
}

packed_singles! {
    v_pk_fma_f32 3 |fp, a, b, c| fma32(fp, a, b, c);
    v_pk_mul_f32 2 |fp, a, b, _c| mul32(fp, a, b);
    v_pk_add_f32 2 |fp, a, b, _c| add32(fp, a, b);
}

/// Low result from the first source, high result from the second, each from the half that OP_SEL names.
pub(crate) const v_pk_mov_b32: Op = Op {
    exec: |cx, inst| {
        let part =
            |value: u64, n: usize| if inst.op_sel >> n & 1 == 1 { value >> 32 } else { value & 0xffff_ffff };
        let (a, b) = (raw64(cx, inst, 0), raw64(cx, inst, 1));
        let row = std::array::from_fn(|lane| part(a[lane], 0) | part(b[lane], 1) << 32);
        write64(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::PackedF32,
    src: [Ty::PackedF32, Ty::PackedF32, Ty::None],
    traits: Traits::NONE,
};

/// A source of a mixed-precision multiply-add: single precision, or the half that OP_SEL names when OP_SEL_HI is set.
fn mixed_row(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<f32> {
    let fp = cx.fp;
    let (half, high) = (upper(inst, n, true), upper(inst, n, false));
    let (absolute, negate) = (inst.neg_hi >> n & 1 == 1, inst.src[n].negate);
    map1(&raw32(cx, inst, n), |value| {
        let number = if half {
            F16((value >> if high { 16 } else { 0 }) as u16).flush(fp.flush_in64).to_f32()
        } else {
            fp.flush_in32(f32::from_bits(value))
        };
        let number = if absolute { number.abs() } else { number };
        if negate { -number } else { number }
    })
}

fn mixed(cx: &Context<'_>, inst: &Inst) -> Row<f32> {
    let fp = cx.fp;
    map3(&mixed_row(cx, inst, 0), &mixed_row(cx, inst, 1), &mixed_row(cx, inst, 2), |a, b, c| {
        fma32(fp, a, b, c)
    })
}

fn mixed_to_half(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let (fp, clamp) = (cx.fp, inst.clamp);
    let row = map1(&mixed(cx, inst), |value| u32::from(modify16(fp, clamp, 0, fp.half(f64::from(value))).0));
    write32(cx, inst, &row);
    Flow::Next
}

const MIXED: Op = Op { exec: mixed_to_half, dst: Ty::F16, src: [Ty::F32; 3], traits: Traits::NONE };

pub(crate) const v_fma_mix_f32: Op = Op {
    exec: |cx, inst| {
        let row = mixed(cx, inst);
        <f32 as super::operand::Store>::store(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::F32,
    ..MIXED
};
/// The decoder gives the destination half.
pub(crate) const v_fma_mixlo_f16: Op = MIXED;
/// The decoder gives the destination half.
pub(crate) const v_fma_mixhi_f16: Op = MIXED;
