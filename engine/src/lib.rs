//! The replay engine: an inventory of device memory, software queues between application and hardware, and the window
//! in which one kernel dispatch runs several times from identical inputs.
//!
//! [`Engine`] is what the exported functions' hooks call. It makes no foreign call itself: everything goes through
//! [`runtime::Runtime`]. Every entry point may be called from any thread, including the runtime's own event thread, and
//! none of them waits for a window.

#![deny(unsafe_code)]

mod addresses;
mod agent;
pub mod code;
pub mod compare;
mod control;
mod copy;
mod endless;
mod engine;
#[cfg(test)]
mod fake;
mod fence;
mod gate;
pub mod handles;
mod host_memory;
mod intrusion;
mod inventory;
mod kernels;
mod loaded;
mod packet;
mod process;
mod promises;
mod queue;
mod report;
pub mod runtime;
mod shared_memory;
mod signals;
mod store;
mod sync;
#[cfg(test)]
mod tests;
pub mod tool;
mod window;
mod worker;

pub use control::Named;
pub use engine::{
    Access, Allocation, AsyncCopy, Attachments, Closing, Destroying, Engine, Freeing, Source, StartError,
    Unmapped, Unmapping,
};
pub use fence::{OtherWay, SyncCopy};
pub use promises::SignalWrite;
