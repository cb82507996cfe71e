//! Decoded instructions and the rows of the instruction tables.

use crate::exec::{Context, Flow};
use crate::operand::{Part, Src, Ty};

/// A semantic function: executes one decoded instruction on a wave.
pub(crate) type Exec = fn(&mut Context<'_>, &Inst) -> Flow;

/// The instruction formats as the tables divide them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Encoding {
    Sop1,
    Sop2,
    Sopc,
    Sopk,
    Sopp,
    Smem,
    Vop1,
    Vop2,
    Vopc,
    Vop3,
    Vop3p,
    Ds,
    Flat,
    Scratch,
    Global,
    Mubuf,
    Mtbuf,
}

impl Encoding {
    pub(crate) const ALL: [Encoding; 17] = [
        Encoding::Sop1,
        Encoding::Sop2,
        Encoding::Sopc,
        Encoding::Sopk,
        Encoding::Sopp,
        Encoding::Smem,
        Encoding::Vop1,
        Encoding::Vop2,
        Encoding::Vopc,
        Encoding::Vop3,
        Encoding::Vop3p,
        Encoding::Ds,
        Encoding::Flat,
        Encoding::Scratch,
        Encoding::Global,
        Encoding::Mubuf,
        Encoding::Mtbuf,
    ];
}

/// What a semantic function needs of the decoder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    pub(crate) exec: Exec,
    pub(crate) dst: Ty,
    pub(crate) src: [Ty; 3],
    pub(crate) traits: Traits,
}

/// Peculiarities of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Traits {
    /// OP_SEL selects halves of the 16-bit operands; the unwritten half of the destination is kept.
    pub(crate) op_sel: bool,
    /// The scalar pair in the VOP3B field is written too (VCC in the short form).
    pub(crate) carry_out: bool,
    /// A third source is read as a mask: VCC in the short form.
    pub(crate) mask_in: bool,
    /// The destination is the third source (multiply-accumulate).
    pub(crate) accumulate: bool,
    /// The second word of the short form is a literal that is an operand of its own.
    pub(crate) literal: Literal,
    /// Memory operations: the width of the data operand and of the result.
    pub(crate) data: Ty,
    /// Memory operations: bytes of the access when it is narrower than a register; zero otherwise.
    pub(crate) narrow: u8,
    /// Memory operations: values are converted from or to a format that is known only when the instruction executes.
    pub(crate) formatted: bool,
    /// The integer result saturates with CLAMP; without this, CLAMP on an integer result is refused.
    pub(crate) integer_clamp: bool,
}

/// Which operand a mandatory literal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Literal {
    None,
    /// The second source: `fmamk`.
    Multiplier,
    /// The third source: `fmaak`.
    Addend,
}

impl Traits {
    pub(crate) const NONE: Traits = Traits {
        op_sel: false,
        carry_out: false,
        mask_in: false,
        accumulate: false,
        literal: Literal::None,
        data: Ty::None,
        narrow: 0,
        formatted: false,
        integer_clamp: false,
    };
}

/// One row of an instruction table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row {
    pub(crate) opcode: u16,
    pub(crate) mnemonic: &'static str,
    pub(crate) op: Op,
}

/// How the encoding of a vector instruction is told in its mnemonic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Suffix {
    None,
    E32,
    E64,
    Sdwa,
    Dpp,
}

/// Data-parallel primitives: the first source is taken from another lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dpp {
    pub(crate) control: u16,
    pub(crate) row_mask: u8,
    pub(crate) bank_mask: u8,
    /// Lanes without a source read zero instead of keeping the destination.
    pub(crate) bound_control: bool,
}

/// What happens to the part of the destination that SDWA does not select.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unused {
    Zero,
    SignExtend,
    Preserve,
}

/// A decoded instruction.
#[derive(Debug, Clone)]
pub(crate) struct Inst {
    pub(crate) exec: Exec,
    pub(crate) row: &'static Row,
    pub(crate) encoding: Encoding,
    pub(crate) suffix: Suffix,
    /// Device address of the instruction.
    pub(crate) address: u64,
    /// Bytes.
    pub(crate) size: u8,
    pub(crate) src: [Src; 3],
    /// Destination: an index of the vector file, or a scalar register.
    pub(crate) dst: u16,
    /// Scalar destination beside or instead of `dst`: carries and comparisons.
    pub(crate) sdst: u16,
    /// Immediate, offset or branch target.
    pub(crate) imm: u64,
    pub(crate) clamp: bool,
    /// 0 none, 1 times 2, 2 times 4, 3 divided by 2.
    pub(crate) omod: u8,
    /// Packed operands: for each source, whether the low result takes its high half.
    pub(crate) op_sel: u8,
    /// As `op_sel`, for the high result.
    pub(crate) op_sel_hi: u8,
    /// Packed operands: negation for the high result.
    pub(crate) neg_hi: u8,
    /// The part of the destination that is written.
    pub(crate) dst_part: Part,
    pub(crate) dst_unused: Unused,
    pub(crate) dpp: Option<Dpp>,
    /// Memory: the value before an atomic is returned.
    pub(crate) returns: bool,
    /// Buffer: address components; `idxen`, `offen`.
    pub(crate) index_enable: bool,
    pub(crate) offset_enable: bool,
    /// Buffer: the scalar offset.
    pub(crate) scalar_offset: Src,
    /// Typed buffers: data format in the low byte, number format in the high one.
    pub(crate) format: u16,
    /// Memory: the load goes to LDS.
    pub(crate) to_lds: bool,
    /// One more than the highest `v` and `a` register named; checked against the wave's allocation.
    pub(crate) arch_top: u16,
    pub(crate) acc_top: u16,
}

impl Inst {
    /// Address of the instruction that follows.
    pub(crate) fn next(&self) -> u64 {
        self.address.wrapping_add(u64::from(self.size))
    }

    /// The mnemonic as LLVM's disassembler prints it.
    pub(crate) fn mnemonic(&self) -> String {
        let suffix = match self.suffix {
            Suffix::None => "",
            Suffix::E32 => "_e32",
            Suffix::E64 => "_e64",
            Suffix::Sdwa => "_sdwa",
            Suffix::Dpp => "_dpp",
        };
        format!("{}{suffix}", self.row.mnemonic)
    }
}
