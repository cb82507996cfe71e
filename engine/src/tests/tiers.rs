//! Where snapshots are kept: the tier is chosen by room and budget, and the application notices none of it.

use super::rig::{COUNT, Rig, SCALE};
use crate::copy::Mover;
use crate::fake::{Event, Fault, GPU, Operation};
use crate::store::{Hidden, Plan, Tiers, Trouble};
use hsa_replay_contract::record::Tier;
use hsa_replay_contract::{Dispatch, Outcome, Reason};
use std::sync::Arc;
use std::time::Instant;

const MIB: u64 = 1 << 20;

fn tier(record: &Dispatch) -> Option<Tier> {
    assert_eq!(record.outcome, Outcome::Replayed, "{:?} {:?}", record.reason, record.detail);
    record.snapshot.map(|snapshot| snapshot.tier)
}

/// Runs one candidate of a program that has 4 MiB of device memory.
fn one_candidate(options: &[(&str, &str)], spill: bool, prepare: impl FnOnce(&Rig)) -> Dispatch {
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::spilling(options, spill.then(|| folder.path().to_owned()));
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    prepare(&rig);
    queue.run(COUNT, &[out]);
    assert_eq!((rig.u32(out), rig.u32(rig.counter)), (1, 1), "as after one run");
    let left = std::fs::read_dir(folder.path()).expect("readable").count();
    assert_eq!(left, 0, "nothing is left on disk, not even by a process that is killed now");
    let fake = Arc::clone(&rig.fake);
    let (mut records, _) = rig.finish();
    assert_eq!(fake.arena_bytes(), 0, "the agent's memory is given back");
    records.remove(0)
}

/// Room in none but one tier.
fn only(tier: Tier) -> impl FnOnce(&Rig) {
    move |rig| {
        if tier != Tier::Host {
            rig.fake.set_host_memory(MIB);
        }
        if tier != Tier::Device {
            rig.fake.set_device_memory(0, 8 << 30);
        }
    }
}

#[test]
fn compared_memory_is_kept_by_the_host_and_other_memory_by_the_agent() {
    assert_eq!(tier(&one_candidate(&[], true, |_| {})), Some(Tier::Host));
    let record = one_candidate(&[("CHECK", "0")], true, |_| {});
    assert_eq!(tier(&record), Some(Tier::Device));
    assert!(record.restore.expect("restored").bytes >= 2 * 4 * MIB, "all of it, twice");
}

#[test]
fn a_tier_without_room_leaves_the_snapshot_to_the_next() {
    for check in ["0", "1"] {
        for only_tier in [Tier::Host, Tier::Device, Tier::Disk] {
            let record = one_candidate(&[("CHECK", check)], true, only(only_tier));
            assert_eq!(tier(&record), Some(only_tier), "check {check}");
            assert_eq!(record.passes.len(), 3);
            assert_eq!(record.deterministic, (check == "1").then_some(true));
        }
    }
}

#[test]
fn an_allocation_that_fails_leaves_the_snapshot_to_the_next_tier() {
    let fail = |rig: &Rig, operation| rig.fake.fault(operation, 0, Fault::Refuse);
    let record = one_candidate(&[], true, |rig| {
        // The first block is the kernel's arguments.
        rig.fake.fault(Operation::AllocateHost, 1, Fault::Refuse);
    });
    assert_eq!(tier(&record), Some(Tier::Device), "host memory failed");
    let record = one_candidate(&[], true, |rig| {
        rig.fake.fault(Operation::AllocateHost, 1, Fault::Refuse);
        fail(rig, Operation::AllocateDevice);
    });
    assert_eq!(tier(&record), Some(Tier::Disk), "the agent's memory failed too");
    let record = one_candidate(&[("CHECK", "0")], true, |rig| fail(rig, Operation::AllocateDevice));
    assert_eq!(tier(&record), Some(Tier::Host));
}

#[test]
fn where_every_tier_fails_the_kernel_runs_once_and_all_are_named() {
    let record = one_candidate(&[], false, |rig| {
        for nth in 1..10 {
            rig.fake.fault(Operation::AllocateHost, nth, Fault::Refuse);
        }
        rig.fake.fault(Operation::AllocateDevice, 0, Fault::Refuse);
    });
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::SnapshotIncomplete)));
    let detail = record.detail.expect("named");
    assert!(detail.contains("host: ") && detail.contains("device: "), "{detail}");
}

#[test]
fn where_no_tier_has_room_it_is_over_budget() {
    let record = one_candidate(&[], false, |rig| {
        rig.fake.set_host_memory(MIB);
        rig.fake.set_device_memory(MIB, MIB);
    });
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::OverBudget)));
    let detail = record.detail.expect("named");
    assert!(
        detail.contains("(host)") && detail.contains("(device)") && detail.contains("(disk)"),
        "{detail}"
    );
}

#[test]
fn a_folder_in_which_no_file_can_be_made_is_no_tier() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let rig = Rig::spilling(&[], Some(file.path().to_owned()));
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    only(Tier::Disk)(&rig);
    queue.run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    assert_eq!(
        (records[0].outcome, records[0].reason),
        (Outcome::Declined, Some(Reason::SnapshotIncomplete))
    );
    let detail = records[0].detail.as_ref().expect("named");
    assert!(detail.contains(&file.path().display().to_string()), "{detail}");
}

#[test]
fn a_budget_that_is_met_exactly_is_enough_and_one_byte_less_is_not() {
    let probe = one_candidate(&[], true, |_| {});
    let bytes = probe.snapshot.expect("taken").bytes;
    for only_tier in [Tier::Host, Tier::Device, Tier::Disk] {
        // A second pass would need room for what the first one changed.
        let record = one_candidate(&[("BUDGET", &bytes.to_string()), ("PASSES", "1")], true, only(only_tier));
        assert_eq!(tier(&record), Some(only_tier));
        let record = one_candidate(&[("BUDGET", &(bytes - 1).to_string())], true, only(only_tier));
        assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::OverBudget)));
    }
}

#[test]
fn odd_addresses_and_sizes_and_empty_memory_survive_every_tier() {
    const BASE: u64 = 0x7_0000_0000;
    // Address in the page, and size: neighbours and loners, a copy's largest size and a byte more.
    let sizes = [0, 1, 63, 64, 65, 100, 4095, 4096, 4097, 0, 16 * MIB, 16 * MIB + 1, 3 * 16 * MIB + 5, 7];
    for check in ["0", "1"] {
        for only_tier in [Tier::Host, Tier::Device, Tier::Disk] {
            let folder = tempfile::tempdir().expect("a folder");
            let rig = Rig::spilling(&[("CHECK", check)], Some(folder.path().to_owned()));
            let mut address = BASE;
            let mut regions = Vec::new();
            for (at, bytes) in sizes.into_iter().enumerate() {
                address = address.next_multiple_of(4096) + if at % 3 == 2 { 4096 + 13 } else { 0 };
                if bytes > 0 {
                    rig.fake.machine(|machine| machine.allocate_at(address, bytes));
                    regions.push((address, bytes));
                }
                rig.track(address, bytes);
                address += bytes.max(1);
            }
            for (number, &(base, bytes)) in (1_u8..).zip(&regions) {
                rig.fake.machine(|machine| {
                    machine.slice(base, bytes).expect("is there").fill(number);
                });
            }
            only(only_tier)(&rig);
            let written = regions.clone();
            // Adds one to the first and the last byte of everything.
            rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
                for &(base, bytes) in &written {
                    let memory = machine.slice(base, bytes).expect("is there");
                    memory[0] += 1;
                    *memory.last_mut().expect("not empty") += 1;
                }
            });
            let queue = rig.queue(16);
            queue.run(SCALE, &[regions[1].0, regions[1].0, 0]);
            for (number, &(base, bytes)) in (1_u8..).zip(&regions) {
                let memory = rig.fake.machine(|machine| machine.read(base, bytes));
                let ends = if bytes == 1 { number + 2 } else { number + 1 };
                assert_eq!((memory[0], memory[memory.len() - 1]), (ends, ends), "{bytes} bytes at {base:#x}");
                let untouched = memory.iter().skip(1).rev().skip(1).all(|&byte| byte == number);
                assert!(untouched, "{bytes} bytes at {base:#x}, {only_tier:?}");
            }
            let (records, _) = rig.finish();
            assert_eq!(tier(&records[0]), Some(only_tier));
            if check == "1" {
                assert_eq!(records[0].deterministic, Some(true), "{only_tier:?}");
                let writes = records[0].writes.as_ref().expect("compared");
                let listed: Vec<_> = writes.iter().map(|write| (write.base, write.size)).collect();
                assert_eq!(listed, regions);
                for write in writes {
                    assert_eq!(write.bytes, write.size.min(2), "{write:?}");
                }
            }
        }
    }
}

#[test]
fn what_a_tier_reserved_serves_the_next_window() {
    for (check, operation) in [("1", Operation::AllocateHost), ("0", Operation::AllocateDevice)] {
        let rig = Rig::with(&[("CHECK", check)]);
        let out = rig.allocate(4 * MIB);
        let queue = rig.queue(16);
        let arguments = queue.packet(COUNT, &[out], crate::handles::Signal(0));
        let run = || {
            let signal = rig.fake.new_signal(1);
            let mut words = arguments;
            words[7] = signal.0;
            queue.submit(words);
            queue.wait(signal);
        };
        run();
        let before = rig.fake.count(operation);
        run();
        assert_eq!(rig.fake.count(operation), before, "check {check}");
        rig.finish();
    }
}

#[test]
fn the_agents_memory_is_hidden_while_it_is_kept_and_given_back_when_the_application_needs_it() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    assert!(!rig.engine.give_back_memory(true), "there is nothing to give");
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    let kept = rig.fake.arena_bytes();
    assert!(kept >= 4 * MIB);
    assert_eq!(rig.engine.hidden_memory(GPU), kept);
    assert!(rig.engine.give_back_memory(true));
    assert_eq!((rig.fake.arena_bytes(), rig.engine.hidden_memory(GPU)), (0, 0));
    queue.run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 3);
    let (records, _) = rig.finish();
    assert!(records.iter().all(|record| tier(record) == Some(Tier::Device)));
}

#[test]
fn an_allocation_that_failed_during_a_window_waits_for_its_end_unless_it_may_not() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let signal = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    assert!(!rig.engine.give_back_memory(false), "the event thread does not wait");
    assert!(rig.fake.arena_bytes() > 0);
    std::thread::scope(|scope| {
        let given = scope.spawn(|| rig.engine.give_back_memory(true));
        rig.fake.release();
        assert!(given.join().expect("no panic"));
    });
    queue.wait(signal);
    assert_eq!(rig.u32(out), 1);
    rig.finish();
}

#[test]
fn the_agents_memory_is_not_kept_where_it_is_scarce_nor_taken_to_the_last_byte() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let out = rig.allocate(4 * MIB);
    let queue = rig.queue(16);
    // Less than a quarter stays free beside the arena.
    rig.fake.set_device_memory(20 * MIB, 64 * MIB);
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    rig.fake.wait_for_no_arena();
    // An eighth is for scratch memory: what is free beyond it does not hold the snapshot.
    rig.fake.set_device_memory(8 * MIB, 40 * MIB);
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    let tiers: Vec<_> = records.iter().map(|record| tier(record).expect("taken")).collect();
    assert_eq!(tiers, [Tier::Device, Tier::Device, Tier::Host, Tier::Host]);
}

/// A copy that hung has cost it its memory, and no other tier has been chosen.
#[test]
fn a_store_without_memory_saves_writes_and_shows_nothing() {
    let rig = Rig::new();
    let agent = &rig.engine.agents[0];
    let address = rig.allocate(64);
    let plan = Plan::new(rig.engine.process.inventory.trackable(agent.agent));
    let mover = Mover::new(&rig.engine.process, agent.agent, Instant::now());
    let mut tiers = Tiers::new(&rig.engine.process.runtime, agent.agent, None, Hidden::default());
    let store = tiers.store();
    assert!(matches!(store.save(&plan, &mover), Err(Trouble::Failed(_))));
    assert_eq!(store.write_back(&plan, &[(0, 0..64)], &mover).failed, [(0, 0..64)]);
    assert!(matches!(store.bytes(&plan, 0, &mover), Err(Trouble::Failed(_))));
    let copied = |event: &Event| matches!(event, Event::Copied { device, .. } if *device == address);
    assert!(!rig.fake.events().iter().any(copied));
    rig.fake.stop();
}
