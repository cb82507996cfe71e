//! Relative register addressing: `s_movrel*` and the vector index mode.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, reason = "register numbers and index fields are small")]

use super::alu::custom;
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::{Kind, Src, Ty};

/// The MODE bit of the vector index mode (GPR_IDX_EN).
pub(crate) const INDEX_MODE: u32 = 1 << 27;

/// A scalar register number moved by M0, if it stays a general register.
fn relative(cx: &Context<'_>, register: u16, width: u16) -> Option<u16> {
    let number = u32::from(register).checked_add(cx.wave.m0())?;
    (number <= 102 - u32::from(width)).then_some(number as u16)
}

fn relative_source(cx: &Context<'_>, inst: &Inst, width: u16) -> Option<Src> {
    let src = inst.src[0];
    (src.kind == Kind::Scalar).then_some(())?;
    relative(cx, src.register, width).map(Src::scalar)
}

const OUT_OF_RANGE: &str = "M0 moves the register out of the scalar file";

custom! {
    s_movrels_b32 [B32] -> B32 |cx, inst| {
        let Some(src) = relative_source(cx, inst, 1) else { return cx.illegal(inst, OUT_OF_RANGE) };
        let value = cx.scalar32(&src);
        cx.set_scalar(inst.dst, value);
        Flow::Next
    };
    s_movrels_b64 [B64] -> B64 |cx, inst| {
        let Some(src) = relative_source(cx, inst, 2) else { return cx.illegal(inst, OUT_OF_RANGE) };
        let value = cx.scalar64(&src);
        cx.set_pair(inst.dst, value);
        Flow::Next
    };
    s_movreld_b32 [B32] -> B32 |cx, inst| {
        let Some(dst) = relative(cx, inst.dst, 1) else { return cx.illegal(inst, OUT_OF_RANGE) };
        let value = cx.scalar32(&inst.src[0]);
        cx.set_scalar(dst, value);
        Flow::Next
    };
    s_movreld_b64 [B64] -> B64 |cx, inst| {
        let Some(dst) = relative(cx, inst.dst, 2) else { return cx.illegal(inst, OUT_OF_RANGE) };
        let value = cx.scalar64(&inst.src[0]);
        cx.set_pair(dst, value);
        Flow::Next
    };

    // The second operand's field is itself the set of enables; the decoder gives it as the immediate.
    s_set_gpr_idx_on [B32] -> None |cx, inst| {
        let index = cx.scalar32(&inst.src[0]) & 0xff;
        let m0 = cx.wave.m0() & !0xf0ff | index | (inst.imm as u32 & 15) << 12;
        cx.wave.set_m0(m0);
        cx.wave.mode |= INDEX_MODE;
        Flow::Next
    };
    s_set_gpr_idx_off [] -> None |cx, _| {
        cx.wave.mode &= !INDEX_MODE;
        Flow::Next
    };
    s_set_gpr_idx_mode [] -> None |cx, inst| {
        let m0 = cx.wave.m0() & !0xf000 | (inst.imm as u32 & 15) << 12;
        cx.wave.set_m0(m0);
        Flow::Next
    };
    s_set_gpr_idx_idx [B32] -> None |cx, inst| {
        let m0 = cx.wave.m0() & !0xff | cx.scalar32(&inst.src[0]) & 0xff;
        cx.wave.set_m0(m0);
        Flow::Next
    };
}

/// The instruction with its vector registers moved as the index mode asks, or none when a register leaves its file.
pub(crate) fn indexed(cx: &Context<'_>, inst: &Inst) -> Option<Inst> {
    let m0 = cx.wave.m0();
    let (index, enables) = ((m0 & 0xff) as u16, m0 >> 12);
    let limit = cx.wave.config.arch_vgprs;
    let move_by =
        |register: u16, width: u16| Some(register + index).filter(|moved| *moved + width.max(1) <= limit);
    let op = &inst.row.op;
    let mut moved = inst.clone();
    for (n, src) in moved.src.iter_mut().enumerate() {
        if enables >> n & 1 == 1 && src.kind == Kind::Vector {
            src.register = move_by(src.register, op.src[n].registers())?;
        }
    }
    if enables >> 3 & 1 == 1 && op.dst.registers() > 0 {
        moved.dst = move_by(moved.dst, op.dst.registers())?;
    }
    Some(moved)
}
