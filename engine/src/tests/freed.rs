//! Memory that the program frees while a window is open.

use super::failures::outcome;
use super::rig::{COUNT, Rig};
use crate::fake::Operation;
use hsa_replay_contract::Outcome;

#[test]
fn memory_freed_during_the_window_is_left_alone() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let (out, other) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    rig.free(other);
    rig.fake.release();
    queue.wait(signal);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Replayed, None, 3));
    assert_eq!(records[0].restore.expect("restored").skipped, 2);
}

#[test]
fn new_memory_at_the_address_of_captured_memory_keeps_its_bytes() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let (out, other) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    rig.free(other);
    rig.fake.machine(|machine| {
        machine.allocate_at(other, 64);
        machine.write(other, &[0xaa; 64]);
    });
    rig.track(other, 64);
    rig.fake.release();
    queue.wait(signal);
    assert_eq!(rig.fake.machine(|machine| machine.read(other, 64)), [0xaa; 64]);
    rig.finish();
}

#[test]
fn memory_that_the_kernel_left_alone_may_be_freed_between_comparisons() {
    let rig = Rig::new();
    let (out, other) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    // The first pass is compared, the second not yet.
    rig.fake.pause(Operation::CopyToDevice, 0);
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    rig.free(other);
    rig.fake.resume();
    queue.wait(signal);
    let (records, _) = rig.finish();
    assert_eq!(records[0].deterministic, Some(true));
}

#[test]
fn memory_freed_before_the_first_comparison_is_in_none() {
    let rig = Rig::new();
    let (out, other) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    rig.free(other);
    rig.fake.release();
    queue.wait(signal);
    let (records, _) = rig.finish();
    // Freed before the first comparison: all passes are compared over the same memory.
    assert_eq!(records[0].deterministic, Some(true));
}
