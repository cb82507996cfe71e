//! A program in miniature: one queue, its signals, and kernels given as machine code.

#![allow(dead_code, reason = "each test file uses its part")]

use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model_gpu_core::memory::{Kind, Request, Rights};
use model_gpu_core::shared::Span;
use model_gpu_core::{Config, Machine, QueueKind, QueueSpec, Target};

/// Where the program's memory lies.
pub const BASE: u64 = 0x7200_0000_0000;
const SLOTS: u64 = 64;

/// A program that drives one queue.
pub struct Program {
    pub machine: Arc<Machine>,
    pub id: u32,
    pub doorbell: u64,
    ring: u64,
    amd: u64,
    signals: u64,
}

impl Program {
    pub fn start() -> Self {
        Self::with_seed(0)
    }

    pub fn with_seed(seed: u64) -> Self {
        Self::with(seed, false)
    }

    /// A machine whose agent has a write-back cache.
    pub fn with_caches() -> Self {
        Self::with(0, true)
    }

    fn with(seed: u64, caches: bool) -> Self {
        let config = Config {
            target: Target::default(),
            agents: 1,
            vram_bytes: 64 << 20,
            gpu_ids: vec![9],
            compute_units: 4,
            helpers: 1,
            faults: Arc::default(),
            seed,
            caches,
        };
        let machine = Machine::new(config).expect("a machine");
        let rights = Rights { writable: true, executable: true, public: false, coherent: false };
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
            save_area_bytes: 0,
            percentage: 100,
            priority: 7,
            engine: 0,
            xgmi: false,
        };
        let (id, doorbell) = machine.create_queue(spec).expect("sound");
        Self { machine, id, doorbell, ring, amd, signals }
    }

    pub fn signal(&self, n: u64) -> u64 {
        self.signals + 64 * n
    }

    /// Publishes a barrier that waits for `dependency` and completes signal `index`.
    pub fn barrier(&self, index: u64, dependency: u64) {
        let view = self.machine.memory.view(0);
        let at = self.ring + 64 * (index % SLOTS);
        view.store(at + 8, dependency).expect("mapped");
        view.store(at + 56, self.signal(index)).expect("mapped");
        view.store(self.amd + 56, index + 1).expect("mapped");
        view.store(at, 3u16).expect("mapped");
    }

    /// A barrier that waits for nothing, with a release fence.
    pub fn barrier_releasing(&self, index: u64, scope: Scope) {
        self.barrier(index, 0);
        let at = self.ring + 64 * (index % SLOTS);
        self.machine.memory.view(0).store(at, 3 | scope.release()).expect("mapped");
    }

    /// A queue of the copy engine.
    pub fn copy_engine(&self) -> CopyEngine {
        let ring = BASE + 0x30000;
        let spec = QueueSpec {
            kind: QueueKind::Sdma,
            ring,
            ring_bytes: 4096,
            write_pointer: ring + 0x1000,
            read_pointer: ring + 0x1008,
            ..self.machine.queue(self.id).expect("exists").spec
        };
        let (_, doorbell) = self.machine.create_queue(spec).expect("sound");
        CopyEngine { ring, doorbell, written: Cell::new(0) }
    }

    pub fn ring(&self, index: u64) {
        let host = self.machine.memory.backing().host(self.doorbell);
        // SAFETY: the doorbell page is mapped as long as the machine lives.
        unsafe { Span::new(host, 8) }.store(0, index);
    }

    pub fn value(&self, n: u64) -> u64 {
        self.machine.memory.view(0).load(self.signal(n) + 8).expect("mapped")
    }

    pub fn await_zero(&self, n: u64) {
        let start = Instant::now();
        while self.value(n) != 0 {
            assert!(start.elapsed() < Duration::from_secs(60), "signal {n} never completed");
            std::thread::yield_now();
        }
    }
}

/// A kernel's code and the descriptor fields that the tests change.
#[derive(Clone, Copy)]
pub struct Kernel<'k> {
    pub code: &'k [u32],
    pub group_bytes: u32,
}

impl Program {
    /// Loads a kernel that wants its argument pointer in s[0:1] and its work-group number in s2; answers its object.
    pub fn load(&self, kernel: &Kernel<'_>) -> u64 {
        self.load_at(0, kernel)
    }

    /// The same, for one of several kernels.
    pub fn load_at(&self, place: u64, kernel: &Kernel<'_>) -> u64 {
        let object = BASE + 0x40000 + 0x1000 * place;
        let code = object + 0x100;
        let view = self.machine.memory.view(0);
        view.store(object, kernel.group_bytes).expect("mapped");
        view.store(object + 16, 0x100u64).expect("mapped");
        // Eight vector registers; IEEE mode, DX10 clamp, denormals kept.
        view.store(object + 44, 1u32).expect("mapped");
        view.store(object + 48, 0x00af_0000u32).expect("mapped");
        view.store(object + 52, 2u32 << 1 | 1 << 7).expect("mapped");
        view.store(object + 56, 8u32).expect("mapped");
        for (i, word) in (0..).zip(kernel.code) {
            view.store(code + 4 * i, *word).expect("mapped");
        }
        object
    }

    /// Dispatches `items` work-items in groups of `group`, with one 64-bit argument; completes signal `index`.
    pub fn dispatch(&self, index: u64, object: u64, items: u32, group: u16, argument: u64) {
        self.publish(index, object, items, group, argument);
        self.ring(index);
    }

    /// The same without a ring.
    pub fn publish(&self, index: u64, object: u64, items: u32, group: u16, argument: u64) {
        self.publish_releasing(index, object, items, group, argument, Scope::None);
    }

    /// The same, with a release fence.
    pub fn publish_releasing(
        &self,
        index: u64,
        object: u64,
        items: u32,
        group: u16,
        argument: u64,
        scope: Scope,
    ) {
        let view = self.machine.memory.view(0);
        let (at, arguments) = (self.ring + 64 * (index % SLOTS), BASE + 0x50000 + 64 * index);
        view.store(arguments, argument).expect("mapped");
        view.store(at + 2, 1u16).expect("mapped");
        for (i, size) in (0..).zip([group, 1, 1]) {
            view.store(at + 4 + 2 * i, size).expect("mapped");
        }
        for (i, size) in (0..).zip([items, 1, 1, 0, 0]) {
            view.store(at + 12 + 4 * i, size).expect("mapped");
        }
        view.store(at + 32, object).expect("mapped");
        view.store(at + 40, arguments).expect("mapped");
        view.store(at + 56, self.signal(index)).expect("mapped");
        view.store(self.amd + 56, index + 1).expect("mapped");
        view.store(at, 2 | scope.release()).expect("mapped");
    }

    /// Allocates and maps memory at `address`; answers its handle.
    pub fn memory(&self, address: u64, bytes: u64) -> u64 {
        let rights = Rights { writable: true, executable: false, public: false, coherent: false };
        let request = Request { agent: 0, kind: Kind::Vram, address, bytes, user: 0, rights };
        let buffer = self.machine.memory.allocate(&request).expect("memory");
        self.machine.memory.map(buffer.id, 1).expect("free");
        buffer.id
    }
}

/// The scope of a packet's release fence.
#[derive(Clone, Copy, Debug)]
pub enum Scope {
    None,
    Agent,
    System,
}

impl Scope {
    /// Bits 12:11 of a packet's header.
    fn release(self) -> u16 {
        (self as u16) << 11
    }
}

/// A copy engine that copies single words.
pub struct CopyEngine {
    ring: u64,
    doorbell: u64,
    written: Cell<u64>,
}

impl CopyEngine {
    /// The word at `from`, copied to where the test can read it. At most a hundred of them fit in the ring.
    pub fn copy(&self, program: &Program, from: u64) -> u32 {
        let (to, fence) = (self.ring + 0x2000, self.ring + 0x2008);
        let halves = |address: u64| [address & 0xffff_ffff, address >> 32];
        let done = self.written.get() + 1;
        // COPY_LINEAR of 4 bytes, FENCE.
        let packets = [&[1, 3, 0], &halves(from)[..], &halves(to), &[5], &halves(fence), &[done]].concat();
        let view = program.machine.memory.view(0);
        let start = self.written.get();
        for (n, word) in (0..).zip(&packets) {
            let word = u32::try_from(*word).expect("32 bits");
            view.store(self.ring + start + 4 * n, word).expect("mapped");
        }
        drop(view);
        self.written.set(start + 4 * packets.len() as u64);
        let host = program.machine.memory.backing().host(self.doorbell);
        // SAFETY: the doorbell page is mapped as long as the machine lives.
        unsafe { Span::new(host, 8) }.store(0, self.written.get());
        let load = |at| program.machine.memory.view(0).load::<u32>(at).expect("mapped");
        let begin = Instant::now();
        while u64::from(load(fence)) != done {
            assert!(begin.elapsed() < Duration::from_secs(60), "the copy never ended");
            std::thread::yield_now();
        }
        load(to)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.machine.shut_down();
    }
}
