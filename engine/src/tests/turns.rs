//! Queues of one agent take turns at its worker.

use super::rig::{AppQueue, Rig, SCALE};
use crate::fake::Operation;
use crate::runtime::Runtime;

/// The host may go on feeding one queue until the other has done its work. Here the worker is held in the last candidate of the busy
/// queue until the other queue's packet has gone on.
#[test]
fn a_queue_that_waits_is_looked_at_although_another_never_runs_empty() {
    const CANDIDATES: u64 = 1000;
    let rig = Rig::with(&[("KERNEL", "scale")]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let (waiting, busy) = (rig.queue(16), rig.queue(1024));
    // Each is declined without a drain, for an argument that is the address of nothing known.
    let arguments = rig.unseen_arguments(&[0x1230, 0x1230]);
    let done = rig.fake.new_signal(1 + CANDIDATES.cast_signed());
    let mut packet = busy.packet(SCALE, &[], done);
    packet[5] = arguments;
    busy.submit(packet);
    rig.fake.wait_for("the first", |state| !state.events.is_empty());
    let asked = rig.fake.count(Operation::PointerFacts);
    rig.fake.pause(Operation::PointerFacts, (CANDIDATES - 1) * asked);
    let (hosts, passed) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
    waiting.submit(AppQueue::barrier(hosts, passed));
    for _ in 0..CANDIDATES {
        busy.write(packet);
    }
    busy.ring(CANDIDATES);
    // A plain store, which nobody hears.
    rig.fake.store_signal(hosts, 0);
    waiting.wait(passed);
    rig.fake.resume();
    busy.wait(done);
    let (records, _) = rig.finish();
    assert_eq!(records.len() as u64, CANDIDATES + 1);
    assert!(records.iter().all(|record| record.passes.is_empty()), "{:?}", records[0]);
}
