//! What is captured, from window to window, while memory comes, goes and changes.

use super::rig::{COUNT, Rig, SCALE};
use crate::Unmapped;
use hsa_replay_contract::Outcome;
use hsa_replay_contract::record::Dispatch;

/// Regions that a record says were captured, beside the variables that every rig has.
fn captured(record: &Dispatch) -> u64 {
    assert_eq!(record.outcome, Outcome::Replayed, "{:?}", record.detail);
    record.snapshot.as_ref().expect("taken").regions - 1
}

#[test]
fn each_window_captures_what_is_there_then() {
    let rig = Rig::new();
    let (out, mapping) = (rig.allocate(64), rig.map(1));
    let queue = rig.queue(16);
    let run = || queue.run(COUNT, &[out]);
    run();
    run();
    let other = rig.allocate(64);
    run();
    rig.engine.capture(other, false);
    run();
    rig.engine.capture(other, true);
    run();
    rig.free(other);
    run();
    let unmapping = rig.engine.memory_unmapping(mapping, 4096, true);
    rig.engine.memory_unmapped(&unmapping, Unmapped::Done);
    run();
    rig.map(2);
    run();
    assert_eq!(rig.u32(out), 8);
    let (records, _) = rig.finish();
    assert_eq!(records.iter().map(captured).collect::<Vec<_>>(), [2, 2, 3, 2, 3, 2, 1, 2]);
}

/// Every pass of the second window sees memory that came at the freed address as it was before the first pass.
#[test]
fn memory_at_the_address_of_what_was_freed_during_a_window_is_put_back_in_the_next() {
    let rig = Rig::new();
    let (out, other) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    rig.free(other);
    rig.fake.release();
    queue.wait(counted);
    rig.fake.machine(|machine| machine.allocate_at(other, 64));
    rig.track(other, 64);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| machine.add_u32(other, 1));
    queue.run(SCALE, &[other]);
    assert_eq!(rig.u32(other), 1, "three passes, each from nothing");
    let (records, _) = rig.finish();
    assert_eq!(captured(&records[1]), 2);
}
