//! The extra word of SDWA and DPP forms.
#![allow(clippy::cast_possible_truncation, reason = "bit fields are taken apart")]

use super::Illegal;
use super::operands::{source, vector};
use crate::exec::vector::dpp;
use crate::instruction::{Dpp, Inst, Suffix, Unused};
use crate::operand::{Part, Src, Ty};

/// The operand numbers that announce the words.
pub(super) const SDWA: u32 = 249;
pub(super) const DPP: u32 = 250;

fn part(selector: u32) -> Result<Part, Illegal> {
    match selector {
        0..=3 => Ok(Part::Byte(selector as u8)),
        4 | 5 => Ok(Part::Word(selector as u8 - 4)),
        6 => Ok(Part::Whole),
        _ => Err(Illegal::new(2, "SDWA selector 7 has no meaning")),
    }
}

/// A source of an SDWA form: a vector or scalar register, part and modifiers.
fn sdwa_source(code: u32, scalar: bool, fields: u32, ty: Ty) -> Result<Src, Illegal> {
    let base = source(if scalar { code } else { code + 256 }, ty, 2)?;
    Ok(Src {
        part: part(fields & 7)?,
        sign_extend: fields >> 3 & 1 == 1,
        negate: fields >> 4 & 1 == 1,
        absolute: fields >> 5 & 1 == 1,
        ..base
    })
}

fn check_signs(inst: &Inst) -> Result<(), Illegal> {
    for (n, src) in inst.src.iter().enumerate() {
        if (src.negate || src.absolute) && !inst.row.op.src[n].has_sign_modifiers() {
            return Err(Illegal::new(2, format!("{}: source {n} has no sign modifiers", inst.mnemonic())));
        }
    }
    Ok(())
}

/// Fills in the first source, the modifiers of the second (already set from the first word) and the destination's part.
pub(super) fn sdwa(inst: &mut Inst, word: u32, second_code: u32, compares: bool) -> Result<(), Illegal> {
    inst.suffix = Suffix::Sdwa;
    inst.size = 8;
    let kinds = inst.row.op.src;
    let wide = |ty: &Ty| matches!(ty, Ty::B64 | Ty::F64);
    if kinds.iter().chain([&inst.row.op.dst]).any(wide) {
        return Err(Illegal::new(2, format!("{}: operands of 64 bits have no parts", inst.mnemonic())));
    }
    inst.src[0] = sdwa_source(word & 0xff, word >> 23 & 1 == 1, word >> 16, kinds[0])?;
    if kinds[1] != Ty::None && kinds[1] != Ty::Mask {
        inst.src[1] = sdwa_source(second_code, word >> 31 & 1 == 1, word >> 24, kinds[1])?;
    }
    check_signs(inst)?;
    if compares {
        inst.sdst = if word >> 15 & 1 == 1 { (word >> 8 & 0x7f) as u16 } else { 106 };
        return Ok(());
    }
    inst.dst_part = part(word >> 8 & 7)?;
    inst.dst_unused = match word >> 11 & 3 {
        0 => Unused::Zero,
        1 => Unused::SignExtend,
        2 => Unused::Preserve,
        _ => return Err(Illegal::new(2, "SDWA dst_unused 3 has no meaning")),
    };
    inst.clamp = word >> 13 & 1 == 1;
    inst.omod = (word >> 14 & 3) as u8;
    Ok(())
}

/// Fills in the first source and the modifiers of both.
pub(super) fn dpp(inst: &mut Inst, word: u32) -> Result<(), Illegal> {
    inst.suffix = Suffix::Dpp;
    inst.size = 8;
    let control = (word >> 8 & 0x1ff) as u16;
    if !dpp::known(control) {
        return Err(Illegal::new(2, format!("DPP control {control:#x} is not known")));
    }
    let first = vector((word & 0xff) as u16, inst.row.op.src[0].registers().max(1), 2)?;
    inst.src[0] = Src { negate: word >> 20 & 1 == 1, absolute: word >> 21 & 1 == 1, ..first };
    inst.src[1].negate = word >> 22 & 1 == 1;
    inst.src[1].absolute = word >> 23 & 1 == 1;
    check_signs(inst)?;
    inst.dpp = Some(Dpp {
        control,
        row_mask: (word >> 28) as u8,
        bank_mask: (word >> 24 & 15) as u8,
        bound_control: word >> 19 & 1 == 1,
    });
    Ok(())
}
