//! Each copy of a window misbehaves in each way, alone and with the one after it: the program ends as after one run of each
//! kernel, and every candidate has its record.

use super::rig::{COUNT, Rig};
use crate::fake::{Fault, Operation};
use hsa_replay_contract::record::Tier;
use hsa_replay_contract::{Dispatch, Outcome};
use std::sync::Arc;

/// Two candidates, of which copies of the first misbehave, and how many copies of the kind the first one took.
fn two_candidates(check: &str, kind: Operation, fault: Fault, copies: &[u64]) -> (Vec<Dispatch>, u64) {
    let rig = Rig::with(&[("CHECK", check), ("TIMEOUT", "1")]);
    let (out, _) = (rig.allocate(4096), rig.allocate(4096));
    let queue = rig.queue(16);
    for &nth in copies {
        rig.fake.fault(kind, nth, fault);
    }
    queue.run(COUNT, &[out]);
    let taken = rig.fake.count(kind);
    queue.run(COUNT, &[out]);
    let result = (rig.u32(out), rig.u32(rig.counter));
    let fake = Arc::clone(&rig.fake);
    rig.engine.stop();
    fake.release();
    fake.wait_for_copies();
    let (records, summary) = rig.finish();
    let what = format!("{fault:?} of {kind:?} {copies:?}, check {check}");
    assert_eq!((records.len(), summary.candidates), (2, 2), "one record for each candidate: {what}");
    for record in &records {
        // A copy that hangs while memory is put back is past repair, and says so.
        let may_taint = fault == Fault::Hold && kind == Operation::CopyToDevice;
        assert!(record.outcome != Outcome::Tainted || may_taint, "{what}: {record:#?}");
        assert!(record.outcome == Outcome::Replayed || record.reason.is_some(), "{what}: {record:#?}");
    }
    if records.iter().all(|record| record.outcome != Outcome::Tainted) {
        assert_eq!(result, (2, 2), "{what}: {records:#?}");
    }
    (records, taken)
}

/// To the host, to the device, and, where memory is not compared and the snapshot lies with the agent, within the device.
#[test]
fn whichever_copy_fails_and_however_the_program_ends_as_without_us() {
    std::thread::scope(|scope| {
        for (check, tier) in [("1", Tier::Host), ("0", Tier::Device)] {
            for kind in [Operation::CopyToHost, Operation::CopyToDevice] {
                let (records, copies) = two_candidates(check, kind, Fault::Refuse, &[]);
                for record in &records {
                    assert_eq!(record.outcome, Outcome::Replayed);
                    assert_eq!(record.snapshot.expect("taken").tier, tier);
                }
                for nth in 0..copies {
                    for fault in [Fault::Refuse, Fault::FailLate, Fault::Hold] {
                        scope.spawn(move || two_candidates(check, kind, fault, &[nth]));
                        scope.spawn(move || two_candidates(check, kind, fault, &[nth, nth + 1]));
                    }
                }
            }
        }
    });
}
