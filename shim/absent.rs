//! Answers for calls that no real function can take: the runtime lacks the name, or there is no runtime.
//!
//! Each answer is a function that ignores its arguments and returns a value which the caller reads as failure. Most
//! HSA functions return `hsa_status_t`; the others are told apart by name, as the headers `hsa.h` and `hsa_ext_amd.h`
//! declare them.

use std::ffi::{CStr, c_char, c_void};

use hsa_sys::{
    HSA_STATUS_ERROR, HSA_STATUS_ERROR_NOT_INITIALIZED, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    HSA_STATUS_SUCCESS, hsa_status_t,
};

/// The stand-in for a name that the real runtime does not export.
pub fn missing(name: &CStr) -> *mut c_void {
    match kind_of(name) {
        Kind::Status => failed as *mut c_void,
        Kind::Index => no_index as *mut c_void,
        Kind::Value => zero as *mut c_void,
        Kind::Text => status_string as *mut c_void,
    }
}

/// The stand-in for a name when there is no runtime at all: to the caller it is a system without GPUs.
pub fn no_runtime(name: &CStr) -> *mut c_void {
    match kind_of(name) {
        Kind::Status if name == c"hsa_init" => out_of_resources as *mut c_void,
        Kind::Status => not_initialized as *mut c_void,
        _ => missing(name),
    }
}

enum Kind {
    /// Returns `hsa_status_t`.
    Status,
    /// Returns the index of a signal; the largest number stands for none.
    Index,
    /// Returns a signal's value or a queue's index, or nothing.
    Value,
    /// `hsa_status_string`, whose callers print the text without a look at the status.
    Text,
}

fn kind_of(name: &CStr) -> Kind {
    let name = name.to_bytes();
    if name == b"hsa_status_string" {
        return Kind::Text;
    }
    if name.starts_with(b"hsa_amd_signal_wait_a") {
        return Kind::Index;
    }
    let starts = |prefixes: &[&[u8]]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    let value = starts(&[
        b"hsa_signal_load_",
        b"hsa_signal_store_",
        b"hsa_signal_silent_store_",
        b"hsa_signal_exchange_",
        b"hsa_signal_cas_",
        b"hsa_signal_add_",
        b"hsa_signal_subtract_",
        b"hsa_signal_and_",
        b"hsa_signal_or_",
        b"hsa_signal_xor_",
        b"hsa_signal_wait_",
        b"hsa_queue_load_",
        b"hsa_queue_store_",
        b"hsa_queue_add_",
        b"hsa_queue_cas_",
    ]);
    if value { Kind::Value } else { Kind::Status }
}

extern "C" fn failed() -> hsa_status_t {
    HSA_STATUS_ERROR
}

extern "C" fn out_of_resources() -> hsa_status_t {
    HSA_STATUS_ERROR_OUT_OF_RESOURCES
}

extern "C" fn not_initialized() -> hsa_status_t {
    HSA_STATUS_ERROR_NOT_INITIALIZED
}

extern "C" fn no_index() -> u32 {
    u32::MAX
}

extern "C" fn zero() -> u64 {
    0
}

/// # Safety
/// As `hsa_status_string`: `text` is null or writable.
unsafe extern "C" fn status_string(_status: hsa_status_t, text: *mut *const c_char) -> hsa_status_t {
    if !text.is_null() {
        // SAFETY: the caller passes a place for the pointer, and the text is static.
        unsafe { text.write(c"hsa-replay: there is no HSA runtime to explain this status".as_ptr()) };
    }
    HSA_STATUS_SUCCESS
}
