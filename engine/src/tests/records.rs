//! Every candidate leaves one record, however it ends.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Fault, Operation};
use crate::shared_memory::signal_value;
use hsa_replay_contract::{Outcome, Reason};

#[test]
fn a_candidate_that_waits_for_the_worker_when_its_queue_goes_has_a_record() {
    for destroy in [false, true] {
        let rig = Rig::new();
        let out = rig.allocate(64);
        let (first, second) = (rig.queue(16), rig.queue(16));
        // The worker is kept at the first candidate, with the gate still open.
        let counted = rig.fake.new_signal(1);
        let mut packet = first.packet(COUNT, &[], counted);
        packet[5] = rig.unseen_arguments(&[out]);
        rig.fake.pause(Operation::PointerFacts, 0);
        first.submit(packet);
        rig.fake.wait_for_pause();
        let never = second.dispatch(COUNT, &[out]);
        if destroy {
            second.destroy();
        } else {
            rig.engine.queue_failed(second.object);
        }
        rig.fake.resume();
        first.wait(counted);
        let (records, summary) = rig.finish();
        assert_eq!((records.len(), summary.candidates, signal_value(never)), (2, 2, 1));
        let gone = records.iter().find(|record| record.id == 1).expect("a record");
        assert_eq!((gone.outcome, gone.reason), (Outcome::Declined, Some(Reason::QueueError)));
    }
}

/// Has a pass of `count` outlast its window.
fn overlong(then: impl FnOnce(&Rig, u64)) -> (crate::handles::Signal, Rig) {
    let rig = Rig::with(&[("KERNEL", "count"), ("TIMEOUT", "1")]);
    let out = rig.allocate(64);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let (queue, other) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    // Passes when the gate opens at the timeout.
    other.run(SCALE, &[]);
    then(&rig, queue.object);
    (signal, rig)
}

#[test]
fn a_watched_pass_whose_queue_goes_is_a_fault() {
    let (signal, rig) = overlong(|rig, queue| rig.engine.queue_failed(queue));
    let (records, _) = rig.finish();
    assert_eq!((records.len(), signal_value(signal)), (1, 1));
    assert_eq!((records[0].outcome, records[0].reason), (Outcome::Faulted, Some(Reason::QueueError)));
}

#[test]
fn a_watched_pass_that_outlasts_the_engine_has_a_record_and_completes() {
    let (signal, rig) = overlong(|rig, _| rig.engine.stop());
    rig.fake.release();
    rig.fake.wait_for_signal(signal);
    let (records, _) = rig.finish();
    assert_eq!((records.len(), signal_value(signal)), (1, 0));
    assert_eq!((records[0].outcome, records[0].reason), (Outcome::Declined, Some(Reason::PassTimeout)));
}

#[test]
fn a_window_that_panics_has_a_record_and_its_packet_completes() {
    // While it is decided; at the first copy of the snapshot; when memory is read after the first pass.
    for (operation, nth) in
        [(Operation::PointerFacts, 0), (Operation::CopyToHost, 0), (Operation::CopyToHost, 2)]
    {
        let rig = Rig::new();
        let out = rig.allocate(64);
        rig.fake.fault(operation, nth, Fault::Panic);
        let queue = rig.queue(16);
        queue.run(COUNT, &[out]);
        queue.run(COUNT, &[out]);
        assert_eq!(rig.u32(out), 2);
        let (records, _) = rig.finish();
        assert_eq!(records.len(), 2);
        for (record, reason) in records.iter().zip([Reason::InternalError, Reason::ReplayOff]) {
            assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(reason)));
        }
    }
}
