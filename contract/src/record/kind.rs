//! The closed lists other than [`super::Reason`]. Their serialised names are part of the format.

use serde::{Deserialize, Serialize};

/// How a candidate dispatch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It ran for the listed passes from identical inputs, and memory holds one complete pass.
    Replayed,
    /// It ran once, as it would have without hsa-replay; `reason` says why.
    Declined,
    /// Memory is known not to be one complete pass; `detail` names the ranges.
    Tainted,
    /// Its queue died.
    Faulted,
}

impl Outcome {
    /// Every outcome, in the order of the report.
    pub const ALL: [Self; 4] = [Self::Replayed, Self::Declined, Self::Tainted, Self::Faulted];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replayed => "replayed",
            Self::Declined => "declined",
            Self::Tainted => "tainted",
            Self::Faulted => "faulted",
        }
    }
}

/// A kind of dispatch that `--allow` replays although that is not safe in general.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Allow {
    /// Its arguments lead to memory that is not put back between passes.
    Untracked,
    /// It may call the host (`printf`, `assert`, `malloc` in a kernel).
    Hostcall,
    /// It was launched cooperatively.
    Cooperative,
    /// It is a collective that waits for other processes or agents.
    Collective,
}

impl Allow {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Untracked, Self::Hostcall, Self::Cooperative, Self::Collective];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Untracked => "untracked",
            Self::Hostcall => "hostcall",
            Self::Cooperative => "cooperative",
            Self::Collective => "collective",
        }
    }
}

/// Where a snapshot was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// In the agent's own memory.
    Device,
    /// In host memory.
    Host,
    /// In a file.
    Disk,
}

impl Tier {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Disk => "disk",
        }
    }
}

/// What a write went to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// Memory that the application allocated.
    Allocation,
    /// A variable of a loaded code object (`__device__`, `static`), or its segment where no symbol names it.
    ModuleVariable,
}
