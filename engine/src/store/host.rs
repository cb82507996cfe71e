//! The host tier: host memory that devices reach, kept from window to window.

use super::{Piece, Plan, Store, WrittenBack};
use crate::copy::{Copied, Job, Mover};
use crate::runtime::{Runtime, RuntimeResult};
use crate::shared_memory::HostBlock;
use crate::sync::Arc;
use hsa_replay_contract::record::Tier;
use std::ops::Range;

/// Growth of the arena is rounded up to this.
const GRAIN: u64 = 2 << 20;

/// One arena, which grows to the largest snapshot so far.
pub(crate) struct HostStore {
    runtime: Arc<dyn Runtime>,
    arena: Option<HostBlock>,
}

impl HostStore {
    pub(crate) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, arena: None }
    }

    fn base(&self) -> u64 {
        self.arena.as_ref().map_or(0, HostBlock::address)
    }
}

impl Store for HostStore {
    fn tier(&self) -> Tier {
        Tier::Host
    }

    fn reserve(&mut self, plan: &Plan) -> RuntimeResult<()> {
        if self.arena.as_ref().is_none_or(|arena| arena.bytes() < plan.bytes) {
            // The old arena first: both together may be more than there is.
            self.arena = None;
            self.arena = Some(HostBlock::new(&self.runtime, plan.bytes.max(1).next_multiple_of(GRAIN))?);
        }
        Ok(())
    }

    fn reserved(&self) -> u64 {
        self.arena.as_ref().map_or(0, HostBlock::bytes)
    }

    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Vec<Copied> {
        let base = self.base();
        let jobs: Vec<Job> = plan
            .pieces
            .iter()
            .map(|piece| Job {
                region: Arc::clone(&plan.regions[piece.region]),
                offset: piece.offset,
                host: base + piece.at,
                bytes: piece.bytes,
            })
            .collect();
        mover.run(&jobs)
    }

    fn write_back(&self, plan: &Plan, spans: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack {
        let base = self.base();
        let mut owners = Vec::new();
        let mut jobs = Vec::new();
        for (span, (region, range)) in spans.iter().enumerate() {
            for (piece, offset, bytes) in plan.cover(*region, range.clone()) {
                let region = Arc::clone(&plan.regions[*region]);
                let host = base + piece.at + (offset - piece.offset);
                jobs.push(Job { region, offset, host, bytes });
                owners.push(span);
            }
        }
        let mut back = WrittenBack::default();
        for ((copied, job), span) in mover.run(&jobs).into_iter().zip(&jobs).zip(owners) {
            let (region, range) = &spans[span];
            match copied {
                Copied::Done => back.bytes += job.bytes,
                Copied::Gone if back.gone.last() == Some(region) => {}
                Copied::Gone => back.gone.push(*region),
                Copied::Failed | Copied::Stuck | Copied::GivenUp => {
                    back.stuck |= copied == Copied::Stuck;
                    if back.failed.last() != Some(&(*region, range.clone())) {
                        back.failed.push((*region, range.clone()));
                    }
                }
            }
        }
        back
    }

    fn bytes(&self, piece: &Piece) -> &[u8] {
        self.arena.as_ref().map_or(&[], |arena| arena.slice(piece.at..piece.at + piece.bytes))
    }

    fn abandon(&mut self) {
        if let Some(arena) = self.arena.take() {
            arena.leak();
        }
    }
}
