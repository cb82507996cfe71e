//! Copies that hang while the snapshot lies in the agent's memory: whatever they may still touch is neither used nor freed.

use super::rig::{COUNT, Rig};
use crate::fake::{Fault, GPU, Operation};
use hsa_replay_contract::{Dispatch, Outcome};
use std::path::Path;
use std::sync::Arc;

const MIB: u64 = 1 << 20;

/// One candidate with its snapshot on the device tier, more than the staging block holds. These copies to the host hang.
fn one_candidate(dumps: &Path, hang: &[u64]) -> (Dispatch, u64) {
    let dumps = dumps.to_str().expect("text");
    let rig = Rig::with(&[("PASSES", "2"), ("TIMEOUT", "1"), ("DUMP_WRITES", dumps)]);
    let (out, _) = (rig.allocate(MIB), rig.allocate(40 * MIB));
    rig.fake.set_host_memory(MIB);
    // The arena does not stay from one window to the next.
    rig.fake.set_device_memory(60 * MIB, 120 * MIB);
    let queue = rig.queue(16);
    for &nth in hang {
        rig.fake.fault(Operation::CopyToHost, nth, Fault::Hold);
    }
    queue.run(COUNT, &[out]);
    // One that uses what the first left.
    queue.run(COUNT, &[out]);
    assert_eq!((rig.u32(out), rig.u32(rig.counter)), (2, 2), "as after one run of each; {hang:?}");
    let copies = rig.fake.count(Operation::CopyToHost);
    let fake = Arc::clone(&rig.fake);
    rig.engine.stop();
    fake.release();
    fake.wait_for_copies();
    let (mut records, _) = rig.finish();
    assert_eq!(records.len(), 2);
    (records.remove(0), copies)
}

#[test]
fn neither_a_hung_copy_of_the_snapshot_nor_one_of_memory_is_used_or_freed_under() {
    let folder = tempfile::tempdir().expect("a folder");
    let (record, copies) = one_candidate(folder.path(), &[]);
    assert_eq!(record.outcome, Outcome::Replayed, "{:?}", record.detail);
    // Any of the first window, alone and with the one after it.
    std::thread::scope(|scope| {
        for nth in 0..copies / 2 {
            for hang in [vec![nth], vec![nth, nth + 1]] {
                let folder = folder.path();
                scope.spawn(move || one_candidate(folder, &hang));
            }
        }
    });
}

#[test]
fn an_arena_that_is_lost_stays_hidden_beside_the_next() {
    let rig = Rig::with(&[("CHECK", "0"), ("TIMEOUT", "3")]);
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    // The first copy to the arena.
    rig.fake.fault(Operation::CopyToDevice, 0, Fault::Hold);
    queue.run(COUNT, &[out]);
    let lost = rig.fake.arena_bytes();
    assert!(lost >= 4 * MIB && rig.engine.hidden_memory(GPU) == lost);
    queue.run(COUNT, &[out]);
    assert!(rig.fake.arena_bytes() >= lost + 4 * MIB, "another one");
    assert_eq!(rig.engine.hidden_memory(GPU), rig.fake.arena_bytes());
    assert!(rig.engine.give_back_memory(true));
    assert_eq!((rig.fake.arena_bytes(), rig.engine.hidden_memory(GPU)), (lost, lost));
    let (records, _) = rig.finish();
    // Whether the time of the second sufficed for its passes too is not what this is about.
    assert_eq!(records.len(), 2);
    assert_eq!(records[0].outcome, Outcome::Declined);
}
