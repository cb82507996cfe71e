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

/// What became of a [`Store::write_back`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenBack {
    /// Bytes copied.
    pub(crate) bytes: u64,
    /// Parts that were not written completely although their region is there, by address.
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
                alone.extend(parts[each.parts.clone()].iter().cloned());
            } else {
                back.note(each, copied, parts);
            }
        }
        if back.stuck {
            back.failed.extend(alone);
        } else if !alone.is_empty() {
            let moves = plan.moves_for(&alone, false);
            for (each, copied) in moves.iter().zip(copy(&moves)) {
                back.note(each, copied, &alone);
            }
        }
        back.failed.sort_by_key(|(region, range)| (*region, range.start));
        back
    }

    fn note(&mut self, each: &Move, copied: Copied, parts: &[(usize, Range<u64>)]) {
        match copied {
            Copied::Done => self.bytes += each.bytes,
            Copied::Gone if self.gone.last() == Some(&each.regions.start) => {}
            Copied::Gone => self.gone.push(each.regions.start),
            Copied::Failed | Copied::Stuck | Copied::GivenUp | Copied::Late => {
                self.stuck |= copied == Copied::Stuck;
                for part in &parts[each.parts.clone()] {
                    if self.failed.last() != Some(part) {
                        self.failed.push(part.clone());
                    }
                }
            }
        }
    }
}
