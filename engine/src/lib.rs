//! The replay engine: an inventory of device memory, software queues between application and hardware, and the window
//! in which one kernel dispatch runs several times from identical inputs.
//!
//! [`Engine`] is what the exported functions' hooks call. It makes no foreign call itself: everything goes through
//! [`runtime::Runtime`]. Every entry point may be called from any thread, including the runtime's own event thread, and
//! none of them waits for a window.

pub mod code;
pub mod compare;
mod engine;
pub mod handles;
pub mod runtime;

pub use engine::{Allocation, Engine, Freeing, Sharing, Source, StartError};
