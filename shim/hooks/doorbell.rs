//! Writes to signals: one that is the doorbell of a queue of ours makes the engine look at the ring.
//!
//! Applications ring with plain stores; every other write of a signal is heard as well, since nothing forbids it. Any
//! signal may be written, so what costs here costs every signal of the application: the engine recognises a doorbell
//! by a few loads.

use hsa_replay_engine::SignalWrite;
use hsa_replay_engine::handles::Signal;
use hsa_sys::{hsa_signal_t, hsa_signal_value_t, hsa_status_t};

use crate::forward::real;
use crate::life;

pub unsafe extern "C" fn hsa_signal_destroy(signal: hsa_signal_t) -> hsa_status_t {
    life::with(|engine| engine.signal_destroying(Signal(signal.handle)));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_signal_destroy)(signal) }
}

macro_rules! store {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(signal: hsa_signal_t, value: hsa_signal_value_t) {
            if life::with(|engine| engine.store_doorbell(Signal(signal.handle), value)) != Some(true) {
                // SAFETY: the caller's obligations are passed on.
                unsafe { real!($name)(signal, value) };
            }
        }
    )*};
}

/// A write other than a plain store, which `make` does. Another thread may be waiting for this very write and destroy the signal, so
/// nothing looks at the signal after it.
fn write<R: Default>(signal: hsa_signal_t, write: SignalWrite, make: impl FnOnce() -> R) -> R {
    let (mut make, mut made) = (Some(make), None);
    life::with(|engine| {
        engine.write_signal(Signal(signal.handle), write, || made = make.take().map(|make| make()));
    });
    // Without an engine, or with one that failed before.
    made.or_else(|| make.map(|make| make())).unwrap_or_default()
}

macro_rules! update {
    ($write:expr; $($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(signal: hsa_signal_t, value: hsa_signal_value_t) {
            // SAFETY: the caller's obligations are passed on.
            write(signal, $write(value), || unsafe { real!($name)(signal, value) });
        }
    )*};
}

macro_rules! exchange {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(signal: hsa_signal_t, value: hsa_signal_value_t) -> hsa_signal_value_t {
            // SAFETY: the caller's obligations are passed on.
            write(signal, SignalWrite::Set(value), || unsafe { real!($name)(signal, value) })
        }
    )*};
}

macro_rules! compare_and_swap {
    ($($name:ident)*) => {$(
        pub unsafe extern "C" fn $name(
            signal: hsa_signal_t,
            expected: hsa_signal_value_t,
            value: hsa_signal_value_t,
        ) -> hsa_signal_value_t {
            let swap = SignalWrite::Swap(expected, value);
            // SAFETY: the caller's obligations are passed on.
            write(signal, swap, || unsafe { real!($name)(signal, expected, value) })
        }
    )*};
}

store!(
    hsa_signal_store_relaxed
    hsa_signal_store_release
    hsa_signal_store_screlease
    hsa_signal_silent_store_relaxed
    hsa_signal_silent_store_screlease);
exchange!(
    hsa_signal_exchange_acq_rel
    hsa_signal_exchange_acquire
    hsa_signal_exchange_relaxed
    hsa_signal_exchange_release
    hsa_signal_exchange_scacq_screl
    hsa_signal_exchange_scacquire
    hsa_signal_exchange_screlease);
compare_and_swap!(
    hsa_signal_cas_acq_rel
    hsa_signal_cas_acquire
    hsa_signal_cas_relaxed
    hsa_signal_cas_release
    hsa_signal_cas_scacq_screl
    hsa_signal_cas_scacquire
    hsa_signal_cas_screlease);
update!(SignalWrite::Add;
    hsa_signal_add_acq_rel
    hsa_signal_add_acquire
    hsa_signal_add_relaxed
    hsa_signal_add_release
    hsa_signal_add_scacq_screl
    hsa_signal_add_scacquire
    hsa_signal_add_screlease);
update!(|value: i64| SignalWrite::Add(value.wrapping_neg());
    hsa_signal_subtract_acq_rel
    hsa_signal_subtract_acquire
    hsa_signal_subtract_relaxed
    hsa_signal_subtract_release
    hsa_signal_subtract_scacq_screl
    hsa_signal_subtract_scacquire
    hsa_signal_subtract_screlease);
update!(SignalWrite::And;
    hsa_signal_and_acq_rel
    hsa_signal_and_acquire
    hsa_signal_and_relaxed
    hsa_signal_and_release
    hsa_signal_and_scacq_screl
    hsa_signal_and_scacquire
    hsa_signal_and_screlease);
update!(SignalWrite::Or;
    hsa_signal_or_acq_rel
    hsa_signal_or_acquire
    hsa_signal_or_relaxed
    hsa_signal_or_release
    hsa_signal_or_scacq_screl
    hsa_signal_or_scacquire
    hsa_signal_or_screlease);
update!(SignalWrite::Xor;
    hsa_signal_xor_acq_rel
    hsa_signal_xor_acquire
    hsa_signal_xor_relaxed
    hsa_signal_xor_release
    hsa_signal_xor_scacq_screl
    hsa_signal_xor_scacquire
    hsa_signal_xor_screlease);
