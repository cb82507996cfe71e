//! Packets that wait for signals: in software while what they wait for is, on the hardware otherwise.

use super::rig::{AppQueue, COUNT, Rig, SCALE};
use crate::handles::Signal;
use crate::runtime::Runtime;
use crate::shared_memory::signal_value;
use hsa_replay_contract::Outcome;

/// A rig in which `scale` does nothing and only `count` is selected.
fn rig() -> Rig {
    let rig = Rig::with(&[("KERNEL", "count"), ("TIMEOUT", "30")]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig
}

/// The application's own write of a signal, with what its hook does.
fn write(rig: &Rig, signal: Signal, value: i64) {
    assert!(!rig.engine.store_doorbell(signal, value), "no doorbell");
    rig.fake.store_signal(signal, value);
}

#[test]
fn a_queue_that_waits_for_a_candidate_does_not_keep_its_window_from_draining() {
    let rig = rig();
    let out = rig.allocate(64);
    let (first, second) = (rig.queue(16), rig.queue(16));
    let (counted, done) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
    second.submit(AppQueue::barrier(counted, Signal::NONE));
    second.submit(second.packet(SCALE, &[], done));
    first.submit(first.packet(COUNT, &[out], counted));
    second.wait(done);
    assert_eq!((signal_value(counted), rig.u32(out)), (0, 1));
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}

#[test]
fn a_barrier_goes_on_at_once_when_its_producer_is_on_the_hardware() {
    let rig = rig();
    let (first, second) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(rig.kernel(SCALE));
    let produced = first.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    let passed = rig.fake.new_signal(1);
    second.submit(AppQueue::barrier(produced, passed));
    assert_eq!((second.forwarded(), signal_value(produced)), (1, 1), "on the hardware, and not met yet");
    rig.fake.release();
    second.wait(passed);
    rig.finish();
}

#[test]
fn a_chain_of_barriers_over_two_queues_needs_no_software_round_trip() {
    let rig = rig();
    let (first, second) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(rig.kernel(SCALE));
    let mut produced = first.dispatch(SCALE, &[]);
    for turn in 0..6 {
        let queue = if turn % 2 == 0 { &second } else { &first };
        queue.submit(AppQueue::barrier(produced, Signal::NONE));
        produced = queue.dispatch(SCALE, &[]);
    }
    assert_eq!((first.forwarded(), second.forwarded()), (7, 6), "all of it is on the hardware");
    rig.fake.release();
    first.wait(produced);
    rig.finish();
}

#[test]
fn a_barrier_on_the_hosts_signal_waits_in_software_and_goes_on_without_a_doorbell() {
    let rig = rig();
    let queue = rig.queue(16);
    let (hosts, passed) = (rig.fake.new_signal(2), rig.fake.new_signal(1));
    queue.submit(AppQueue::barrier(hosts, passed));
    assert_eq!(queue.forwarded(), 0);
    write(&rig, hosts, 1);
    write(&rig, hosts, 0);
    queue.wait(passed);
    assert_eq!(queue.forwarded(), 1);
    rig.finish();
}

#[test]
fn a_signal_that_is_used_again_promises_nothing() {
    let rig = rig();
    let (first, second) = (rig.queue(16), rig.queue(16));
    let signal = first.dispatch(SCALE, &[]);
    first.wait(signal);
    write(&rig, signal, 1);
    let passed = rig.fake.new_signal(1);
    second.submit(AppQueue::barrier(signal, passed));
    assert_eq!(second.forwarded(), 0, "its producer has not been submitted yet");
    first.submit(first.packet(SCALE, &[], signal));
    second.wait(passed);
    rig.finish();
}

#[test]
fn a_destroyed_signals_address_promises_nothing() {
    let rig = rig();
    let (first, second) = (rig.queue(16), rig.queue(16));
    let signal = first.dispatch(SCALE, &[]);
    first.wait(signal);
    rig.engine.signal_destroying(signal);
    // Another signal at the same address, with a value of its own.
    rig.fake.store_signal(signal, 1);
    second.submit(AppQueue::barrier(signal, Signal::NONE));
    assert_eq!(second.forwarded(), 0);
    write(&rig, signal, 0);
    second.run(SCALE, &[]);
    rig.finish();
}

#[test]
fn one_met_dependency_satisfies_a_barrier_or_and_none_needs_none() {
    let rig = rig();
    let queue = rig.queue(16);
    let (open, met, passed) = (rig.fake.new_signal(1), rig.fake.new_signal(0), rig.fake.new_signal(3));
    queue.submit([5 | 1 << 8, open.0, met.0, 0, 0, 0, 0, passed.0]);
    queue.submit([5 | 1 << 8, 0, 0, 0, 0, 0, 0, passed.0]);
    queue.submit([5 | 1 << 8, open.0, 0, 0, 0, 0, 0, passed.0]);
    assert_eq!(queue.forwarded(), 2);
    write(&rig, open, 0);
    queue.wait(passed);
    rig.finish();
}

#[test]
fn every_dependency_of_a_barrier_and_must_be_met() {
    let rig = rig();
    let queue = rig.queue(16);
    let (one, other, passed) = (rig.fake.new_signal(0), rig.fake.new_signal(1), rig.fake.new_signal(1));
    queue.submit([3 | 1 << 8, one.0, 0, other.0, 0, 0, 0, passed.0]);
    assert_eq!(queue.forwarded(), 0);
    write(&rig, other, 0);
    queue.wait(passed);
    rig.finish();
}

#[test]
fn a_barrier_value_waits_for_its_masked_condition() {
    let rig = rig();
    let queue = rig.queue(16);
    let (signal, passed) = (rig.fake.new_signal(0x1f0), rig.fake.new_signal(2));
    let packet = |signal: Signal| [2 << 16 | 1 << 8, signal.0, 0x7, 0xf, 0, 0, 0, passed.0];
    queue.submit(packet(Signal::NONE));
    queue.submit(packet(signal));
    assert_eq!(queue.forwarded(), 1);
    write(&rig, signal, 0x2f7);
    queue.wait(passed);
    rig.finish();
}

#[test]
fn a_host_that_answers_a_kernel_is_heard_while_another_queue_waits() {
    // The host waits for one queue before it releases the other: nothing of ours may order them.
    let rig = rig();
    let (waiting, working) = (rig.queue(16), rig.queue(16));
    let gate = rig.fake.new_signal(1);
    waiting.submit(AppQueue::barrier(gate, Signal::NONE));
    let last = waiting.dispatch(SCALE, &[]);
    let out = rig.allocate(64);
    for _ in 0..5 {
        working.run(COUNT, &[out]);
    }
    write(&rig, gate, 0);
    waiting.wait(last);
    let (records, _) = rig.finish();
    assert!(records.iter().all(|record| record.outcome == Outcome::Replayed));
}
