//! `hsa_init` and `hsa_shut_down`.

use hsa_sys::hsa_status_t;

use crate::debugger;
use crate::forward::real;

/// # Safety
/// As `hsa_init`.
pub unsafe extern "C" fn hsa_init() -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_init)() };
    debugger::follow();
    status
}

/// # Safety
/// As `hsa_shut_down`.
pub unsafe extern "C" fn hsa_shut_down() -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_shut_down)() };
    debugger::follow();
    status
}
