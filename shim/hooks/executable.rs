//! Executables: what is loaded where.

use std::ffi::c_char;

use hsa_sys::{hsa_executable_t, hsa_status_t};

use crate::debugger;
use crate::forward::real;

/// # Safety
/// As `hsa_executable_freeze`.
pub unsafe extern "C" fn hsa_executable_freeze(
    executable: hsa_executable_t,
    options: *const c_char,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_freeze)(executable, options) };
    debugger::follow();
    status
}

/// # Safety
/// As `hsa_executable_destroy`.
pub unsafe extern "C" fn hsa_executable_destroy(executable: hsa_executable_t) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_destroy)(executable) };
    debugger::follow();
    status
}
