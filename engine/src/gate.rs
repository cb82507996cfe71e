//! The gate of one agent: while a window is open, only the window's own packets reach the agent.
//!
//! The gate is one word that every forwarder reads under its own queue's lock. Closing it is a store followed by taking each
//! queue's lock once: a forwarder that holds the lock is finished with it then, and each later one sees the gate closed. The
//! forwarding of packets thus pays one load, and no application thread ever waits here.

use crate::sync::{AtomicU64, Ordering};

const OPEN: u64 = 0;
const DRAINING: u64 = 1;
const CLOSED: u64 = 2;

/// What passes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Everything.
    Open,
    /// Barriers only: they write no memory, and a drain may need the signals that they complete.
    Draining,
    /// Nothing.
    Closed,
}

/// The gate of one agent.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    phase: AtomicU64,
}

impl Gate {
    /// A copy says that it is there and then looks here, while a window narrows the gate and then looks for copies: one of
    /// the two must see the other, hence the order.
    pub(crate) fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            OPEN => Phase::Open,
            DRAINING => Phase::Draining,
            _ => Phase::Closed,
        }
    }

    /// Changes the phase. When narrowing, the caller then takes the lock of every queue of the agent once.
    pub(crate) fn set(&self, phase: Phase) {
        let word = match phase {
            Phase::Open => OPEN,
            Phase::Draining => DRAINING,
            Phase::Closed => CLOSED,
        };
        self.phase.store(word, Ordering::SeqCst);
    }
}
