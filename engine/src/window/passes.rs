//! The passes: run, compare, put back, again.

use super::evidence::{Evidence, abandon};
use super::finish::{Cut, Watch};
use super::hostcall::HostcallBuffer;
use super::inspect::reserve_scratch;
use super::snapshot::{Ready, Workspace};
use super::untracked::describe;
use super::writing::INTRUDED;
use super::{Refusal, Window};
use crate::inventory::Pin;
use crate::queue::{Forwarder, Stage, Stuck};
use crate::shared_memory::ticks;
use crate::signals::Completion;
use crate::store::{Plan, Trouble};
use crate::sync::Arc;
use hsa_replay_contract::record::{Pass, Stage as Stretch};
use hsa_replay_contract::{Allow, Reason};
use std::time::{Duration, Instant};

/// Between two looks at whether the queue died or the process ends.
const LOOK: Duration = Duration::from_millis(20);
/// Between two looks for room in the queue's ring, which the drain has left empty.
const ROOM: Duration = Duration::from_micros(50);

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
        let pass = self.packet.as_pass(completion.signal());
        // The real queue of a cooperative one goes on when the application destroys its own.
        let mut begun = !self.queue.is_cooperative();
        if begun {
            self.queue.submit(forwarder, &pass);
        } else {
            self.queue.unless_dead(|| {
                self.queue.submit(forwarder, &pass);
                begun = true;
            });
        }
        if !begun {
            return (PassEnd::Dead, completion);
        }
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
