//! A software gfx942 or gfx90a: memory, queues, signals, events, clocks and dispatch.
//!
//! The crate is the device itself. It knows the packets, signals and kernel descriptors of AMD's HSA ABI, and nothing
//! of the ways in which a program reaches it: a front end (the preloaded library, a test) creates a [`Machine`], gives it
//! memory, queues and events, and rings doorbells by plain stores, as a program does with silicon.

pub mod clock;
pub mod counters;
mod dispatch;
pub mod events;
pub mod faults;
mod guard;
mod machine;
pub mod memory;
pub mod notices;
mod queues;
pub mod report;
pub mod shared;
mod signal;
#[cfg(test)]
mod testing;
pub mod thread;

pub use machine::{AGENT_LIMIT, Config, Machine};
pub use model_gpu_isa::Target;
pub use queues::{Kind as QueueKind, Queue, QueueError, Spec as QueueSpec};
pub use signal::{EMPTY_MAILBOX, Signal};

/// Base of the aperture through which generic addresses reach group memory.
pub const GROUP_APERTURE: u64 = 0x1_0000_0000_0000;

/// Base of the aperture through which generic addresses reach private memory.
pub const PRIVATE_APERTURE: u64 = 0x2_0000_0000_0000;

/// Why the device refused a request. A front end turns it into its own error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument makes no sense.
    #[error("invalid argument")]
    Invalid,
    /// There is no such object.
    #[error("no such object")]
    NotFound,
    /// The device's memory is used up.
    #[error("out of device memory")]
    NoMemory,
    /// All slots of this kind of object are taken.
    #[error("no free slot")]
    NoSlot,
    /// The program has no such memory, or not with the rights that the device needs.
    #[error("the program has no such memory")]
    NotMapped,
    /// Something else is there already.
    #[error("already in use")]
    Busy,
}
