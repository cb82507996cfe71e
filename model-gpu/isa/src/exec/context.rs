//! What a semantic function works on: the wave, its surroundings, and the outcome of the instruction.

use super::memory::port::MemoryPort;
use crate::float::Fp;
use crate::instruction::Inst;
use crate::operand::{Flag, Kind, Src};
use crate::{Environment, Exception, Lds, MemoryFault, Wave};

/// What to do after an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Flow {
    /// Go on with the next instruction.
    Next,
    /// The wave's pc has been set.
    Branch,
    /// `s_barrier`.
    Barrier,
    /// `s_sleep` and the like.
    Yield,
    /// Give way to others, then execute the instruction again.
    Again,
    /// `s_endpgm`.
    End,
    /// The instruction failed; the context has the exception.
    Raise,
    /// Decoded code may be stale; go on with the next instruction.
    InvalidateCode,
}

/// The state that instructions execute on.
pub(crate) struct Context<'a> {
    pub(crate) wave: &'a mut Wave,
    pub(crate) lds: &'a mut Lds,
    pub(crate) memory: MemoryPort<'a>,
    pub(crate) environment: &'a dyn Environment,
    /// The wave's MODE, decoded.
    pub(crate) fp: Fp,
    /// Set with [`Flow::Raise`].
    pub(crate) exception: Option<Exception>,
}

impl Context<'_> {
    #[inline(always)]
    pub(crate) fn exec(&self) -> u64 {
        u64::from(self.wave.scalar[126]) | u64::from(self.wave.scalar[127]) << 32
    }

    /// A source as a 32-bit scalar.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "32-bit operands have 32-bit constants")]
    pub(crate) fn scalar32(&self, src: &Src) -> u32 {
        match src.kind {
            Kind::Scalar => self.wave.scalar[usize::from(src.register) & 127],
            Kind::Flag(flag) => u32::from(self.flag(flag)),
            _ => src.value as u32,
        }
    }

    /// A source as a 64-bit scalar: a register pair, or a constant.
    #[inline(always)]
    pub(crate) fn scalar64(&self, src: &Src) -> u64 {
        match src.kind {
            Kind::Scalar => self.pair(src.register),
            Kind::Flag(flag) => u64::from(self.flag(flag)),
            Kind::Aperture => self.aperture(src.register),
            _ => src.value,
        }
    }

    /// Base or limit of an aperture; each is 4 GiB.
    fn aperture(&self, which: u16) -> u64 {
        let config = &self.wave.config;
        let base = if which < 2 { config.shared_base } else { config.private_base };
        if which.is_multiple_of(2) { base } else { base | 0xffff_ffff }
    }

    fn flag(&self, flag: Flag) -> bool {
        match flag {
            Flag::Vccz => self.wave.vcc() == 0,
            Flag::Execz => self.exec() == 0,
            Flag::Scc => self.wave.scc,
        }
    }

    /// A scalar register pair.
    #[inline(always)]
    pub(crate) fn pair(&self, register: u16) -> u64 {
        let index = usize::from(register);
        u64::from(self.wave.scalar[index & 127]) | u64::from(self.wave.scalar[(index + 1) & 127]) << 32
    }

    #[inline(always)]
    pub(crate) fn set_scalar(&mut self, register: u16, value: u32) {
        self.wave.scalar[usize::from(register) & 127] = value;
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the halves are taken apart")]
    pub(crate) fn set_pair(&mut self, register: u16, value: u64) {
        self.set_scalar(register, value as u32);
        self.set_scalar(register + 1, (value >> 32) as u32);
    }

    /// Ends the wave with a memory fault at `inst`.
    #[cold]
    pub(crate) fn fault(&mut self, inst: &Inst, fault: MemoryFault) -> Flow {
        self.exception = Some(Exception::Memory { pc: inst.address, fault });
        Flow::Raise
    }

    /// Ends the wave because `inst` asks for something that does not exist.
    #[cold]
    pub(crate) fn illegal(&mut self, inst: &Inst, reason: &str) -> Flow {
        let words = (0..u64::from(inst.size / 4))
            .map_while(|n| self.memory.fetch(inst.address + 4 * n).ok())
            .collect();
        self.exception = Some(Exception::IllegalInstruction {
            pc: inst.address,
            words,
            reason: format!("{}: {reason}", inst.mnemonic()),
        });
        Flow::Raise
    }
}
