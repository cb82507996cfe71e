//! How a window drains a queue: a barrier of the engine's own behind everything that was forwarded.

use super::SoftQueue;
use super::forward::Forwarder;
use crate::packet::Packet;
use crate::runtime::RuntimeResult;
use crate::signals::{Completion, SignalPool};
use crate::sync::Arc;
use std::time::{Duration, Instant};

/// What came of the wish to drain a queue.
#[derive(Debug)]
pub(crate) enum Barrier {
    /// Nothing was put on the hardware queue since it last drained, or it is dead.
    NotNeeded,
    /// The barrier is on the queue.
    Sent(Completion),
    /// The hardware ring is full.
    NoRoom,
}

/// A queue that did not drain in time, and by what its moving on is seen.
#[derive(Debug)]
pub(crate) enum Stuck {
    /// Its barrier, still on the queue.
    Barrier(Completion),
    /// A pass that outlasted its window.
    Pass(Arc<Completion>),
    /// The read index at which its ring was full.
    Full(u64),
    /// A thread that has not returned from its doorbell.
    Forwarder,
}

/// How long a look at a queue waits for a thread that forwards there, which most often is done in no time.
const MOMENT: Duration = Duration::from_millis(2);

impl SoftQueue {
    /// Puts a barrier on the hardware queue.
    pub(crate) fn send_barrier(
        &self,
        forwarder: &mut Forwarder,
        signals: &Arc<SignalPool>,
    ) -> RuntimeResult<Barrier> {
        if self.is_dead() {
            return Ok(Barrier::NotNeeded);
        }
        if forwarder.position.is_drained() {
            let left = self.left.lock().take().filter(|completion| completion.value() > 0);
            return Ok(left.map_or(Barrier::NotNeeded, Barrier::Sent));
        }
        if !self.has_room(forwarder) {
            return Ok(Barrier::NoRoom);
        }
        let mut completion = signals.take()?;
        completion.submitted();
        self.submit(forwarder, &Packet::drain_barrier(completion.signal()));
        forwarder.position.set_drained();
        // The new barrier is behind one that an earlier drain may have left.
        drop(self.left.lock().take());
        Ok(Barrier::Sent(completion))
    }

    /// A pass has completed: a barrier with fences like any other, behind which nothing was submitted.
    pub(crate) fn note_pass_done(&self, forwarder: &mut Forwarder) {
        forwarder.position.set_drained();
    }

    /// A drain ends before its barrier has completed: the next one waits for it.
    pub(crate) fn leave_barrier(&self, completion: Completion) {
        *self.left.lock() = Some(completion);
    }

    /// Remembers that the queue did not drain.
    pub(crate) fn set_stuck(&self, stuck: Stuck) {
        *self.stuck.lock() = Some(stuck);
    }

    /// Remembers that the queue had no room for a barrier; `held`: the caller has its lock.
    pub(crate) fn set_full(&self, held: bool) {
        let stuck = self.look(held, || Stuck::Full(self.hardware().read_index())).unwrap_or(Stuck::Forwarder);
        self.set_stuck(stuck);
    }

    /// Whether the queue is where it was when it did not drain; `held`: the caller has its lock.
    pub(crate) fn is_stuck(&self, held: bool) -> bool {
        if self.is_dead() {
            return false;
        }
        let mut stuck = self.stuck.lock();
        let still = match &*stuck {
            None => false,
            Some(Stuck::Barrier(completion)) => completion.value() > 0,
            Some(Stuck::Pass(completion)) => completion.value() > 0,
            Some(Stuck::Full(read)) => {
                self.look(held, || self.hardware().read_index() == *read).unwrap_or(true)
            }
            Some(Stuck::Forwarder) => self.look(held, || ()).is_none(),
        };
        if !still {
            *stuck = None;
        }
        still
    }

    /// Looks at the real queue under the lock, without which it may be destroyed meanwhile. `None`: another thread keeps the lock.
    fn look<R>(&self, held: bool, look: impl FnOnce() -> R) -> Option<R> {
        if held {
            return Some(look());
        }
        let forwarder = self.lock_until(Instant::now() + MOMENT)?;
        let seen = (!self.is_dead()).then(look);
        drop(forwarder);
        self.catch_up();
        seen
    }
}
