//! What an instruction is called and how long it is, for comparing with other disassemblers.

use crate::Target;
use crate::decode::{self, MAX_WORDS};

/// An instruction as the disassembler sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disassembly {
    /// The mnemonic as LLVM's `llvm-objdump` prints it, with the suffix of its encoding (`_e32`, `_e64`, `_sdwa`, `_dpp`).
    pub mnemonic: String,
    /// Bytes.
    pub size: usize,
}

/// Disassembles the instruction at the start of `words`, of which the first two are looked at.
///
/// # Errors
/// Why the words are no instruction of the target that the model knows.
pub fn disassemble(target: Target, words: &[u32]) -> Result<Disassembly, String> {
    match decode::decode(target, 0, &words[..words.len().min(MAX_WORDS)]) {
        Ok(inst) => Ok(Disassembly { mnemonic: inst.mnemonic(), size: usize::from(inst.size) }),
        Err(illegal) => Err(illegal.reason),
    }
}
