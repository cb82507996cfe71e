//! The end of a window: record, completion, gate.
//!
//! The record is written before the application can see its kernel done, so that a program that ends right then has it.

use super::evidence::Evidence;
use super::passes::pass_of;
use super::snapshot::Ready;
use super::timeline::Timeline;
use super::writes::Writes;
use super::writing::INTRUDED;
use super::{Refusal, Window};
use crate::promises::SignalWrite;
use crate::queue::{Forwarder, SoftQueue, Stage};
use crate::shared_memory::{set_ticks, ticks};
use crate::signals::Completion;
use crate::sync::Arc;
use hsa_replay_contract::record::{Stage as Stretch, TimeNs};
use hsa_replay_contract::{Dispatch, Outcome, Reason};
use std::time::Instant;

/// Why the passes ended before their number was reached.
#[derive(Clone, Debug)]
pub(super) struct Cut {
    pub(super) reason: Reason,
    pub(super) detail: String,
    /// Memory is known not to be one complete pass.
    pub(super) tainted: bool,
}

impl Cut {
    pub(super) fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), tainted: false }
    }
}

/// A pass that outlasted its window. It is the final one; nothing is put back under it.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(super) completion: Arc<Completion>,
    pub(super) record: Dispatch,
    pub(super) timeline: Timeline,
    /// When the pass began.
    pub(super) started: Instant,
    pub(super) ready: Ready,
    pub(super) evidence: Evidence,
}

impl Window<'_> {
    /// The dispatch is not replayed: opens the gate and forwards it as it is. False: no room yet.
    pub(super) fn decline(mut self, forwarder: &mut Forwarder, refusal: Refusal) -> bool {
        self.record.outcome = Outcome::Declined;
        self.record.reason = Some(refusal.reason);
        self.record.detail = refusal.detail;
        self.record.window = Some(self.timeline.take());
        self.tell_closed(false);
        self.process.record(self.record);
        forwarder.set_stage(Stage::Settled);
        let forwarded = self.queue.is_dead() || self.queue.forward_candidate(forwarder);
        self.agent.open_gate();
        forwarded
    }

    /// The passes are over, all of them or cut short after a complete one.
    pub(super) fn end(
        mut self,
        forwarder: &mut Forwarder,
        ready: &Ready,
        evidence: &Evidence,
        cut: Option<Cut>,
    ) -> bool {
        let intruded = self.agent.fence.intrusions.any();
        if intruded && cut.is_none() {
            say(&mut self.record, format!("{}: {INTRUDED}", Reason::CopyInFlight.name()));
        }
        settle(&mut self.record, cut);
        Writes::new(ready, evidence).fill(&mut self.record);
        if intruded {
            self.record.deterministic = None;
        }
        self.record.window = Some(self.timeline.take());
        let last = self.record.passes.last().and_then(|pass| pass.ticks);
        self.tell_closed(false);
        self.process.record(self.record);
        complete(self.queue, forwarder, last);
        self.agent.open_gate();
        true
    }

    /// The queue died under a pass: its packet never completes, as without us.
    pub(super) fn fault(mut self, forwarder: &mut Forwarder, ready: &Ready, evidence: &Evidence) -> bool {
        fault(&mut self.record);
        Writes::new(ready, evidence).fill(&mut self.record);
        self.record.window = Some(self.timeline.take());
        self.tell_closed(false);
        self.process.record(self.record);
        forwarder.drop_candidate();
        self.agent.open_gate();
        true
    }
}

/// Looks at a pass that outlasted its window. False: it still runs.
pub(super) fn watch(queue: &SoftQueue, forwarder: &mut Forwarder) -> bool {
    let Some(watch) = forwarder.watched() else {
        return true;
    };
    let done = watch.completion.value() <= 0;
    if !done && !queue.is_dead() {
        return false;
    }
    let process = &*queue.agent().process;
    let Some(watch) = forwarder.take_watched() else {
        return true;
    };
    let Watch { completion, mut record, mut timeline, started, ready, evidence } = *watch;
    timeline.note(Stretch::Pass, u32::try_from(record.passes.len()).ok(), started);
    record.window = Some(timeline.take());
    let writes = Writes::new(&ready, &evidence);
    if !done {
        fault(&mut record);
        writes.fill(&mut record);
        process.record(record);
        forwarder.drop_candidate();
        return true;
    }
    let index = u32::try_from(record.passes.len()).unwrap_or(u32::MAX);
    record.passes.push(pass_of(process, queue.agent().agent, index, &completion));
    let late = || Cut::new(Reason::PassTimeout, "a pass outlasted the time for one window");
    settle(&mut record, Some(evidence.tainted().unwrap_or_else(late)));
    writes.fill(&mut record);
    process.record(record);
    complete(queue, forwarder, Some(ticks(completion.signal())));
    true
}

/// Writes the record of a watched pass whose end the engine does not live to see.
pub(super) fn leave_running(queue: &SoftQueue, forwarder: &mut Forwarder) {
    if let Some(watch) = forwarder.take_watched() {
        let Watch { mut record, mut timeline, started, ready, evidence, .. } = *watch;
        timeline.note(Stretch::Pass, u32::try_from(record.passes.len()).ok(), started);
        record.window = Some(timeline.take());
        let late = || Cut::new(Reason::PassTimeout, "a pass was still running when replay ended");
        settle(&mut record, Some(evidence.tainted().unwrap_or_else(late)));
        Writes::new(&ready, &evidence).fill(&mut record);
        queue.agent().process.record(record);
    }
}

/// Outcome and reason of a dispatch that ran at least once.
fn settle(record: &mut Dispatch, cut: Option<Cut>) {
    record.time_ns = TimeNs::of_passes(&record.passes);
    let Some(cut) = cut else {
        record.outcome = Outcome::Replayed;
        return;
    };
    let mut detail = cut.detail;
    if cut.tainted {
        record.outcome = Outcome::Tainted;
        record.reason = Some(cut.reason);
    } else if record.passes.len() > 1 {
        record.outcome = Outcome::Replayed;
        detail = format!("{}: {detail}", cut.reason.name());
    } else {
        record.outcome = Outcome::Declined;
        record.reason = Some(cut.reason);
    }
    say(record, detail);
}

/// Puts a sentence in front of the record's detail: what was said before, of what was allowed for example, stays.
pub(super) fn say(record: &mut Dispatch, sentence: String) {
    record.detail = Some(match record.detail.take() {
        Some(before) => format!("{sentence}; {before}"),
        None => sentence,
    });
}

fn fault(record: &mut Dispatch) {
    record.time_ns = TimeNs::of_passes(&record.passes);
    record.outcome = Outcome::Faulted;
    record.reason = Some(Reason::QueueError);
    record.detail = Some("the queue failed or was destroyed during a pass".to_owned());
}

/// Tells the application that its packet is done: the ticks first, then the signal's value, exactly once.
fn complete(queue: &SoftQueue, forwarder: &mut Forwarder, ticks: Option<[u64; 2]>) {
    let Some(signal) = forwarder.candidate().map(|candidate| candidate.packet.completion_signal()) else {
        return;
    };
    forwarder.set_stage(Stage::Completed);
    // The application may have destroyed the signals of a queue that is gone.
    if !signal.is_none() {
        queue.unless_dead(|| {
            if let Some(ticks) = ticks {
                set_ticks(signal, ticks);
            }
            let process = &queue.agent().process;
            let write = SignalWrite::Add(-1);
            process.promises.write(signal, write, || process.runtime.subtract_signal(signal, 1));
        });
    }
    forwarder.drop_candidate();
}
