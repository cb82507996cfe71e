//! The report's records: one JSON object a line, every field always there, unknown values null.
//!
//! `report.schema.json` beside this crate's manifest describes the same objects as a JSON Schema; the tests hold
//! the two together.

mod argument;
mod dispatch;
mod hash;
mod kind;
mod reason;
mod session;
mod summary;
mod window;

use serde::{Deserialize, Serialize};

pub use argument::{
    Argument, ArgumentKind, MAX_ARGUMENT_BYTES, MAX_TARGETS, MemoryClass, Target, argument_bytes,
    parameter_types, scalar,
};
pub use dispatch::{Begin, Dispatch, Divergence, Pass, Restore, Snapshot, TimeNs, Write};
pub use hash::{ContentHash, RangeHasher};
pub use kind::{Allow, Outcome, Tier, WriteKind};
pub use reason::Reason;
pub use session::{Agent, Runtime, Session, SessionConfig};
pub use summary::Summary;
pub use window::{Stage, StageTime, Window};

/// Version of the record format; it grows when a reader of the earlier version would misunderstand a record.
pub const SCHEMA_VERSION: u32 = 1;

/// The most ranges that one write lists; above it the closest are merged.
pub const MAX_RANGES: usize = 4096;

/// The most divergences that one dispatch lists.
pub const MAX_DIVERGENCES: usize = 64;

/// One line of a report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "snake_case")]
pub enum Record {
    /// A process started to take part.
    Session(Box<Session>),
    /// The first pass of a dispatch is about to run.
    Begin(Begin),
    /// A candidate dispatch is done.
    Dispatch(Box<Dispatch>),
    /// A process ended in order.
    Summary(Summary),
}

impl Record {
    /// The process that wrote the record.
    pub fn pid(&self) -> u32 {
        match self {
            Self::Session(session) => session.pid,
            Self::Begin(begin) => begin.pid,
            Self::Dispatch(dispatch) => dispatch.pid,
            Self::Summary(summary) => summary.pid,
        }
    }
}

impl From<Session> for Record {
    fn from(session: Session) -> Self {
        Self::Session(Box::new(session))
    }
}

impl From<Begin> for Record {
    fn from(begin: Begin) -> Self {
        Self::Begin(begin)
    }
}

impl From<Dispatch> for Record {
    fn from(dispatch: Dispatch) -> Self {
        Self::Dispatch(Box::new(dispatch))
    }
}

impl From<Summary> for Record {
    fn from(summary: Summary) -> Self {
        Self::Summary(summary)
    }
}
