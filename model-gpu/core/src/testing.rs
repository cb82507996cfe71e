//! A machine with memory at hand, for unit tests.

use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use crate::memory::{Kind, Request, Rights, View};
use crate::{Config, Machine, Signal};

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
        let config =
            Config { agents: 1, vram_bytes: 64 << 20, gpu_ids: vec![2], compute_units: 4, helpers: 1 };
        let machine = Machine::new(config).expect("a machine");
        let rights = Rights { writable: true, executable: true, public: false };
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

impl Drop for Bench {
    fn drop(&mut self) {
        self.machine.shut_down();
    }
}
