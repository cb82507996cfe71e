//! Decoded code, kept by device address.

mod block;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

pub(crate) use block::Block;

use crate::Target;
use crate::exec::memory::port::MemoryPort;

/// The decoded instructions of one worker thread.
///
/// Code is decoded once for each address. What is decoded may go stale when code is written or memory is remapped, as
/// the hardware's instruction cache does; [`CodeCache::invalidate`] is what the hardware's invalidation is.
/// After it, each block is compared with memory before its next use and decoded again when it differs, so calling it
/// for every dispatch is cheap. Call it whenever the hardware would invalidate its instruction cache (the acquire of a
/// dispatch packet) and whenever a mapping changes.
#[derive(Debug, Default)]
pub struct CodeCache {
    epoch: u64,
    /// By target and address.
    blocks: [HashMap<u64, Rc<Block>, BuildHasherDefault<AddressHasher>>; Target::ALL.len()],
}

/// Blocks kept before all are dropped: a bound on memory, far above what programs have.
const MOST_BLOCKS: usize = 1 << 16;

impl CodeCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every decoded block be compared with memory before its next use.
    pub fn invalidate(&mut self) {
        self.epoch += 1;
    }

    /// Drops every decoded block.
    pub fn clear(&mut self) {
        self.blocks.iter_mut().for_each(HashMap::clear);
    }

    /// The block that starts at `address`.
    #[inline(always)]
    pub(crate) fn block(&mut self, target: Target, address: u64, memory: &mut MemoryPort<'_>) -> Rc<Block> {
        match self.blocks[target as usize].get(&address) {
            Some(block) if block.checked.get() == self.epoch => Rc::clone(block),
            _ => self.refresh(target, address, memory),
        }
    }

    #[cold]
    fn refresh(&mut self, target: Target, address: u64, memory: &mut MemoryPort<'_>) -> Rc<Block> {
        let blocks = &mut self.blocks[target as usize];
        if let Some(block) = blocks.get(&address)
            && block.matches(memory)
        {
            block.checked.set(self.epoch);
            return Rc::clone(block);
        }
        if blocks.len() >= MOST_BLOCKS {
            blocks.clear();
        }
        let block = Rc::new(Block::decode(target, address, memory, self.epoch));
        blocks.insert(address, Rc::clone(&block));
        block
    }
}

/// Multiplicative hashing of code addresses.
#[derive(Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The golden ratio: consecutive addresses spread over the upper bits, which are folded down.
        let product = (self.0 ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }
}
