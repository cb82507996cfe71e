//! `hsa_init` and `hsa_shut_down`.

use hsa_sys::{HSA_STATUS_SUCCESS, hsa_status_t};

use crate::forward::real;
use crate::{debugger, life};

pub unsafe extern "C" fn hsa_init() -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_init)() };
    debugger::follow();
    if status == HSA_STATUS_SUCCESS {
        life::initialised();
    }
    status
}

pub unsafe extern "C" fn hsa_shut_down() -> hsa_status_t {
    life::shutting_down();
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_shut_down)() };
    debugger::follow();
    status
}
