//! A queue: what the program asked for, and how far its doorbell was rung.

use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;

use model_gpu_isa::Gws;
use parking_lot::{Condvar, Mutex, MutexGuard};

use super::doorbells::Doorbells;
use crate::{Machine, Refusal, clock, say};

/// What kind of packets a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Architected packets: dispatches and barriers.
    Aql,
    /// Copy engine packets.
    Sdma,
}

/// What the program asks of a queue.
#[derive(Clone, Copy, Debug)]
pub struct Spec {
    /// The agent that executes it.
    pub agent: usize,
    /// Its kind.
    pub kind: Kind,
    /// Device address of the ring.
    pub ring: u64,
    /// Size of the ring in bytes, a power of two.
    pub ring_bytes: u64,
    /// Device address of the write index (AQL: packets, SDMA: bytes).
    pub write_pointer: u64,
    /// Device address of the read index.
    pub read_pointer: u64,
    /// Device address of the context save area, whose header says where errors go; zero for none.
    pub save_area: u64,
    /// Size of the context save area in bytes.
    pub save_area_bytes: u32,
    /// Share of the device: zero suspends the queue.
    pub percentage: u32,
    /// The driver's priority, 0 to 15.
    pub priority: u32,
    /// The copy engine that executes it.
    pub engine: u32,
    /// It was asked for as a copy engine's queue over XGMI, of which there is nothing to tell but that.
    pub xgmi: bool,
}

impl Spec {
    /// Bytes of a packet, or of the unit in which packets come.
    fn packet(&self) -> u64 {
        if self.kind == Kind::Aql { 64 } else { 4 }
    }

    /// What is wrong with it, for a machine with so many agents.
    fn fault(&self, agents: usize) -> Option<String> {
        // The hardware has the ring's address without its low eight bits.
        let alignment = if self.kind == Kind::Aql { 256 } else { 4 };
        if !self.ring_bytes.is_power_of_two() || self.ring_bytes < self.packet() {
            Some(format!("its size is not a power of two of at least {}", self.packet()))
        } else if !self.ring.is_multiple_of(alignment) {
            Some(format!("its address is not a multiple of {alignment}"))
        } else if self.ring.checked_add(self.ring_bytes).is_none() {
            Some("it goes beyond the last address".to_owned())
        } else if self.agent >= agents {
            Some(format!("there is no agent {}", self.agent))
        } else {
            None
        }
    }
}

/// How long packets that were published before a ring wait for a ring of their own.
const COALESCED_RING: Duration = Duration::from_millis(1);

/// Packets that may start.
#[derive(Clone, Copy, Debug)]
struct Rung {
    /// Every packet (AQL) or byte (SDMA) before this one was rung.
    limit: u64,
    /// Packets before this one were published when the doorbell was last seen, and when that was.
    published: u64,
    at: u64,
}

/// A queue. The worker thread executes it; everyone else only rings, suspends, nudges or stops it.
#[derive(Debug)]
pub struct Queue {
    /// The queue's number in this process.
    pub id: u32,
    /// Its doorbell in the agent's page.
    pub slot: u32,
    /// What was asked for; ring and share may be changed later, see `active`.
    pub spec: Spec,
    /// Bits of the compute units that it may use; empty for all.
    pub cu_mask: Mutex<Vec<u32>>,
    /// The driver's priority, as last set.
    pub priority: AtomicU32,
    /// Global wave sync of its dispatches.
    pub gws: Gws,
    active: AtomicBool,
    halted: AtomicBool,
    stopped: AtomicBool,
    failed: AtomicBool,
    stalled: AtomicBool,
    wants_to_start: AtomicBool,
    rung: Mutex<Rung>,
    start: Mutex<()>,
    nudges: Mutex<u64>,
    bell: Condvar,
}

impl Queue {
    pub(crate) fn new(machine: &Machine, spec: Spec, doorbells: &Doorbells) -> Result<Self, Refusal> {
        if let Some(wrong) = spec.fault(machine.config.agents) {
            say!("no queue with a ring of {:#x} bytes at {:#x}: {wrong}: EINVAL", spec.ring_bytes, spec.ring);
            return Err(Refusal::Invalid);
        }
        let (id, slot) = doorbells.take(machine, spec.agent)?;
        Ok(Self {
            id,
            slot,
            spec,
            cu_mask: Mutex::default(),
            priority: AtomicU32::new(spec.priority),
            gws: Gws::new(),
            active: AtomicBool::new(spec.percentage > 0),
            halted: AtomicBool::new(false),
            stopped: AtomicBool::new(false),
            failed: AtomicBool::new(false),
            stalled: AtomicBool::new(false),
            wants_to_start: AtomicBool::new(false),
            rung: Mutex::new(Rung { limit: 0, published: 0, at: 0 }),
            start: Mutex::new(()),
            nudges: Mutex::new(0),
            bell: Condvar::new(),
        })
    }

    /// Index (AQL) or byte offset (SDMA) before which packets may start.
    ///
    /// Several producers may ring out of order and between two looks at the doorbell, so that a lower value hides a
    /// higher one. On a queue for several producers, packets that were complete when the doorbell was seen therefore count
    /// as rung a millisecond later; a single producer's rings only rise, and there nothing but the value counts.
    #[must_use]
    pub fn limit(&self) -> u64 {
        let mut rung = self.rung.lock();
        if rung.published > rung.limit {
            let age = Duration::from_nanos(clock::nanoseconds().saturating_sub(rung.at));
            if age > COALESCED_RING {
                rung.limit = rung.published;
            }
        }
        rung.limit
    }

    /// Whether packets were published that may count as rung soon.
    #[must_use]
    pub(super) fn may_owe_a_ring(&self) -> bool {
        let rung = self.rung.lock();
        rung.published > rung.limit
    }

    /// The doorbell was written with `value`; `published` says up to where packets of other producers were complete then,
    /// zero if the queue has none.
    pub(super) fn ring(&self, value: u64, published: u64) {
        {
            let mut rung = self.rung.lock();
            let limit = if self.spec.kind == Kind::Aql { value.wrapping_add(1) } else { value };
            rung.limit = rung.limit.max(limit);
            rung.published = published;
            rung.at = clock::nanoseconds();
        }
        self.nudge();
    }

    /// Held by the worker while it decides that a packet starts, so that a suspended queue starts none. Only dispatches and
    /// large copies and fills go on without it.
    pub(crate) fn starting(&self) -> MutexGuard<'_, ()> {
        self.start.lock()
    }

    /// Changes the queue's share and priority; a share of zero suspends it: once this returns, no packet starts.
    pub fn update(&self, percentage: u32, priority: u32) {
        let _start = self.start.lock();
        self.priority.store(priority, Ordering::Relaxed);
        self.active.store(percentage > 0, Ordering::Release);
        self.nudge();
    }

    /// Holds the queue for a debugger, or lets it go: once this returns with `on`, no packet starts. What runs goes on to its
    /// end.
    pub fn halt(&self, on: bool) {
        let _start = self.start.lock();
        self.halted.store(on, Ordering::Release);
        self.nudge();
    }

    /// Which of the agent's compute units the queue may use; all if its mask leaves none.
    #[must_use]
    pub(crate) fn enabled_units(&self, all: u32) -> Vec<u32> {
        let mask = self.cu_mask.lock();
        let enabled =
            |unit: &u32| mask.get((unit / 32) as usize).is_some_and(|word| word >> (unit % 32) & 1 != 0);
        let units: Vec<_> = (0..all).filter(enabled).collect();
        if units.is_empty() { (0..all).collect() } else { units }
    }

    /// Whether the doorbell was rung for packet `next`.
    pub(super) fn has_rung_packets_from(&self, next: u64) -> bool {
        next < self.rung.lock().limit
    }

    /// Whether work is there that only waits for its turn.
    #[must_use]
    pub(crate) fn wants_to_start(&self) -> bool {
        self.wants_to_start.load(Ordering::Acquire)
    }

    /// Whether this queue's work shall start before that of `other`: it waits for its turn, on the same agent, and is more
    /// urgent.
    #[must_use]
    pub(crate) fn goes_before(&self, other: &Self) -> bool {
        let priority = |queue: &Self| queue.priority.load(Ordering::Relaxed);
        self.spec.agent == other.spec.agent
            && priority(self) > priority(other)
            && self.may_start()
            && self.wants_to_start()
    }

    /// Notes that the next packet could start, or that none can.
    pub(super) fn set_wants_to_start(&self, wants: bool) {
        self.wants_to_start.store(wants, Ordering::Release);
    }

    /// Whether packets may start at all.
    #[must_use]
    pub fn may_start(&self) -> bool {
        self.active.load(Ordering::Acquire)
            && !self.halted.load(Ordering::Acquire)
            && !self.failed.load(Ordering::Acquire)
            && !self.stalled.load(Ordering::Acquire)
    }

    /// Whether running work shall end early: the queue goes away, is suspended or has failed.
    #[must_use]
    pub fn shall_stop(&self) -> bool {
        self.is_stopped() || self.failed.load(Ordering::Acquire)
    }

    /// Whether the queue goes away.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Ends the queue's work for good.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
        self.nudge();
    }

    /// Marks the queue as broken: it executes nothing any more.
    pub fn fail(&self) {
        self.failed.store(true, Ordering::Release);
        self.nudge();
    }

    /// Hangs the queue: it executes nothing any more and tells nobody.
    pub(crate) fn stall(&self) {
        self.stalled.store(true, Ordering::Release);
    }

    /// Wakes the worker if it sleeps.
    pub fn nudge(&self) {
        *self.nudges.lock() += 1;
        self.bell.notify_all();
    }

    /// How often the worker was woken so far, for [`Self::sleep`].
    pub(super) fn nudges(&self) -> u64 {
        *self.nudges.lock()
    }

    /// Sleeps until the next nudge after `seen`, or for at most `time`.
    pub(super) fn sleep(&self, seen: u64, time: Option<Duration>) {
        let mut nudges = self.nudges.lock();
        if *nudges != seen {
            return;
        }
        match time {
            Some(time) => {
                self.bell.wait_for(&mut nudges, time);
            }
            None => self.bell.wait(&mut nudges),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Spec;
    use crate::QueueKind;
    use crate::testing::Bench;

    #[test]
    fn work_of_a_more_urgent_queue_goes_first_and_not_the_other_way() {
        let bench = Bench::new();
        let (low, high) = (bench.queue(QueueKind::Aql, 4096).queue, bench.queue(QueueKind::Aql, 4096).queue);
        high.update(100, 9);
        assert!(!high.goes_before(&low), "it has no work");
        high.set_wants_to_start(true);
        low.set_wants_to_start(true);
        assert!(high.goes_before(&low));
        assert!(!low.goes_before(&high));
        high.update(0, 9);
        assert!(!high.goes_before(&low), "it is suspended");
    }

    #[test]
    fn a_halted_queue_starts_nothing_whatever_its_share() {
        let queue = Bench::new().queue(QueueKind::Aql, 4096).queue;
        queue.halt(true);
        queue.update(100, 7);
        assert!(!queue.may_start());
        queue.halt(false);
        assert!(queue.may_start());
        queue.update(0, 7);
        assert!(!queue.may_start(), "it is suspended still");
    }

    #[test]
    fn a_ring_that_the_hardware_cannot_have_is_refused_and_named() {
        let bench = Bench::new();
        let spec = bench.queue(QueueKind::Aql, 4096).queue.spec;
        type Change = fn(&mut Spec);
        let with = |change: Change| {
            let mut spec = spec;
            change(&mut spec);
            let made = bench.machine.create_queue(spec);
            (made.is_err(), spec.fault(1).unwrap_or_default())
        };
        assert_eq!(with(|_| {}), (false, String::new()));
        let cases: [(Change, &str); 6] = [
            (|s| s.ring += 64, "a multiple of 256"),
            (|s| s.ring += 1, "a multiple of 256"),
            (|s| s.ring_bytes = 4160, "power of two"),
            (|s| s.ring_bytes = 32, "at least 64"),
            (|s| s.ring = u64::MAX - 0xff, "the last address"),
            (|s| s.agent = 1, "agent 1"),
        ];
        for (change, wrong) in cases {
            let (refused, said) = with(change);
            assert!(refused && said.contains(wrong), "{said} is not about {wrong}");
        }
    }

    #[test]
    fn a_mask_names_the_compute_units() {
        let queue = Bench::new().queue(QueueKind::Aql, 4096).queue;
        assert_eq!(queue.enabled_units(4), [0, 1, 2, 3]);
        *queue.cu_mask.lock() = vec![0b1010];
        assert_eq!(queue.enabled_units(4), [1, 3]);
        *queue.cu_mask.lock() = vec![0];
        assert_eq!(queue.enabled_units(2), [0, 1], "a queue always has some");
    }
}
