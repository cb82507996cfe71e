//! Doorbells: one word a queue in a page of its agent, and the thread that watches them.
//!
//! A doorbell is plain memory here, so a ring is seen by looking. The watcher looks often while something happens and
//! ever more rarely when nothing does; busy queues also look at their own doorbell between packets. Whoever sees a
//! ring takes it away, as a doorbell of silicon keeps nothing.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::aql::AmdQueue;
use super::queue::{Kind, Queue};
use crate::memory::DOORBELL_BYTES;
use crate::shared::Span;
use crate::{Machine, Refusal, clock, thread};

/// What a doorbell holds when nobody rang it. No index gets there.
const SILENT: u64 = u64::MAX;

/// Doorbells in a page.
const SLOTS: u32 = 1024;

/// Time since the last ring, and how long the watcher sleeps then.
const PACE: [(Duration, Duration); 3] = [
    (Duration::from_millis(20), Duration::from_micros(30)),
    (Duration::from_secs(1), Duration::from_micros(200)),
    (Duration::from_secs(20), Duration::from_millis(1)),
];

/// The watcher's longest sleep.
const SLOWEST: Duration = Duration::from_millis(3);

/// Which doorbells are taken, and the watcher.
#[derive(Debug)]
pub struct Doorbells {
    taken: Mutex<Vec<Vec<bool>>>,
    next_queue: AtomicU32,
    watching: AtomicBool,
    stop: Arc<AtomicBool>,
}

impl Doorbells {
    pub(crate) fn new(agents: usize) -> Self {
        Self {
            taken: Mutex::new(vec![vec![false; SLOTS as usize]; agents]),
            next_queue: AtomicU32::new(0),
            watching: AtomicBool::new(false),
            stop: Arc::default(),
        }
    }

    /// Takes a silent doorbell of `agent` and a queue number that no living queue has.
    pub(super) fn take(&self, machine: &Machine, agent: usize) -> Result<(u32, u32), Refusal> {
        let slot = {
            let mut taken = self.taken.lock();
            let slots = taken.get_mut(agent).ok_or(Refusal::Invalid)?;
            let free = slots.iter().position(|t| !t).ok_or(Refusal::NoSlot)?;
            slots[free] = true;
            u32::try_from(free).map_err(|_| Refusal::NoSlot)?
        };
        page(machine, agent).store(slot as usize * 8, SILENT);
        Ok((self.next_queue.fetch_add(1, Ordering::Relaxed), slot))
    }

    /// Gives a doorbell back.
    pub(crate) fn release(&self, agent: usize, slot: u32) {
        if let Some(taken) = self.taken.lock().get_mut(agent).and_then(|slots| slots.get_mut(slot as usize)) {
            *taken = false;
        }
    }

    /// Starts the watcher if it does not run yet.
    pub(crate) fn watch(&self, machine: &Arc<Machine>) {
        if self.watching.swap(true, Ordering::AcqRel) {
            return;
        }
        let (machine, stop) = (Arc::downgrade(machine), self.stop.clone());
        if thread::start("gpu-doorbells", move || watch(&machine, &stop)).is_err() {
            self.watching.store(false, Ordering::Release);
        }
    }

    /// Ends the watcher.
    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Release);
    }
}

fn page(machine: &Machine, agent: usize) -> Span<'_> {
    let at = machine.memory.backing().host(machine.memory.doorbell_offset(agent));
    // SAFETY: the doorbell page was carved out of the backing file when the memory was made and is never released; the
    // backing lives as long as the machine.
    unsafe { Span::new(at, usize::try_from(DOORBELL_BYTES).unwrap_or(0)) }
}

/// Looks at a queue's doorbell; answers whether it was rung.
pub(crate) fn look(machine: &Machine, queue: &Queue) -> bool {
    let page = page(machine, queue.spec.agent);
    let Some(word) = page.atomic_u64(queue.slot as usize * 8) else { return false };
    if word.load(Ordering::Relaxed) == SILENT {
        return false;
    }
    let value = word.swap(SILENT, Ordering::AcqRel);
    if value == SILENT {
        return false;
    }
    let published = if queue.spec.kind == Kind::Aql { published(machine, queue, value) } else { 0 };
    queue.ring(value, published);
    true
}

/// Up to where the packets behind a rung one are complete, on a queue that several producers may use; zero on others.
fn published(machine: &Machine, queue: &Queue, rung: u64) -> u64 {
    let view = machine.memory.view(queue.spec.agent);
    if AmdQueue::of(queue).has_one_producer(&view) {
        return 0;
    }
    let reserved = view.load(queue.spec.write_pointer).unwrap_or(0);
    let slots = queue.spec.ring_bytes / 64;
    let complete = |index: &u64| {
        let header = view.load::<u16>(queue.spec.ring + index % slots * 64).unwrap_or(1);
        header & 0xff != 1
    };
    let first = rung.wrapping_add(1);
    let ring_end = reserved.min(first.saturating_add(slots));
    (first..ring_end).take_while(complete).last().map_or(0, |last| last + 1)
}

fn watch(machine: &Weak<Machine>, stop: &AtomicBool) {
    thread::sharpen_sleep();
    let mut last_ring = clock::nanoseconds();
    while !stop.load(Ordering::Acquire) {
        let Some(machine) = machine.upgrade() else { return };
        let mut rung = false;
        for queue in machine.queues() {
            rung |= look(&machine, &queue);
        }
        drop(machine);
        let now = clock::nanoseconds();
        if rung {
            last_ring = now;
        }
        let quiet = Duration::from_nanos(now.saturating_sub(last_ring));
        let pause = PACE.iter().find(|(until, _)| quiet < *until).map_or(SLOWEST, |(_, pause)| *pause);
        std::thread::sleep(pause);
    }
}
