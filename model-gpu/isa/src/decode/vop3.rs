//! VOP3 and VOP3P.
#![allow(clippy::cast_possible_truncation, reason = "bit fields are taken apart")]

use super::operands::{LITERAL, note_all, scalar_destination, source};
use super::vector::destination;
use super::{Illegal, Words};
use crate::instruction::{Encoding, Inst, Literal, Suffix, Unused};
use crate::operand::{Kind, Part, Src, Ty};

/// Where the short forms lie among the VOP3 opcodes.
const VOP2_AT: u32 = 0x100;
const VOP1_AT: u32 = 0x140;

/// The row of a VOP3 opcode, and whether it has a short form.
fn vop3_row(words: Words<'_>, opcode: u32) -> Result<(&'static crate::instruction::Row, Encoding), Illegal> {
    let (encoding, opcode) = match opcode {
        0..VOP2_AT => (Encoding::Vopc, opcode),
        VOP2_AT..VOP1_AT => (Encoding::Vop2, opcode - VOP2_AT),
        VOP1_AT..0x1c0 => (Encoding::Vop1, opcode - VOP1_AT),
        _ => (Encoding::Vop3, opcode),
    };
    Ok((words.row(encoding, opcode, 2)?, encoding))
}

fn operand(code: u32, ty: Ty) -> Result<Src, Illegal> {
    match (ty, code) {
        (Ty::None, _) => Ok(Src::NONE),
        (_, LITERAL) => Err(Illegal::new(2, "a VOP3 form takes no literal")),
        _ => source(code, ty, 2),
    }
}

pub(super) fn vop3(words: Words<'_>) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let (row, family) = vop3_row(words, low >> 16 & 0x3ff)?;
    let mut inst = words.blank(row, Encoding::Vop3, 2);
    let op = &row.op;
    inst.suffix = if family == Encoding::Vop3 { Suffix::None } else { Suffix::E64 };
    let short_only = matches!(row.mnemonic, "v_swap_b32" | "v_accvgpr_mov_b32");
    if short_only || op.traits.literal != Literal::None {
        return Err(Illegal::new(2, format!("{}: there is no VOP3 form", row.mnemonic)));
    }
    let codes = [high & 0x1ff, high >> 9 & 0x1ff, high >> 18 & 0x1ff];
    for (n, code) in codes.into_iter().enumerate() {
        inst.src[n] = operand(code, op.src[n])?;
    }
    if matches!(row.mnemonic, "v_readlane_b32" | "v_writelane_b32") && inst.src[1].kind == Kind::Vector {
        return Err(Illegal::new(2, format!("{}: the lane select is a vector register", row.mnemonic)));
    }
    if op.traits.accumulate {
        inst.src[2] = super::operands::vector((low & 0xff) as u16, op.dst.registers(), 2)?;
    }
    inst.clamp = low >> 15 & 1 == 1;
    inst.omod = (high >> 27 & 3) as u8;
    if op.dst == Ty::Mask {
        inst.sdst = scalar_destination(low & 0xff, Ty::Mask, 2)?;
    } else {
        destination(&mut inst, low & 0xff)?;
    }
    let scalar_field = op.traits.carry_out;
    if scalar_field {
        inst.sdst = scalar_destination(low >> 8 & 0x7f, Ty::Mask, 2)?;
    }
    modifiers(&mut inst, if scalar_field { 0 } else { low >> 8 & 7 }, high >> 29)?;
    operand_select(&mut inst, if scalar_field { 0 } else { low >> 11 & 15 })?;
    let integer = !op.dst.is_float() && op.dst != Ty::Mask;
    if (inst.clamp && integer && !op.traits.integer_clamp) || (inst.omod != 0 && !op.dst.is_float()) {
        return Err(Illegal::new(
            2,
            format!("{}: output modifier on a result that has none", inst.mnemonic()),
        ));
    }
    note_all(&mut inst);
    Ok(inst)
}

fn modifiers(inst: &mut Inst, absolute: u32, negate: u32) -> Result<(), Illegal> {
    for n in 0..3 {
        let (absolute, negate) = (absolute >> n & 1 == 1, negate >> n & 1 == 1);
        if (absolute || negate) && !inst.row.op.src[n].has_sign_modifiers() {
            return Err(Illegal::new(2, format!("{}: source {n} has no sign modifiers", inst.mnemonic())));
        }
        inst.src[n].absolute = absolute;
        inst.src[n].negate = negate;
    }
    Ok(())
}

/// OP_SEL of VOP3: halves of 16-bit operands.
fn operand_select(inst: &mut Inst, bits: u32) -> Result<(), Illegal> {
    inst.op_sel = bits as u8;
    let op = &inst.row.op;
    if !op.traits.op_sel {
        if bits != 0 {
            return Err(Illegal::new(2, format!("{}: OP_SEL is not defined", inst.mnemonic())));
        }
        return Ok(());
    }
    for n in 0..3 {
        if bits >> n & 1 == 0 {
            continue;
        }
        if op.src[n].is_16_bit() && matches!(inst.src[n].kind, Kind::Vector | Kind::Scalar) {
            inst.src[n].part = Part::Word(1);
        } else if op.dst != Ty::None && !custom_select(inst) {
            return Err(Illegal::new(2, format!("{}: OP_SEL of source {n} is not defined", inst.mnemonic())));
        }
    }
    if op.dst.is_16_bit() {
        inst.dst_part = Part::Word((bits >> 3 & 1) as u8);
        inst.dst_unused = Unused::Preserve;
    }
    Ok(())
}

/// Conversions to 8-bit floats read OP_SEL themselves.
fn custom_select(inst: &Inst) -> bool {
    inst.row.mnemonic.contains("p8_") || inst.row.mnemonic.contains("bf8")
}

pub(super) fn vop3p(words: Words<'_>) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let row = words.row(Encoding::Vop3p, low >> 16 & 0x7f, 2)?;
    if row.mnemonic.contains("mfma") || row.mnemonic.contains("smfmac") {
        return matrix(words, row);
    }
    let mut inst = words.blank(row, Encoding::Vop3p, 2);
    let op = &row.op;
    let codes = [high & 0x1ff, high >> 9 & 0x1ff, high >> 18 & 0x1ff];
    for (n, code) in codes.into_iter().enumerate() {
        inst.src[n] = operand(code, op.src[n])?;
        inst.src[n].negate = high >> (29 + n) & 1 == 1;
    }
    inst.neg_hi = (low >> 8 & 7) as u8;
    inst.op_sel = (low >> 11 & 7) as u8;
    inst.op_sel_hi = (high >> 27 & 3 | (low >> 14 & 1) << 2) as u8;
    inst.clamp = low >> 15 & 1 == 1;
    destination(&mut inst, low & 0xff)?;
    match row.mnemonic {
        "v_accvgpr_read_b32" => {
            inst.src[0] = super::operands::accumulation(inst.src[0], true);
            if inst.src[0].kind != Kind::Vector {
                return Err(Illegal::new(2, "v_accvgpr_read_b32 of something that is no register"));
            }
        }
        "v_accvgpr_write_b32" => inst.dst += crate::wave::ACC_BASE,
        "v_fma_mixlo_f16" | "v_fma_mixhi_f16" => {
            inst.dst_part = Part::Word(u8::from(row.mnemonic == "v_fma_mixhi_f16"));
            inst.dst_unused = Unused::Preserve;
        }
        _ => {}
    }
    check_packed_constants(&inst)?;
    check_dot_modifiers(&inst)?;
    if inst.clamp && !op.dst.is_float() && !op.traits.integer_clamp {
        return Err(Illegal::new(2, format!("{}: CLAMP is not defined", inst.mnemonic())));
    }
    note_all(&mut inst);
    Ok(inst)
}

/// An inline constant has no upper 32-bit half, and a mixed-precision one is single.
fn check_packed_constants(inst: &Inst) -> Result<(), Illegal> {
    let mixed = inst.row.mnemonic.starts_with("v_fma_mix");
    for n in 0..3 {
        let constant = matches!(inst.src[n].kind, Kind::Constant | Kind::Flag(_));
        let pair = inst.row.op.src[n] == Ty::PackedF32;
        let high = if pair && inst.row.mnemonic == "v_pk_mov_b32" {
            inst.op_sel >> n & 1 == 1
        } else {
            (inst.op_sel | inst.op_sel_hi) >> n & 1 == 1
        };
        if constant && high && (pair || mixed) {
            return Err(Illegal::new(
                2,
                format!("{}: the upper half of constant source {n} is not defined", inst.mnemonic()),
            ));
        }
    }
    Ok(())
}

/// Dot products: those of integers take their elements as they are; the accumulator is one whole register, whose high
/// negation can only repeat the low one.
fn check_dot_modifiers(inst: &Inst) -> Result<(), Illegal> {
    let mnemonic = inst.row.mnemonic;
    if !mnemonic.starts_with("v_dot") {
        return Ok(());
    }
    let negated = inst.src.iter().any(|src| src.negate) || inst.neg_hi != 0;
    let defined = match mnemonic {
        "v_dot2_f32_f16" => inst.op_sel & 4 == 0 && (inst.neg_hi & 4 == 0 || inst.src[2].negate),
        "v_dot2_i32_i16" | "v_dot2_u32_u16" => inst.op_sel == 0 && inst.op_sel_hi & 3 == 3 && !negated,
        _ => inst.op_sel == 0 && !negated,
    };
    if defined {
        return Ok(());
    }
    Err(Illegal::new(2, format!("{mnemonic}: these operand modifiers are not defined")))
}

/// Matrix instructions: accumulation-file bits instead of OP_SEL_HI, broadcast controls instead of the modifiers.
fn matrix(words: Words<'_>, row: &'static crate::instruction::Row) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let mut inst = words.blank(row, Encoding::Vop3p, 2);
    let op = &row.op;
    let accumulate_file = low >> 15 & 1 == 1;
    let codes = [high & 0x1ff, high >> 9 & 0x1ff, high >> 18 & 0x1ff];
    for (n, code) in codes.into_iter().enumerate() {
        let acc = if n == 2 { accumulate_file && !op.traits.accumulate } else { high >> (27 + n) & 1 == 1 };
        inst.src[n] = super::operands::accumulation(operand(code, op.src[n])?, acc);
        if n < 2 && inst.src[n].kind != Kind::Vector {
            return Err(Illegal::new(2, format!("{}: source {n} is not a vector register", inst.mnemonic())));
        }
    }
    destination(&mut inst, low & 0xff)?;
    if accumulate_file {
        inst.dst += crate::wave::ACC_BASE;
    }
    // CBSZ, ABID and BLGP.
    inst.imm = u64::from(low >> 8 & 7) | u64::from(low >> 11 & 15) << 8 | u64::from(high >> 29) << 16;
    note_all(&mut inst);
    Ok(inst)
}
