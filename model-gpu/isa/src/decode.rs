//! Decoder: instruction words to [`Inst`], one submodule for each family of encodings.
//!
//! Field positions are those of the CDNA3 manual, chapter "Microcode Formats", checked against LLVM's assembler.

mod dpp_sdwa;
mod memory;
mod operands;
mod scalar;
mod vector;
mod vop3;

use crate::instruction::{Encoding, Inst};

/// Why words are no instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Illegal {
    pub(crate) reason: String,
    /// How many words belong to the instruction, as far as that is known.
    pub(crate) words: usize,
}

impl Illegal {
    fn new(words: usize, reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), words }
    }
}

/// The most words that an instruction takes.
pub(crate) const MAX_WORDS: usize = 2;

/// Decodes the instruction at the start of `words`, which lies at device address `address`.
pub(crate) fn decode(address: u64, words: &[u32]) -> Result<Inst, Illegal> {
    let Some(&first) = words.first() else {
        return Err(Illegal::new(0, "there are no instruction words"));
    };
    let inst = match first >> 23 {
        0b1_0111_1101 => scalar::sop1(address, words),
        0b1_0111_1110 => scalar::sopc(address, words),
        0b1_0111_1111 => scalar::sopp(address, words),
        0b1_0110_0000..=0b1_0111_1100 => scalar::sopk(address, words),
        0b1_0000_0000..=0b1_0101_1111 => scalar::sop2(address, words),
        0b0_0000_0000..=0b0_1111_1111 => match first >> 25 {
            0x3f => vector::vop1(address, words),
            0x3e => vector::vopc(address, words),
            _ => vector::vop2(address, words),
        },
        0b1_1000_0000..=0b1_1000_0111 => memory::smem(address, words),
        0b1_1010_0111 => vop3::vop3p(address, words),
        0b1_1010_0000..=0b1_1010_0110 => vop3::vop3(address, words),
        0b1_1011_0000..=0b1_1011_0111 => memory::ds(address, words),
        0b1_1011_1000..=0b1_1011_1111 => memory::flat(address, words),
        0b1_1100_0000..=0b1_1100_0111 => memory::mubuf(address, words),
        _ => Err(Illegal::new(1, "no encoding of gfx942 starts with these bits")),
    }?;
    Ok(inst)
}

/// The second word.
fn second(words: &[u32]) -> Result<u32, Illegal> {
    words.get(1).copied().ok_or_else(|| Illegal::new(1, "the second word lies beyond readable memory"))
}

/// The table row of an opcode.
fn row(encoding: Encoding, opcode: u32, words: usize) -> Result<&'static crate::instruction::Row, Illegal> {
    crate::tables::lookup(encoding, opcode)
        .ok_or_else(|| Illegal::new(words, format!("{encoding:?} opcode {opcode:#x} is not in the tables")))
}
