//! Raw bindings to the HSA runtime interface: types, constants and function types, no logic.
//!
//! Everything comes from the public headers `hsa.h`, `hsa_ext_amd.h`, `hsa_ven_amd_loader.h`, `amd_hsa_queue.h` and
//! `amd_hsa_signal.h` (ROCr 6.1.2 and 7.2.4), by way of `hsa-sys/generate`; names and meanings are theirs: see the
//! HSA Runtime Programmer's Reference Manual 1.2, the HSA Platform System Architecture Specification 1.2 and those
//! headers.
//!
//! A function is bound as a *type* of the same name (`hsa_init` is `unsafe extern "C" fn() -> hsa_status_t`) and
//! never as an external symbol: the shim defines those symbols itself, and calls the real ones through pointers.
//!
//! `tests/layouts.rs` checks sizes and offsets against numbers that a C compiler measured from the headers of both
//! releases.

mod bindings {
    #![allow(
        missing_docs,
        missing_debug_implementations,
        non_camel_case_types,
        non_snake_case,
        non_upper_case_globals,
        clippy::undocumented_unsafe_blocks,
        clippy::ptr_as_ptr,
        clippy::all,
        reason = "generated from C headers; the only unsafe code zeroes plain C data"
    )]
    include!("bindings.rs");
}

pub use bindings::*;
