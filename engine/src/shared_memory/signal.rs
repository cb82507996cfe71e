//! Signals as `amd_signal_t` lays them out (`amd_hsa_signal.h`): the value word, the time stamps, and the link from a
//! doorbell to its queue.
//!
//! A handle is the address of the block. The value is read here rather than through the runtime where a handle may come from
//! a packet, that is, from the application: a read of the word has no side effects and works for every kind of signal.

use super::word::atomic_u64;
use crate::handles::Signal;
use hsa_sys::amd_signal_t;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Clone, Copy)]
struct Field(usize);

const KIND: Field = Field(offset_of!(amd_signal_t, kind));
const VALUE: Field = Field(offset_of!(amd_signal_t, __bindgen_anon_1));
const START: Field = Field(offset_of!(amd_signal_t, start_ts));
const END: Field = Field(offset_of!(amd_signal_t, end_ts));
const QUEUE: Field = Field(offset_of!(amd_signal_t, __bindgen_anon_2));
const COOKIE: Field = Field(offset_of!(amd_signal_t, reserved3));

/// Marks a signal as the doorbell of one of our queues, in a field that the runtime leaves alone.
const DOORBELL_COOKIE: u64 = 0x6873_612d_7265_706c;

fn field<'a>(signal: Signal, Field(offset): Field) -> &'a AtomicU64 {
    // SAFETY: a non-null handle is the address of a live amd_signal_t, 64-byte aligned and mapped; the fields used are eight
    // bytes wide and naturally aligned; the runtime, the device and other threads access them by single accesses.
    unsafe { atomic_u64(signal.0 + offset as u64) }
}

/// The value of a signal now.
pub(crate) fn signal_value(signal: Signal) -> i64 {
    field(signal, VALUE).load(Ordering::Acquire).cast_signed()
}

/// Where a signal's value lies.
pub(crate) fn signal_value_address(signal: Signal) -> u64 {
    signal.0 + VALUE.0 as u64
}

/// The time stamps that the packet processor left in a signal: raw ticks of the agent's clock.
pub(crate) fn ticks(signal: Signal) -> [u64; 2] {
    [START, END].map(|which| field(signal, which).load(Ordering::Acquire))
}

/// Puts time stamps into a signal, before its value tells the application to read them.
pub(crate) fn set_ticks(signal: Signal, [start, end]: [u64; 2]) {
    field(signal, START).store(start, Ordering::Release);
    field(signal, END).store(end, Ordering::Release);
}

/// Stores a doorbell's value; nobody waits for it.
pub(super) fn set_value(signal: Signal, value: i64) {
    field(signal, VALUE).store(value.cast_unsigned(), Ordering::Release);
}

/// Makes a user signal the doorbell of the queue object at `object`.
pub(super) fn link(signal: Signal, object: u64) {
    field(signal, QUEUE).store(object, Ordering::Release);
    field(signal, COOKIE).store(DOORBELL_COOKIE, Ordering::Release);
}

/// Takes the link away again.
pub(super) fn unlink(signal: Signal) {
    field(signal, COOKIE).store(0, Ordering::Release);
    field(signal, QUEUE).store(0, Ordering::Release);
}

/// The queue object that a signal is the doorbell of.
pub(super) fn linked_object(signal: Signal) -> Option<u64> {
    if signal.is_none() || field(signal, COOKIE).load(Ordering::Relaxed) != DOORBELL_COOKIE {
        return None;
    }
    let user = i64::from(hsa_sys::AMD_SIGNAL_KIND_USER).cast_unsigned();
    let object = field(signal, QUEUE).load(Ordering::Acquire);
    (object != 0 && field(signal, KIND).load(Ordering::Relaxed) == user).then_some(object)
}
