//! SMEM, DS, FLAT and its segments, MUBUF, MTBUF.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "bit fields"
)]

use super::operands::{accumulation, note, scalar_destination, source, vector};
use super::{Illegal, Words};
use crate::exec::memory::vector::{system_scope, write_back};
use crate::instruction::{Encoding, Inst, Row};
use crate::operand::{Kind, Src, Ty};
use crate::wave::ACC_BASE;

/// The scalar address field that means none.
const OFF: u32 = 0x7f;

fn sign_extend(value: u32, bits: u32) -> u64 {
    i64::from((value << (32 - bits)) as i32 >> (32 - bits)) as u64
}

pub(super) fn smem(words: Words<'_>) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let row = words.row(Encoding::Smem, low >> 18 & 0xff, 2)?;
    let mut inst = words.blank(row, Encoding::Smem, 2);
    if row.op.dst != Ty::None {
        inst.dst = scalar_destination(low >> 6 & 0x7f, row.op.dst, 2)?;
    }
    inst.src[0] = Src::scalar((low << 1 & 0x7e) as u16);
    inst.returns = low >> 16 & 1 == 1;
    let (immediate, scalar) = (low >> 17 & 1 == 1, low >> 14 & 1 == 1);
    if immediate {
        inst.imm = sign_extend(high & 0x1f_ffff, 21);
    }
    if scalar {
        inst.src[1] = source(high >> 25, Ty::B32, 2)?;
    } else if !immediate && row.op.dst != Ty::None && !row.mnemonic.starts_with("s_mem") {
        // Neither an immediate nor the separate field: the offset field names a register.
        inst.src[1] = source(high & 0x7f, Ty::B32, 2)?;
    }
    Ok(inst)
}

/// A vector operand of a memory instruction, in either file.
fn data(inst: &mut Inst, n: usize, number: u32, ty: Ty, acc: bool) -> Result<(), Illegal> {
    if ty == Ty::None {
        return Ok(());
    }
    inst.src[n] = accumulation(vector((number & 0xff) as u16, ty.registers(), 2)?, acc);
    note(inst, inst.src[n].register, ty.registers());
    Ok(())
}

fn result(inst: &mut Inst, number: u32, acc: bool) -> Result<(), Illegal> {
    let ty = inst.row.op.dst;
    if ty == Ty::None {
        return Ok(());
    }
    inst.dst = vector((number & 0xff) as u16, ty.registers(), 2)?.register + if acc { ACC_BASE } else { 0 };
    note(inst, inst.dst, ty.registers());
    Ok(())
}

pub(super) fn ds(words: Words<'_>) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let row = words.row(Encoding::Ds, low >> 17 & 0xff, 2)?;
    let mut inst = words.blank(row, Encoding::Ds, 2);
    if (low >> 16 & 1 == 1) != row.mnemonic.starts_with("ds_gws") {
        return Err(Illegal::new(
            2,
            format!("{}: the GDS bit is set where it must not be, or the reverse", row.mnemonic),
        ));
    }
    let acc = low >> 25 & 1 == 1;
    inst.imm = u64::from(low & 0xffff);
    let kinds = row.op.src;
    data(&mut inst, 0, high, kinds[0], false)?;
    data(&mut inst, 1, high >> 8, kinds[1], acc)?;
    data(&mut inst, 2, high >> 16, kinds[2], acc)?;
    result(&mut inst, high >> 24, acc)?;
    Ok(inst)
}

pub(super) fn flat(words: Words<'_>) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let encoding = match low >> 14 & 3 {
        0 => Encoding::Flat,
        1 => Encoding::Scratch,
        2 => Encoding::Global,
        _ => return Err(Illegal::new(2, "FLAT segment 3 does not exist")),
    };
    let row = words.row(encoding, low >> 18 & 0x7f, 2)?;
    let mut inst = words.blank(row, encoding, 2);
    let acc = high >> 23 & 1 == 1;
    inst.imm =
        if encoding == Encoding::Flat { u64::from(low & 0xfff) } else { sign_extend(low & 0x1fff, 13) };
    inst.returns = low >> 16 & 1 == 1;
    let bit13 = low >> 13 & 1 == 1;
    inst.to_lds = row.mnemonic.contains("_lds_");
    let architected = words.target.architected_flat_scratch();
    if bit13 && (!architected || encoding != Encoding::Scratch) {
        // On targets that have no instructions of their own for it, the bit asks for a load to LDS.
        if architected || encoding == Encoding::Flat {
            return Err(Illegal::new(2, format!("{}: bit 13 has no meaning", row.mnemonic)));
        }
        loads_to_lds(row)?;
        inst.to_lds = true;
    }
    // SC0 and SC1.
    set_scope(&mut inst, words, low >> 16 & 1 == 1, low >> 25 & 1 == 1);
    let scalar = high >> 16 & 0x7f;
    let has_scalar = encoding != Encoding::Flat && scalar != OFF;
    if has_scalar {
        inst.src[2] = source(scalar, if encoding == Encoding::Global { Ty::B64 } else { Ty::B32 }, 2)?;
    }
    let address_kind = match encoding {
        // With architected scratch a bit says whether there is a vector address; without, there is one address of either kind.
        Encoding::Scratch if architected && !bit13 || !architected && has_scalar => Ty::None,
        Encoding::Scratch => Ty::B32,
        _ if has_scalar => Ty::B32,
        _ => Ty::B64,
    };
    data(&mut inst, 0, high, address_kind, false)?;
    data(&mut inst, 1, high >> 8, row.op.traits.data, acc)?;
    let atomic = row.op.traits.data != Ty::None && row.op.dst != Ty::None;
    if (!atomic || inst.returns) && !inst.to_lds {
        result(&mut inst, high >> 24, acc)?;
    }
    Ok(inst)
}

/// Stores, atomics and write-backs of system scope are executed by functions of their own. On targets with scopes, stores
/// and write-backs have system scope with SC0 and SC1 set, atomics with SC1, for SC0 asks them for a result (LLVM,
/// "Memory Model GFX942"). Without, `buffer_wbl2` is for system scope alone ("Memory Model GFX90A").
fn set_scope(inst: &mut Inst, words: Words<'_>, sc0: bool, sc1: bool) {
    let op = &inst.row.op;
    let scoped = words.target.architected_flat_scratch();
    if inst.row.mnemonic == "buffer_wbl2" {
        if !scoped || sc0 && sc1 {
            inst.exec = write_back;
        }
        return;
    }
    let stores = op.traits.data != Ty::None || inst.row.mnemonic == "buffer_store_lds_dword";
    let atomic = op.traits.data != Ty::None && op.dst != Ty::None;
    if scoped && stores && sc1 && (sc0 || atomic) {
        inst.exec = system_scope;
    }
}

/// Only loads that fill one whole register have a form that loads to LDS.
fn loads_to_lds(row: &Row) -> Result<(), Illegal> {
    let whole = !row.mnemonic.contains("d16") && !row.op.traits.formatted;
    if row.op.dst == Ty::B32 && row.op.traits.data == Ty::None && whole {
        return Ok(());
    }
    Err(Illegal::new(2, format!("{}: there is no form that loads to LDS", row.mnemonic)))
}

pub(super) fn mubuf(words: Words<'_>) -> Result<Inst, Illegal> {
    let row = words.row(Encoding::Mubuf, words.first() >> 18 & 0x7f, 2)?;
    buffer(words, row, Encoding::Mubuf)
}

pub(super) fn mtbuf(words: Words<'_>) -> Result<Inst, Illegal> {
    let low = words.first();
    let row = words.row(Encoding::Mtbuf, low >> 15 & 15, 2)?;
    let mut inst = buffer(words, row, Encoding::Mtbuf)?;
    inst.format = (low >> 19 & 15 | (low >> 23 & 7) << 8) as u16;
    Ok(inst)
}

fn buffer(words: Words<'_>, row: &'static Row, encoding: Encoding) -> Result<Inst, Illegal> {
    let (low, high) = (words.first(), words.second()?);
    let mut inst = words.blank(row, encoding, 2);
    let from_lds = row.mnemonic == "buffer_store_lds_dword";
    // In typed instructions SC1 made room for the opcode.
    let sc1 = if encoding == Encoding::Mubuf { low >> 15 & 1 == 1 } else { high >> 21 & 1 == 1 };
    set_scope(&mut inst, words, low >> 14 & 1 == 1, sc1);
    if row.op.dst == Ty::None && row.op.traits.data == Ty::None && !from_lds {
        return Ok(inst);
    }
    let acc = high >> 23 & 1 == 1;
    inst.imm = u64::from(low & 0xfff);
    inst.offset_enable = low >> 12 & 1 == 1;
    inst.index_enable = low >> 13 & 1 == 1;
    inst.returns = low >> 14 & 1 == 1;
    inst.to_lds = encoding == Encoding::Mubuf && low >> 16 & 1 == 1 && !from_lds;
    if inst.to_lds {
        loads_to_lds(row)?;
    }
    inst.src[2] = Src::scalar((high >> 14 & 0x7c) as u16);
    inst.scalar_offset = source(high >> 24, Ty::B32, 2)?;
    let address_kind = match (inst.index_enable, inst.offset_enable) {
        (true, true) => Ty::B64,
        (false, false) => Ty::None,
        _ => Ty::B32,
    };
    data(&mut inst, 0, high, address_kind, false)?;
    data(&mut inst, 1, high >> 8, row.op.traits.data, acc)?;
    if !inst.to_lds && (row.op.traits.data == Ty::None || inst.returns) {
        result(&mut inst, high >> 8, acc)?;
    }
    debug_assert!(inst.src[2].kind == Kind::Scalar);
    Ok(inst)
}
