//! What a barrier that waits in software is held against, and what reaches the hardware of it.

use super::rig::{AppQueue, Rig};
use crate::handles::Signal;
use std::mem::offset_of;

/// Nothing is selected.
fn rig() -> Rig {
    Rig::with(&[("KERNEL", "^nothing$")])
}

/// Where a signal has its value.
const VALUE: u64 = offset_of!(hsa_sys::amd_signal_t, __bindgen_anon_1) as u64;

#[test]
fn a_dependency_is_met_at_zero_and_nowhere_else() {
    for (and, unmet) in [(true, 1), (true, -1), (false, 1), (false, -1)] {
        let rig = rig();
        let queue = rig.queue(8);
        let (signal, passed) = (rig.fake.new_signal(unmet), rig.fake.new_signal(1));
        let header = if and { 3 } else { 5 };
        queue.submit([header | 1 << 8, signal.0, 0, 0, 0, 0, 0, passed.0]);
        assert_eq!(queue.forwarded(), 0, "and: {and}, value {unmet}");
        rig.fake.store_word(signal.0 + VALUE, 0);
        queue.wait(passed);
        rig.finish();
    }
}

/// `hsa_amd_signal_value_pointer` lets an application do that: no call of the runtime shows it.
#[test]
fn a_plain_store_to_the_value_of_a_signal_is_seen() {
    let rig = rig();
    let queue = rig.queue(8);
    let (signal, passed) = (rig.fake.new_signal(7), rig.fake.new_signal(1));
    queue.submit(AppQueue::barrier(signal, passed));
    assert_eq!(queue.forwarded(), 0);
    rig.fake.store_word(signal.0 + VALUE, 0);
    queue.wait(passed);
    rig.finish();
}

/// The hardware looks at the dependencies again, after the packets before the barrier.
#[test]
fn a_barrier_keeps_its_dependencies_and_its_signal() {
    let rig = rig();
    let queue = rig.queue(8);
    let (met, also, passed) = (rig.fake.new_signal(0), rig.fake.new_signal(0), rig.fake.new_signal(3));
    let packets = [
        [3 | 1 << 8 | 2 << 9, met.0, 0, also.0, 0, 0, 0, passed.0],
        [5 | 2 << 11, 0, met.0, 0, 0, also.0, 0, passed.0],
        [2 << 16 | 1 << 8, met.0, 0, 0xff, 0, 0, 0, passed.0],
    ];
    for packet in packets {
        queue.submit(packet);
    }
    queue.wait(passed);
    let ring = rig.fake.load_word(queue.real.object + offset_of!(hsa_sys::hsa_queue_t, base_address) as u64);
    for (slot, packet) in (ring..).step_by(64).zip(packets) {
        let words: [u64; 8] = std::array::from_fn(|at| rig.fake.load_word(slot + 8 * at as u64));
        // The hardware has marked the header as taken.
        assert_eq!((words[0] >> 16, &words[1..]), (packet[0] >> 16, &packet[1..]));
    }
    rig.finish();
}

#[test]
fn packets_that_nobody_rang_for_go_with_the_next_ring() {
    let rig = rig();
    let queue = rig.queue(8);
    let passed = rig.fake.new_signal(2);
    queue.write(AppQueue::barrier(Signal::NONE, passed));
    assert_eq!(queue.forwarded(), 0);
    queue.submit(AppQueue::barrier(Signal::NONE, passed));
    queue.wait(passed);
    rig.finish();
}
