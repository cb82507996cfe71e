//! How a wave's run ends: the ordinary stops and the exceptions.

use crate::MemoryFault;

/// Why [`Wave::run`](crate::Wave::run) returned without an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The budget is used up (it is checked at branches, so it may be overrun by one basic block).
    Budget,
    /// The wave executed `s_barrier` and must not run before the other live waves of its group have done so too.
    Barrier,
    /// The wave executed `s_sleep` or a like hint that it waits for someone: run others first.
    Yield,
    /// The wave executed `s_endpgm`.
    EndOfProgram,
}

/// An event that ends a wave abnormally. The wave's registers are left as they were before the instruction, apart
/// from lanes that had already been loaded or stored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Exception {
    /// A load, store, atomic or instruction fetch that memory refused.
    #[error("memory fault at pc {pc:#x}: {fault}")]
    Memory {
        /// Address of the instruction.
        pc: u64,
        /// The refused access.
        fault: MemoryFault,
    },
    /// An instruction that is not known, or asks for something that does not exist.
    #[error("illegal instruction at pc {pc:#x}: {reason} (words {words:08x?})")]
    IllegalInstruction {
        /// Address of the instruction.
        pc: u64,
        /// The instruction's words, as far as they could be read.
        words: Vec<u32>,
        /// What is unknown or wrong, and the mnemonic when that is known.
        reason: String,
    },
    /// `s_trap`: 2 is `llvm.trap` (abort). 3 (`llvm.debugtrap`) raises nothing.
    #[error("trap {id} at pc {pc:#x}")]
    Trap {
        /// Address of the instruction.
        pc: u64,
        /// The trap's number.
        id: u8,
    },
    /// A floating-point or integer exception whose trap is enabled in MODE.
    #[error("arithmetic exception {status:#x} at pc {pc:#x}")]
    Arithmetic {
        /// Address of the instruction.
        pc: u64,
        /// The exception bits as in TRAPSTS.
        status: u32,
    },
}

impl Exception {
    /// Address of the instruction that raised the exception.
    #[must_use]
    pub fn pc(&self) -> u64 {
        match self {
            Exception::Memory { pc, .. }
            | Exception::IllegalInstruction { pc, .. }
            | Exception::Trap { pc, .. }
            | Exception::Arithmetic { pc, .. } => *pc,
        }
    }
}
