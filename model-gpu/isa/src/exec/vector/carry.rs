//! Operations that write a mask beside their result, or read one: carries, wide multiply-add, select.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::operand::{Fetch, FloatBits, Store, write_mask};
use crate::exec::lanes::{collect, map2, map3, wide_fn};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// Writes the bits of the active lanes to the scalar destination; inactive lanes give zero.
pub(crate) fn write_mask_result(cx: &mut Context<'_>, inst: &Inst, mask: u64) {
    let active = write_mask(cx, inst);
    cx.set_pair(inst.sdst, mask & active);
}

/// The mask operand of an instruction that reads one: its third source.
fn mask_operand(cx: &Context<'_>, inst: &Inst) -> u64 {
    cx.scalar64(&inst.src[2])
}

fn mask_bits(mask: u64) -> [bool; 64] {
    std::array::from_fn(|lane| mask >> lane & 1 == 1)
}

wide_fn! {
/// A sum or difference with its carry; CLAMP saturates.
fn with_carry / with_carry_wide / with_carry_body [F: Fn(u32, u32, bool) -> (u32, bool)]
(cx: &mut Context<'_>, inst: &Inst, f: F, saturated: u32) -> Flow {
    let (a, b) = (u32::fetch(cx, inst, 0), u32::fetch(cx, inst, 1));
    let carry_in = if inst.row.op.traits.mask_in { mask_bits(mask_operand(cx, inst)) } else { [false; 64] };
    let out = map3(&a, &b, &carry_in, f);
    let carry = collect(&out.map(|(_, carry)| carry));
    let clamp = inst.clamp;
    u32::store(cx, inst, &out.map(|(value, carry)| if clamp && carry { saturated } else { value }));
    write_mask_result(cx, inst, carry);
    Flow::Next
}
}

#[inline(always)]
fn add(a: u32, b: u32, carry: bool) -> (u32, bool) {
    let sum = u64::from(a) + u64::from(b) + u64::from(carry);
    (sum as u32, sum >> 32 != 0)
}

#[inline(always)]
fn sub(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    let difference = i64::from(a) - i64::from(b) - i64::from(borrow);
    (difference as u32, difference < 0)
}

#[inline(always)]
fn sub_reversed(a: u32, b: u32, borrow: bool) -> (u32, bool) {
    sub(b, a, borrow)
}

macro_rules! carries {
    ($($name:ident $mask_in:literal $f:expr, $saturated:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| with_carry(cx, inst, |a, b, carry| $f(a, b, carry), $saturated),
            dst: Ty::B32,
            src: [Ty::B32, Ty::B32, if $mask_in { Ty::Mask } else { Ty::None }],
            traits: Traits { carry_out: true, mask_in: $mask_in, integer_clamp: true, ..Traits::NONE },
        };
    )* };
}

carries! {
    v_add_co_u32 false add, u32::MAX;
    v_sub_co_u32 false sub, 0;
    v_subrev_co_u32 false sub_reversed, 0;
    v_addc_co_u32 true add, u32::MAX;
    v_subb_co_u32 true sub, 0;
    v_subbrev_co_u32 true sub_reversed, 0;
}

pub(crate) const v_cndmask_b32: Op = Op {
    exec: |cx, inst| {
        let (a, b) = (FloatBits::fetch(cx, inst, 0), FloatBits::fetch(cx, inst, 1));
        let mask = mask_bits(mask_operand(cx, inst));
        let row = map3(&a, &b, &mask, |a, b, bit| if bit { b.0 } else { a.0 });
        u32::store(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::B32,
    src: [Ty::F32, Ty::F32, Ty::Mask],
    traits: Traits { mask_in: true, ..Traits::NONE },
};

wide_fn! {
/// A 64-bit multiply-add with its overflow; CLAMP saturates.
fn mad64 / mad64_wide / mad64_body [F: Fn(u32, u32, u64) -> (u64, bool, u64)]
(cx: &mut Context<'_>, inst: &Inst, f: F) -> Flow {
    let (a, b, c) = (u32::fetch(cx, inst, 0), u32::fetch(cx, inst, 1), u64::fetch(cx, inst, 2));
    let out = map3(&a, &b, &c, f);
    let overflow = collect(&out.map(|(_, overflow, _)| overflow));
    let clamp = inst.clamp;
    u64::store(cx, inst, &out.map(|(value, overflow, limit)| if clamp && overflow { limit } else { value }));
    write_mask_result(cx, inst, overflow);
    Flow::Next
}
}

const MAD64: Traits = Traits { carry_out: true, integer_clamp: true, ..Traits::NONE };

pub(crate) const v_mad_u64_u32: Op = Op {
    exec: |cx, inst| {
        mad64(cx, inst, |a, b, c| {
            let (sum, overflow) = (u64::from(a) * u64::from(b)).overflowing_add(c);
            (sum, overflow, u64::MAX)
        })
    },
    dst: Ty::B64,
    src: [Ty::B32, Ty::B32, Ty::B64],
    traits: MAD64,
};

pub(crate) const v_mad_i64_i32: Op = Op {
    exec: |cx, inst| {
        mad64(cx, inst, |a, b, c| {
            let product = i64::from(a as i32) * i64::from(b as i32);
            let (sum, overflow) = product.overflowing_add(c as i64);
            (sum as u64, overflow, if product < 0 { i64::MIN as u64 } else { i64::MAX as u64 })
        })
    },
    dst: Ty::B64,
    src: [Ty::B32, Ty::B32, Ty::B64],
    traits: MAD64,
};

/// Population counts of the lanes below.
fn lanes_below(cx: &mut Context<'_>, inst: &Inst, below: impl Fn(usize) -> u32) -> Flow {
    let masks: [u32; 64] = std::array::from_fn(below);
    let (a, b) = (u32::fetch(cx, inst, 0), u32::fetch(cx, inst, 1));
    let counts = map2(&a, &masks, |a, mask| (a & mask).count_ones());
    u32::store(cx, inst, &map2(&counts, &b, u32::wrapping_add));
    Flow::Next
}

pub(crate) const v_mbcnt_lo_u32_b32: Op = Op {
    exec: |cx, inst| lanes_below(cx, inst, |lane| if lane < 32 { (1u32 << lane) - 1 } else { u32::MAX }),
    dst: Ty::B32,
    src: [Ty::B32, Ty::B32, Ty::None],
    traits: Traits::NONE,
};

pub(crate) const v_mbcnt_hi_u32_b32: Op = Op {
    exec: |cx, inst| lanes_below(cx, inst, |lane| if lane < 32 { 0 } else { (1u32 << (lane - 32)) - 1 }),
    dst: Ty::B32,
    src: [Ty::B32, Ty::B32, Ty::None],
    traits: Traits::NONE,
};
