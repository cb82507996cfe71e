//! Basic blocks: decoded instructions up to the next change of the program counter.

use std::cell::Cell;

use crate::decode::{self, MAX_WORDS};
use crate::exec::memory::port::MemoryPort;
use crate::instruction::{Encoding, Inst};
use crate::{Exception, MemoryFault, Target};

/// Instructions in a block at most; also how far a wave's budget may be overrun.
const LONGEST: usize = 128;

/// A run of decoded instructions.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) instructions: Vec<Inst>,
    /// Raised when execution gets past the last instruction: the code there could not be fetched or decoded.
    pub(crate) end: Option<Exception>,
    /// Address of the code that follows the block.
    pub(crate) next: u64,
    /// The cache's epoch in which the block was last known to equal memory.
    pub(crate) checked: Cell<u64>,
    start: u64,
    words: Vec<u32>,
    /// The fetch after the words failed.
    cut: Option<MemoryFault>,
}

impl Block {
    /// Decodes from `start`.
    pub(crate) fn decode(target: Target, start: u64, memory: &mut MemoryPort<'_>, epoch: u64) -> Self {
        let mut block = Block {
            instructions: Vec::new(),
            end: None,
            next: start,
            checked: Cell::new(epoch),
            start,
            words: Vec::new(),
            cut: None,
        };
        while block.instructions.len() < LONGEST && !block.step(target, memory) {}
        block
    }

    /// Decodes one instruction; whether the block ends with it.
    fn step(&mut self, target: Target, memory: &mut MemoryPort<'_>) -> bool {
        let pc = self.next;
        let mut words = [0; MAX_WORDS];
        let mut count = 0;
        let mut cut = None;
        while count < MAX_WORDS {
            match memory.fetch(pc.wrapping_add(4 * count as u64)) {
                Ok(word) => words[count] = word,
                Err(fault) => {
                    cut = Some(fault);
                    break;
                }
            }
            count += 1;
        }
        match decode::decode(target, pc, &words[..count]) {
            Ok(inst) => {
                let used = usize::from(inst.size / 4);
                self.words.extend_from_slice(&words[..used]);
                self.next = inst.next();
                let last = ends_block(&inst);
                self.instructions.push(inst);
                last
            }
            Err(illegal) => {
                let missing = cut.filter(|_| illegal.words >= count);
                self.words.extend_from_slice(&words[..count]);
                self.end = Some(match missing {
                    Some(fault) => Exception::Memory { pc, fault },
                    None => Exception::IllegalInstruction {
                        pc,
                        words: words[..illegal.words.min(count)].to_vec(),
                        reason: illegal.reason,
                    },
                });
                self.cut = missing;
                true
            }
        }
    }

    /// Whether memory still holds what was decoded.
    pub(crate) fn matches(&self, memory: &mut MemoryPort<'_>) -> bool {
        let mut address = self.start;
        for word in &self.words {
            if memory.fetch(address) != Ok(*word) {
                return false;
            }
            address = address.wrapping_add(4);
        }
        match self.cut {
            Some(fault) => memory.fetch(address) == Err(fault),
            None => true,
        }
    }
}

/// Whether execution may go elsewhere after the instruction.
fn ends_block(inst: &Inst) -> bool {
    match inst.encoding {
        Encoding::Sopp => {
            let mnemonic = inst.row.mnemonic;
            mnemonic.contains("branch") || mnemonic.starts_with("s_endpgm") || mnemonic == "s_trap"
        }
        Encoding::Sop1 => matches!(inst.row.mnemonic, "s_setpc_b64" | "s_swappc_b64"),
        Encoding::Sopk => inst.row.mnemonic == "s_call_b64",
        _ => false,
    }
}
