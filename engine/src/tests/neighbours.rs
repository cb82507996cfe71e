//! Allocations that lie side by side and are copied together.

use super::rig::{Rig, SCALE};
use crate::fake::{Event, Fault, Operation};
use hsa_replay_contract::record::Tier;
use hsa_replay_contract::{Outcome, Reason};

/// Ten neighbours of 100 bytes each, every one with a pointer to the next, and a kernel that adds one to the first byte of those that are there.
fn neighbours(rig: &Rig) -> Vec<u64> {
    let addresses: Vec<u64> = (0..10).map(|at| 0x7_0000_0000 + at * 4096).collect();
    for &address in &addresses {
        rig.fake.machine(|machine| machine.allocate_at(address, 100));
        rig.track(address, 100);
        rig.fake.machine(|machine| machine.write(address + 16, &(address + 4096).to_le_bytes()));
    }
    let all = addresses.clone();
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        for &address in &all {
            if let Some(memory) = machine.slice(address, 100) {
                memory[0] += 1;
            }
        }
    });
    addresses
}

#[test]
fn neighbours_are_copied_together() {
    let rig = Rig::new();
    let addresses = neighbours(&rig);
    let queue = rig.queue(16);
    queue.run(SCALE, &[addresses[0], addresses[0], 0]);
    for &address in &addresses {
        assert_eq!(rig.fake.machine(|machine| machine.read(address, 100)[0]), 1);
    }
    let copies = |event: &Event, wanted| {
        matches!(event, Event::Copied { operation, device, .. }
            if *operation == wanted && (addresses[0]..addresses[9] + 100).contains(device))
    };
    let events = rig.fake.events();
    let count = |wanted| events.iter().filter(|event| copies(event, wanted)).count();
    // The snapshot and three comparisons; two restores.
    assert_eq!((count(Operation::CopyToHost), count(Operation::CopyToDevice)), (4, 2));
    rig.finish();
}

#[test]
fn neighbours_of_memory_that_is_freed_during_the_window_are_put_back() {
    for check in ["1", "0"] {
        let rig = Rig::with(&[("CHECK", check)]);
        let addresses = neighbours(&rig);
        let queue = rig.queue(16);
        rig.fake.hold_kernel(rig.kernel(SCALE));
        let signal = queue.dispatch(SCALE, &[addresses[0], addresses[0], 0]);
        rig.fake.wait_for_held(rig.kernel(SCALE));
        rig.free(addresses[4]);
        rig.fake.release();
        queue.wait(signal);
        for &address in addresses.iter().filter(|&&address| address != addresses[4]) {
            assert_eq!(rig.fake.machine(|machine| machine.read(address, 100)[0]), 1, "{address:#x}");
        }
        let (records, _) = rig.finish();
        assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
        assert_eq!(records[0].restore.expect("restored").skipped, if check == "1" { 0 } else { 2 });
    }
}

#[test]
fn memory_freed_before_it_is_copied_is_left_out_and_its_neighbours_are_captured() {
    let rig = Rig::new();
    let addresses = neighbours(&rig);
    let queue = rig.queue(16);
    // The snapshot's arena is allocated when its plan is made. The first block is the arguments'.
    rig.fake.pause(Operation::AllocateHost, 1);
    let signal = queue.dispatch(SCALE, &[addresses[0], addresses[0], 0]);
    rig.fake.wait_for_pause();
    rig.free(addresses[4]);
    rig.fake.resume();
    queue.wait(signal);
    for &address in addresses.iter().filter(|&&address| address != addresses[4]) {
        assert_eq!(rig.fake.machine(|machine| machine.read(address, 100)[0]), 1, "{address:#x}");
    }
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
    // Nine of them, and the module's variables.
    assert_eq!(records[0].snapshot.expect("taken").regions, 10);
}

/// Each copy of all ten fails, both ways, in each of the tiers.
#[test]
fn neighbours_that_cannot_be_copied_together_are_copied_one_by_one() {
    for tier in [Tier::Host, Tier::Device, Tier::Disk] {
        let folder = tempfile::tempdir().expect("a folder");
        let check = if tier == Tier::Device { "0" } else { "1" };
        let rig = Rig::spilling(&[("CHECK", check)], Some(folder.path().to_owned()));
        let queue = rig.queue(16);
        if tier == Tier::Disk {
            rig.fake.set_device_memory(0, 8 << 30);
            // The first block is the kernel's arguments.
            rig.fake.fault(Operation::AllocateHost, 1, Fault::Refuse);
        }
        rig.fake.keep_apart();
        let addresses = neighbours(&rig);
        queue.run(SCALE, &[addresses[0], addresses[0], 0]);
        for &address in &addresses {
            assert_eq!(rig.fake.machine(|machine| machine.read(address, 100)[0]), 1, "{address:#x}");
        }
        let record = rig.finish().0.remove(0);
        assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 3), "{record:?}");
        assert_eq!(record.snapshot.expect("taken").tier, tier);
        assert_eq!(record.restore.expect("put back").failed, 0);
    }
}

/// One copy of all ten fails, both ways; what fails when each is copied alone is the one that no copy can write to.
#[test]
fn memory_that_cannot_be_put_back_does_not_spoil_its_neighbours() {
    for (check, left) in [("1", 1), ("0", 0)] {
        let rig = Rig::with(&[("CHECK", check)]);
        let addresses = neighbours(&rig);
        let bad = addresses[4]..addresses[4] + 100;
        rig.fake.break_memory(bad.clone());
        let queue = rig.queue(16);
        queue.run(SCALE, &[addresses[0], addresses[0], 0]);
        for &address in &addresses {
            let byte = rig.fake.machine(|machine| machine.read(address, 100)[0]);
            // The others hold the first pass where it is known, and otherwise what was saved.
            assert_eq!(byte, if address == bad.start { 1 } else { left }, "{address:#x}");
        }
        let record = rig.finish().0.remove(0);
        assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::RestoreFailed)));
        assert_eq!(record.restore.expect("tried").failed, 1, "check {check}");
        let named = format!("at {:#x}..", bad.start);
        let detail = record.detail.expect("said");
        assert!(detail.contains(&named) && detail.matches("..").count() == 1, "{detail}");
    }
}

/// A loner fails at once and one of the neighbours, which lie below it, when they are copied alone: both are tried once more.
#[test]
fn all_that_cannot_be_put_back_is_named_by_address() {
    let rig = Rig::with(&[("CHECK", "0")]);
    let addresses = neighbours(&rig);
    let loner = 0x7_1000_0000;
    rig.fake.machine(|machine| machine.allocate_at(loner, 64));
    rig.track(loner, 64);
    for bad in [addresses[4]..addresses[4] + 100, loner..loner + 64] {
        rig.fake.break_memory(bad);
    }
    rig.queue(16).run(SCALE, &[addresses[0], addresses[0], 0]);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::RestoreFailed)));
    let named = format!("{:#x}..{:#x}, {loner:#x}..{:#x}", addresses[4], addresses[4] + 100, loner + 64);
    let detail = record.detail.expect("said");
    assert!(detail.ends_with(&named), "{detail}");
}
