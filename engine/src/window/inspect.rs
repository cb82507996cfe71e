//! Memory after a pass, compared with the snapshot.

use crate::agent::AgentState;
use crate::compare::{
    BLOCK, ChangedRanges, Divergences, PassHash, Precision, RegionComparison, WrittenBytes,
};
use crate::copy::{Batch, CHUNK, Copied, Mover};
use crate::queue::SoftQueue;
use crate::runtime::RuntimeResult;
use crate::shared_memory::HostBlock;
use crate::store::{Move, Piece, Plan, Store, Trouble, groups};
use std::collections::BTreeMap;
use std::time::Instant;

const PAGE: u64 = 4096;
/// What a move may take in the scratch block beyond its bytes.
const PLACE: u64 = 128;

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
    /// What the pass left was to be kept, and was more than there is room for.
    pub(super) unkept: bool,
}

/// Why memory could not be compared.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) trouble: Trouble,
    /// It was the snapshot that could not be looked at.
    pub(super) of_snapshot: bool,
}

/// Reads the agent's memory piece by piece.
pub(super) struct Reader<'a> {
    pub(super) agent: &'a AgentState,
    pub(super) plan: &'a Plan,
    pub(super) store: &'a mut dyn Store,
    pub(super) scratch: &'a HostBlock,
    pub(super) deadline: Instant,
    /// Reading ends with it.
    pub(super) queue: &'a SoftQueue,
    /// Regions freed since the snapshot, which no pass is compared in any more.
    pub(super) gone: &'a mut [bool],
    /// Whether the kernel can reach each region, as far as pointers tell.
    pub(super) reached: &'a [bool],
    /// Most bytes that may be kept of what was left elsewhere.
    pub(super) room: u64,
    /// Most bytes that may be kept of all that a pass left.
    pub(super) written_room: u64,
}

/// Moves on their way to one half of the scratch block.
struct Group<'a> {
    /// Each with its place in the block.
    moves: Vec<(&'a Move, u64)>,
    batch: Batch<'a>,
}

/// The scratch block for a plan: each half can hold any move of it.
pub(super) fn reserve_scratch(
    agent: &AgentState,
    plan: &Plan,
    scratch: &mut Option<HostBlock>,
) -> RuntimeResult<()> {
    let bytes = 2 * (plan.bytes + PLACE * plan.reads.len() as u64).clamp(PAGE, CHUNK + PAGE);
    if scratch.as_ref().is_none_or(|block| block.bytes() < bytes) {
        *scratch = None;
        *scratch = Some(HostBlock::new(&agent.process.runtime, bytes.next_multiple_of(PAGE))?);
    }
    Ok(())
}

impl Reader<'_> {
    /// Compares all memory with the snapshot. What the pass left is kept in `written`, one for each region, if given: all of it or,
    /// where there is no room, nothing.
    pub(super) fn inspect(
        &mut self,
        mut written: Option<&mut [WrittenBytes]>,
    ) -> Result<Inspection, Unreadable> {
        let mut hash = PassHash::new();
        let mut changes = vec![ChangedRanges::default(); self.plan.regions.len()];
        let mut current: Option<(usize, RegionComparison)> = None;
        let mut unreached: BTreeMap<usize, WrittenBytes> = BTreeMap::new();
        let (mut kept, mut full) = (0, false);
        let (mut kept_of_all, mut unkept) = (0, false);
        let (regions, reached, room) = (&self.plan.regions, self.reached, self.room);
        let written_room = self.written_room;
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
                let keep =
                    written.as_deref_mut().map(|written| &mut written[piece.region]).filter(|_| !unkept);
                let Some(keep) = keep else {
                    comparison.feed(before, now, &mut hash, None);
                    return;
                };
                let size = keep.size();
                comparison.feed(before, now, &mut hash, Some(&mut *keep));
                kept_of_all += (keep.size() - size) as u64;
                if kept_of_all > written_room {
                    unkept = true;
                    written
                        .iter_mut()
                        .flat_map(|all| all.iter_mut())
                        .for_each(|one| *one = WrittenBytes::new());
                }
            }
        })?;
        if let Some((region, comparison)) = current {
            changes[region] = comparison.finish(&mut hash);
        }
        Ok(Inspection { changes, hash: hash.value(), reached_hash: hash.rest(), unreached, full, unkept })
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

    /// Reads all pieces in order and shows each with its saved bytes. While one half of the scratch block is looked at, copies
    /// fill the other.
    fn read(&mut self, mut show: impl FnMut(&Piece, &[u8], &[u8])) -> Result<(), Unreadable> {
        let (plan, scratch) = (self.plan, self.scratch);
        let mover =
            Mover::new(&self.agent.process, self.agent.agent, self.deadline).given_up_with(self.queue);
        let half = scratch.bytes() / 2;
        let mut flying: Option<Group<'_>> = None;
        let mut result = Ok(());
        for (number, moves) in (0_u64..).zip(groups(&plan.reads, half)) {
            let start = number % 2 * half;
            let moves: Vec<_> = moves.into_iter().map(|(each, at)| (each, start + at)).collect();
            let job = |(each, at): &(&'_ Move, u64)| {
                mover.to_host(plan.regions_of(each), each.device, scratch.address() + at, each.bytes)
            };
            let batch = mover.launch(moves.iter().map(job).collect());
            if let Some(before) = flying.replace(Group { moves, batch }) {
                result = self.show_group(before, &mover, &mut show);
                if result.is_err() {
                    break;
                }
            }
        }
        match (result, flying) {
            (result, None) => result,
            (Ok(()), Some(last)) => self.show_group(last, &mover, &mut show),
            // The scratch block is not used again before it is done.
            (Err(problem), Some(last)) => {
                let copied = mover.land(last.batch);
                last.moves.iter().zip(copied).try_for_each(|((each, _), copied)| check(copied, each))?;
                Err(problem)
            }
        }
    }

    fn show_group(
        &mut self,
        group: Group<'_>,
        mover: &Mover<'_>,
        show: &mut impl FnMut(&Piece, &[u8], &[u8]),
    ) -> Result<(), Unreadable> {
        let copied = mover.land(group.batch);
        // Nothing of a group is looked at before all of it is there: what is stuck is found first.
        group
            .moves
            .iter()
            .zip(&copied)
            .filter(|((each, _), copied)| !is_apart(each, **copied))
            .try_for_each(|((each, _), &copied)| check(copied, each))?;
        for ((each, at), copied) in group.moves.into_iter().zip(copied) {
            for number in each.parts.clone() {
                let alone = self.plan.alone(number);
                let from = at + (alone.device - each.device);
                let copied = if is_apart(each, copied) {
                    let owner = self.plan.regions_of(&alone);
                    let host = self.scratch.address() + from;
                    let again = mover.run(&[mover.to_host(owner, alone.device, host, alone.bytes)])[0];
                    check(again, &alone)?;
                    again
                } else {
                    copied
                };
                let piece = &self.plan.pieces[number];
                if copied == Copied::Gone {
                    self.gone[piece.region] = true;
                } else if !self.gone[piece.region] {
                    match self.store.bytes(self.plan, number, mover) {
                        Ok(saved) => show(piece, saved, self.scratch.slice(from..from + piece.bytes)),
                        Err(trouble) => {
                            // At once: what is told may become the trouble of the copies that fly meanwhile.
                            if matches!(trouble, Trouble::Stuck(_)) {
                                self.store.abandon();
                            }
                            return Err(Unreadable { trouble, of_snapshot: true });
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Whether the regions of a copy are to be read one by one: what is wrong with one of them, or with all at once, need not be with each.
fn is_apart(each: &Move, copied: Copied) -> bool {
    matches!(copied, Copied::Gone | Copied::Failed) && each.regions.len() > 1
}

/// Whether a copy to the scratch block worked, or its memory is gone.
fn check(copied: Copied, each: &Move) -> Result<(), Unreadable> {
    let trouble = Trouble::of(copied, each.device, each.bytes);
    trouble.map_or(Ok(()), |trouble| Err(Unreadable { trouble, of_snapshot: false }))
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
