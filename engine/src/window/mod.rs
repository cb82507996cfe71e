//! The replay window: one dispatch run several times from identical inputs while nothing else runs on its agent.
//!
//! * [`decide`]: what can be decided for free, with the rule on [`untracked`] memory and the [`arguments`] for the record;
//! * [`listener`]: how many passes, and the tool that hears of them;
//! * [`reach`]: where pointers in captured memory lead, as a [`search`] through it finds;
//! * [`drain`]: the agent becomes quiet;
//! * [`snapshot`]: memory is copied;
//! * [`passes`]: the kernel runs, memory is compared ([`inspect`], [`evidence`]), stored on demand ([`dump`]) and put back ([`restore`]);
//! * [`hostcall`]: whether the kernel talked to the host;
//! * [`foreign`]: what others wrote meanwhile ([`unreached`]), or copied ([`writing`]);
//! * [`finish`]: the application's signal, the record with its list of [`writes`] and its [`timeline`], the gate.
//!
//! Until the first pass is submitted, every failure ends in the dispatch being forwarded as it is. After it, every end is
//! the end of a complete pass.

mod arguments;
mod decide;
mod drain;
mod dump;
mod evidence;
mod finish;
mod foreign;
mod hostcall;
mod inspect;
mod listed;
mod listener;
mod passes;
mod reach;
mod repair;
mod restore;
mod search;
mod snapshot;
mod timeline;
mod unreached;
mod untracked;
mod writes;
mod writing;

pub(crate) use finish::Watch;
pub(crate) use snapshot::Workspace;

use listener::PassPlan;

use crate::agent::AgentState;
use crate::control::Requests;
use crate::gate::Phase;
use crate::kernels::Kernel;
use crate::packet::Packet;
use crate::process::Process;
use crate::queue::{Candidate, Forwarder, SoftQueue, Stage, Stuck};
use crate::sync::Arc;
use hsa_replay_contract::record::Stage as Stretch;
use hsa_replay_contract::{Allow, Dispatch, Outcome, Reason};
use std::time::Instant;

/// Why a dispatch is not replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) reason: Reason,
    pub(crate) detail: Option<String>,
}

impl Refusal {
    fn new(reason: Reason) -> Self {
        Self { reason, detail: None }
    }

    fn with(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: Some(detail.into()) }
    }
}

/// One window.
struct Window<'a> {
    queue: &'a SoftQueue,
    agent: &'a AgentState,
    process: &'a Process,
    packet: Packet,
    kernel: Arc<Kernel>,
    /// All stages together end by this time.
    deadline: Instant,
    record: Dispatch,
    plan: PassPlan,
    timeline: timeline::Timeline,
}

/// Deals with the candidate at the head of the queue. False: it waits for something, look again soon.
pub(crate) fn run(queue: &SoftQueue, forwarder: &mut Forwarder) -> bool {
    let Some(candidate) = forwarder.candidate() else {
        return true;
    };
    match candidate.stage {
        Stage::New => {}
        Stage::Settled => return queue.forward_candidate(forwarder),
        Stage::Watching(_) => return finish::watch(queue, forwarder),
        // Left behind by a panic; see `recover`.
        Stage::Submitted | Stage::Restoring | Stage::Completed => return true,
    }
    let mut window = Window::new(queue, candidate);
    if let Some(progress) = queue.agent().progress() {
        progress.window(&window.record.kernel);
    }
    let done = match window.open(forwarder) {
        Ok(ready) => window.replay(forwarder, ready),
        Err(refusal) => window.decline(forwarder, refusal),
    };
    queue.agent().workspace.lock().rest(&queue.agent().process.inventory);
    if let Some(progress) = queue.agent().progress() {
        progress.idle();
    }
    done
}

impl<'a> Window<'a> {
    fn new(queue: &'a SoftQueue, candidate: &Candidate) -> Self {
        let agent: &AgentState = queue.agent();
        let process: &Process = &agent.process;
        let name = &candidate.kernel.name;
        let record = Dispatch {
            pid: process.report.pid(),
            id: candidate.id,
            kernel: name.demangled().to_owned(),
            symbol: name.symbol().to_owned(),
            agent: agent.index,
            queue: queue.hardware().id(),
            launch: candidate.launch,
            grid: candidate.packet.grid(),
            workgroup: candidate.packet.workgroup(),
            range: candidate.requests.as_deref().and_then(Requests::range),
            arguments: None,
            outcome: Outcome::Declined,
            reason: None,
            detail: None,
            allowed: Vec::new(),
            passes: Vec::new(),
            time_ns: None,
            window: None,
            snapshot: None,
            restore: None,
            writes: None,
            deterministic: None,
            divergence: None,
        };
        let timeline = timeline::Timeline::new();
        let deadline = Instant::now() + process.settings.timeout;
        let kernel = Arc::clone(&candidate.kernel);
        let requests = candidate.requests.as_deref();
        let passes = requests.and_then(|requests| requests.passes).unwrap_or(process.settings.passes);
        let plan = PassPlan::new(passes);
        Self { queue, agent, process, packet: candidate.packet, kernel, deadline, record, timeline, plan }
    }

    /// Everything before the first pass.
    fn open(&mut self, forwarder: &mut Forwarder) -> Result<snapshot::Ready, Refusal> {
        let arguments = self.timed(Stretch::Decide, Self::decide)?;
        self.ask_tool()?;
        self.refuse_unmarked_arguments()?;
        self.timed(Stretch::Drain, |window| {
            window.drain(forwarder)?;
            window.narrow(Phase::Closed)
        })?;
        self.timed(Stretch::Snapshot, |window| window.snapshot(arguments))
    }

    /// Does something that the record shows as a stage, whether it succeeds or not.
    fn timed<T>(&mut self, stage: Stretch, act: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = act(self);
        self.timeline.note(stage, None, start);
        result
    }

    /// Narrows the gate, waiting at most until the deadline for forwarders that are at work.
    fn narrow(&self, phase: Phase) -> Result<(), Refusal> {
        self.agent.narrow_gate(phase, self.queue, self.deadline).map_err(|queue| {
            let detail = format!(
                "a thread did not return from the doorbell of queue {} in time",
                queue.hardware().id()
            );
            queue.set_stuck(Stuck::Forwarder);
            Refusal::with(Reason::DrainTimeout, detail)
        })
    }

    /// Notes that something unsafe in general was let through.
    fn allow(&mut self, kind: Allow) -> bool {
        let allowed = self.process.settings.allow.contains(&kind);
        if allowed && !self.record.allowed.contains(&kind) {
            self.record.allowed.push(kind);
        }
        allowed
    }
}

/// The queue failed or is destroyed: its candidate gets a record, and never completes, as without us.
pub(crate) fn close(queue: &SoftQueue, forwarder: &mut Forwarder) {
    match forwarder.candidate() {
        None => return,
        Some(candidate) if matches!(candidate.stage, Stage::New) => {
            note_declined(queue, candidate, Reason::QueueError, "the queue failed or was destroyed before");
        }
        Some(_) => drop(finish::watch(queue, forwarder)),
    }
    forwarder.drop_candidate();
}

/// The engine ends: a pass that still runs gets its record, and a barrier behind it completes in its place.
pub(crate) fn leave(queue: &SoftQueue) {
    let mut forwarder = queue.lock();
    if queue.is_dead() {
        close(queue, &mut forwarder);
    } else if !finish::watch(queue, &mut forwarder) {
        finish::leave_running(queue, &mut forwarder);
        forwarder.recover_candidate();
        queue.forward_candidate(&mut forwarder);
    }
}

fn note_declined(queue: &SoftQueue, candidate: &Candidate, reason: Reason, detail: &str) {
    let mut window = Window::new(queue, candidate);
    let time = Some(window.timeline.take());
    let record =
        Dispatch { reason: Some(reason), detail: Some(detail.to_owned()), window: time, ..window.record };
    window.process.record(record);
}

/// Memory was being put back: it is neither what the pass left nor what was there before.
fn note_tainted(queue: &SoftQueue, candidate: &Candidate) {
    let window = Window::new(queue, candidate);
    let process = window.process;
    let detail = Some("the engine failed while memory was put back".to_owned());
    let reason = Some(Reason::RestoreFailed);
    process.record(Dispatch { outcome: Outcome::Tainted, reason, detail, ..window.record });
}

/// After a panic in a window: its packet must still complete exactly once.
pub(crate) fn recover(queue: &SoftQueue) {
    let agent = queue.agent();
    let mut forwarder = queue.lock();
    agent.fence.intrusions.give_up();
    agent.open_gate();
    if let Some(candidate) = forwarder.candidate() {
        match candidate.stage {
            Stage::New | Stage::Submitted | Stage::Watching(_) => {
                note_declined(queue, candidate, Reason::InternalError, "the engine failed during the window");
            }
            Stage::Restoring => note_tainted(queue, candidate),
            Stage::Settled | Stage::Completed => {}
        }
    }
    forwarder.recover_candidate();
}
