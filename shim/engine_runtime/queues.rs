//! Hardware queues: indices and state. Packets and doorbell values are the engine's to write.

use hsa_replay_engine::handles::HardwareQueue;
use hsa_replay_engine::runtime::RuntimeResult;
use hsa_sys::hsa_queue_t;

use super::call::{call, pointer};
use crate::forward::real;

fn raw(queue: HardwareQueue) -> *mut hsa_queue_t {
    pointer(queue.0)
}

pub fn read_index(queue: HardwareQueue) -> u64 {
    // SAFETY: the engine names live hardware queues only; so below.
    unsafe { real!(hsa_queue_load_read_index_scacquire)(raw(queue)) }
}

pub fn write_index(queue: HardwareQueue) -> u64 {
    // SAFETY: a live queue.
    unsafe { real!(hsa_queue_load_write_index_relaxed)(raw(queue)) }
}

pub fn store_write_index(queue: HardwareQueue, value: u64) {
    // SAFETY: a live queue whose only producer is the engine.
    unsafe { real!(hsa_queue_store_write_index_screlease)(raw(queue), value) };
}

pub fn enable_profiling(queue: HardwareQueue) -> RuntimeResult<()> {
    // SAFETY: a live queue.
    unsafe { call!(hsa_amd_profiling_set_profiler_enabled(raw(queue), 1)) }
}

pub fn inactivate(queue: HardwareQueue) -> RuntimeResult<()> {
    // SAFETY: a live queue.
    unsafe { call!(hsa_queue_inactivate(raw(queue))) }
}

pub fn destroy(queue: HardwareQueue) -> RuntimeResult<()> {
    // SAFETY: a live queue, not used afterwards.
    unsafe { call!(hsa_queue_destroy(raw(queue))) }
}
