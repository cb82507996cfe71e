//! Movement between lanes and between vector and scalar registers.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::operand::{Fetch, Store};
use crate::exec::scalar::hardware::{EXCEPTIONS, EXCEPTIONS_SHIFT};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// One lane of the first source; a scalar source has the same value in all.
fn lane_value(cx: &Context<'_>, inst: &Inst, lane: usize) -> u32 {
    u32::fetch(cx, inst, 0)[lane & 63]
}

pub(crate) const v_readfirstlane_b32: Op = Op {
    exec: |cx, inst| {
        // With no lane active, lane 0 is read.
        let lane = cx.exec().trailing_zeros() & 63;
        let value = lane_value(cx, inst, lane as usize);
        cx.set_scalar(inst.dst, value);
        Flow::Next
    },
    dst: Ty::Scalar,
    src: [Ty::B32, Ty::None, Ty::None],
    traits: Traits::NONE,
};

pub(crate) const v_readlane_b32: Op = Op {
    exec: |cx, inst| {
        let lane = cx.scalar32(&inst.src[1]) & 63;
        let value = lane_value(cx, inst, lane as usize);
        cx.set_scalar(inst.dst, value);
        Flow::Next
    },
    dst: Ty::Scalar,
    src: [Ty::B32, Ty::B32, Ty::None],
    traits: Traits::NONE,
};

pub(crate) const v_writelane_b32: Op = Op {
    exec: |cx, inst| {
        let value = cx.scalar32(&inst.src[0]);
        let lane = cx.scalar32(&inst.src[1]) & 63;
        cx.wave.vector.get_mut(inst.dst)[lane as usize] = value;
        Flow::Next
    },
    dst: Ty::B32,
    src: [Ty::B32, Ty::B32, Ty::None],
    traits: Traits::NONE,
};

pub(crate) const v_swap_b32: Op = Op {
    exec: |cx, inst| {
        let mask = cx.exec();
        let (a, b) = (inst.dst, inst.src[0].register);
        for lane in crate::exec::lanes::active(mask) {
            let (old_a, old_b) = (cx.wave.vector.get(a)[lane], cx.wave.vector.get(b)[lane]);
            cx.wave.vector.get_mut(a)[lane] = old_b;
            cx.wave.vector.get_mut(b)[lane] = old_a;
        }
        Flow::Next
    },
    dst: Ty::B32,
    src: [Ty::B32, Ty::None, Ty::None],
    traits: Traits::NONE,
};

/// Moves between architectural and accumulation registers; the decoder resolves which file each operand is in.
pub(crate) const v_accvgpr_move: Op = Op {
    exec: |cx, inst| {
        let row = u32::fetch(cx, inst, 0);
        u32::store(cx, inst, &row);
        Flow::Next
    },
    dst: Ty::B32,
    src: [Ty::B32, Ty::None, Ty::None],
    traits: Traits::NONE,
};

/// A table of graphics hardware, which the manuals do not print.
pub(crate) const v_screen_partition_4se_b32: Op = Op {
    exec: |cx, inst| cx.illegal(inst, "the screen partition of graphics is not modelled"),
    dst: Ty::B32,
    src: [Ty::B32, Ty::None, Ty::None],
    traits: Traits::NONE,
};

/// Clears the wave's exception state in the vector unit, of which the manuals say no more; here, the arithmetic part of
/// TRAPSTS.
pub(crate) const v_clrexcp: Op = Op {
    exec: |cx, _| {
        cx.wave.trapsts &= !(EXCEPTIONS >> EXCEPTIONS_SHIFT);
        Flow::Next
    },
    dst: Ty::None,
    src: [Ty::None; 3],
    traits: Traits::NONE,
};

pub(crate) const v_nop: Op =
    Op { exec: |_, _| Flow::Next, dst: Ty::None, src: [Ty::None; 3], traits: Traits::NONE };
