//! The passes: run, compare, put back, again.

use super::finish::{Cut, Watch};
use super::hostcall::HostcallBuffer;
use super::inspect::{Inspection, Reader, Unreadable, reserve_scratch};
use super::restore::spans;
use super::snapshot::{Ready, Workspace, nanoseconds};
use super::unreached::Unreached;
use super::untracked::describe;
use super::writing::INTRUDED;
use super::{Refusal, Window};
use crate::compare::{Divergences, WrittenBytes};
use crate::copy::Mover;
use crate::inventory::Pin;
use crate::queue::{Forwarder, Stage, Stuck};
use crate::shared_memory::{HostBlock, ticks};
use crate::signals::Completion;
use crate::store::{Plan, Trouble};
use crate::sync::Arc;
use hsa_replay_contract::record::{ContentHash, Pass, Restore, Stage as Stretch};
use hsa_replay_contract::{Allow, Reason};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Between two looks at whether the queue died or the process ends.
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks for room in the queue's ring, which the drain has left empty.
const ROOM: Duration = Duration::from_micros(50);

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

/// How the wait for a pass ended.
enum PassEnd {
    Done,
    Late,
    Dead,
}

impl Window<'_> {
    /// Runs the passes and completes the packet. False: the last pass outlasts the window and is watched.
    pub(super) fn replay(mut self, forwarder: &mut Forwarder, ready: Ready) -> bool {
        let agent = self.agent;
        let mut workspace = agent.workspace.lock();
        let workspace = &mut *workspace;
        let check = self.process.settings.check;
        if check && let Err(error) = reserve_scratch(agent, &ready.plan, &mut workspace.scratch) {
            let refusal = Refusal::with(Reason::SnapshotIncomplete, format!("no room to compare: {error}"));
            return self.decline(forwarder, refusal);
        }
        let mut next = match self.process.signals.take() {
            Ok(completion) if self.wait_for_room(forwarder) => completion,
            Ok(_) => return self.decline(forwarder, Refusal::with(Reason::DrainTimeout, "its ring is full")),
            Err(error) => {
                return self.decline(forwarder, Refusal::with(Reason::SnapshotIncomplete, error.to_string()));
            }
        };
        self.process.report.begin(&self.record);
        let mut evidence = Evidence::new(ready.plan.regions.len(), self.room_beside(&ready.plan));
        self.tell_captured(ready.plan.captured());
        let passes = self.plan.most();
        for index in 0..passes {
            let completion = next;
            self.tell_enter(index);
            let started = Instant::now();
            match self.run_pass(forwarder, completion) {
                (PassEnd::Done, completion) => {
                    self.timeline.note(Stretch::Pass, Some(index), started);
                    self.note_pass(index, &completion);
                    self.tell_exit();
                }
                (PassEnd::Dead, _) => {
                    self.timeline.note(Stretch::Pass, Some(index), started);
                    return self.fault(forwarder, &ready, &evidence);
                }
                (PassEnd::Late, completion) => {
                    self.give_up_foreign(&ready.plan, &mut evidence);
                    let completion = Arc::new(completion);
                    self.tell_closed(true);
                    self.queue.set_stuck(Stuck::Pass(Arc::clone(&completion)));
                    let (record, timeline) = (self.record.clone(), self.timeline.clone());
                    let watch = Watch { completion, record, timeline, started, ready, evidence };
                    forwarder.set_stage(Stage::Watching(Box::new(watch)));
                    self.agent.open_gate();
                    return false;
                }
            }
            let seen = match check.then(|| self.look(index, &ready, workspace, &mut evidence)).transpose() {
                Ok(seen) => seen,
                Err(problem) => {
                    abandon(&problem, workspace);
                    let given_up = problem.trouble == Trouble::GivenUp;
                    let ended = given_up.then(|| self.must_stop(&ready, &evidence)).flatten();
                    let cut = ended.unwrap_or_else(|| problem.cut());
                    let lost = self.keep_foreign_unread(&ready.plan, workspace, &mut evidence);
                    let cut = lost.or(evidence.tainted()).unwrap_or(cut);
                    return self.end(forwarder, &ready, &evidence, Some(cut));
                }
            };
            if index == 0 && seen.is_some() && self.process.settings.dump_writes.is_some() {
                let start = Instant::now();
                self.dump_writes(&ready, workspace.tiers.store(), &mut evidence);
                self.timeline.note(Stretch::Dump, Some(index), start);
            }
            if index + 1 == passes || evidence.last.is_some() || self.is_stopped_by_tool() {
                break;
            }
            let (completion, pins) = match self.go_on(&ready, &evidence) {
                Ok(needed) => needed,
                Err(cut) => return self.keep_and_end(forwarder, &ready, workspace, evidence, Some(cut)),
            };
            next = completion;
            forwarder.set_stage(Stage::Restoring);
            let cut = self.restore(&ready.plan, seen.as_ref(), workspace, &evidence);
            if let Some(cut) = cut {
                // Memory holds the first pass, unless it is tainted anyway.
                let lost = self.keep_foreign(&ready.plan, workspace, &mut evidence, Some(0));
                let undone = self.end_writing(&ready.plan, workspace);
                let cut = if cut.tainted { cut } else { lost.or(undone).unwrap_or(cut) };
                drop(pins);
                return self.end(forwarder, &ready, &evidence, Some(cut));
            }
            let again = self.put_foreign_again(&ready.plan, workspace, &evidence);
            evidence.foreign_undone = again.is_some();
            evidence.last = self.end_writing(&ready.plan, workspace).or(again);
        }
        self.keep_and_end(forwarder, &ready, workspace, evidence, None)
    }

    /// Ends the window; memory is as the pass that was compared last has left it.
    fn keep_and_end(
        mut self,
        forwarder: &mut Forwarder,
        ready: &Ready,
        workspace: &mut Workspace,
        mut evidence: Evidence,
        cut: Option<Cut>,
    ) -> bool {
        let last = evidence.unreached.last();
        let lost = self.keep_foreign(&ready.plan, workspace, &mut evidence, last);
        let cut = lost.or(evidence.last.take()).or(cut);
        self.end(forwarder, ready, &evidence, cut)
    }

    /// What the next pass needs before memory is put back for it, or why the one that just ended is the last.
    fn go_on(&mut self, ready: &Ready, evidence: &Evidence) -> Result<(Completion, Vec<Pin>), Cut> {
        let taken = self.process.signals.take();
        let pins = Self::pin(&ready.plan);
        if let Some(cut) = self.must_stop(ready, evidence) {
            return Err(cut);
        }
        let completion = taken.map_err(|error| Cut::new(Reason::InternalError, error.to_string()))?;
        self.begin_writing(&ready.plan).map_or(Ok((completion, pins)), Err)
    }

    /// Reasons to let the pass that just ended be the last.
    fn must_stop(&mut self, ready: &Ready, evidence: &Evidence) -> Option<Cut> {
        let talked = ready.arguments.hostcall.as_ref().is_some_and(HostcallBuffer::has_moved);
        if talked && !self.allow(Allow::Hostcall) {
            Some(Cut::new(Reason::Hostcall, "the kernel talked to the host during the pass"))
        } else if self.queue.is_dead() {
            Some(Cut::new(Reason::QueueError, "the queue failed or was destroyed after the pass"))
        } else if self.process.is_exiting() {
            Some(Cut::new(Reason::ShuttingDown, "the process is ending"))
        } else if self.agent.fence.intrusions.any() {
            Some(Cut::new(Reason::CopyInFlight, INTRUDED))
        } else if let Some(detail) = self.newly_excluded(&ready.plan) {
            Some(Cut::new(Reason::UntrackedMemory, detail))
        } else if evidence.unkept {
            let detail = "what the first pass changed is more than the budget leaves for it";
            Some(Cut::new(Reason::OverBudget, detail))
        } else if evidence.unreached.is_full() {
            let detail =
                "what the passes left where the kernel's pointers do not lead is more than the budget";
            Some(Cut::new(Reason::OverBudget, detail))
        } else if Instant::now() >= self.deadline {
            Some(Cut::new(Reason::PassTimeout, "the time for one window is over"))
        } else {
            None
        }
    }

    /// Captured memory that is not to be put back any more, since others may have written it during the window.
    fn newly_excluded(&self, plan: &Plan) -> Option<String> {
        for queue in self.agent.queues() {
            self.mark_parked_kernargs(&queue);
        }
        self.excluded_since(plan)
    }

    pub(super) fn excluded_since(&self, plan: &Plan) -> Option<String> {
        plan.regions.iter().find_map(|region| {
            if region.is_gone() {
                // Freed memory needs no second look; this is still there, by another address or with other rights.
                return self.process.inventory.stays_mapped(region).then(|| {
                    format!("the memory at {:#x} was unmapped or closed there but stays mapped", region.base)
                });
            }
            let what = describe(region.exclusion()?);
            Some(format!("the memory at {:#x} became {what} during the window", region.base))
        })
    }

    fn wait_for_room(&self, forwarder: &mut Forwarder) -> bool {
        while !self.queue.has_room(forwarder) {
            if Instant::now() >= self.deadline || self.queue.is_dead() {
                return false;
            }
            std::thread::sleep(ROOM);
        }
        true
    }

    /// Puts one pass on the queue and waits for it.
    fn run_pass(&self, forwarder: &mut Forwarder, mut completion: Completion) -> (PassEnd, Completion) {
        while !self.queue.has_room(forwarder) {
            // The pass before has ended, so its slot becomes free in no time unless the queue died.
            if self.queue.is_dead() {
                return (PassEnd::Dead, completion);
            }
            std::thread::sleep(ROOM);
        }
        forwarder.set_stage(Stage::Submitted);
        completion.submitted();
        self.queue.submit(forwarder, &self.packet.as_pass(completion.signal()));
        loop {
            let left = self.deadline.saturating_duration_since(Instant::now());
            if completion.wait(left.min(LOOK)) <= 0 {
                self.queue.note_pass_done(forwarder);
                return (PassEnd::Done, completion);
            }
            if self.queue.is_dead() {
                return (PassEnd::Dead, completion);
            }
            if left.is_zero() {
                return (PassEnd::Late, completion);
            }
        }
    }

    pub(super) fn note_pass(&mut self, index: u32, completion: &Completion) {
        self.record.passes.push(pass_of(self.process, self.agent.agent, index, completion));
    }

    /// Compares memory after a pass. The first pass's result stays in the evidence too.
    fn look(
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

    /// Puts memory back. On failure memory is made one complete pass again, if that is possible.
    fn restore(
        &mut self,
        plan: &Plan,
        inspection: Option<&Inspection>,
        workspace: &mut Workspace,
        evidence: &Evidence,
    ) -> Option<Cut> {
        let start = Instant::now();
        // A restore that has begun is finished, whatever the time; only a copy that hangs ends it.
        let deadline = start + self.process.settings.timeout;
        let mover = Mover::new(self.process, self.agent.agent, deadline);
        let spans = spans(plan, inspection);
        let mut back = workspace.tiers.store().write_back(plan, &spans, &mover);
        if !back.failed.is_empty() && !back.stuck {
            let again = workspace.tiers.store().write_back(plan, &back.failed, &mover);
            back.bytes += again.bytes;
            back.failed = again.failed;
            back.stuck = again.stuck;
        }
        let mut regions: Vec<usize> = spans.iter().map(|(region, _)| *region).collect();
        regions.dedup();
        let totals =
            self.record.restore.get_or_insert(Restore { regions: 0, bytes: 0, ns: 0, skipped: 0, failed: 0 });
        totals.regions += (regions.len() - back.gone.len().min(regions.len())) as u64;
        totals.bytes += back.bytes;
        totals.ns += nanoseconds(start.elapsed());
        let after = self.record.passes.last().map(|pass| pass.index);
        self.timeline.note(Stretch::Restore, after, start);
        if totals.skipped == 0 && !back.gone.is_empty() {
            tracing::warn!(
                "{} regions were freed while {} was replayed; they are not put back",
                back.gone.len(),
                self.record.kernel
            );
        }
        totals.skipped += back.gone.len() as u64;
        totals.failed += back.failed.len() as u64;
        if back.failed.is_empty() {
            return None;
        }
        let mut cut = super::repair::repair(self, plan, inspection, workspace, evidence, &back.failed);
        if back.stuck {
            // It may still read from the store and write to memory, whatever was put there now.
            workspace.tiers.store().abandon();
            cut.tainted = true;
            cut.detail = format!("a copy did not end in time; {}", cut.detail);
            self.process.disarm("a copy that puts memory back did not end in time");
        }
        Some(cut)
    }
}

impl Unreadable {
    fn cut(self) -> Cut {
        let what = match self.trouble {
            Trouble::Stuck(what) | Trouble::Failed(what) => what,
            Trouble::GivenUp | Trouble::Changed => "its reading was given up".to_owned(),
        };
        Cut::new(Reason::SnapshotIncomplete, format!("memory could not be compared after a pass: {what}"))
    }
}

/// Memory to which a copy may still be writing is not used again.
fn abandon(problem: &Unreadable, workspace: &mut Workspace) {
    if !matches!(problem.trouble, Trouble::Stuck(_)) {
        return;
    }
    if problem.of_snapshot {
        workspace.tiers.store().abandon();
    } else {
        workspace.scratch.take().into_iter().for_each(HostBlock::leak);
    }
}

impl Evidence {
    /// How a window ends that has lost data of others, whatever ends it.
    pub(super) fn tainted(&self) -> Option<Cut> {
        self.last.clone().filter(|last| last.tainted)
    }

    fn new(regions: usize, room: u64) -> Self {
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

/// The record of a pass that has ended.
pub(super) fn pass_of(
    process: &crate::process::Process,
    agent: crate::handles::Agent,
    index: u32,
    completion: &Completion,
) -> Pass {
    let [start, end] = ticks(completion.signal());
    // Zero is what the signal had before: the hardware wrote none.
    let written = start != 0 && end >= start;
    let ns = written.then(|| process.runtime.ticks_to_ns(agent, start, end)).flatten();
    Pass { index, ticks: written.then_some([start, end]), ns, hash: None }
}
