//! How a window drains a queue: a barrier of the engine's own behind everything that was forwarded.

use super::SoftQueue;
use super::forward::Forwarder;
use crate::packet::Packet;
use crate::runtime::RuntimeResult;
use crate::signals::{Completion, SignalPool};
use crate::sync::Arc;

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
    /// The read index at which its ring was full.
    Full(u64),
}

impl SoftQueue {
    /// Puts a barrier on the hardware queue.
    pub(crate) fn send_barrier(
        &self,
        forwarder: &mut Forwarder,
        signals: &Arc<SignalPool>,
    ) -> RuntimeResult<Barrier> {
        if self.is_dead() || forwarder.position.is_drained() {
            return Ok(Barrier::NotNeeded);
        }
        if !self.has_room(forwarder) {
            return Ok(Barrier::NoRoom);
        }
        let mut completion = signals.take()?;
        completion.submitted();
        self.submit(forwarder, &Packet::drain_barrier(completion.signal()));
        forwarder.position.set_drained();
        Ok(Barrier::Sent(completion))
    }

    /// A pass has completed: a barrier with fences like any other, behind which nothing was submitted.
    pub(crate) fn note_pass_done(&self, forwarder: &mut Forwarder) {
        forwarder.position.set_drained();
    }

    /// Remembers that the queue did not drain.
    pub(crate) fn set_stuck(&self, stuck: Stuck) {
        *self.stuck.lock() = Some(stuck);
    }

    /// Whether the queue is where it was when it did not drain.
    pub(crate) fn is_stuck(&self) -> bool {
        if self.is_dead() {
            return false;
        }
        let mut stuck = self.stuck.lock();
        let still = match &*stuck {
            None => false,
            Some(Stuck::Barrier(completion)) => completion.value() > 0,
            Some(Stuck::Full(read)) => self.hardware().read_index() == *read,
        };
        if !still {
            *stuck = None;
        }
        still
    }
}
