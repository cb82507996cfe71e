//! A hardware queue: a page with its object, a ring, a doorbell, and a thread that takes packets in order.

use super::{Event, Fake, State, value, word};
use crate::handles::{HardwareQueue, Signal};
use hsa_sys::{amd_queue_v2_t, amd_signal_t, hsa_queue_t};
use std::mem::offset_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU64, Ordering};

/// Offset of the kernel argument pointer in a dispatch packet's words.
pub(super) const KERNEL_ARGUMENTS: usize = 5;

const WRITE: u64 = offset_of!(amd_queue_v2_t, write_dispatch_id) as u64;
const READ: u64 = offset_of!(amd_queue_v2_t, read_dispatch_id) as u64;

/// A hardware queue of the fake.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealQueue {
    pub(crate) object: u64,
    pub(crate) id: u64,
}

impl RealQueue {
    pub(crate) fn handle(self) -> HardwareQueue {
        HardwareQueue(self.object)
    }

    pub(super) fn write_index<'a>(object: u64) -> &'a AtomicU64 {
        word(object + WRITE)
    }

    pub(super) fn read_index<'a>(object: u64) -> &'a AtomicU64 {
        word(object + READ)
    }
}

impl Fake {
    /// Creates a hardware queue with `slots` packets.
    pub(crate) fn create_queue(self: &Arc<Self>, slots: u64, id: u64) -> RealQueue {
        let (object, ring) = {
            let mut state = self.state.lock();
            (state.machine.allocate_host(4096), state.machine.allocate_host(slots * 64))
        };
        let doorbell = self.new_signal(-1);
        word(object + offset_of!(hsa_queue_t, base_address) as u64).store(ring, Ordering::SeqCst);
        word(object + offset_of!(hsa_queue_t, doorbell_signal) as u64).store(doorbell.0, Ordering::SeqCst);
        word(object + offset_of!(hsa_queue_t, size) as u64).store(slots, Ordering::SeqCst);
        word(object + offset_of!(hsa_queue_t, id) as u64).store(id, Ordering::SeqCst);
        for slot in 0..slots {
            header(ring + slot * 64).store(1, Ordering::SeqCst);
        }
        let queue = RealQueue { object, id };
        let processor = Processor { fake: Arc::clone(self), queue, ring, slots, doorbell };
        std::thread::spawn(move || processor.run());
        queue
    }
}

fn header<'a>(slot: u64) -> &'a AtomicU16 {
    // SAFETY: a slot of a ring of the fake, which is never freed.
    unsafe { AtomicU16::from_ptr(std::ptr::with_exposed_provenance_mut(slot as usize)) }
}

struct Processor {
    fake: Arc<Fake>,
    queue: RealQueue,
    ring: u64,
    slots: u64,
    doorbell: Signal,
}

impl Processor {
    fn run(self) {
        let mut next = 0;
        loop {
            let mut state = self.fake.state.lock();
            // Packets up to the rung doorbell may start.
            while value(self.doorbell).load(Ordering::SeqCst) < i64::try_from(next).unwrap() {
                if self.is_over(&state) {
                    return;
                }
                self.fake.changed.wait(&mut state);
            }
            if self.is_over(&state) {
                return;
            }
            if RealQueue::write_index(self.queue.object).load(Ordering::SeqCst) <= next {
                state.violations.push(format!("doorbell beyond the write index, at packet {next}"));
                return;
            }
            let slot = self.ring + (next % self.slots) * 64;
            let words: [u64; 8] = std::array::from_fn(|at| word(slot + at as u64 * 8).load(Ordering::SeqCst));
            if words[0] & 0xff == 1 {
                state.violations.push(format!("packet {next} was published before it was written"));
                return;
            }
            header(slot).store(1, Ordering::SeqCst);
            next += 1;
            RealQueue::read_index(self.queue.object).store(next, Ordering::SeqCst);
            self.fake.changed.notify_all();
            drop(state);
            if !self.execute(&words) {
                return;
            }
        }
    }

    fn is_over(&self, state: &State) -> bool {
        state.stop || !state.machine.host.contains_key(&self.queue.object)
    }

    /// Executes one packet to its end. False: the queue is gone.
    fn execute(&self, words: &[u64; 8]) -> bool {
        let mut state = self.fake.state.lock();
        let packet_header = words[0] as u16;
        let start = state.clock;
        match packet_header & 0xff {
            2 => {
                let object = words[4];
                state.machine.running.insert(object);
                self.fake.changed.notify_all();
                while state.held.contains(&object) {
                    if self.is_over(&state) {
                        return false;
                    }
                    self.fake.changed.wait(&mut state);
                }
                state.machine.running.remove(&object);
                match state.kernels.get(&object).cloned() {
                    Some(body) => body(&mut state.machine, words),
                    None => state.violations.push(format!("no kernel at {object:#x}")),
                }
                let queue = self.queue.id;
                state.events.push(Event::Dispatch { queue, kernel: object, header: packet_header });
            }
            0 | 3 | 5 => {
                while !is_met(words) {
                    if self.is_over(&state) {
                        return false;
                    }
                    self.fake.changed.wait_for(&mut state, std::time::Duration::from_millis(1));
                }
                state.events.push(Event::Barrier { queue: self.queue.id });
            }
            other => state.violations.push(format!("packet of type {other}")),
        }
        state.clock += 100;
        if words[7] != 0 {
            self.complete(&state, Signal(words[7]), start);
        }
        drop(state);
        self.fake.changed.notify_all();
        true
    }

    fn complete(&self, state: &State, signal: Signal, start: u64) {
        if state.profiled.contains(&self.queue.object) {
            word(signal.0 + offset_of!(amd_signal_t, start_ts) as u64).store(start, Ordering::SeqCst);
            word(signal.0 + offset_of!(amd_signal_t, end_ts) as u64).store(state.clock, Ordering::SeqCst);
        }
        value(signal).fetch_sub(1, Ordering::SeqCst);
    }
}

/// Whether a barrier's dependencies are met.
fn is_met(words: &[u64; 8]) -> bool {
    let now = |signal: u64| value(Signal(signal)).load(Ordering::SeqCst);
    let deps: Vec<u64> = words[1..6].iter().copied().filter(|&dep| dep != 0).collect();
    match words[0] & 0xff {
        3 => deps.iter().all(|&dep| now(dep) == 0),
        5 => deps.is_empty() || deps.iter().any(|&dep| now(dep) == 0),
        // Format 2 of the vendor-specific packets is AMD's barrier-value; condition 0 is "equal", the only one tests use.
        _ => {
            assert_eq!(
                (words[0] >> 16 & 0xff, words[4] & 0xffff_ffff),
                (2, 0),
                "a packet that tests do not use"
            );
            words[1] == 0 || now(words[1]) & words[3].cast_signed() == words[2].cast_signed()
        }
    }
}
