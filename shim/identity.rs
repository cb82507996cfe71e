//! The exports that mark this library as hsa-replay, at the version node `HSA_REPLAY_1`.
//!
//! A library with `hsa_replay_interface_version` is never taken for the real runtime, at whatever path it lies.

use std::ffi::{CStr, c_char};

use crate::forward::versioned;

/// Name of the marker.
pub const MARKER: &CStr = c"hsa_replay_interface_version";

/// Version of the interface under `hsa_replay_*`: 1.
#[unsafe(no_mangle)]
pub extern "C" fn hsa_replay_interface_version() -> u32 {
    1
}
versioned!(hsa_replay_interface_version, "HSA_REPLAY_1");

/// Version of this build, a static string such as `0.1.0`.
#[unsafe(no_mangle)]
pub extern "C" fn hsa_replay_version() -> *const c_char {
    const VERSION: &CStr =
        match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
            Ok(version) => version,
            Err(_) => panic!("the version holds a NUL"),
        };
    VERSION.as_ptr()
}
versioned!(hsa_replay_version, "HSA_REPLAY_1");
