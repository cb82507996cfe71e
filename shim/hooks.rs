//! The functions that stand in for exports listed in `symbols/hooks.txt`.
//!
//! A hook is chosen when its name is bound, on the first call. ROCr calls some of its own exports by symbol and may so come here from inside:
//! every hook is right for such a caller too.

mod executable;
mod life;

use std::ffi::c_void;

pub use executable::*;
pub use life::*;

use crate::forward;

/// The function to bind a slot to instead of the real one.
pub fn select(slot: usize) -> Option<*mut c_void> {
    forward::hook_of(slot)
}
