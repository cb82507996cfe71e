//! SOP1, SOP2, SOPC, SOPK and SOPP.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bit fields"
)]

use super::operands::{LITERAL, literal, scalar_destination, source};
use super::{Illegal, Words};
use crate::instruction::{Encoding, Inst};
use crate::operand::{Src, Ty};

/// A scalar source, with the literal word when the code asks for it.
fn operand(inst: &mut Inst, n: usize, code: u32, words: Words<'_>) -> Result<(), Illegal> {
    let ty = inst.row.op.src[n];
    if ty == Ty::None {
        return Ok(());
    }
    inst.src[n] = if code == LITERAL {
        inst.size = 8;
        literal(words.second()?, ty)
    } else {
        source(code, ty, 1)?
    };
    Ok(())
}

fn destination(inst: &mut Inst, code: u32) -> Result<(), Illegal> {
    if inst.row.op.dst != Ty::None {
        inst.dst = scalar_destination(code, inst.row.op.dst, 1)?;
    }
    Ok(())
}

pub(super) fn sop1(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Sop1, word >> 8 & 0xff, 1)?, Encoding::Sop1, 1);
    operand(&mut inst, 0, word & 0xff, words)?;
    destination(&mut inst, word >> 16 & 0x7f)?;
    Ok(inst)
}

pub(super) fn sop2(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Sop2, word >> 23 & 0x7f, 1)?, Encoding::Sop2, 1);
    operand(&mut inst, 0, word & 0xff, words)?;
    operand(&mut inst, 1, word >> 8 & 0xff, words)?;
    destination(&mut inst, word >> 16 & 0x7f)?;
    Ok(inst)
}

/// The opcode whose second operand field is not an operand but a set of enables.
const SET_GPR_IDX_ON: u32 = 0x11;

pub(super) fn sopc(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let opcode = word >> 16 & 0x7f;
    let mut inst = words.blank(words.row(Encoding::Sopc, opcode, 1)?, Encoding::Sopc, 1);
    operand(&mut inst, 0, word & 0xff, words)?;
    if opcode == SET_GPR_IDX_ON {
        inst.imm = u64::from(word >> 8 & 0xff);
    } else {
        operand(&mut inst, 1, word >> 8 & 0xff, words)?;
    }
    Ok(inst)
}

/// The address that a 16-bit signed count of words leads to.
fn target(inst: &Inst, word: u32) -> u64 {
    inst.address.wrapping_add(4).wrapping_add(i64::from(word as i16).wrapping_mul(4) as u64)
}

pub(super) fn sopk(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let opcode = word >> 23 & 0x1f;
    let mut inst = words.blank(words.row(Encoding::Sopk, opcode, 1)?, Encoding::Sopk, 1);
    let register = word >> 16 & 0x7f;
    let signed = Src::constant(u64::from(i32::from(word as i16) as u32));
    match inst.row.mnemonic {
        "s_movk_i32" | "s_cmovk_i32" | "s_addk_i32" | "s_mulk_i32" => {
            inst.src[0] = signed;
            destination(&mut inst, register)?;
        }
        "s_getreg_b32" => {
            inst.imm = u64::from(word & 0xffff);
            destination(&mut inst, register)?;
        }
        "s_setreg_b32" => {
            inst.imm = u64::from(word & 0xffff);
            inst.src[0] = source(register, Ty::B32, 1)?;
        }
        "s_setreg_imm32_b32" => {
            inst.imm = u64::from(word & 0xffff);
            inst.size = 8;
            inst.src[0] = literal(words.second()?, Ty::B32);
        }
        "s_cbranch_i_fork" => {
            inst.imm = target(&inst, word);
            inst.src[0] = source(register, Ty::B64, 1)?;
        }
        "s_call_b64" => {
            inst.imm = target(&inst, word);
            destination(&mut inst, register)?;
        }
        mnemonic => {
            // Comparisons: unsigned ones zero-extend the immediate.
            inst.src[0] = source(register, Ty::B32, 1)?;
            inst.src[1] =
                if mnemonic.ends_with("u32") { Src::constant(u64::from(word & 0xffff)) } else { signed };
        }
    }
    Ok(inst)
}

pub(super) fn sopp(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Sopp, word >> 16 & 0x7f, 1)?, Encoding::Sopp, 1);
    let branch = inst.row.mnemonic == "s_branch" || inst.row.mnemonic.starts_with("s_cbranch");
    inst.imm = if branch { target(&inst, word) } else { u64::from(word & 0xffff) };
    Ok(inst)
}
