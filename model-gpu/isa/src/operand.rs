//! Operands as the decoder resolves them.

/// What an operand is, as far as decoding needs it: how many registers it takes and how inline constants look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ty {
    /// No such operand.
    None,
    /// 16 bits of integer.
    B16,
    /// Half precision.
    F16,
    /// 32 bits; inline floats are single precision.
    B32,
    /// Single precision.
    F32,
    /// 64 bits of integer.
    B64,
    /// Double precision.
    F64,
    /// Two 16-bit integers.
    PackedB16,
    /// Two halves.
    PackedF16,
    /// Two singles in two registers.
    PackedF32,
    /// Three registers.
    B96,
    /// Four registers.
    B128,
    /// Eight registers.
    B256,
    /// Sixteen registers.
    B512,
    /// Thirty-two registers.
    B1024,
    /// A mask with one bit for each lane, in a scalar pair.
    Mask,
    /// A scalar register written by a vector instruction.
    Scalar,
}

impl Ty {
    /// Vector registers that an operand takes.
    pub(crate) fn registers(self) -> u16 {
        match self {
            Ty::None | Ty::Mask | Ty::Scalar => 0,
            Ty::B16 | Ty::F16 | Ty::B32 | Ty::F32 | Ty::PackedB16 | Ty::PackedF16 => 1,
            Ty::B64 | Ty::F64 | Ty::PackedF32 => 2,
            Ty::B96 => 3,
            Ty::B128 => 4,
            Ty::B256 => 8,
            Ty::B512 => 16,
            Ty::B1024 => 32,
        }
    }

    /// Whether negation and absolute value apply.
    pub(crate) fn is_float(self) -> bool {
        matches!(self, Ty::F16 | Ty::F32 | Ty::F64 | Ty::PackedF16 | Ty::PackedF32)
    }

    /// Whether a source takes negation and absolute value outside of VOP3P.
    pub(crate) fn has_sign_modifiers(self) -> bool {
        self.is_float() && self != Ty::PackedF16
    }

    pub(crate) fn is_16_bit(self) -> bool {
        matches!(self, Ty::B16 | Ty::F16)
    }
}

/// Where a source operand comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No such operand.
    None,
    /// Vector register of the file's index `register`.
    Vector,
    /// Scalar register `register`.
    Scalar,
    /// The constant `value`.
    Constant,
    /// VCCZ, EXECZ or SCC.
    Flag(Flag),
    /// 0 the base and 1 the limit of the shared aperture, 2 and 3 of the private one.
    Aperture,
}

/// One-bit sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flag {
    Vccz,
    Execz,
    Scc,
}

/// The part of a 32-bit register that an operand uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Whole,
    Byte(u8),
    /// 0 is the low, 1 the high half.
    Word(u8),
}

/// A source operand.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Src {
    pub(crate) kind: Kind,
    pub(crate) register: u16,
    pub(crate) value: u64,
    pub(crate) part: Part,
    /// The part is sign-extended.
    pub(crate) sign_extend: bool,
    pub(crate) negate: bool,
    pub(crate) absolute: bool,
}

impl Src {
    pub(crate) const NONE: Src = Src {
        kind: Kind::None,
        register: 0,
        value: 0,
        part: Part::Whole,
        sign_extend: false,
        negate: false,
        absolute: false,
    };

    pub(crate) fn vector(register: u16) -> Src {
        Src { kind: Kind::Vector, register, ..Src::NONE }
    }

    pub(crate) fn scalar(register: u16) -> Src {
        Src { kind: Kind::Scalar, register, ..Src::NONE }
    }

    pub(crate) fn constant(value: u64) -> Src {
        Src { kind: Kind::Constant, value, ..Src::NONE }
    }
}
