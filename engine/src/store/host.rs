//! The host tier: host memory that devices reach, kept from window to window.

use super::{Move, Plan, Store, Trouble, WrittenBack};
use crate::copy::Mover;
use crate::runtime::Runtime;
use crate::shared_memory::HostBlock;
use crate::sync::Arc;
use hsa_replay_contract::record::Tier;
use std::ops::Range;

/// Growth of the arena is rounded up to this.
const GRAIN: u64 = 2 << 20;

/// One arena, which grows to the largest snapshot so far.
pub(super) struct HostStore {
    runtime: Arc<dyn Runtime>,
    arena: Option<HostBlock>,
}

impl HostStore {
    pub(super) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, arena: None }
    }

    /// Where the arena begins; a copy that hung may have cost it.
    fn base(&self) -> Result<u64, Trouble> {
        self.arena.as_ref().map(HostBlock::address).ok_or_else(Trouble::no_room)
    }
}

impl Store for HostStore {
    fn tier(&self) -> Tier {
        Tier::Host
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), String> {
        if self.arena.is_none() || self.reserved() < bytes {
            // The old arena first: both together may be more than there is.
            self.arena = None;
            let bytes = bytes.max(1).checked_next_multiple_of(GRAIN).unwrap_or(bytes);
            self.arena = Some(HostBlock::new(&self.runtime, bytes).map_err(|error| error.to_string())?);
        }
        Ok(())
    }

    fn reserved(&self) -> u64 {
        self.arena.as_ref().map_or(0, HostBlock::bytes)
    }

    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Result<(), Trouble> {
        let base = self.base()?;
        let job = |each: &Move| mover.to_host(plan.regions_of(each), each.device, base + each.at, each.bytes);
        Trouble::saving(plan, &plan.moves, |moves| mover.run(&moves.iter().map(job).collect::<Vec<_>>()))
    }

    fn write_back(&mut self, plan: &Plan, parts: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack {
        let Ok(base) = self.base() else { return WrittenBack::nothing(parts) };
        WrittenBack::by(plan, parts, |moves| {
            let job =
                |each: &Move| mover.to_device(plan.regions_of(each), each.device, base + each.at, each.bytes);
            mover.run(&moves.iter().map(job).collect::<Vec<_>>())
        })
    }

    fn bytes(&mut self, plan: &Plan, piece: usize, _: &Mover<'_>) -> Result<&[u8], Trouble> {
        let piece = &plan.pieces[piece];
        let arena = self.arena.as_ref().ok_or_else(Trouble::no_room)?;
        Ok(arena.slice(piece.at..piece.at + piece.bytes))
    }

    fn abandon(&mut self) {
        if let Some(arena) = self.arena.take() {
            arena.leak();
        }
    }
}
