//! What the device did, counted: printed at exit on request.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

use parking_lot::Mutex;

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident => $label:literal,)*) => {
        /// Event counts since the device was made.
        #[derive(Debug, Default)]
        pub struct Counters {
            $($(#[$doc])* pub $name: Count,)*
            engines: Mutex<BTreeMap<(usize, u32), EngineCounters>>,
        }

        impl fmt::Display for Counters {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                $(if self.$name.get() != 0 { writeln!(f, "model-gpu: {} {}", $label, self.$name.get())?; })*
                for ((agent, engine), EngineCounters { packets, copied, filled }) in &*self.engines.lock() {
                    writeln!(
                        f,
                        "model-gpu: agent {agent} sdma-engine {engine}: packets {packets}, bytes copied {copied}, filled {filled}"
                    )?;
                }
                Ok(())
            }
        }
    };
}

counters! {
    /// Kernel dispatch packets completed.
    dispatches => "dispatches",
    /// Work-groups executed.
    workgroups => "workgroups",
    /// Instructions executed, by wave.
    instructions => "instructions",
    /// Barrier-AND packets completed.
    barrier_and => "packets barrier-and",
    /// Barrier-OR packets completed.
    barrier_or => "packets barrier-or",
    /// Barrier-value packets completed.
    barrier_value => "packets barrier-value",
    /// Vendor packets with PM4 commands completed.
    pm4 => "packets pm4-indirect-buffer",
    /// SDMA packets executed, of every kind.
    sdma_packets => "packets sdma",
    /// Bytes that SDMA copied.
    sdma_copied => "bytes sdma-copy",
    /// Bytes that SDMA filled.
    sdma_filled => "bytes sdma-fill",
    /// Memory faults raised.
    faults => "faults",
    /// Queue errors raised.
    queue_errors => "queue-errors",
}

/// What one copy engine did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineCounters {
    /// Packets executed, of every kind.
    pub packets: u64,
    /// Bytes copied.
    pub copied: u64,
    /// Bytes filled.
    pub filled: u64,
}

impl Counters {
    /// Changes the counts of a copy engine.
    pub(crate) fn engine(&self, agent: usize, engine: u32, change: impl FnOnce(&mut EngineCounters)) {
        change(self.engines.lock().entry((agent, engine)).or_default());
    }
}

/// One count.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds `n`.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// The count.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_is_listed() {
        let counters = Counters::default();
        counters.dispatches.add(2);
        counters.sdma_copied.add(4096);
        counters.engine(0, 1, |engine| engine.copied += 4096);
        assert_eq!(
            counters.to_string(),
            "model-gpu: dispatches 2\nmodel-gpu: bytes sdma-copy 4096\n\
             model-gpu: agent 0 sdma-engine 1: packets 0, bytes copied 4096, filled 0\n"
        );
    }
}
