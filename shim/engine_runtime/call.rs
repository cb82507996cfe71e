//! Making calls: a status becomes a result that names the call, and walks with callbacks become lists.

use std::ffi::c_void;
use std::ptr;

use hsa_replay_engine::runtime::{RuntimeError, RuntimeResult};
use hsa_sys::{HSA_STATUS_SUCCESS, hsa_status_t};

/// Calls a real function by name and names it in the error; to be used inside an `unsafe` block.
macro_rules! call {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::engine_runtime::call::checked(stringify!($name), $crate::forward::real!($name)($($argument),*))
    };
}
pub(super) use call;

/// The result of a call that returned this status.
pub fn checked(call: &'static str, status: hsa_status_t) -> RuntimeResult<()> {
    if status == HSA_STATUS_SUCCESS { Ok(()) } else { Err(RuntimeError { call, status }) }
}

/// A callback for walks that puts every item into the `Vec<T>` behind `list`.
///
/// # Safety
/// `list` is a `*mut Vec<T>` that nothing else uses during the walk.
pub unsafe extern "C" fn collect<T>(item: T, list: *mut c_void) -> hsa_status_t {
    // SAFETY: see above.
    unsafe { (*list.cast::<Vec<T>>()).push(item) };
    HSA_STATUS_SUCCESS
}

/// Asks for one attribute of plain type `T`, which starts out as zero.
///
/// # Errors
/// As `ask`.
pub fn attribute<T: Copy + Default>(ask: impl FnOnce(*mut c_void) -> RuntimeResult<()>) -> RuntimeResult<T> {
    let mut value = T::default();
    ask((&raw mut value).cast())?;
    Ok(value)
}

/// An address as a pointer for the runtime's functions; host and agents use the same numbers.
pub fn pointer<T>(address: u64) -> *mut T {
    ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
}

/// A pointer of the runtime's as an address.
pub fn address<T>(pointer: *const T) -> u64 {
    pointer.expose_provenance() as u64
}
