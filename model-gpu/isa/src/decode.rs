//! Decoder: instruction words to [`Inst`], one submodule for each family of encodings.
//!
//! Field positions are those of the CDNA2 and CDNA3 manuals, chapter "Microcode Formats", checked against LLVM's assembler.

mod dpp_sdwa;
mod memory;
mod operands;
mod scalar;
mod vector;
mod vop3;

use crate::Target;
use crate::instruction::{Encoding, Inst, Row};

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

/// What is decoded: instruction words of a target at a device address.
#[derive(Clone, Copy)]
struct Words<'a> {
    target: Target,
    address: u64,
    /// At least one.
    words: &'a [u32],
}

impl Words<'_> {
    fn first(&self) -> u32 {
        self.words[0]
    }

    fn second(&self) -> Result<u32, Illegal> {
        let second = self.words.get(1).copied();
        second.ok_or_else(|| Illegal::new(1, "the second word lies beyond readable memory"))
    }

    /// The table row of an opcode.
    fn row(&self, encoding: Encoding, opcode: u32, words: usize) -> Result<&'static Row, Illegal> {
        crate::tables::lookup(self.target, encoding, opcode).ok_or_else(|| {
            let target = self.target;
            Illegal::new(words, format!("{encoding:?} opcode {opcode:#x} is not in the tables of {target}"))
        })
    }

    /// An instruction with nothing but its row filled in.
    fn blank(&self, row: &'static Row, encoding: Encoding, words: u8) -> Inst {
        operands::blank(self.address, row, encoding, words)
    }
}

/// Decodes the instruction at the start of `words`, which lies at device address `address`.
pub(crate) fn decode(target: Target, address: u64, words: &[u32]) -> Result<Inst, Illegal> {
    let Some(&first) = words.first() else {
        return Err(Illegal::new(0, "there are no instruction words"));
    };
    let words = Words { target, address, words };
    let inst = match first >> 23 {
        0b1_0111_1101 => scalar::sop1(words),
        0b1_0111_1110 => scalar::sopc(words),
        0b1_0111_1111 => scalar::sopp(words),
        0b1_0110_0000..=0b1_0111_1100 => scalar::sopk(words),
        0b1_0000_0000..=0b1_0101_1111 => scalar::sop2(words),
        0b0_0000_0000..=0b0_1111_1111 => match first >> 25 {
            0x3f => vector::vop1(words),
            0x3e => vector::vopc(words),
            _ => vector::vop2(words),
        },
        0b1_1000_0000..=0b1_1000_0111 => memory::smem(words),
        0b1_1010_0111 => vop3::vop3p(words),
        0b1_1010_0000..=0b1_1010_0110 => vop3::vop3(words),
        0b1_1011_0000..=0b1_1011_0111 => memory::ds(words),
        0b1_1011_1000..=0b1_1011_1111 => memory::flat(words),
        0b1_1100_0000..=0b1_1100_0111 => memory::mubuf(words),
        0b1_1101_0000..=0b1_1101_0111 => memory::mtbuf(words),
        _ => Err(Illegal::new(1, format!("no encoding of {target} starts with these bits"))),
    }?;
    Ok(inst)
}
