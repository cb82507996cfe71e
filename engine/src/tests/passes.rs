//! What a replayed dispatch leaves and what its record says.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Event, argument};
use crate::handles::{Executable, Signal};
use crate::shared_memory::ticks;
use hsa_replay_contract::record::{RangeHasher, WriteKind};
use hsa_replay_contract::{Outcome, Reason, Record};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

fn passes_of(rig: &Rig, symbol: &str) -> usize {
    let kernel = rig.kernel(symbol);
    let ran = |event: &&Event| matches!(event, Event::Dispatch { kernel: other, .. } if *other == kernel);
    rig.fake.events().iter().filter(ran).count()
}

#[test]
fn an_in_place_kernel_runs_every_pass_from_the_same_memory_and_ends_as_after_one() {
    let rig = Rig::new();
    let out = rig.allocate(4096);
    let queue = rig.queue(16);
    queue.run(COUNT, &[out]);
    assert_eq!(passes_of(&rig, COUNT), 3);
    assert_eq!((rig.u32(out), rig.u32(rig.counter)), (1, 1));
    queue.run(COUNT, &[out]);
    assert_eq!((rig.u32(out), rig.u32(rig.counter)), (2, 2));
    let counter = rig.counter;
    let (records, summary) = rig.finish();
    assert_eq!((summary.candidates, summary.replayed, summary.filtered), (2, 2, 0));
    let record = &records[1];
    assert_eq!((record.id, record.launch, record.agent), (1, 1, 0));
    assert_eq!((record.kernel.as_str(), record.symbol.as_str()), ("count(int*, Pair)", COUNT));
    assert_eq!((record.outcome, record.reason), (Outcome::Replayed, None));
    assert_eq!((record.grid, record.workgroup), ([64, 1, 1], [64, 1, 1]));
    assert_eq!((record.passes.len(), record.deterministic), (3, Some(true)));
    assert!(record.passes.iter().all(|pass| pass.ns == Some(1000) && pass.hash == record.passes[0].hash));
    let writes = record.writes.as_ref().expect("compared");
    assert_eq!(writes.len(), 2);
    let allocation = writes.iter().find(|write| write.kind == WriteKind::Allocation).expect("listed");
    assert_eq!((allocation.base, allocation.size, allocation.arg), (out, 4096, Some(0)));
    assert_eq!((&allocation.ranges[..], allocation.bytes, allocation.merged), (&[[0, 1]][..], 1, false));
    let variable = writes.iter().find(|write| write.kind == WriteKind::ModuleVariable).expect("listed");
    assert_eq!((variable.name.as_deref(), variable.base, variable.size), (Some("counter"), counter, 4));
    assert_eq!(variable.ranges, [[0, 1]]);
    let snapshot = record.snapshot.expect("taken");
    assert_eq!((snapshot.regions, snapshot.bytes), (2, 4096 + 0x114));
    let restore = record.restore.expect("two restores");
    assert_eq!((restore.regions, restore.skipped, restore.failed), (4, 0, 0));
}

#[test]
fn a_kernel_that_only_reads_has_no_writes() {
    let rig = Rig::new();
    let input = rig.allocate(256);
    rig.fake.kernel(rig.kernel(SCALE), |machine, words| {
        machine.read_u32(argument(words, 0));
    });
    rig.queue(16).run(SCALE, &[input]);
    let (records, _) = rig.finish();
    assert_eq!(records[0].writes.as_deref(), Some(&[][..]));
    assert_eq!(records[0].deterministic, Some(true));
}

#[test]
fn a_kernel_that_differs_from_pass_to_pass_is_found_out_to_the_byte() {
    let rig = Rig::new();
    let out = rig.allocate(256);
    let pass = Arc::new(AtomicU32::new(0));
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        let base = argument(words, 0);
        machine.write(base, &[7, 7]);
        machine.write(base + 100, &(pass.fetch_add(1, Ordering::SeqCst) + 0x0101_0101).to_le_bytes());
    });
    rig.queue(16).run(SCALE, &[out]);
    assert_eq!(rig.u32(out + 100), 0x0101_0103, "memory holds the last pass");
    let (records, _) = rig.finish();
    let record = &records[0];
    assert_eq!((record.outcome, record.deterministic), (Outcome::Replayed, Some(false)));
    assert_eq!(record.writes.as_ref().expect("compared")[0].ranges, [[0, 2], [100, 4]]);
    let divergence = record.divergence.as_ref().expect("compared");
    let places: Vec<_> =
        divergence.iter().map(|entry| (entry.write, entry.pass, entry.offset, entry.bytes)).collect();
    assert_eq!(places, [(0, 1, 100, 1), (0, 2, 100, 1)]);
}

#[test]
fn what_a_region_was_left_with_has_a_hash_that_does_not_know_its_address() {
    let rig = Rig::new();
    let (here, there) = (rig.allocate(256), rig.allocate(256));
    rig.fake.kernel(rig.kernel(SCALE), |machine, words| machine.write(argument(words, 0) + 100, &[7, 8, 9]));
    let queue = rig.queue(16);
    queue.run(SCALE, &[here]);
    queue.run(SCALE, &[there]);
    let (records, _) = rig.finish();
    let hashes = records.iter().map(|record| record.writes.as_ref().expect("compared")[0].hash);
    let mut expected = RangeHasher::new();
    expected.update(100, &[7, 8, 9]);
    assert_eq!(hashes.collect::<Vec<_>>(), [Some(expected.finish()); 2]);
    assert_ne!(records[0].passes[0].hash, records[1].passes[0].hash, "the addresses differ");
}

#[test]
fn merged_ranges_have_a_hash_without_the_blocks_that_did_not_change() {
    let rig = Rig::new();
    let block = 64;
    let out = rig.allocate(10_000 * block);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        for number in (0..10_000).step_by(2) {
            machine.write(argument(words, 0) + number * block, &[1; 64]);
        }
    });
    rig.queue(16).run(SCALE, &[out]);
    let (records, _) = rig.finish();
    let write = &records[0].writes.as_ref().expect("compared")[0];
    assert!(write.merged && write.bytes == 5_000 * block);
    let mut expected = RangeHasher::new();
    for number in (0..10_000).step_by(2) {
        expected.update(number * block, &[1; 64]);
    }
    assert_eq!(write.hash, Some(expected.finish()));
}

#[test]
fn without_check_memory_is_restored_whole_and_nothing_is_said_of_it() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let out = rig.allocate(4096);
    rig.queue(16).run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    let record = &records[0];
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 3));
    assert!(record.writes.is_none() && record.deterministic.is_none() && record.divergence.is_none());
    assert_eq!(record.restore.expect("restored").bytes, 2 * (4096 + 0x114));
}

#[test]
fn one_pass_lists_what_was_written_without_a_verdict() {
    let rig = Rig::with(&[("PASSES", "1")]);
    let out = rig.allocate(4096);
    rig.queue(16).run(COUNT, &[out]);
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 1));
    assert_eq!(records[0].writes.as_ref().map(Vec::len), Some(2));
    assert_eq!((records[0].deterministic, records[0].restore), (None, None));
}

#[test]
fn the_applications_signal_gets_the_ticks_of_one_pass() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    let signal = queue.dispatch(COUNT, &[out]);
    queue.wait(signal);
    let [start, end] = ticks(signal);
    let when_completed = rig.fake.ticks_when_subtracted(signal);
    assert_eq!(when_completed, Some([start, end]), "they are there before the signal says so");
    let (records, _) = rig.finish();
    assert_eq!(end - start, 100);
    assert_eq!(records[0].passes[2].ticks, Some([start, end]));
}

#[test]
fn a_dispatch_without_signal_is_replayed_and_the_queue_goes_on() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    queue.submit(queue.packet(COUNT, &[out], Signal::NONE));
    queue.run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 2);
    let (_, summary) = rig.finish();
    assert_eq!(summary.replayed, 2);
}

#[test]
fn a_signal_shared_by_many_packets_is_decremented_once_for_each() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(3);
    for _ in 0..3 {
        queue.submit(queue.packet(COUNT, &[out], signal));
    }
    queue.wait(signal);
    assert_eq!(rig.u32(out), 3);
    rig.finish();
}

#[test]
fn filters_select_exactly_the_launches_they_name() {
    let rig = Rig::with(&[("KERNEL", "count"), ("LAUNCH_SKIP", "1"), ("LAUNCH_COUNT", "2")]);
    let out = rig.allocate(64);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let queue = rig.queue(16);
    for _ in 0..4 {
        queue.run(COUNT, &[out]);
        queue.run(SCALE, &[out]);
    }
    assert_eq!(rig.u32(out), 4);
    assert_eq!((passes_of(&rig, COUNT), passes_of(&rig, SCALE)), (2 + 2 * 3, 4));
    let (records, summary) = rig.finish();
    assert_eq!(records.iter().map(|record| record.launch).collect::<Vec<_>>(), [1, 2]);
    assert_eq!((summary.candidates, summary.filtered), (2, 6));
}

#[test]
fn kernel_arguments_are_neither_captured_nor_put_back() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let block = rig.allocate(4096);
    let queue = rig.queue(16);
    let mut packet = queue.packet(COUNT, &[out], Signal::NONE);
    // The same arguments in device memory that nothing marks as argument memory.
    rig.fake.machine(|machine| machine.write(block, &out.to_le_bytes()));
    packet[5] = block;
    rig.fake.kernel(rig.kernel(COUNT), move |machine, words| {
        let target = machine.read(words[5], 8);
        machine.add_u32(u64::from_le_bytes(target.try_into().expect("8 bytes")), 1);
    });
    packet[7] = rig.fake.new_signal(1).0;
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed);
    assert_eq!(records[0].snapshot.expect("taken").bytes, 64 + 0x114, "the argument block is not in it");
}

/// Others may be written there for a packet that comes while memory is put back: nothing tells where before that.
#[test]
fn arguments_in_memory_that_nothing_marks_decline_what_would_put_all_memory_back() {
    for (options, expected) in [
        (&[("CHECK", "0")][..], (Outcome::Declined, Some(Reason::UntrackedMemory))),
        (&[("CHECK", "0"), ("PASSES", "1")], (Outcome::Replayed, None)),
        (&[], (Outcome::Replayed, None)),
    ] {
        let rig = Rig::with(options);
        let (out, block) = (rig.allocate(64), rig.allocate(4096));
        let queue = rig.queue(16);
        rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
        let signal = rig.fake.new_signal(1);
        let mut packet = queue.packet(SCALE, &[], signal);
        packet[5] = block;
        queue.submit(packet);
        queue.wait(signal);
        // The same holds for those whose own arguments are elsewhere.
        queue.run(COUNT, &[out]);
        let (records, _) = rig.finish();
        for record in records {
            assert_eq!((record.outcome, record.reason), expected, "{options:?}");
            let said = record.detail.is_some_and(|detail| detail.contains("HIP_FORCE_DEV_KERNARG=0"));
            assert_eq!(said, expected.0 == Outcome::Declined);
        }
    }
}

#[test]
fn a_begin_record_precedes_the_first_pass() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let queue = rig.queue(16);
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let begin = rig.records().into_iter().find_map(|record| match record {
        Record::Begin(begin) => Some(begin),
        _ => None,
    });
    let begin = begin.expect("written before the pass ended");
    assert_eq!((begin.id, begin.kernel.as_str(), begin.launch), (0, "count(int*, Pair)", 0));
    rig.fake.release();
    queue.wait(signal);
    let (records, _) = rig.finish();
    // What a kernel was given is known although it never ends.
    assert_eq!((begin.grid, begin.workgroup), (Some(records[0].grid), Some(records[0].workgroup)));
    assert!(begin.arguments.is_some(), "{begin:?}");
    assert_eq!(begin.arguments, records[0].arguments);
}

#[test]
fn a_kernel_that_no_code_object_holds_runs_once() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.fake.kernel(0x1234_0000, move |machine, _| machine.add_u32(out, 1));
    let queue = rig.queue(16);
    let mut packet = queue.packet(COUNT, &[out], rig.fake.new_signal(1));
    packet[4] = 0x1234_0000;
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].reason), (Outcome::Declined, Some(Reason::UnknownKernel)));
    assert_eq!(records[0].kernel, "kernel_object_0x12340000");
}

#[test]
fn memory_of_an_unloaded_executable_is_not_captured() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    let second = rig.fake.machine(|machine| machine.allocate(0x5000));
    rig.load(Executable(2), second);
    let queue = rig.queue(16);
    queue.run(COUNT, &[out]);
    rig.engine.executable_destroying(Executable(2), true);
    rig.fake.machine(|machine| machine.free(second));
    queue.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    let regions = |at: usize| records[at].snapshot.map(|snapshot| snapshot.regions);
    assert_eq!((regions(0), regions(1)), (Some(3), Some(2)));
}
