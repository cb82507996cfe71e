//! Writes of others into captured memory while a window is open: the CPU through the BAR, a peer, a NIC.
//!
//! Nothing holds them back, and a restore undoes them. They are found afterwards: bytes of a region that no pointer of the
//! kernel leads to (see [`reach`](super::reach)) and that differ from the snapshot after one pass but not after another were
//! written by somebody else. Their last value is put there again after each restore and at the end, so that no end of the window
//! loses it; the record says so, and gives no verdict on the kernel, which may have written them after all. In memory that the
//! kernel can reach such a write looks like the kernel's own.

use super::Window;
use super::evidence::Evidence;
use super::finish::{Cut, say};
use super::snapshot::Workspace;
use super::unreached::{Unreached, Write, without};
use crate::copy::Mover;
use crate::inventory::{Exclusion, Region};
use crate::store::Plan;
use hsa_replay_contract::Reason;
use hsa_replay_contract::record::ContentHash;
use std::ops::Range;
use std::time::Instant;

/// The parts of a region that lie in ascending ranges of addresses, as offsets.
fn offsets_in(region: &Region, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let common = ranges.iter().map(|range| range.start.max(region.base)..range.end.min(region.end()));
    let common = common.filter(|common| common.start < common.end);
    common.map(|common| common.start - region.base..common.end - region.base).collect()
}

impl Window<'_> {
    /// Host memory that may be taken for what passes leave where the kernel does not reach, beside the snapshot.
    pub(super) fn room_beside(&self, plan: &Plan) -> u64 {
        match self.process.settings.budget {
            Some(budget) => budget.saturating_sub(plan.captured()),
            None => self.process.runtime.available_host_memory().map_or(u64::MAX, |available| available / 2),
        }
    }

    /// Memory was put back: so is what others wrote, as far as it is known. Where that fails the next pass has to be the last.
    pub(super) fn put_foreign_again(
        &self,
        plan: &Plan,
        workspace: &mut Workspace,
        evidence: &Evidence,
    ) -> Option<Cut> {
        let writes = evidence.unreached.writes();
        let undone: Vec<&Write> = writes.iter().collect();
        let kept = self.put_foreign(plan, workspace, &evidence.unreached, &undone);
        let failed = "a copy failed that puts back between passes what others wrote";
        (!kept).then(|| Cut::new(Reason::RestoreFailed, failed))
    }

    /// The window ends, and memory is as a pass left it: puts back what others wrote and a restore has undone since. Gives how the
    /// window ends when that failed: the others' data is lost.
    pub(super) fn keep_foreign(
        &mut self,
        plan: &Plan,
        workspace: &mut Workspace,
        evidence: &mut Evidence,
        in_memory: Option<usize>,
    ) -> Option<Cut> {
        let writes = evidence.unreached.writes();
        let undone: Vec<&Write> = writes.iter().filter(|write| Some(write.pass) != in_memory).collect();
        if undone.is_empty() {
            self.note_foreign(plan, evidence);
            return None;
        }
        let (kept, undone) = self.put_at_the_end(plan, workspace, &evidence.unreached, &undone);
        if !kept {
            self.leave_out(&writes, evidence);
            return Some(lost(&said(plan, &writes, false)));
        }
        self.note_foreign(plan, evidence);
        undone
    }

    /// Writes bytes of others when no pass follows. Gives whether that worked, and what else ends the window.
    fn put_at_the_end(
        &self,
        plan: &Plan,
        workspace: &mut Workspace,
        unreached: &Unreached,
        writes: &[&Write],
    ) -> (bool, Option<Cut>) {
        let ranges = writes.iter().map(|write| {
            let base = plan.regions[write.region].base;
            base + write.offsets.start..base + write.offsets.end
        });
        self.agent.fence.intrusions.go_on_writing(ranges.collect());
        // Where memory was opened to others before that, they may have written something newer.
        let is_open = |write: &Write| plan.regions[write.region].exclusion() == Some(Exclusion::SharedOut);
        let own: Vec<&Write> = writes.iter().copied().filter(|write| !is_open(write)).collect();
        let kept = self.put_foreign(plan, workspace, unreached, &own) && own.len() == writes.len();
        (kept, self.end_writing(plan, workspace))
    }

    /// The same after a pass of which memory could not be read: what earlier ones have shown is there since it was put back, unless
    /// that failed.
    pub(super) fn keep_foreign_unread(
        &mut self,
        plan: &Plan,
        workspace: &mut Workspace,
        evidence: &mut Evidence,
    ) -> Option<Cut> {
        if evidence.foreign_undone {
            return self.keep_foreign(plan, workspace, evidence, None);
        }
        self.note_foreign(plan, evidence);
        let undecided = evidence.unreached.undecided();
        if undecided.is_empty() {
            return None;
        }
        // The kernel's own bytes are there again anyway, and somebody else's were undone.
        let undone: Vec<&Write> = undecided.iter().collect();
        let (kept, cut) = self.put_at_the_end(plan, workspace, &evidence.unreached, &undone);
        if !kept {
            return Some(lost(&may_be_others(plan, &undecided, "could not all be put back")));
        }
        let said = may_be_others(plan, &undecided, "are as that pass left them");
        say(&mut self.record, format!("{}: {said}", Reason::ForeignWrite.name()));
        cut
    }

    /// The window ends under a pass that still runs, beside which nothing can be written: data of others that was not put again is
    /// lost.
    pub(super) fn give_up_foreign(&mut self, plan: &Plan, evidence: &mut Evidence) {
        if !evidence.foreign_undone {
            self.note_foreign(plan, evidence);
            let undecided = evidence.unreached.undecided();
            if !undecided.is_empty() {
                let said = may_be_others(plan, &undecided, "may have been undone");
                say(&mut self.record, format!("{}: {said}", Reason::ForeignWrite.name()));
            }
            return;
        }
        let writes = evidence.unreached.writes();
        self.leave_out(&writes, evidence);
        let cut = evidence.tainted().unwrap_or_else(|| lost(&said(plan, &writes, false)));
        evidence.last = Some(cut);
    }

    /// Writes bytes of others to memory. False: not all of them.
    fn put_foreign(
        &self,
        plan: &Plan,
        workspace: &mut Workspace,
        unreached: &Unreached,
        writes: &[&Write],
    ) -> bool {
        if writes.is_empty() {
            return true;
        }
        let deadline = Instant::now() + self.process.settings.timeout;
        let mover = Mover::new(self.process, self.agent.agent, deadline);
        // Somebody who copied there during the window was later than the pass after which they were seen.
        let Some(later) = self.intruded() else {
            return false;
        };
        let mut kept = true;
        for write in writes {
            let region = &plan.regions[write.region];
            let Some(left) = unreached.left(write) else { continue };
            let copied = offsets_in(region, &later);
            for range in without(std::slice::from_ref(&write.offsets), copied.iter()) {
                let length = usize::try_from(range.end - range.start).unwrap_or(0);
                for (part, bytes) in left.split(range.start, length) {
                    let offset = range.start + part.start as u64;
                    // Where gaps were closed in a long list, what did not change stays.
                    let Some(bytes) = bytes else { continue };
                    kept &= super::repair::put(&mover, region, offset, bytes, &mut workspace.scratch);
                }
            }
        }
        kept
    }

    /// Says what others wrote, and takes it out of the evidence.
    pub(super) fn note_foreign(&mut self, plan: &Plan, evidence: &mut Evidence) {
        let writes = evidence.unreached.writes();
        if !writes.is_empty() {
            let said = said(plan, &writes, true);
            say(&mut self.record, format!("{}: {said}", Reason::ForeignWrite.name()));
            self.leave_out(&writes, evidence);
        }
    }

    /// What the record says of the kernel is about what it wrote itself.
    fn leave_out(&mut self, writes: &[Write], evidence: &mut Evidence) {
        evidence.foreign = true;
        for (pass, hash) in self.record.passes.iter_mut().zip(evidence.unreached.reached_hashes()) {
            pass.hash = Some(ContentHash(hash));
        }
        let overlaps = |region: usize, range: &Range<u64>| {
            writes.iter().any(|write| {
                write.region == region && write.offsets.start < range.end && range.start < write.offsets.end
            })
        };
        evidence.divergences.retain(|entry| {
            !overlaps(entry.region, &(entry.offset..entry.offset.saturating_add(entry.bytes)))
        });
        if let Some(first) = &mut evidence.first {
            for (region, changes) in first.changes.iter_mut().enumerate() {
                let listed = changes.ranges.len();
                changes.ranges.retain(|range| !overlaps(region, range));
                if changes.ranges.len() < listed {
                    changes.bytes = changes.ranges.iter().map(|range| range.end - range.start).sum();
                }
            }
        }
    }
}

fn said(plan: &Plan, writes: &[Write], kept: bool) -> String {
    let bytes: u64 = writes.iter().map(|write| write.offsets.end - write.offsets.start).sum();
    let at = writes.first().map_or(0, |first| plan.regions[first.region].base + first.offsets.start);
    let became = if kept {
        // The kernel's own pointers say nothing against it.
        "their last value was kept (if the kernel wrote them itself, by a pointer that it computes, they may be of several passes)"
    } else {
        "they could not all be put back"
    };
    format!("others wrote {bytes} bytes during the window, the first at {at:#x}; {became}")
}

fn may_be_others(plan: &Plan, writes: &[Write], became: &str) -> String {
    let bytes: u64 = writes.iter().map(|write| write.offsets.end - write.offsets.start).sum();
    let at = writes.first().map_or(0, |first| plan.regions[first.region].base + first.offsets.start);
    format!(
        "one pass was compared, which does not show whether others wrote {bytes} bytes that changed where no pointer of the kernel \
         leads, the first at {at:#x}; they {became}"
    )
}

fn lost(said: &str) -> Cut {
    Cut { tainted: true, ..Cut::new(Reason::ForeignWrite, said) }
}
