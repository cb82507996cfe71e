//! What the passes of a window have shown of memory.

use super::Window;
use super::finish::Cut;
use super::inspect::{Inspection, Reader, Unreadable};
use super::snapshot::{Ready, Workspace};
use super::unreached::Unreached;
use crate::compare::{Divergences, WrittenBytes};
use crate::shared_memory::HostBlock;
use crate::store::Trouble;
use hsa_replay_contract::Reason;
use hsa_replay_contract::record::{ContentHash, Stage as Stretch};
use std::collections::BTreeMap;
use std::time::Instant;

/// What the passes have shown of memory.
#[derive(Debug)]
pub(super) struct Evidence {
    pub(super) first: Option<Inspection>,
    /// What the first pass left, for each region; nothing if that is more than the budget.
    pub(super) written: Vec<WrittenBytes>,
    pub(super) unkept: bool,
    /// Regions freed since the snapshot.
    pub(super) gone: Vec<bool>,
    pub(super) divergences: Divergences,
    /// Whether each compared pass left what the first one did.
    pub(super) equal: bool,
    /// A region that the first pass changed went away between two comparisons, so that they cannot be held against each other.
    pub(super) incomparable: bool,
    pub(super) unreached: Unreached,
    /// Others wrote to captured memory, as far as can be told.
    pub(super) foreign: bool,
    /// Their data was put back as before the window, and not all of it again.
    pub(super) foreign_undone: bool,
    /// Why the pass that follows, after which memory is one complete pass again, is to be the last.
    pub(super) last: Option<Cut>,
    /// Files that hold what the first pass changed, by the region's address.
    pub(super) dumps: BTreeMap<u64, String>,
}

impl Evidence {
    /// How a window ends that has lost data of others, whatever ends it.
    pub(super) fn tainted(&self) -> Option<Cut> {
        self.last.clone().filter(|last| last.tainted)
    }

    pub(super) fn new(regions: usize, room: u64) -> Self {
        Self {
            first: None,
            written: vec![WrittenBytes::new(); regions],
            unkept: false,
            gone: vec![false; regions],
            divergences: Divergences::new(),
            equal: true,
            incomparable: false,
            unreached: Unreached::new(room),
            foreign: false,
            foreign_undone: false,
            last: None,
            dumps: BTreeMap::new(),
        }
    }
}

impl Window<'_> {
    /// Compares memory after a pass. The first pass's result stays in the evidence too.
    pub(super) fn look(
        &mut self,
        index: u32,
        ready: &Ready,
        workspace: &mut Workspace,
        evidence: &mut Evidence,
    ) -> Result<Inspection, Unreadable> {
        let plan = &ready.plan;
        let start = Instant::now();
        let Some(scratch) = &workspace.scratch else {
            let trouble = Trouble::Failed("there is no memory to read it to".to_owned());
            return Err(Unreadable { trouble, of_snapshot: false });
        };
        let gone_before = evidence.gone.clone();
        let mut reader = Reader {
            agent: self.agent,
            plan,
            store: workspace.tiers.store(),
            scratch,
            deadline: Instant::now() + self.process.settings.timeout,
            queue: self.queue,
            gone: &mut evidence.gone,
            reached: &ready.reached,
            room: evidence.unreached.room(),
            written_room: evidence.unreached.room_of_all(),
        };
        let mut seen = reader.inspect((index == 0).then_some(&mut evidence.written[..]))?;
        if let Some(first) = &evidence.first
            && first.hash != seen.hash
        {
            evidence.equal = false;
            reader.diverge(index, &evidence.written, &mut evidence.divergences)?;
        }
        if let Some(first) = &evidence.first {
            let left = |region: &usize| evidence.gone[*region] && !gone_before[*region];
            let mut left = (0..evidence.gone.len()).filter(left);
            evidence.incomparable |= left.any(|region| !first.changes[region].ranges.is_empty());
        }
        if evidence.first.is_none() {
            evidence.unkept = seen.unkept;
            evidence.unreached.take(evidence.written.iter().map(|written| written.size() as u64).sum());
        }
        evidence.unreached.note(&mut seen);
        if let Some(pass) = self.record.passes.last_mut() {
            pass.hash = Some(ContentHash(seen.hash));
        }
        if evidence.first.is_none() {
            evidence.first = Some(seen.clone());
        }
        self.timeline.note(Stretch::Compare, Some(index), start);
        Ok(seen)
    }
}

impl Unreadable {
    pub(super) fn cut(self) -> Cut {
        let what = match self.trouble {
            Trouble::Stuck(what) | Trouble::Failed(what) => what,
            Trouble::GivenUp | Trouble::Changed => "its reading was given up".to_owned(),
        };
        Cut::new(Reason::SnapshotIncomplete, format!("memory could not be compared after a pass: {what}"))
    }
}

/// Memory to which a copy may still be writing is not used again.
pub(super) fn abandon(problem: &Unreadable, workspace: &mut Workspace) {
    if !matches!(problem.trouble, Trouble::Stuck(_)) {
        return;
    }
    if problem.of_snapshot {
        workspace.tiers.store().abandon();
    } else {
        workspace.scratch.take().into_iter().for_each(HostBlock::leak);
    }
}
