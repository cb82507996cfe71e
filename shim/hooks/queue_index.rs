//! Read and write indices. Those of our queues are virtual: they count the slots of our ring, not of the hardware's.
//!
//! All memory orders of a call lead to the engine's one operation, which has the strongest of them.

use hsa_sys::hsa_queue_t;

use crate::forward::real;
use crate::life;

fn number(queue: *const hsa_queue_t) -> u64 {
    queue.expose_provenance() as u64
}

macro_rules! load_index {
    ($operation:ident: $($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(queue: *const hsa_queue_t) -> u64 {
            match life::with(|engine| engine.$operation(number(queue))).flatten() {
                Some(index) => index,
                // SAFETY: the caller's obligations are passed on.
                None => unsafe { real!($name)(queue) },
            }
        }
    )*};
}

macro_rules! store_write_index {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(queue: *const hsa_queue_t, value: u64) {
            if life::with(|engine| engine.store_write_index(number(queue), value)) != Some(true) {
                // SAFETY: the caller's obligations are passed on.
                unsafe { real!($name)(queue, value) };
            }
        }
    )*};
}

/// The consumer of our queues is the engine; whoever else moves the read index is not heard.
macro_rules! store_read_index {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(queue: *const hsa_queue_t, value: u64) {
            if life::with(|engine| engine.hardware_queue(number(queue))).flatten().is_none() {
                // SAFETY: the caller's obligations are passed on.
                unsafe { real!($name)(queue, value) };
            }
        }
    )*};
}

macro_rules! add_write_index {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(queue: *const hsa_queue_t, value: u64) -> u64 {
            match life::with(|engine| engine.add_write_index(number(queue), value)).flatten() {
                Some(former) => former,
                // SAFETY: the caller's obligations are passed on.
                None => unsafe { real!($name)(queue, value) },
            }
        }
    )*};
}

macro_rules! cas_write_index {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(queue: *const hsa_queue_t, expected: u64, value: u64) -> u64 {
            match life::with(|engine| engine.cas_write_index(number(queue), expected, value)).flatten() {
                Some(former) => former,
                // SAFETY: the caller's obligations are passed on.
                None => unsafe { real!($name)(queue, expected, value) },
            }
        }
    )*};
}

load_index!(load_read_index:
    hsa_queue_load_read_index_acquire
    hsa_queue_load_read_index_relaxed
    hsa_queue_load_read_index_scacquire);
load_index!(load_write_index:
    hsa_queue_load_write_index_acquire
    hsa_queue_load_write_index_relaxed
    hsa_queue_load_write_index_scacquire);
store_write_index!(
    hsa_queue_store_write_index_relaxed
    hsa_queue_store_write_index_release
    hsa_queue_store_write_index_screlease);
store_read_index!(
    hsa_queue_store_read_index_relaxed
    hsa_queue_store_read_index_release
    hsa_queue_store_read_index_screlease);
add_write_index!(
    hsa_queue_add_write_index_acq_rel
    hsa_queue_add_write_index_acquire
    hsa_queue_add_write_index_relaxed
    hsa_queue_add_write_index_release
    hsa_queue_add_write_index_scacq_screl
    hsa_queue_add_write_index_scacquire
    hsa_queue_add_write_index_screlease);
cas_write_index!(
    hsa_queue_cas_write_index_acq_rel
    hsa_queue_cas_write_index_acquire
    hsa_queue_cas_write_index_relaxed
    hsa_queue_cas_write_index_release
    hsa_queue_cas_write_index_scacq_screl
    hsa_queue_cas_write_index_scacquire
    hsa_queue_cas_write_index_screlease);
