//! Decoder and interpreter for AMD GPU machine code: gfx942 (CDNA3) and gfx90a (CDNA2), wave64.
//!
//! The crate knows instructions, registers and lanes, and nothing of devices, queues or packets. Its user
//! (the dispatcher of a software GPU) supplies memory through [`AddressSpace`], clocks and messages through
//! [`Environment`], sets the initial registers of each [`Wave`] as the ABI asks, and calls
//! [`Workgroup::run`] until every wave has ended:
//!
//! ```text
//! let mut code = CodeCache::new();                    // one for each worker thread
//! let mut machine = Machine::new(&memory, &environment, &mut code);
//! let mut group = Workgroup::new(lds_bytes);
//! let mut wave = Wave::new(&WaveConfig { entry, ..WaveConfig::default() });
//! wave.set_sgpr64(4, kernarg_address);
//! wave.set_vgpr(0, &work_item_ids);
//! group.add_wave(wave);
//! while group.run(&mut machine, 10_000)? == Progress::Running {}
//! ```
//!
//! Instruction opcodes and operand rules follow the "AMD Instinct MI300 Instruction Set Architecture"
//! manual (CDNA3), that of the MI200 (CDNA2), and the encodings that LLVM's AMDGPU assembler emits for both.
//! Whatever the decoder does not know becomes [`Exception::IllegalInstruction`]; nothing is guessed.

mod address_space;
mod code;
mod decode;
mod disassembly;
mod environment;
mod exception;
mod exec;
mod float;
mod gws;
mod instruction;
mod lds;
mod operand;
mod tables;
mod target;
#[cfg(test)]
mod tests;
mod wave;
mod workgroup;

pub use address_space::{Access, AddressSpace, Cache, FaultReason, MemoryFault, Span};
pub use code::CodeCache;
pub use disassembly::{Disassembly, disassemble};
pub use environment::Environment;
pub use exception::{Exception, Stop};
pub use gws::Gws;
pub use lds::Lds;
pub use target::Target;
pub use wave::{Lanes, Machine, Wave, WaveConfig, reads_exceptions};
pub use workgroup::{Progress, Workgroup};

/// Lanes in a wave. There is no other wave size.
pub const WAVE_SIZE: usize = 64;
