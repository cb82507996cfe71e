//! The copy fence of one agent: while a window is open no copy writes the agent's memory.
//!
//! Copies do not pass through queues, so the hooks of the copy calls come here. An asynchronous copy goes to the runtime at
//! once while the gate is open and what it waits for is met, or is on the hardware. Otherwise it is kept in software and the
//! call returns; the worker submits it later. A window waits for the copies in flight, which it knows by their completion
//! signals, and no copy engine ever waits for something that a window holds back.

mod deferred;

pub use deferred::OtherWay;

use deferred::Deferred;

use crate::agent::AgentState;
use crate::gate::Phase;
use crate::handles::Signal;
use crate::intrusion::{Intrusions, Kept, Ticket};
use crate::process::Process;
use crate::promises::Promises;
use crate::runtime::RuntimeResult;
use crate::shared_memory::signal_value;
use crate::sync::{Arc, AtomicU64, AtomicUsize, Condvar, Mutex, Ordering};
use crate::tool;
use std::ops::Range;
use std::time::Instant;

/// Copies of one agent.
#[derive(Default)]
pub(crate) struct CopyFence {
    /// Threads between their look at the gate and the end of their call.
    entered: AtomicUsize,
    /// The numbers of their calls.
    calls: Mutex<Vec<u64>>,
    /// Completion signals of copies that the runtime has.
    flying: Mutex<Vec<Signal>>,
    /// Copies kept in software, in order of their calls.
    deferred: Mutex<Vec<Deferred>>,
    /// Their orders, with those that are being submitted right now.
    orders: Mutex<Vec<u64>>,
    /// Copies that did not wait for a window.
    pub(crate) intrusions: Intrusions,
    /// What a drain has waited for in vain.
    stuck: Mutex<Stuck>,
    opened: Condvar,
    opening: Mutex<()>,
}

/// Copies that did not end in the time of a window, as they were then.
#[derive(Default)]
struct Stuck {
    /// Completion signals, with how often each was still to be decremented.
    flying: Vec<(Signal, i64)>,
    /// Calls that had not returned.
    calls: Vec<u64>,
}

/// What the fence must know of a copy.
pub(crate) struct FencedCopy {
    /// The GPUs whose memory it touches.
    pub(crate) agents: Vec<Arc<AgentState>>,
    pub(crate) dependencies: Vec<Signal>,
    pub(crate) completion: Signal,
    /// Copies of equal order are submitted in the order of their calls.
    pub(crate) order: u64,
}

impl FencedCopy {
    /// Makes the copy now if the gates are open and nothing keeps it back. With `at_once` its dependencies do not count.
    fn try_submit(
        &self,
        process: &Process,
        at_once: bool,
        submit: impl FnOnce() -> RuntimeResult<()>,
    ) -> Option<RuntimeResult<()>> {
        let _entered = Entered::new(&self.agents);
        let open = self.agents.iter().all(|agent| agent.gate.phase() == Phase::Open);
        if !open || !(at_once || self.is_ready(process)) {
            return None;
        }
        Some(self.submit(process, submit))
    }

    /// Whether its dependencies are met, or will be by what is on the hardware.
    fn is_ready(&self, process: &Process) -> bool {
        self.dependencies.iter().all(|signal| is_ready(*signal, &process.promises))
    }

    /// Whether its dependencies are met. The runtime waits for exactly zero.
    fn is_met(&self) -> bool {
        self.dependencies.iter().all(|signal| signal.is_none() || signal_value(*signal) == 0)
    }

    fn submit(&self, process: &Process, submit: impl FnOnce() -> RuntimeResult<()>) -> RuntimeResult<()> {
        // Who waits for a copy that waits for a candidate must not do so on the hardware.
        if self.is_ready(process) {
            process.promises.note(self.completion);
        } else {
            process.promises.note_unsure(self.completion);
        }
        for agent in &self.agents {
            agent.fence.add_flying(self.completion, &process.promises);
        }
        let result = submit();
        if result.is_err() {
            process.promises.retract(self.completion);
        }
        result
    }
}

/// Whether a dependency is met, or will be by what is on the hardware.
fn is_ready(signal: Signal, promises: &Promises) -> bool {
    signal.is_none() || signal_value(signal) == 0 || promises.settled_value(signal) == 0
}

/// An asynchronous copy. When it is kept in software the result is success, as for every copy whose failure shows later; if the
/// call is refused then, it is made in one of the other ways.
pub(crate) fn submit_or_defer(
    process: &Process,
    copy: FencedCopy,
    submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static,
    others: impl FnOnce() -> Vec<OtherWay>,
) -> RuntimeResult<()> {
    // The worker is in the tool's callback, and submits nothing until that returns.
    if tool::is_called() {
        return copy.submit(process, submit);
    }
    // Without a worker there is no queue, hence no window, and nobody who would submit the copy later.
    let keeper = copy.agents.iter().find(|agent| agent.has_worker()).cloned();
    let mut submit = Some(submit);
    if keeper.as_ref().is_none_or(|keeper| !keeper.fence.has_deferred(copy.order)) {
        let mut take = || submit.take().map_or(Ok(()), |submit| submit());
        if let Some(result) = copy.try_submit(process, keeper.is_none(), &mut take) {
            return result;
        }
    }
    match (keeper, submit) {
        (Some(keeper), Some(submit)) => {
            keeper.fence.defer(Deferred::new(copy, submit, others()));
            keeper.wake();
            Ok(())
        }
        (_, submit) => submit.map_or(Ok(()), |submit| submit()),
    }
}

/// A call for a copy of these agents. Entering comes before the look at the gate; a window narrows the gate before it looks at
/// this.
struct Entered<'a> {
    agents: &'a [Arc<AgentState>],
    call: u64,
}

impl<'a> Entered<'a> {
    fn new(agents: &'a [Arc<AgentState>]) -> Self {
        Self { agents, call: enter(agents) }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        leave(self.agents, self.call);
    }
}

/// Gives the number of the call.
fn enter(agents: &[Arc<AgentState>]) -> u64 {
    static CALLS: AtomicU64 = AtomicU64::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    for agent in agents {
        agent.fence.calls.lock().push(call);
        agent.fence.entered.fetch_add(1, Ordering::SeqCst);
    }
    call
}

fn leave(agents: &[Arc<AgentState>], call: u64) {
    for agent in agents {
        agent.fence.entered.fetch_sub(1, Ordering::SeqCst);
        agent.fence.calls.lock().retain(|other| *other != call);
    }
}

/// A synchronous copy or fill under way; windows wait until it is dropped.
#[must_use = "the copy counts as under way until this is dropped"]
pub struct SyncCopy {
    agents: Vec<Arc<AgentState>>,
    call: u64,
    /// Where it writes, as far as that is known.
    to: Option<Range<u64>>,
    /// Agents whose window may undo it, see [`SyncCopy::wants_bytes`].
    owed: Vec<(Arc<AgentState>, Ticket)>,
}

impl std::fmt::Debug for SyncCopy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SyncCopy").field("agents", &self.agents.len()).finish_non_exhaustive()
    }
}

impl SyncCopy {
    /// Whether a window may undo the copy, since it could not wait for it: after the real call [`SyncCopy::keep`] has to be
    /// told what was copied, or [`SyncCopy::failed`] that nothing was.
    #[must_use]
    pub fn wants_bytes(&self) -> bool {
        !self.owed.is_empty()
    }

    /// The call has succeeded, and these are the bytes at its destination, from the first one on.
    pub fn keep(&mut self, bytes: &[u8]) {
        let Some(to) = &self.to else { return };
        for (agent, ticket) in self.owed.drain(..) {
            let kept = Kept { address: to.start, bytes: bytes.to_vec() };
            agent.fence.intrusions.deliver(&ticket, Some(kept));
        }
    }

    /// The call has failed.
    pub fn failed(&mut self) {
        for (agent, ticket) in self.owed.drain(..) {
            agent.fence.intrusions.deliver(&ticket, None);
        }
    }
}

impl Drop for SyncCopy {
    fn drop(&mut self) {
        for (agent, ticket) in self.owed.drain(..) {
            agent.fence.intrusions.lose(&ticket);
        }
        leave(&self.agents, self.call);
    }
}

/// A synchronous copy begins. A thread that may wait does so while a window is open, at most until `deadline`.
pub(crate) fn begin_sync(
    agents: Vec<Arc<AgentState>>,
    to: Option<Range<u64>>,
    deadline: Option<Instant>,
) -> SyncCopy {
    loop {
        let call = enter(&agents);
        let narrowed = |agent: &&Arc<AgentState>| agent.gate.phase() != Phase::Open;
        let first = agents.iter().find(narrowed).filter(|_| !tool::is_called());
        let Some(closed) = first else {
            return SyncCopy { agents, call, to, owed: Vec::new() };
        };
        let Some(deadline) = deadline.filter(|deadline| Instant::now() < *deadline) else {
            let intrude = |agent: &Arc<AgentState>| {
                Some((Arc::clone(agent), agent.fence.intrusions.intrude(to.as_ref())?))
            };
            let owed = agents.iter().filter(narrowed).filter_map(intrude).collect();
            return SyncCopy { agents, call, to, owed };
        };
        leave(&agents, call);
        closed.fence.wait_open(closed, deadline);
    }
}

impl CopyFence {
    fn has_deferred(&self, order: u64) -> bool {
        self.orders.lock().contains(&order)
    }

    fn defer(&self, deferred: Deferred) {
        self.orders.lock().push(deferred.copy.order);
        self.deferred.lock().push(deferred);
    }

    /// One copy of this order has been submitted.
    fn settle(&self, order: u64) {
        let mut orders = self.orders.lock();
        if let Some(at) = orders.iter().position(|other| *other == order) {
            orders.swap_remove(at);
        }
    }

    /// Whether copies wait in software.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.orders.lock().is_empty()
    }

    fn add_flying(&self, completion: Signal, promises: &Promises) {
        let mut flying = self.flying.lock();
        flying.retain(|&signal| signal != completion && !promises.is_settled(signal));
        flying.push(completion);
    }

    /// Whether no copy is under way. The gate is not open.
    pub(crate) fn is_quiet(&self, promises: &Promises) -> bool {
        if self.entered.load(Ordering::SeqCst) > 0 {
            return false;
        }
        let mut flying = self.flying.lock();
        flying.retain(|&signal| !promises.is_settled(signal));
        flying.is_empty()
    }

    /// A drain has waited for copies in vain: until one of them moves, the next ones need not.
    pub(crate) fn set_stuck(&self, promises: &Promises) {
        let flying =
            self.flying.lock().iter().map(|&signal| (signal, promises.outstanding(signal))).collect();
        let calls = self.calls.lock().clone();
        *self.stuck.lock() = Stuck { flying, calls };
    }

    /// Whether copies that a drain has waited for in vain are where they were.
    pub(crate) fn is_stuck(&self, promises: &Promises) -> bool {
        let mut stuck = self.stuck.lock();
        stuck.flying.retain(|&(signal, left)| left > 0 && promises.outstanding(signal) == left);
        let calls = self.calls.lock();
        stuck.calls.retain(|call| calls.contains(call));
        !(stuck.flying.is_empty() && stuck.calls.is_empty())
    }

    /// The gate was opened.
    pub(crate) fn gate_opened(&self) {
        drop(self.opening.lock());
        self.opened.notify_all();
    }

    fn wait_open(&self, agent: &AgentState, deadline: Instant) {
        let mut opening = self.opening.lock();
        while agent.gate.phase() != Phase::Open {
            if self.opened.wait_until(&mut opening, deadline).timed_out() {
                return;
            }
        }
    }

    /// Submits the copies that nothing keeps back any more.
    pub(crate) fn flush(&self, process: &Process) {
        let mut kept = Vec::new();
        // The lock is not held over the runtime's calls, which other threads that defer would wait for.
        let waiting = std::mem::take(&mut *self.deferred.lock());
        for deferred in waiting {
            let blocked = kept.iter().any(|earlier: &Deferred| earlier.copy.order == deferred.copy.order);
            let order = deferred.copy.order;
            match if blocked { Some(deferred) } else { deferred.try_ways(process, false) } {
                Some(deferred) => kept.push(deferred),
                None => self.settle(order),
            }
        }
        // Calls that came meanwhile are behind those kept.
        let mut deferred = self.deferred.lock();
        kept.append(&mut deferred);
        *deferred = kept;
    }

    /// Submits everything, whatever it waits for: the engine ends.
    pub(crate) fn flush_all(&self, process: &Process) {
        let waiting = std::mem::take(&mut *self.deferred.lock());
        for deferred in waiting {
            let order = deferred.copy.order;
            drop(deferred.try_ways(process, true));
            self.settle(order);
        }
    }
}
