//! The runtime's event thread: it runs every asynchronous handler, and scratch memory, queue errors and the application's host
//! functions depend on it. Nothing of ours waits there.
//!
//! The runtime does not say which thread it is, so it is asked to run a handler of ours once, when the engine starts.

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use hsa_sys::{HSA_SIGNAL_CONDITION_EQ, HSA_STATUS_SUCCESS, hsa_signal_t, hsa_signal_value_t};
use parking_lot::Mutex;

use crate::forward::real;

thread_local! {
    static HERE: Cell<bool> = const { Cell::new(false) };
}

/// The signal whose handler has been asked for; it lives as long as the engine.
static ASKED: Mutex<Option<hsa_signal_t>> = Mutex::new(None);

/// This thread has turned out to be it.
pub fn is_this() {
    HERE.set(true);
}

/// Whether a hook on this thread may wait.
pub fn may_wait() -> bool {
    !HERE.get()
}

/// # Safety Called by the runtime for the signal below.
unsafe extern "C" fn handler(_: hsa_signal_value_t, _: *mut c_void) -> bool {
    is_this();
    false
}

/// Has the runtime run a handler on its event thread. Without one, callbacks of the runtime tell as they come.
pub fn learn() {
    let mut signal = hsa_signal_t { handle: 0 };
    // SAFETY: an initialised runtime; the place is a local variable.
    if unsafe { real!(hsa_signal_create)(1, 0, ptr::null(), &raw mut signal) } != HSA_STATUS_SUCCESS {
        return;
    }
    // SAFETY: a live signal, which is kept until the engine has stopped.
    let status = unsafe {
        real!(hsa_amd_signal_async_handler)(
            signal,
            HSA_SIGNAL_CONDITION_EQ,
            0,
            Some(handler),
            ptr::null_mut(),
        )
    };
    if status == HSA_STATUS_SUCCESS {
        *ASKED.lock() = Some(signal);
        // SAFETY: as above.
        unsafe { real!(hsa_signal_store_screlease)(signal, 0) };
    } else {
        // SAFETY: nobody else knows the signal.
        unsafe { real!(hsa_signal_destroy)(signal) };
    }
}

/// Before the runtime goes.
pub fn forget() {
    if let Some(signal) = ASKED.lock().take() {
        // SAFETY: a live signal; the runtime itself holds one whose handler has not run.
        unsafe { real!(hsa_signal_destroy)(signal) };
    }
}
