//! Operand fields to resolved operands.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bit fields are taken apart"
)]

use super::Illegal;
use crate::instruction::{Encoding, Inst, Row, Suffix, Unused};
use crate::operand::{Flag, Kind, Part, Src, Ty};
use crate::wave::ACC_BASE;

/// The operand number that announces a literal word.
pub(super) const LITERAL: u32 = 255;

/// An instruction with nothing but its row filled in.
pub(super) fn blank(address: u64, row: &'static Row, encoding: Encoding, words: u8) -> Inst {
    Inst {
        exec: row.op.exec,
        row,
        encoding,
        suffix: Suffix::None,
        address,
        size: words * 4,
        src: [Src::NONE; 3],
        dst: 0,
        sdst: 0,
        imm: 0,
        clamp: false,
        omod: 0,
        op_sel: 0,
        op_sel_hi: 0,
        neg_hi: 0,
        dst_part: Part::Whole,
        dst_unused: Unused::Zero,
        dpp: None,
        returns: false,
        index_enable: false,
        offset_enable: false,
        scalar_offset: Src::NONE,
        format: 0,
        to_lds: false,
        arch_top: 0,
        acc_top: 0,
    }
}

/// Inline constants: integers 0 to 64 and -1 to -16, and nine floats, whose bits depend on the operand's type.
fn inline_constant(code: u32, ty: Ty) -> Option<u64> {
    let integer = match code {
        128..=192 => Some(i64::from(code) - 128),
        193..=208 => Some(192 - i64::from(code)),
        _ => None,
    };
    if let Some(value) = integer {
        return Some(match ty {
            // Eight registers are a matrix of doubles.
            Ty::B64 | Ty::F64 | Ty::Mask | Ty::B256 => value as u64,
            Ty::PackedF32 => u64::from(value as u32),
            Ty::B16 | Ty::F16 => u64::from(value as u16),
            _ => u64::from(value as u32),
        });
    }
    let (half, single, double): (u16, u32, u64) = match code {
        240 => (0x3800, 0x3f00_0000, 0x3fe0_0000_0000_0000),
        241 => (0xb800, 0xbf00_0000, 0xbfe0_0000_0000_0000),
        242 => (0x3c00, 0x3f80_0000, 0x3ff0_0000_0000_0000),
        243 => (0xbc00, 0xbf80_0000, 0xbff0_0000_0000_0000),
        244 => (0x4000, 0x4000_0000, 0x4000_0000_0000_0000),
        245 => (0xc000, 0xc000_0000, 0xc000_0000_0000_0000),
        246 => (0x4400, 0x4080_0000, 0x4010_0000_0000_0000),
        247 => (0xc400, 0xc080_0000, 0xc010_0000_0000_0000),
        // 1 / (2 * pi).
        248 => (0x3118, 0x3e22_f983, 0x3fc4_5f30_6dc9_c882),
        _ => return None,
    };
    Some(match ty {
        Ty::B16 | Ty::F16 | Ty::PackedF16 => u64::from(half),
        Ty::B64 | Ty::F64 | Ty::Mask | Ty::B256 => double,
        // Packed 16-bit integers too: the upper half of the single is what there is.
        _ => u64::from(single),
    })
}

/// What a literal word means for an operand type: for f64 it is the upper half.
pub(super) fn literal(word: u32, ty: Ty) -> Src {
    Src::constant(match ty {
        Ty::F64 => u64::from(word) << 32,
        Ty::B16 | Ty::F16 => u64::from(word & 0xffff),
        _ => u64::from(word),
    })
}

/// A 9-bit source field (8 bits for scalar instructions, whose codes stop at 255). Literals are the caller's.
pub(super) fn source(code: u32, ty: Ty, words: usize) -> Result<Src, Illegal> {
    Ok(match code {
        0..=124 | 126..=127 => {
            let last = if wide(ty) { code + 1 } else { code };
            if last == 125 || last > 127 {
                return Err(Illegal::new(
                    words,
                    format!("scalar source {code} is the end of the register file"),
                ));
            }
            aligned(code, if wide(ty) { 2 } else { 1 }, words)?;
            Src::scalar(code as u16)
        }
        // The apertures' bases and limits; the wave's configuration supplies them when the code is decoded.
        235..=238 => {
            if !wide(ty) {
                return Err(Illegal::new(words, "an aperture register read as 32 bits is not defined"));
            }
            Src { kind: Kind::Aperture, register: (code - 235) as u16, ..Src::NONE }
        }
        251 => Src { kind: Kind::Flag(Flag::Vccz), ..Src::NONE },
        252 => Src { kind: Kind::Flag(Flag::Execz), ..Src::NONE },
        253 => Src { kind: Kind::Flag(Flag::Scc), ..Src::NONE },
        256..=511 => vector((code - 256) as u16, ty.registers().max(1), words)?,
        _ => match inline_constant(code, ty) {
            Some(value) => Src::constant(value),
            None => return Err(Illegal::new(words, format!("operand code {code} has no meaning"))),
        },
    })
}

fn wide(ty: Ty) -> bool {
    matches!(ty, Ty::B64 | Ty::F64 | Ty::Mask | Ty::PackedF32)
}

/// A vector register operand of `width` registers.
pub(super) fn vector(number: u16, width: u16, words: usize) -> Result<Src, Illegal> {
    if number + width > 256 {
        return Err(Illegal::new(words, format!("{width} registers from v{number} leave the vector file")));
    }
    if width > 1 && number % 2 == 1 {
        return Err(Illegal::new(words, format!("{width} registers from v{number}: the first must be even")));
    }
    Ok(Src::vector(number))
}

/// A scalar destination.
pub(super) fn scalar_destination(code: u32, ty: Ty, words: usize) -> Result<u16, Illegal> {
    let width = u32::from(ty.registers().max(if ty == Ty::Mask { 2 } else { 1 }));
    let last = code + width - 1;
    if last > 127 || code == 125 || last == 125 || (code <= 101 && last > 107) {
        return Err(Illegal::new(
            words,
            format!("scalar destination {code} of {width} registers does not exist"),
        ));
    }
    aligned(code, width, words)?;
    Ok(code as u16)
}

/// Pairs of scalar registers start at a multiple of two, longer tuples at a multiple of four.
fn aligned(code: u32, width: u32, words: usize) -> Result<(), Illegal> {
    let unit = width.min(4).next_power_of_two();
    if code.is_multiple_of(unit) {
        return Ok(());
    }
    Err(Illegal::new(
        words,
        format!("{width} scalar registers from {code}: the first must be a multiple of {unit}"),
    ))
}

/// Moves a vector operand into the accumulation file.
pub(super) fn accumulation(src: Src, acc: bool) -> Src {
    if acc && src.kind == Kind::Vector { Src { register: src.register + ACC_BASE, ..src } } else { src }
}

/// Notes the registers that an instruction names.
pub(super) fn note(inst: &mut Inst, register: u16, width: u16) {
    if width == 0 {
        return;
    }
    if register >= ACC_BASE {
        inst.acc_top = inst.acc_top.max(register - ACC_BASE + width);
    } else {
        inst.arch_top = inst.arch_top.max(register + width);
    }
}

/// Notes all sources of a vector ALU instruction and its destination.
pub(super) fn note_all(inst: &mut Inst) {
    for n in 0..3 {
        if inst.src[n].kind == Kind::Vector {
            note(inst, inst.src[n].register, inst.row.op.src[n].registers().max(1));
        }
    }
    note(inst, inst.dst, inst.row.op.dst.registers());
}
