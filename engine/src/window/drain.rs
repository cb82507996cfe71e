//! The agent becomes quiet: everything that was forwarded before is complete and visible, and no copy is under way.
//!
//! Every live hardware queue of the agent gets a barrier packet with system-scope fences, all at once, and all are waited
//! for together. A barrier that does not complete in time stays on its queue, with its signal, and marks the queue as stuck:
//! until it moves, every window of the agent is refused at once.

use super::{Refusal, Window};
use crate::gate::Phase;
use crate::queue::{Barrier, Forwarder, SoftQueue, Stuck};
use crate::signals::Completion;
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use std::time::{Duration, Instant};

/// Between two looks at queues that have no room for the barrier.
const ROOM: Duration = Duration::from_micros(200);
/// Between two looks at whether a queue died meanwhile.
const LOOK: Duration = Duration::from_millis(20);

impl Window<'_> {
    /// Drains the agent. Meanwhile the gate lets only barriers through.
    pub(super) fn drain(&mut self, forwarder: &mut Forwarder) -> Result<(), Refusal> {
        let queues = self.agent.queues();
        if let Some(stuck) = queues.iter().find(|queue| queue.is_stuck(self.is_own(queue))) {
            return Err(stuck_refusal(stuck, "is still stuck"));
        }
        if self.agent.fence.is_stuck(&self.process.promises) {
            let detail = "a copy that did not end in the time of an earlier window is still under way";
            return Err(Refusal::with(Reason::CopyInFlight, detail));
        }
        self.agent.fence.intrusions.begin_window();
        self.narrow(Phase::Draining)?;
        // What a later queue is given stays in software.
        let mut unsent = self.agent.queues();
        // One may have been forwarded since the first look; from now on none is.
        self.refuse_endless()?;
        let mut pending = Pending::default();
        loop {
            let mut full = Vec::new();
            for queue in unsent {
                match self.send_barrier(&queue, forwarder)? {
                    Barrier::NotNeeded => {}
                    Barrier::Sent(completion) => pending.0.push((queue, completion)),
                    Barrier::NoRoom => full.push(queue),
                }
            }
            unsent = full;
            // The barrier of a queue that failed never completes, and what was on it runs no more.
            pending.0.retain(|(queue, completion)| !queue.is_dead() && completion.value() > 0);
            if self.queue.is_dead() {
                return Err(Refusal::new(Reason::QueueError));
            }
            if self.process.is_exiting() {
                return Err(Refusal::new(Reason::ShuttingDown));
            }
            let copies = !self.agent.fence.is_quiet(&self.process.promises);
            if pending.0.is_empty() && unsent.is_empty() && !copies {
                return Ok(());
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.give_up(&mut pending, &unsent));
            }
            match pending.0.first() {
                Some((_, completion)) if unsent.is_empty() => {
                    completion.wait(left.min(LOOK));
                }
                _ => std::thread::sleep(left.min(ROOM)),
            }
        }
    }

    fn send_barrier(&self, queue: &Arc<SoftQueue>, own: &mut Forwarder) -> Result<Barrier, Refusal> {
        let signals = &self.process.signals;
        let sent = if self.is_own(queue) {
            queue.send_barrier(own, signals)
        } else {
            let Some(mut other) = queue.lock_until(self.deadline) else {
                return Ok(Barrier::NoRoom);
            };
            let sent = queue.send_barrier(&mut other, signals);
            drop(other);
            queue.catch_up();
            sent
        };
        sent.map_err(|error| Refusal::with(Reason::DrainTimeout, format!("no signal for a barrier: {error}")))
    }

    /// Whether it is the queue of this window, whose lock is held.
    fn is_own(&self, queue: &Arc<SoftQueue>) -> bool {
        std::ptr::eq(&**queue, self.queue)
    }

    /// Remembers which queues did not drain, and which copies did not end.
    fn give_up(&self, pending: &mut Pending, unsent: &[Arc<SoftQueue>]) -> Refusal {
        let refusal = match (pending.0.first(), unsent.first()) {
            (Some((queue, _)), _) | (None, Some(queue)) => stuck_refusal(queue, "did not drain in time"),
            (None, None) => Refusal::with(Reason::CopyInFlight, "a copy did not end in time"),
        };
        for (queue, completion) in pending.0.drain(..) {
            queue.set_stuck(Stuck::Barrier(completion));
        }
        for queue in unsent {
            queue.set_full(self.is_own(queue));
        }
        if !self.agent.fence.is_quiet(&self.process.promises) {
            self.agent.fence.set_stuck(&self.process.promises);
        }
        refusal
    }
}

/// Barriers on their queues. Those that have not completed when a drain ends, however it ends, are left to the next drain.
#[derive(Default)]
struct Pending(Vec<(Arc<SoftQueue>, Completion)>);

impl Drop for Pending {
    fn drop(&mut self) {
        for (queue, completion) in self.0.drain(..) {
            queue.leave_barrier(completion);
        }
    }
}

fn stuck_refusal(queue: &SoftQueue, what: &str) -> Refusal {
    Refusal::with(Reason::DrainTimeout, format!("queue {} {what}", queue.hardware().id()))
}
