//! Queues with their own threads, driven as a program drives them: by stores to rings and doorbells.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model_gpu_core::memory::{Kind, Request, Rights};
use model_gpu_core::shared::Span;
use model_gpu_core::{Config, Machine, QueueKind, QueueSpec};

const BASE: u64 = 0x7200_0000_0000;
const SLOTS: u64 = 64;

struct Program {
    machine: Arc<Machine>,
    id: u32,
    doorbell: u64,
    ring: u64,
    amd: u64,
    signals: u64,
}

impl Program {
    fn start() -> Self {
        let config =
            Config { agents: 1, vram_bytes: 64 << 20, gpu_ids: vec![9], compute_units: 4, helpers: 1 };
        let machine = Machine::new(config).expect("a machine");
        let rights = Rights { writable: true, executable: true, public: false };
        let request = Request { agent: 0, kind: Kind::Gtt, address: BASE, bytes: 1 << 20, user: 0, rights };
        let buffer = machine.memory.allocate(&request).expect("memory");
        machine.memory.map(buffer.id, 1).expect("free");
        let (ring, amd, signals) = (BASE, BASE + 0x10000, BASE + 0x20000);
        let view = machine.memory.view(0);
        for slot in 0..SLOTS {
            view.store(ring + 64 * slot, 1u16).expect("mapped");
            view.store(signals + 64 * slot + 8, 1u64).expect("mapped");
        }
        drop(view);
        let spec = QueueSpec {
            agent: 0,
            kind: QueueKind::Aql,
            ring,
            ring_bytes: 64 * SLOTS,
            write_pointer: amd + 56,
            read_pointer: amd + 128,
            save_area: 0,
            percentage: 100,
            priority: 7,
        };
        let (id, doorbell) = machine.create_queue(spec).expect("sound");
        Self { machine, id, doorbell, ring, amd, signals }
    }

    fn signal(&self, n: u64) -> u64 {
        self.signals + 64 * n
    }

    /// Publishes a barrier that waits for `dependency` and completes signal `index`.
    fn barrier(&self, index: u64, dependency: u64) {
        let view = self.machine.memory.view(0);
        let at = self.ring + 64 * (index % SLOTS);
        view.store(at + 8, dependency).expect("mapped");
        view.store(at + 56, self.signal(index)).expect("mapped");
        view.store(self.amd + 56, index + 1).expect("mapped");
        view.store(at, 3u16).expect("mapped");
    }

    fn ring(&self, index: u64) {
        let host = self.machine.memory.backing().host(self.doorbell);
        // SAFETY: the doorbell page is mapped as long as the machine lives.
        unsafe { Span::new(host, 8) }.store(0, index);
    }

    fn value(&self, n: u64) -> u64 {
        self.machine.memory.view(0).load(self.signal(n) + 8).expect("mapped")
    }

    fn await_zero(&self, n: u64) {
        let start = Instant::now();
        while self.value(n) != 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "signal {n} never completed");
            std::thread::yield_now();
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.machine.shut_down();
    }
}

#[test]
fn a_rung_doorbell_starts_the_packets_before_it() {
    let program = Program::start();
    for index in 0..10 {
        program.barrier(index, 0);
    }
    program.ring(9);
    program.await_zero(9);
    assert!((0..10).all(|n| program.value(n) == 0));
}

#[test]
fn a_barrier_waits_for_a_store_of_the_program() {
    let program = Program::start();
    let dependency = program.signal(60);
    program.barrier(0, dependency);
    program.ring(0);
    program.machine.memory.view(0).store(dependency + 8, 0u64).expect("mapped");
    program.await_zero(0);
}

#[test]
fn a_queue_that_waits_can_be_destroyed() {
    let program = Program::start();
    program.barrier(0, program.signal(60));
    program.barrier(1, 0);
    program.ring(1);
    program.machine.destroy_queue(program.id).expect("exists");
    assert_eq!((program.value(0), program.value(1)), (1, 1));
    assert!(program.machine.queue(program.id).is_none());
}

#[test]
fn doorbells_of_destroyed_queues_are_used_again() {
    let program = Program::start();
    let spec = program.machine.queue(program.id).expect("exists").spec;
    program.machine.destroy_queue(program.id).expect("exists");
    let (id, doorbell) = program.machine.create_queue(spec).expect("sound");
    assert_ne!(id, program.id);
    assert_eq!(doorbell, program.doorbell);
}

#[test]
fn malformed_rings_are_refused() {
    let program = Program::start();
    let spec = program.machine.queue(program.id).expect("exists").spec;
    for ring_bytes in [0, 32, 96] {
        assert!(program.machine.create_queue(QueueSpec { ring_bytes, ..spec }).is_err());
    }
    assert!(program.machine.create_queue(QueueSpec { agent: 1, ..spec }).is_err());
}
