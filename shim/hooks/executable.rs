//! Executables: which kernels and module variables there are.

use std::ffi::c_char;

use hsa_replay_engine::handles::Executable;
use hsa_sys::{HSA_STATUS_SUCCESS, hsa_executable_t, hsa_status_t};

use crate::forward::real;
use crate::{debugger, life};

pub unsafe extern "C" fn hsa_executable_freeze(
    executable: hsa_executable_t,
    options: *const c_char,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_freeze)(executable, options) };
    debugger::follow();
    if status == HSA_STATUS_SUCCESS {
        life::with(|engine| engine.executable_frozen(Executable(executable.handle)));
    }
    status
}

pub unsafe extern "C" fn hsa_executable_destroy(executable: hsa_executable_t) -> hsa_status_t {
    life::with(|engine| engine.executable_destroying(Executable(executable.handle)));
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_destroy)(executable) };
    debugger::follow();
    status
}
