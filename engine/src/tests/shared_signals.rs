//! Copies whose completion signal is also written by others: each is waited for until it has ended.

use super::rig::{AppQueue, COUNT, Rig, SCALE};
use crate::fake::{Fault, GPU, HOST, Operation};
use crate::handles::{Executable, Signal};
use crate::runtime::{Copy, Runtime, RuntimeError, RuntimeResult};
use crate::shared_memory::signal_value;
use crate::{AsyncCopy, SignalWrite};
use hsa_replay_contract::{Outcome, Reason};
use std::sync::Arc;

/// Only `count` is selected; `scale` does nothing.
fn rig() -> Rig {
    let rig = Rig::with(&[("KERNEL", "count"), ("TIMEOUT", "1")]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig
}

fn call(completion: Signal) -> AsyncCopy<'static> {
    AsyncCopy { agents: &[GPU, HOST], dependencies: &[], completion, bytes: 64, order: 0 }
}

fn copy(rig: &Rig, to: u64, completion: Signal) {
    let from = rig.fake.allocate_host(64).expect("host memory");
    let fake = Arc::clone(&rig.fake);
    let submit = move || {
        let copy = Copy { to, to_agent: GPU, from, from_agent: HOST, bytes: 64 };
        fake.submit_copy(&copy, completion)
    };
    rig.engine.async_copy(&call(completion), submit, Vec::new).expect("accepted");
}

/// What the application does, with its hook.
fn add(rig: &Rig, signal: Signal, more: i64) {
    rig.engine.write_signal(signal, SignalWrite::Add(more), || rig.fake.subtract_signal(signal, -more));
}

/// The first copy of `prepare` is held. A window does not open beside it, and one does when it has ended.
fn stays_in_flight(what: &str, prepare: impl FnOnce(&Rig, u64) -> Signal) {
    let rig = rig();
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.fault(Operation::CopyToDevice, 0, Fault::Hold);
    let signal = prepare(&rig, target);
    queue.run(COUNT, &[out]);
    rig.fake.release();
    rig.fake.wait_for_signal(signal);
    queue.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    let first = (records[0].outcome, records[0].reason);
    assert_eq!(first, (Outcome::Declined, Some(Reason::CopyInFlight)), "{what}");
    assert_eq!(records[1].outcome, Outcome::Replayed, "{what}: {:?}", records[1].detail);
}

/// Waits until a signal has this value.
fn wait_for_value(rig: &Rig, signal: Signal, value: i64) {
    rig.fake.wait_for("the other copy", |_| signal_value(signal) == value);
}

#[test]
fn a_copy_stays_in_flight_when_the_program_raises_its_signal_for_another() {
    stays_in_flight("add before each copy", |rig, target| {
        let signal = rig.fake.new_signal(0);
        for _ in 0..2 {
            add(rig, signal, 1);
            copy(rig, target, signal);
        }
        wait_for_value(rig, signal, 1);
        signal
    });
}

#[test]
fn a_copy_stays_in_flight_when_the_program_takes_its_own_share_of_the_signal() {
    stays_in_flight("a subtraction by the host", |rig, target| {
        let signal = rig.fake.new_signal(3);
        copy(rig, target, signal);
        copy(rig, target, signal);
        wait_for_value(rig, signal, 2);
        add(rig, signal, -1);
        signal
    });
}

#[test]
fn a_copy_stays_in_flight_when_another_with_its_signal_is_refused() {
    stays_in_flight("a refused copy", |rig, target| {
        let signal = rig.fake.new_signal(1);
        copy(rig, target, signal);
        let refused: RuntimeResult<()> =
            Err(RuntimeError { call: "hsa_amd_memory_async_copy", status: 0x1001 });
        assert_eq!(rig.engine.async_copy(&call(signal), move || refused, Vec::new), refused);
        signal
    });
}

#[test]
fn a_collective_stays_in_flight_when_the_program_writes_its_signal() {
    const COLLECTIVE: &str = "ncclDevKernel_Generic_24";
    let rig = Rig::with(&[("KERNEL", "count"), ("TIMEOUT", "1000")]);
    let kernel = rig.load_renamed(Executable(2), COLLECTIVE);
    rig.fake.kernel(kernel, |_, _| {});
    let out = rig.allocate(64);
    let (collective, queue) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(kernel);
    let signal = rig.fake.new_signal(1);
    let mut packet = collective.packet(COUNT, &[0], signal);
    packet[4] = kernel;
    collective.submit(packet);
    rig.fake.wait_for_held(kernel);
    add(&rig, signal, 1);
    queue.run(COUNT, &[out]);
    rig.fake.release();
    // Runs behind it.
    collective.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].reason), (Outcome::Declined, Some(Reason::Collective)));
}

/// The copy is not of the agent and waits for a candidate; a barrier waits for the copy.
#[test]
fn nothing_waits_on_the_hardware_for_a_copy_that_waits_for_a_candidate() {
    let rig = rig();
    let out = rig.allocate(64);
    let (first, second) = (rig.queue(16), rig.queue(16));
    let (counted, copied, passed) = (rig.fake.new_signal(1), rig.fake.new_signal(1), rig.fake.new_signal(1));
    let dependencies = [counted];
    let call = AsyncCopy { agents: &[HOST], dependencies: &dependencies, ..call(copied) };
    rig.engine.async_copy(&call, || Ok(()), Vec::new).expect("the runtime has it and waits");
    second.submit(AppQueue::barrier(copied, passed));
    assert_eq!(second.forwarded(), 0, "its producer waits for what is not on the hardware");
    first.submit(first.packet(COUNT, &[out], counted));
    first.wait(counted);
    rig.fake.store_signal(copied, 0);
    second.wait(passed);
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed, "{:?}", records[0].detail);
}
