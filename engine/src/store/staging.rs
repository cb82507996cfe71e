//! A view of saved bytes that the host cannot look at where they lie.

use super::plan::PAGE;
use super::{Plan, Trouble};
use crate::copy::CHUNK;
use crate::runtime::Runtime;
use crate::shared_memory::HostBlock;
use crate::sync::Arc;
use std::ops::Range;

/// Host memory through which saved bytes pass, and which of them it holds.
pub(super) struct Staging {
    runtime: Arc<dyn Runtime>,
    block: Option<HostBlock>,
    /// Offsets in the store.
    holds: Range<u64>,
}

impl Staging {
    /// Bytes of the block, each half of which has room for the largest copy.
    pub(super) const BYTES: u64 = 2 * (CHUNK + PAGE);
    /// Bytes fetched together for a piece that does not follow what is here, if it is no larger.
    const LONER: u64 = 256 << 10;

    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, block: None, holds: 0..0 }
    }

    /// Allocates the block, if that has not been done.
    pub(super) fn reserve(&mut self) -> Result<(), String> {
        self.holds = 0..0;
        if self.block.is_none() {
            let block = HostBlock::new(&self.runtime, Self::BYTES).map_err(|error| error.to_string())?;
            self.block = Some(block);
        }
        Ok(())
    }

    /// The block for other uses; what it held is forgotten.
    pub(super) fn block(&mut self) -> Result<&mut HostBlock, Trouble> {
        self.holds = 0..0;
        self.block.as_mut().ok_or_else(Trouble::no_room)
    }

    /// The saved bytes of a piece, which `load` fetches with those behind it when they are not here: from an offset of the
    /// store, this many, to the start of the block.
    pub(super) fn bytes(
        &mut self,
        plan: &Plan,
        piece: usize,
        load: impl FnOnce(u64, u64, &mut HostBlock) -> Result<(), Trouble>,
    ) -> Result<&[u8], Trouble> {
        let piece = &plan.pieces[piece];
        let end = piece.at + piece.bytes;
        if piece.at < self.holds.start || end > self.holds.end {
            // Whoever goes through all pieces has the whole block filled each time; whoever follows pointers does not.
            let follows = piece.at >= self.holds.start && piece.at <= self.holds.end + PAGE;
            let wanted = if follows { Self::BYTES } else { piece.bytes.max(Self::LONER) };
            let bytes = wanted.min(plan.bytes - piece.at);
            load(piece.at, bytes, self.block()?)?;
            self.holds = piece.at..piece.at + bytes;
        }
        let block = self.block.as_ref().ok_or_else(Trouble::no_room)?;
        let start = piece.at - self.holds.start;
        Ok(block.slice(start..start + piece.bytes))
    }

    pub(super) fn abandon(&mut self) {
        self.holds = 0..0;
        self.block.take().into_iter().for_each(HostBlock::leak);
    }
}
