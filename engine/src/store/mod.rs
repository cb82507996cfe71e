//! Where a window keeps the memory it will put back.
//!
//! A [`Store`] is one tier: memory of the agent ([`device`]), host memory ([`host`]) or a file ([`disk`]). [`Tiers`] has all three of
//! an agent, chooses one for each window, and keeps what they reserved from window to window, since reserving is what costs.

mod device;
mod disk;
mod host;
mod plan;
mod spill;
mod staging;
mod tiers;

pub(crate) use device::Hidden;
#[cfg(test)]
pub(crate) use disk::DiskStore;
pub(crate) use plan::{GAP, Layout, Move, Piece, Plan, groups};
pub(crate) use tiers::{NoRoom, Tiers};

use crate::copy::{Copied, Mover};
use hsa_replay_contract::record::Tier;
use std::ops::Range;

/// One tier of the snapshot store.
pub(crate) trait Store: Send {
    /// Its name in the report.
    fn tier(&self) -> Tier;

    /// Makes room for a snapshot of this many bytes, or says why there is none.
    fn reserve(&mut self, bytes: u64) -> Result<(), String>;

    /// Bytes that it holds for the next snapshot.
    fn reserved(&self) -> u64;

    /// Copies the whole plan from the agent.
    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Result<(), Trouble>;

    /// Copies parts of regions back to the agent: region and range of offsets, by address.
    fn write_back(&mut self, plan: &Plan, parts: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack;

    /// The saved bytes of a piece, by its number. Cheapest in the order of the pieces.
    fn bytes(&mut self, plan: &Plan, piece: usize, mover: &Mover<'_>) -> Result<&[u8], Trouble>;

    /// Gives the memory up without freeing it: a copy that did not end may still be at it. What was saved may be lost with it.
    fn abandon(&mut self);
}

/// Why a snapshot is not there, or not readable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// The queue or the process ends.
    GivenUp,
    /// Memory that was to be copied together with its neighbours is gone: another plan leaves it out.
    Changed,
    /// A copy did not end in time; the device may still be at it.
    Stuck(String),
    /// Something failed.
    Failed(String),
}

impl Trouble {
    /// The memory for it is not there: never reserved, or given up with a copy that did not end.
    fn no_room() -> Self {
        Self::Failed("the memory of the snapshot is not there".to_owned())
    }

    /// Of one copy, if it is any.
    pub(crate) fn of(copied: Copied, device: u64, bytes: u64) -> Option<Self> {
        let what = |why: &str| format!("the copy of {bytes} bytes at {device:#x} {why}");
        match copied {
            Copied::Done | Copied::Gone => None,
            Copied::GivenUp => Some(Self::GivenUp),
            Copied::Stuck => Some(Self::Stuck(what("did not end in time"))),
            Copied::Failed => Some(Self::Failed(what("failed"))),
            Copied::Late => Some(Self::Failed(what("was not begun before the time was over"))),
        }
    }

    /// Saves moves by `copy`; what was to be copied together and failed, piece by piece.
    fn saving(plan: &Plan, moves: &[Move], mut copy: impl FnMut(&[Move]) -> Vec<Copied>) -> Result<(), Self> {
        let mut copied = copy(moves);
        let alone: Vec<Move> = apart(plan, moves, &mut copied).into_iter().map(|(_, alone)| alone).collect();
        Self::of_saving(moves, &copied)?;
        if alone.is_empty() { Ok(()) } else { Self::of_saving(&alone, &copy(&alone)) }
    }

    /// Of the copies of these moves, the worst first.
    fn of_saving(moves: &[Move], copied: &[Copied]) -> Result<(), Self> {
        let troubles = moves.iter().zip(copied).filter_map(|(each, &copied)| {
            let joined = each.regions.len() > 1;
            let changed = (copied == Copied::Gone && joined).then_some(Self::Changed);
            changed.or_else(|| Self::of(copied, each.device, each.bytes))
        });
        let worst = troubles.min_by_key(|trouble| match trouble {
            Self::Stuck(_) => 0,
            Self::GivenUp => 1,
            Self::Failed(_) => 2,
            Self::Changed => 3,
        });
        worst.map_or(Ok(()), Err)
    }
}

/// The pieces of moves that join regions and failed, each with the number of its move, which counts as done: what is wrong with
/// copying neighbours at once need not be wrong with each.
fn apart(plan: &Plan, moves: &[Move], copied: &mut [Copied]) -> Vec<(usize, Move)> {
    let mut alone = Vec::new();
    for (number, (each, copied)) in moves.iter().zip(copied).enumerate() {
        if *copied == Copied::Failed && each.regions.len() > 1 {
            alone.extend(each.parts.clone().map(|piece| (number, plan.alone(piece))));
            *copied = Copied::Done;
        }
    }
    alone
}

/// What became of a [`Store::write_back`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenBack {
    /// Bytes copied.
    pub(crate) bytes: u64,
    /// What was not written although its region is there, by address.
    pub(crate) failed: Vec<(usize, Range<u64>)>,
    /// Regions that were gone.
    pub(crate) gone: Vec<usize>,
    /// A copy did not end in time: the device may still be at it.
    pub(crate) stuck: bool,
}

impl WrittenBack {
    /// Nothing can be written, since nothing is saved.
    fn nothing(parts: &[(usize, Range<u64>)]) -> Self {
        Self { failed: parts.to_vec(), ..Self::default() }
    }

    /// Writes parts of regions by `copy`, which does moves of the plan.
    fn by(plan: &Plan, parts: &[(usize, Range<u64>)], mut copy: impl FnMut(&[Move]) -> Vec<Copied>) -> Self {
        let mut back = Self::default();
        let moves = plan.moves_for(parts, true);
        let mut alone = Vec::new();
        for (each, copied) in moves.iter().zip(copy(&moves)) {
            if matches!(copied, Copied::Gone | Copied::Failed) && each.regions.len() > 1 {
                // What is wrong with one of them need not be wrong with its neighbours.
                alone.extend(plan.within(each, parts));
            } else {
                back.note(plan, each, copied, parts);
            }
        }
        if back.stuck {
            back.failed.extend(alone);
        } else if !alone.is_empty() {
            let moves = plan.moves_for(&alone, false);
            for (each, copied) in moves.iter().zip(copy(&moves)) {
                back.note(plan, each, copied, &alone);
            }
        }
        back.failed.sort_by_key(|(region, range)| (*region, range.start));
        // Parts of different moves that lie one behind the other are one.
        back.failed.dedup_by(|next, before| {
            let adjoins = next.0 == before.0 && next.1.start <= before.1.end;
            if adjoins {
                before.1.end = before.1.end.max(next.1.end);
            }
            adjoins
        });
        back.gone.sort_unstable();
        back.gone.dedup();
        back
    }

    fn note(&mut self, plan: &Plan, each: &Move, copied: Copied, parts: &[(usize, Range<u64>)]) {
        match copied {
            Copied::Done => self.bytes += each.bytes,
            Copied::Gone => self.gone.push(each.regions.start),
            Copied::Failed | Copied::Stuck | Copied::GivenUp | Copied::Late => {
                self.stuck |= copied == Copied::Stuck;
                self.failed.extend(plan.within(each, parts));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::CHUNK;
    use crate::handles::Agent;
    use crate::inventory::{Region, RegionKind};
    use crate::sync::Arc;

    /// A small region and a large one that adjoins: the first move joins them, and the large one goes on in others.
    fn plan() -> Plan {
        let region = |base, bytes| Arc::new(Region::new(RegionKind::Allocation, base, bytes, Agent(1)));
        Plan::new(vec![region(0x1000, 0x1000), region(0x2000, 2 * CHUNK)])
    }

    #[test]
    fn what_is_written_again_after_a_joined_copy_failed_is_counted_once() {
        let (plan, parts) = (plan(), [(0, 0..0x1000), (1, 0..2 * CHUNK)]);
        for fails in [false, true] {
            let (mut copies, mut written) = (0, 0);
            let back = WrittenBack::by(&plan, &parts, |moves| {
                copies += 1;
                let one = |each: &Move| {
                    let failed = each.regions.len() > 1 || fails && each.regions.end == 2;
                    written += if failed { 0 } else { each.bytes };
                    if failed { Copied::Failed } else { Copied::Done }
                };
                moves.iter().map(one).collect()
            });
            assert_eq!((copies, back.bytes), (2, written));
            let failed = if fails { vec![(1, 0..2 * CHUNK)] } else { Vec::new() };
            assert_eq!((back.failed, written), (failed, if fails { 0x1000 } else { 0x1000 + 2 * CHUNK }));
        }
    }

    #[test]
    fn only_what_failed_of_a_large_region_is_to_be_written_again() {
        let (plan, parts) = (plan(), [(1, 0..2 * CHUNK)]);
        let back = WrittenBack::by(&plan, &parts, |moves| {
            let last = |each: &Move| each.device + each.bytes == 0x2000 + 2 * CHUNK;
            moves.iter().map(|each| if last(each) { Copied::Failed } else { Copied::Done }).collect()
        });
        let [(1, failed)] = &back.failed[..] else { panic!("{:?}", back.failed) };
        assert_eq!((failed.start, failed.end), (back.bytes, 2 * CHUNK));
    }

    #[test]
    fn a_region_that_went_away_between_two_copies_of_it_is_counted_once() {
        let plan = plan();
        let parts = [(0, 0..0x1000), (1, 0..2 * CHUNK)];
        let back = WrittenBack::by(&plan, &parts, |moves| {
            moves.iter().map(|each| if each.regions.end == 2 { Copied::Gone } else { Copied::Done }).collect()
        });
        assert_eq!((back.gone, back.bytes), (vec![1], 0x1000));
    }
}
