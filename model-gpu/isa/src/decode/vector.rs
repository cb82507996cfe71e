//! VOP1, VOP2 and VOPC in their short, SDWA and DPP forms.
#![allow(clippy::cast_possible_truncation, reason = "bit fields are taken apart")]

use super::dpp_sdwa::{DPP, SDWA, dpp, sdwa};
use super::operands::{LITERAL, literal, note_all, scalar_destination, source, vector};
use super::{Illegal, Words};
use crate::instruction::{Encoding, Inst, Literal, Suffix};
use crate::operand::{Kind, Src, Ty};

/// VCC as an operand.
const VCC: u16 = 106;

/// The first source with its extra word; the second source from `second_code`.
fn sources(inst: &mut Inst, code: u32, second_code: u32, words: Words<'_>) -> Result<(), Illegal> {
    let kinds = inst.row.op.src;
    let compares = inst.encoding == Encoding::Vopc;
    inst.suffix = if inst.row.mnemonic == "v_swap_b32" || inst.row.mnemonic.starts_with("v_accvgpr") {
        Suffix::None
    } else {
        Suffix::E32
    };
    if inst.encoding != Encoding::Vop1 && !matches!(kinds[1], Ty::None | Ty::Mask) {
        inst.src[1] = vector(second_code as u16, kinds[1].registers(), 1)?;
    }
    if inst.suffix == Suffix::None && matches!(code, SDWA | DPP) {
        return Err(Illegal::new(1, format!("{}: there is no SDWA or DPP form", inst.row.mnemonic)));
    }
    match code {
        SDWA => sdwa(inst, words.second()?, second_code, compares)?,
        DPP => dpp(inst, words.second()?)?,
        LITERAL => {
            inst.size = 8;
            inst.src[0] = literal(words.second()?, kinds[0]);
        }
        _ if kinds[0] == Ty::None => {}
        _ => inst.src[0] = source(code, kinds[0], 1)?,
    }
    Ok(())
}

/// Implicit operands: the accumulator, VCC as carry or mask, and the mandatory literal.
fn implicit(inst: &mut Inst, destination: u32, words: Words<'_>) -> Result<(), Illegal> {
    let traits = inst.row.op.traits;
    if traits.accumulate {
        inst.src[2] = vector(destination as u16, inst.row.op.dst.registers(), 1)?;
    }
    if traits.mask_in {
        inst.src[2] = Src::scalar(VCC);
    }
    if traits.carry_out {
        inst.sdst = VCC;
    }
    if traits.literal != Literal::None {
        if inst.suffix != Suffix::E32 {
            return Err(Illegal::new(2, "an instruction with its own literal has no SDWA or DPP form"));
        }
        let value = literal(words.second()?, inst.row.op.src[1]);
        inst.size = 8;
        inst.suffix = Suffix::None;
        match traits.literal {
            Literal::Multiplier => {
                inst.src[2] = inst.src[1];
                inst.src[1] = value;
            }
            _ => inst.src[2] = value,
        }
    }
    Ok(())
}

pub(super) fn vop1(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Vop1, word >> 9 & 0xff, 1)?, Encoding::Vop1, 1);
    sources(&mut inst, word & 0x1ff, 0, words)?;
    destination(&mut inst, word >> 17 & 0xff)?;
    match inst.row.mnemonic {
        "v_nop" | "v_clrexcp" => inst.suffix = Suffix::None,
        "v_readfirstlane_b32" => inst.suffix = Suffix::None,
        "v_swap_b32" if inst.src[0].kind != Kind::Vector => {
            return Err(Illegal::new(1, "v_swap_b32 of something that is not a vector register"));
        }
        "v_accvgpr_mov_b32" => {
            inst.dst += crate::wave::ACC_BASE;
            inst.src[0] = super::operands::accumulation(inst.src[0], true);
        }
        _ => {}
    }
    note_all(&mut inst);
    Ok(inst)
}

/// The destination field: a vector register, or a scalar one for the instructions that read a lane.
pub(super) fn destination(inst: &mut Inst, code: u32) -> Result<(), Illegal> {
    let ty = inst.row.op.dst;
    inst.dst = match ty {
        Ty::None => 0,
        Ty::Scalar => scalar_destination(code, Ty::B32, 1)?,
        _ => vector(code as u16, ty.registers(), 1)?.register,
    };
    Ok(())
}

pub(super) fn vop2(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Vop2, word >> 25 & 0x3f, 1)?, Encoding::Vop2, 1);
    sources(&mut inst, word & 0x1ff, word >> 9 & 0xff, words)?;
    destination(&mut inst, word >> 17 & 0xff)?;
    implicit(&mut inst, word >> 17 & 0xff, words)?;
    note_all(&mut inst);
    Ok(inst)
}

pub(super) fn vopc(words: Words<'_>) -> Result<Inst, Illegal> {
    let word = words.first();
    let mut inst = words.blank(words.row(Encoding::Vopc, word >> 17 & 0xff, 1)?, Encoding::Vopc, 1);
    inst.sdst = VCC;
    sources(&mut inst, word & 0x1ff, word >> 9 & 0xff, words)?;
    note_all(&mut inst);
    Ok(inst)
}
