//! Memory that is shared with the application, the runtime and the device: rings, queue objects and signals.
//!
//! All unsafe code of the engine is here. Others write this memory at any time, so nothing here forms a reference into it
//! except to atomics; each access is one atomic load or store of the field's own size.
//!
//! The safe functions rest on what their handles claim (see [`crate::handles`]): a signal or queue handle was issued by the
//! runtime or by this engine and is alive, as the HSA interface obliges its callers.
#![allow(unsafe_code, reason = "the one module that may touch foreign memory")]

mod block;
mod object;
mod ring;
mod signal;
mod word;

pub(crate) use block::{HostBlock, read_host};
pub(crate) use object::{HardwareFacts, QueueObject};
pub(crate) use ring::Ring;
pub(crate) use signal::{set_ticks, signal_value, signal_value_address, ticks};
