//! Signals of the engine's own, and the completion signals of applications.

use std::ptr;
use std::time::Duration;

use hsa_replay_engine::handles::Signal;
use hsa_replay_engine::runtime::RuntimeResult;
use hsa_sys::{HSA_AMD_SIGNAL_AMD_GPU_ONLY, HSA_SIGNAL_CONDITION_LT, HSA_WAIT_STATE_BLOCKED, hsa_signal_t};

use super::call::call;
use crate::forward::real;

fn raw(signal: Signal) -> hsa_signal_t {
    hsa_signal_t { handle: signal.0 }
}

pub fn create(initial: i64) -> RuntimeResult<Signal> {
    let mut signal = hsa_signal_t { handle: 0 };
    // SAFETY: no consumers are named, and the place is a local variable.
    unsafe { call!(hsa_signal_create(initial, 0, ptr::null(), &raw mut signal)) }?;
    Ok(Signal(signal.handle))
}

/// A signal without an interrupt where the runtime offers that.
pub fn create_polled(initial: i64) -> RuntimeResult<Signal> {
    let mut signal = hsa_signal_t { handle: 0 };
    // SAFETY: as above.
    let created = unsafe {
        call!(hsa_amd_signal_create(
            initial,
            0,
            ptr::null(),
            u64::from(HSA_AMD_SIGNAL_AMD_GPU_ONLY),
            &raw mut signal
        ))
    };
    created.map(|()| Signal(signal.handle)).or_else(|_| create(initial))
}

pub fn destroy(signal: Signal) -> RuntimeResult<()> {
    // SAFETY: the engine destroys a signal of its own once.
    unsafe { call!(hsa_signal_destroy(raw(signal))) }
}

pub fn load(signal: Signal) -> i64 {
    // SAFETY: the engine asks for live signals only.
    unsafe { real!(hsa_signal_load_scacquire)(raw(signal)) }
}

pub fn store(signal: Signal, value: i64) {
    // SAFETY: a live signal of the engine's, or the doorbell of a live hardware queue.
    unsafe { real!(hsa_signal_store_screlease)(raw(signal), value) };
}

pub fn subtract(signal: Signal, value: i64) {
    // SAFETY: a live signal, or the completion signal of a packet that has not completed, which the application keeps.
    unsafe { real!(hsa_signal_subtract_screlease)(raw(signal), value) };
}

pub fn wait_below(signal: Signal, bound: i64, timeout: Duration, frequency: u64) -> i64 {
    let ticks = u64::try_from(timeout.as_nanos() * u128::from(frequency) / 1_000_000_000).unwrap_or(u64::MAX);
    // SAFETY: a live signal of the engine's own.
    unsafe {
        real!(hsa_signal_wait_scacquire)(
            raw(signal),
            HSA_SIGNAL_CONDITION_LT,
            bound,
            ticks,
            HSA_WAIT_STATE_BLOCKED,
        )
    }
}
