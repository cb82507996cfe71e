//! What snapshots hold, and what windows keep from one to the next.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Event, Fault, Operation, argument};
use crate::handles::{Executable, Signal};
use hsa_replay_contract::record::Tier;
use hsa_replay_contract::{Outcome, Reason};
use std::sync::{Arc, Mutex};

/// One kernel and no variable.
const WITHOUT_VARIABLES: &[u8] = include_bytes!("../../../code-object/tests/data/unoptimised-v5.co");
/// Bytes of the variables that every rig has.
const VARIABLES: u64 = 0x114;

#[test]
fn every_buffer_is_in_each_pass_what_it_was_before_the_first() {
    let rig = Rig::new();
    let buffers: Vec<u64> = (0..3).map(|_| rig.allocate(256)).collect();
    for (buffer, byte) in buffers.iter().zip([0x11_u8, 0x22, 0x33]) {
        rig.fake.machine(|machine| machine.write(*buffer, &[byte; 256]));
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let list = Arc::clone(&seen);
    let touched = buffers.clone();
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        let before: Vec<Vec<u8>> = touched.iter().map(|buffer| machine.read(*buffer, 256)).collect();
        list.lock().expect("unpoisoned").push(before);
        touched.iter().for_each(|buffer| machine.write(*buffer, &[0xee; 256]));
    });
    rig.queue(16).run(SCALE, &[buffers[0]]);
    let expected: Vec<Vec<u8>> = [0x11, 0x22, 0x33].map(|byte| vec![byte; 256]).to_vec();
    assert_eq!(*seen.lock().expect("unpoisoned"), vec![expected; 3]);
    for buffer in buffers {
        assert_eq!(rig.fake.machine(|machine| machine.read(buffer, 256)), [0xee; 256], "the last pass stays");
    }
    rig.finish();
}

#[test]
fn a_window_with_nothing_to_capture_is_replayed() {
    let rig = Rig::new();
    let (_, object) = rig.load_other(Executable(2), WITHOUT_VARIABLES);
    rig.fake.kernel(object, |_, _| {});
    let queue = rig.queue(16);
    let mut packet = queue.packet(COUNT, &[0; 64], rig.fake.new_signal(1));
    packet[4] = object;
    rig.engine.executable_destroying(Executable(1), true);
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 3), "{:?}", record.detail);
    let snapshot = record.snapshot.expect("an empty one is one");
    assert_eq!((snapshot.regions, snapshot.bytes), (0, 0));
    assert_eq!((record.deterministic, record.writes.map(|writes| writes.len())), (Some(true), Some(0)));
}

#[test]
fn later_windows_use_the_memory_and_the_signals_of_the_first() {
    let rig = Rig::new();
    let out = rig.allocate(4096);
    let queue = rig.queue(16);
    queue.run(COUNT, &[out]);
    let signal = rig.fake.new_signal(1);
    let packet = queue.packet(COUNT, &[out], signal);
    for nth in 0..100 {
        rig.fake.fault(Operation::AllocateHost, nth, Fault::Refuse);
        rig.fake.fault(Operation::CreateSignal, nth, Fault::Refuse);
    }
    queue.submit(packet);
    queue.wait(signal);
    let (records, _) = rig.finish();
    assert_eq!(
        (records[1].outcome, records[1].passes.len()),
        (Outcome::Replayed, 3),
        "{:?}",
        records[1].detail
    );
}

#[test]
fn a_snapshot_of_exactly_the_budget_is_taken_and_of_a_byte_more_not() {
    for (missing, expected) in
        [(0, (Outcome::Replayed, None)), (1, (Outcome::Declined, Some(Reason::OverBudget)))]
    {
        let budget = (4096 + VARIABLES - missing).to_string();
        // A second pass would need room for what the first one changed.
        let rig = Rig::with(&[("BUDGET", &budget), ("PASSES", "1")]);
        let out = rig.allocate(4096);
        rig.queue(16).run(COUNT, &[out]);
        assert_eq!(rig.u32(out), 1);
        let (records, _) = rig.finish();
        assert_eq!((records[0].outcome, records[0].reason), expected);
    }
}

#[test]
fn each_dispatch_of_a_batch_is_replayed_in_its_place() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.fake.kernel(rig.kernel(SCALE), |machine, words| {
        // Twice what was there, so that order shows.
        let now = machine.read_u32(argument(words, 0));
        machine.add_u32(argument(words, 0), now);
    });
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(6);
    let kernels = [COUNT, SCALE, COUNT, COUNT, SCALE, COUNT];
    let slots: Vec<u64> =
        kernels.iter().map(|kernel| queue.write(queue.packet(kernel, &[out], signal))).collect();
    queue.ring(slots[5]);
    queue.wait(signal);
    // ((0 + 1) * 2 + 1 + 1) * 2 + 1
    assert_eq!(rig.u32(out), 9);
    let (records, summary) = rig.finish();
    assert_eq!(summary.replayed, 6);
    assert!(records.iter().all(|record| record.passes.len() == 3));
}

/// A list from each buffer to the one below it, saved in the agent's memory.
#[test]
fn what_is_fetched_to_follow_pointers_is_about_as_much_as_they_lead_through() {
    const MIB: u64 = 1 << 20;
    let rig = Rig::with(&[("PASSES", "2")]);
    rig.allocate(40 * MIB);
    let buffers: Vec<u64> = (0..50).map(|_| rig.allocate(4096)).collect();
    rig.allocate(40 * MIB);
    for pair in buffers.windows(2) {
        rig.fake.machine(|machine| machine.write(pair[1], &pair[0].to_le_bytes()));
    }
    rig.fake.set_host_memory(MIB);
    rig.queue(16).run(COUNT, &[buffers[49] + 8]);
    let fetched: u64 = rig
        .fake
        .events()
        .iter()
        .map(|event| match event {
            Event::Copied { operation: Operation::CopyToHost, bytes, .. } => *bytes,
            _ => 0,
        })
        .sum();
    // Both comparisons read all memory and all saved bytes.
    assert!(fetched < 5 * 80 * MIB, "{} MiB", fetched / MIB);
    let record = rig.finish().0.remove(0);
    assert_eq!(record.snapshot.expect("taken").tier, Tier::Device);
    assert_eq!(record.outcome, Outcome::Replayed, "{:?}", record.detail);
}
