//! A hardware queue as its only producer sees it.
//!
//! Order of publication: body, header, then the queue's write index, then the doorbell. A slot is never within the write
//! index before it is written, so the packet processor cannot fetch a torn packet. The ring is never read: it may lie in device
//! memory.

use crate::handles::HardwareQueue;
use crate::packet::Packet;
use crate::runtime::Runtime;
use crate::shared_memory::{HardwareFacts, Ring};
use crate::sync::Arc;
use std::fmt;

/// The ring and doorbell of a hardware queue.
pub(crate) struct HardwareRing {
    runtime: Arc<dyn Runtime>,
    queue: HardwareQueue,
    facts: HardwareFacts,
}

impl fmt::Debug for HardwareRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HardwareRing").field(&self.queue).field(&self.facts).finish()
    }
}

/// Where the producer stands; kept under the queue's lock.
#[derive(Debug)]
pub(crate) struct Position {
    /// Index of the next slot to write.
    write: u64,
    /// Slots below this one are published.
    published: u64,
    /// The read index when last looked at; the real one may be further.
    read: u64,
    /// Everything below this index is complete, or behind a barrier whose completion is watched.
    drained: u64,
}

impl Position {
    /// Whether nothing was written since [`Position::set_drained`].
    pub(super) fn is_drained(&self) -> bool {
        self.drained == self.write
    }

    pub(super) fn set_drained(&mut self) {
        self.drained = self.write;
    }
}

impl HardwareRing {
    pub(crate) fn new(runtime: Arc<dyn Runtime>, queue: HardwareQueue, facts: HardwareFacts) -> Self {
        Self { runtime, queue, facts }
    }

    pub(crate) fn queue(&self) -> HardwareQueue {
        self.queue
    }

    pub(crate) fn id(&self) -> u64 {
        self.facts.id
    }

    pub(crate) fn slots(&self) -> u64 {
        self.facts.ring.slots()
    }

    /// The producer's position in a queue that holds nothing of ours yet.
    pub(crate) fn position(&self) -> Position {
        let write = self.runtime.queue_write_index(self.queue);
        // What was on a queue before it was wrapped is not known to be complete.
        let drained = if write == 0 { 0 } else { u64::MAX };
        Position { write, published: write, read: self.read_index(), drained }
    }

    pub(crate) fn read_index(&self) -> u64 {
        self.runtime.queue_read_index(self.queue)
    }

    /// What is between the queue's own indices; `None` for a packet that is done with.
    pub(crate) fn pending(&self) -> Vec<Option<Packet>> {
        let read = self.read_index();
        let write = self.runtime.queue_write_index(self.queue).min(read.saturating_add(self.slots()));
        (read..write).map(|index| self.facts.ring.packet(index)).collect()
    }

    /// Whether a packet can be written now. Asks the queue for its read index only when the last one is used up.
    pub(crate) fn has_space(&self, position: &mut Position) -> bool {
        if position.write - position.read < self.slots() {
            return true;
        }
        // Packets written but not published would never be consumed.
        self.publish(position);
        position.read = self.read_index();
        position.write - position.read < self.slots()
    }

    /// Writes a packet into the next slot; [`HardwareRing::has_space`] was true. It runs once published.
    pub(crate) fn write(&self, position: &mut Position, packet: &Packet) {
        self.facts.ring.write(position.write, packet);
        position.write += 1;
    }

    /// Publishes what was written and rings the doorbell.
    pub(crate) fn publish(&self, position: &mut Position) {
        if position.write == position.published {
            return;
        }
        position.published = position.write;
        Ring::store_fence();
        self.runtime.store_queue_write_index(self.queue, position.write);
        // A doorbell's value is the index of the last packet.
        self.runtime.store_signal(self.facts.doorbell, (position.write - 1).cast_signed());
        // The device has read that slot when it was last used: it takes a while to get it back.
        self.facts.ring.prepare(position.write);
    }
}
