//! Executables: which kernels and module variables there are.

use std::ffi::{c_char, c_void};

use hsa_replay_engine::Destroying;
use hsa_replay_engine::handles::Executable;
use hsa_sys::{HSA_STATUS_SUCCESS, hsa_agent_t, hsa_executable_t, hsa_status_t};

use crate::forward::real;
use crate::{debugger, event_thread, life};

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
    let destroying = life::with(|engine| {
        engine.executable_destroying(Executable(executable.handle), event_thread::may_wait())
    });
    if let Some(destroying) = destroying.filter(Destroying::is_late) {
        life::with(|engine| {
            engine.destroy_later(&destroying, move || {
                // SAFETY: the caller has given the executable up, and has been told that it is gone.
                let status = unsafe { real!(hsa_executable_destroy)(executable) };
                if status != HSA_STATUS_SUCCESS {
                    tracing::warn!("an executable could not be destroyed after a copy: {status:#x}");
                }
                debugger::follow();
            });
        });
        return HSA_STATUS_SUCCESS;
    }
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_destroy)(executable) };
    debugger::follow();
    status
}

/// A variable of the executable is memory of the application's: kernels reach it although no argument leads there.
fn defined(status: hsa_status_t, executable: hsa_executable_t, address: *const c_void) -> hsa_status_t {
    if status == HSA_STATUS_SUCCESS {
        life::with(|engine| {
            engine.variable_defined(Executable(executable.handle), address.addr() as u64);
        });
    }
    status
}

pub unsafe extern "C" fn hsa_executable_agent_global_variable_define(
    executable: hsa_executable_t,
    agent: hsa_agent_t,
    name: *const c_char,
    address: *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status =
        unsafe { real!(hsa_executable_agent_global_variable_define)(executable, agent, name, address) };
    defined(status, executable, address)
}

pub unsafe extern "C" fn hsa_executable_global_variable_define(
    executable: hsa_executable_t,
    name: *const c_char,
    address: *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_executable_global_variable_define)(executable, name, address) };
    defined(status, executable, address)
}
