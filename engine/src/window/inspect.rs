//! Memory after a pass, compared with the snapshot.

use crate::agent::AgentState;
use crate::compare::{
    BLOCK, ChangedRanges, Divergences, PassHash, Precision, RegionComparison, WrittenBytes,
};
use crate::copy::{Copied, Direction, Job, Mover};
use crate::queue::SoftQueue;
use crate::runtime::RuntimeResult;
use crate::shared_memory::HostBlock;
use crate::store::{Piece, Plan, Store};
use crate::sync::Arc;
use std::collections::BTreeMap;
use std::time::Instant;

/// Bytes read before they are compared.
const SCRATCH: u64 = 64 << 20;

/// What a pass changed.
#[derive(Clone, Debug)]
pub(super) struct Inspection {
    /// Of every region of the plan.
    pub(super) changes: Vec<ChangedRanges>,
    pub(super) hash: u128,
    /// The hash without the regions that the kernel does not reach.
    pub(super) reached_hash: u128,
    /// What was left in regions that the kernel does not reach and that changed all the same.
    pub(super) unreached: BTreeMap<usize, WrittenBytes>,
    /// That was more than there is room for, so its bytes are missing.
    pub(super) full: bool,
}

/// Why memory could not be compared.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) address: u64,
    pub(super) stuck: bool,
    /// The queue or the process ends, so the reading was not finished.
    pub(super) given_up: bool,
}

/// Reads the agent's memory piece by piece.
pub(super) struct Reader<'a> {
    pub(super) agent: &'a AgentState,
    pub(super) plan: &'a Plan,
    pub(super) store: &'a dyn Store,
    pub(super) scratch: &'a mut Option<HostBlock>,
    pub(super) deadline: Instant,
    /// Reading ends with it.
    pub(super) queue: &'a SoftQueue,
    /// Regions freed since the snapshot, which no pass is compared in any more.
    pub(super) gone: &'a mut [bool],
    /// Whether the kernel can reach each region, as far as pointers tell.
    pub(super) reached: &'a [bool],
    /// Most bytes that may be kept of what was left elsewhere.
    pub(super) room: u64,
}

/// The scratch block for a plan, of a size that can hold any piece.
pub(super) fn reserve_scratch(
    agent: &AgentState,
    plan: &Plan,
    scratch: &mut Option<HostBlock>,
) -> RuntimeResult<()> {
    let bytes = plan.bytes.clamp(4096, SCRATCH);
    if scratch.as_ref().is_none_or(|block| block.bytes() < bytes) {
        *scratch = None;
        *scratch = Some(HostBlock::new(&agent.process.runtime, bytes)?);
    }
    Ok(())
}

impl Reader<'_> {
    /// Compares all memory with the snapshot. What the pass left is kept in `written`, one for each region, if given.
    pub(super) fn inspect(
        &mut self,
        mut written: Option<&mut [WrittenBytes]>,
    ) -> Result<Inspection, Unreadable> {
        let mut hash = PassHash::new();
        let mut changes = vec![ChangedRanges::default(); self.plan.regions.len()];
        let mut current: Option<(usize, RegionComparison)> = None;
        let mut unreached: BTreeMap<usize, WrittenBytes> = BTreeMap::new();
        let (mut kept, mut full) = (0, false);
        let (regions, reached, room) = (&self.plan.regions, self.reached, self.room);
        self.read(|piece, before, now| {
            if current.as_ref().is_none_or(|(region, _)| *region != piece.region) {
                if let Some((region, comparison)) = current.take() {
                    changes[region] = comparison.finish(&mut hash);
                }
                hash.set_apart(!reached[piece.region]);
                let base = regions[piece.region].base;
                current = Some((piece.region, RegionComparison::new(base, Precision::Bytes)));
            }
            if let Some((_, comparison)) = &mut current {
                if !reached[piece.region] && before != now {
                    let left = unreached.entry(piece.region).or_default();
                    if !full {
                        kept += keep_blocks(left, piece.offset, before, now);
                        full = kept > room;
                    }
                    if full {
                        unreached.values_mut().for_each(|left| *left = WrittenBytes::new());
                    }
                }
                let keep = written.as_deref_mut().map(|written| &mut written[piece.region]);
                comparison.feed(before, now, &mut hash, keep);
            }
        })?;
        if let Some((region, comparison)) = current {
            changes[region] = comparison.finish(&mut hash);
        }
        Ok(Inspection { changes, hash: hash.value(), reached_hash: hash.rest(), unreached, full })
    }

    /// Finds where memory differs from what the first pass left.
    pub(super) fn diverge(
        &mut self,
        pass: u32,
        first: &[WrittenBytes],
        divergences: &mut Divergences,
    ) -> Result<(), Unreadable> {
        self.read(|piece, before, now| {
            divergences.feed(piece.region, pass, piece.offset, before, &first[piece.region], now);
        })
    }

    /// Reads all pieces in order and shows each with its saved bytes.
    fn read(&mut self, mut show: impl FnMut(&Piece, &[u8], &[u8])) -> Result<(), Unreadable> {
        let Some(scratch) = &*self.scratch else {
            // Given up, since a copy that did not end may still use it.
            let address = self.plan.regions.first().map_or(0, |region| region.base);
            return Err(Unreadable { address, stuck: false, given_up: false });
        };
        let process = &*self.agent.process;
        let mover =
            Mover::new(process, self.agent.agent, Direction::ToHost, self.deadline).given_up_with(self.queue);
        let mut pieces = &self.plan.pieces[..];
        while !pieces.is_empty() {
            let mut jobs = Vec::new();
            let mut at = 0;
            for piece in pieces {
                if at + piece.bytes > scratch.bytes() {
                    break;
                }
                let region = Arc::clone(&self.plan.regions[piece.region]);
                jobs.push(Job {
                    region,
                    offset: piece.offset,
                    host: scratch.address() + at,
                    bytes: piece.bytes,
                });
                at += piece.bytes.next_multiple_of(64);
            }
            let (group, rest) = pieces.split_at(jobs.len());
            pieces = rest;
            for ((piece, job), copied) in group.iter().zip(&jobs).zip(mover.run(&jobs)) {
                match copied {
                    Copied::Done if !self.gone[piece.region] => {
                        let start = job.host - scratch.address();
                        show(piece, self.store.bytes(piece), scratch.slice(start..start + piece.bytes));
                    }
                    Copied::Done => {}
                    Copied::Gone => self.gone[piece.region] = true,
                    Copied::Failed | Copied::Stuck | Copied::GivenUp => {
                        return Err(Unreadable {
                            address: job.region.base + job.offset,
                            stuck: copied == Copied::Stuck,
                            given_up: copied == Copied::GivenUp,
                        });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Keeps the blocks of a piece that changed, and gives their size.
fn keep_blocks(left: &mut WrittenBytes, offset: u64, before: &[u8], now: &[u8]) -> u64 {
    let mut kept = 0;
    for ((before, now), at) in before.chunks(BLOCK).zip(now.chunks(BLOCK)).zip((offset..).step_by(BLOCK)) {
        if before != now {
            left.push(at, now);
            kept += now.len() as u64;
        }
    }
    kept
}
