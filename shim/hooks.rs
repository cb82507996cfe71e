//! The functions that stand in for exports listed in `symbols/hooks.txt`: each reads its arguments, tells the engine,
//! and answers.
//!
//! A hook is bound in place of the real function when its name is called for the first time (see [`crate::arming`]).
//! ROCr calls some of its own exports by symbol and may so come here from inside, on its own threads; every hook is
//! right for such a caller too: it waits for nothing but what the engine's entry points document, and what it does
//! not recognise it forwards unchanged.
//!
//! Every hook is `unsafe` as the function that it stands in for; the caller's obligations, those of the HSA manual,
//! are passed on to it.

#![allow(clippy::missing_safety_doc, reason = "each is as safe as the real function of its name, see above")]

mod copy;
mod doorbell;
mod executable;
mod late;
mod life;
mod memory;
mod queue;
mod queue_index;
mod sharing;
mod transfer;
mod virtual_memory;

pub use copy::*;
pub use doorbell::*;
pub use executable::*;
pub use life::*;
pub use memory::*;
pub use queue::*;
pub use queue_index::*;
pub use sharing::*;
pub use transfer::*;
pub use virtual_memory::*;

use hsa_replay_engine::runtime::RuntimeResult;
use hsa_sys::{HSA_STATUS_SUCCESS, hsa_status_t};

/// An engine's result as the function returns it.
fn status_of(result: RuntimeResult<()>) -> hsa_status_t {
    result.map_or_else(|error| error.status, |()| HSA_STATUS_SUCCESS)
}
