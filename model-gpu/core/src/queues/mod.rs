//! Queues: rings of packets in the program's memory, each with a doorbell and a thread that executes it.

mod aql;
pub(crate) mod doorbells;
mod error;
mod queue;
mod sdma;
mod worker;

pub use aql::{AmdQueue, Dispatch};
pub use doorbells::Doorbells;
pub use error::QueueError;
pub use queue::{Kind, Queue, Spec};
pub use worker::Worker;

/// What a packet processor achieved in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// A packet was executed.
    Done,
    /// The next packet waits for somebody: look again soon.
    Waiting,
    /// Nothing to do before the doorbell is rung.
    Idle,
    /// The queue executes nothing any more.
    Halted,
}
