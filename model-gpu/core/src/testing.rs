//! A machine with memory at hand, for unit tests.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::faults::FaultPlan;
use crate::memory::{Kind, Request, Rights, View};
use crate::queues::Doorbells;
use crate::{Config, Machine, Queue, QueueKind, QueueSpec, Signal, Target};

/// Where the test memory lies.
pub(crate) const BASE: u64 = 0x7100_0000_0000;
const BYTES: u64 = 4 << 20;

/// A machine with one agent and 4 MiB mapped for it.
#[derive(Debug)]
pub(crate) struct Bench {
    pub(crate) machine: Arc<Machine>,
    next: AtomicU64,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self::with_faults("")
    }

    /// A machine with this fault plan.
    pub(crate) fn with_faults(plan: &str) -> Self {
        let faults = Arc::new(FaultPlan::parse(plan).expect("a sound plan"));
        let config = Config {
            target: Target::default(),
            agents: 1,
            vram_bytes: 64 << 20,
            gpu_ids: vec![2],
            compute_units: 4,
            helpers: 1,
            faults,
            seed: 0,
            caches: false,
        };
        let machine = Machine::new(config).expect("a machine");
        let rights = Rights { writable: true, executable: true, public: false, coherent: false };
        let request = Request { agent: 0, kind: Kind::Vram, address: BASE, bytes: BYTES, user: 0, rights };
        let buffer = machine.memory.allocate(&request).expect("vram");
        machine.memory.map(buffer.id, 1).expect("free");
        Self { machine, next: AtomicU64::new(BASE) }
    }

    pub(crate) fn view(&self) -> View<'_> {
        self.machine.memory.view(0)
    }

    /// Takes zeroed memory, aligned to 256 bytes.
    pub(crate) fn take(&self, bytes: u64) -> u64 {
        let bytes = bytes.next_multiple_of(256);
        let at = self.next.fetch_add(bytes, Ordering::Relaxed);
        assert!(at + bytes <= BASE + BYTES, "test memory is used up");
        at
    }

    /// A signal with this value.
    pub(crate) fn signal(&self, value: i64) -> Signal {
        let at = self.take(64);
        let view = self.view();
        view.store(at, 1u64).expect("mapped");
        view.store(at + 8, value.cast_unsigned()).expect("mapped");
        Signal(at)
    }
}

/// Bytes of the structure that precedes a test queue's ring (`amd_queue_t`).
const AMD_QUEUE: u64 = 256;

/// A queue without a worker: tests step its processor themselves.
#[derive(Debug)]
pub(crate) struct TestQueue {
    pub(crate) queue: Queue,
    /// Device address of its `amd_queue_t`.
    pub(crate) amd: u64,
    /// Device address of its context save area.
    pub(crate) save_area: u64,
}

impl Bench {
    /// A queue with a ring of `ring_bytes` bytes.
    pub(crate) fn queue(&self, kind: QueueKind, ring_bytes: u64) -> TestQueue {
        let amd = self.take(AMD_QUEUE);
        let save_area = self.take(64);
        let spec = QueueSpec {
            agent: 0,
            kind,
            ring: self.take(ring_bytes),
            ring_bytes,
            write_pointer: amd + 56,
            read_pointer: amd + 128,
            save_area,
            save_area_bytes: 64,
            percentage: 100,
            priority: 7,
            engine: 0,
            xgmi: false,
        };
        let view = self.view();
        for slot in (0..ring_bytes).step_by(64) {
            view.store(spec.ring + slot, 1u16).expect("mapped");
        }
        let inactive = self.signal(0);
        view.store(amd + 192, inactive.0).expect("mapped");
        drop(view);
        let queue = Queue::new(&self.machine, spec, &Doorbells::new(1)).expect("sound");
        TestQueue { queue, amd, save_area }
    }
}

/// Does `step` on another thread while this one holds the queue as a suspend does, and takes its right to start away before
/// it lets go. What respects the lock has not begun by then; anything else has had plenty of time to.
pub(crate) fn hold_meanwhile<T: Send>(queue: &Queue, step: impl FnOnce() -> T + Send) -> T {
    let held = queue.starting();
    std::thread::scope(|scope| {
        let stepping = scope.spawn(step);
        for _ in 0..100_000 {
            if stepping.is_finished() {
                break;
            }
            std::thread::yield_now();
        }
        queue.stall();
        drop(held);
        stepping.join().expect("no panic")
    })
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.machine.shut_down();
    }
}
