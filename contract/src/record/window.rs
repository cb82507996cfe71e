//! When a dispatch's replay happened, and what it was doing at each time.

use serde::{Deserialize, Serialize};

/// From the moment that a dispatch was taken up until its record was written, by the host's clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// When it began, in nanoseconds since 1970-01-01 00:00 UTC.
    pub start_unix_ns: u64,
    /// How long it took, in nanoseconds.
    pub ns: u64,
    /// What was done, in order. The stages do not overlap; between them there may be time that belongs to none.
    pub stages: Vec<StageTime>,
}

/// One thing done in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTime {
    /// What.
    pub stage: Stage,
    /// The pass that ran, or that was compared, or after which memory was put back; null for the stages before the first.
    pub pass: Option<u32>,
    /// When it began, in nanoseconds since the window did.
    pub start_ns: u64,
    /// How long it took, in nanoseconds.
    pub ns: u64,
}

/// What a window does, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Looks at the kernel and its arguments.
    Decide,
    /// Waits until the agent is quiet.
    Drain,
    /// Copies memory.
    Snapshot,
    /// Runs the kernel, from the packet's submission until its completion is seen.
    Pass,
    /// Compares memory with the snapshot.
    Compare,
    /// Stores the written ranges (`--dump-writes`).
    Dump,
    /// Puts memory back.
    Restore,
}

impl Stage {
    /// Every stage.
    pub const ALL: [Self; 7] =
        [Self::Decide, Self::Drain, Self::Snapshot, Self::Pass, Self::Compare, Self::Dump, Self::Restore];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Drain => "drain",
            Self::Snapshot => "snapshot",
            Self::Pass => "pass",
            Self::Compare => "compare",
            Self::Dump => "dump",
            Self::Restore => "restore",
        }
    }
}
