//! The C library's calls that the ROCm stack uses to reach the driver, caught and either answered or passed on.
//!
//! Each function here has the C library's name and behaviour. A path or descriptor that is not the device's goes to
//! the next definition of the function unchanged. The functions work before constructors ran, on any thread, and when
//! called by the device's own code.

mod directories;
mod files;
mod mappings;
mod nodes;
mod real;
mod status;

use core::cell::Cell;
use core::ffi::c_int;

pub(crate) use nodes::{FIRST_RENDER_MINOR, agent_of, open_again, open_path};
pub(crate) use real::{Next, real};

thread_local! {
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as executing the device's code, whose own calls pass untouched.
#[derive(Debug)]
pub(crate) struct Inside(());

impl Inside {
    /// Enters; nothing if the thread is inside already.
    pub(crate) fn enter() -> Option<Self> {
        if model_gpu_core::thread::is_of_the_device()
            || INSIDE.try_with(|inside| inside.replace(true)).unwrap_or(true)
        {
            return None;
        }
        Some(Self(()))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = INSIDE.try_with(|inside| inside.set(false));
    }
}

/// Sets `errno` and answers the C library's failure value.
pub(crate) fn fail(errno: c_int) -> c_int {
    set_errno(errno);
    -1
}

/// Sets `errno`.
pub(crate) fn set_errno(errno: c_int) {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = errno };
}
