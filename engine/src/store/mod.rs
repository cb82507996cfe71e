//! Where a window keeps the memory it will put back.
//!
//! A [`Store`] is one tier. It lives as long as its agent and keeps what it reserved, since reserving is what costs.

mod host;
mod plan;

pub(crate) use host::HostStore;
pub(crate) use plan::{Piece, Plan};

use crate::copy::{Copied, Mover};
use crate::runtime::RuntimeResult;
use hsa_replay_contract::record::Tier;
use std::ops::Range;

/// One tier of the snapshot store.
pub(crate) trait Store: Send {
    /// Its name in the report.
    fn tier(&self) -> Tier;

    /// Makes room for a snapshot.
    fn reserve(&mut self, plan: &Plan) -> RuntimeResult<()>;

    /// Bytes that it holds for the next snapshot.
    fn reserved(&self) -> u64;

    /// Copies every piece of the plan from the agent, and tells how each copy ended.
    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Vec<Copied>;

    /// Copies parts of regions back to the agent: region and range of offsets.
    fn write_back(&self, plan: &Plan, spans: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack;

    /// The saved bytes of a piece.
    fn bytes(&self, piece: &Piece) -> &[u8];

    /// Gives the memory up without freeing it: a copy that did not end may still write there.
    fn abandon(&mut self);
}

/// What became of a [`Store::write_back`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenBack {
    /// Bytes copied.
    pub(crate) bytes: u64,
    /// Spans that were not written completely although their region is there.
    pub(crate) failed: Vec<(usize, Range<u64>)>,
    /// Regions that were gone.
    pub(crate) gone: Vec<usize>,
    /// A copy did not end in time: the device may still be at it.
    pub(crate) stuck: bool,
}
