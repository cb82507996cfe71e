//! Physical memory at one or several addresses, and who may write there.

use super::*;
use proptest::prelude::*;

#[test]
fn a_mapping_is_captured_while_its_agent_may_write_there() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x100, 1);
    map(&inventory, 0x1100, 0x100, 2);
    map(&inventory, 0x5000, 0x100, 3);
    assert!(bases(&inventory).is_empty());
    let access = |agent, writes| Access { agent, writes };
    inventory.access(0x1000..0x1200, access(GPU, true));
    assert_eq!(bases(&inventory), [0x1000, 0x1100], "one call over two mappings");
    let region = inventory.trackable(GPU).remove(0);
    inventory.close(0x1000..0x1100, GPU, true);
    assert!(region.is_gone(), "nothing is put back once this returns");
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::Unknown), "until the call has succeeded");
    inventory.access(0x1000..0x1100, access(GPU, false));
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::NoAccess));
    assert_eq!(bases(&inventory), [0x1100]);
    inventory.access(0x1000..0x1100, access(GPU, true));
    inventory.access(0x1000..0x1100, access(PEER, true));
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::SharedOut));
    inventory.access(0x1100..0x1200, access(PEER, false));
    inventory.access(0x1100..0x1200, access(HOST, true));
    assert_eq!(bases(&inventory), [0x1100], "a reader and the host are no other writers of the device");
}

#[test]
fn a_mapping_that_only_a_peer_may_write_is_memory_that_others_write() {
    let inventory = inventory();
    let unrestored = |agent| inventory.unrestored(agent).iter().map(Record::exclusion).collect::<Vec<_>>();
    map(&inventory, 0x1000, 0x100, 1);
    assert_eq!(unrestored(GPU), [], "its own agent cannot write there");
    assert_eq!(unrestored(PEER), [Some(Exclusion::NoAccess)], "nor put back what another agent owns");
    inventory.access(0x1000..0x1100, Access { agent: PEER, writes: true });
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::SharedOut));
    for agent in [GPU, PEER] {
        assert_eq!(unrestored(agent), [Some(Exclusion::SharedOut)]);
    }
}

#[test]
fn access_by_allocation_opens_a_row_of_adjoining_mappings() {
    let inventory = inventory();
    for (physical, address) in [(1, 0x1000), (2, 0x1100), (3, 0x1300)] {
        map(&inventory, address, 0x100, physical);
    }
    inventory.open(0x1010, GPU);
    assert_eq!(bases(&inventory), [0x1000, 0x1100]);
}

#[test]
fn physical_memory_mapped_twice_is_captured_once() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x100, 1);
    map(&inventory, 0x5000, 0x100, 1);
    inventory.access(0..u64::MAX, Access { agent: GPU, writes: true });
    assert_eq!(bases(&inventory), [0x1000]);
    let region = inventory.trackable(GPU).remove(0);
    assert!(inventory.stays_mapped(&region));
    assert_eq!(exclusion(&inventory, 0x5000), None, "an argument that leads there leads to captured memory");
    inventory.unmapped(&inventory.unmap(&(0x1000..0x1100), true), &(0x1000..0x1100), Unmapped::Done);
    assert_eq!(bases(&inventory), [0x5000]);
}

#[test]
fn a_refused_unmapping_changes_nothing_and_a_partial_one_leaves_the_rest() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x300, 1);
    inventory.access(0x1000..0x1300, Access { agent: GPU, writes: true });
    let part = 0x1100..0x1200;
    let before = inventory.trackable(GPU).remove(0);
    inventory.unmapped(&inventory.unmap(&part, true), &part, Unmapped::Refused);
    assert_eq!(inventory.trackable(GPU)[0].bytes, 0x300);
    assert!(!inventory.trackable(GPU)[0].is_gone());
    assert!(
        before.is_gone() && inventory.stays_mapped(&before),
        "an open window has no whole snapshot of it"
    );
    inventory.unmapped(&inventory.unmap(&part, true), &part, Unmapped::Done);
    assert_eq!(bases(&inventory), [0x1000, 0x1200]);
    inventory.unmapped(&inventory.unmap(&(0x1000..0x1100), true), &(0x1000..0x1100), Unmapped::Failed);
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::FailedFree));
}

#[test]
fn an_imported_handle_is_never_captured() {
    let inventory = inventory();
    let source = Source::VirtualMemory { pool: None, physical: 1, offset: 0 };
    inventory.add(&Allocation { address: 0x1000, bytes: 0x100, source });
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::Import));
}

#[test]
fn physical_memory_that_others_may_write_by_one_mapping_is_captured_by_none() {
    type Way = (fn(&Inventory), Exclusion);
    let ways: [Way; 4] = [
        (
            |inventory| _ = inventory.access(0x5000..0x5100, Access { agent: PEER, writes: true }),
            Exclusion::SharedOut,
        ),
        (|inventory| _ = inventory.open(0x5010, PEER), Exclusion::SharedOut),
        (|inventory| _ = inventory.export(0x5010), Exclusion::SharedOut),
        (|inventory| _ = inventory.mark_kernarg(0x5010), Exclusion::Kernarg),
    ];
    for (exclude, expected) in ways {
        let inventory = inventory();
        for (address, physical) in [(0x1000, 1), (0x3000, 2), (0x5000, 1)] {
            map(&inventory, address, 0x100, physical);
        }
        inventory.access(0..u64::MAX, Access { agent: GPU, writes: true });
        exclude(&inventory);
        map(&inventory, 0x7000, 0x100, 1);
        inventory.access(0x7000..0x7100, Access { agent: GPU, writes: true });
        assert_eq!(bases(&inventory), [0x3000]);
        for address in [0x1000, 0x5000, 0x7000] {
            assert_eq!(exclusion(&inventory, address), Some(expected), "{address:#x}");
        }
    }
}

#[test]
fn access_taken_from_memory_that_was_just_left_out_ends_its_region_too() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x100, 1);
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    let captured = inventory.trackable(GPU).remove(0);
    inventory.ask(0x1000, Asked::Exclude);
    inventory.close(0x1000..0x1100, GPU, true);
    assert!(captured.is_gone(), "an open window may still hold it");
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::Program), "what was asked still holds");
}

#[test]
fn a_refused_change_of_access_leaves_the_mapping_captured() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x100, 1);
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    let region = inventory.trackable(GPU).remove(0);
    let closed = inventory.close(0x1000..0x1100, GPU, true);
    assert!(region.is_gone() && inventory.stays_mapped(&region), "a window must not go on without it");
    inventory.reopen(&closed);
    let again = inventory.trackable(GPU).remove(0);
    assert!(!again.is_gone() && again.bytes == region.bytes, "later windows capture it");
    assert!(region.is_gone() && inventory.stays_mapped(&region), "the open one has no whole snapshot of it");
    let closed = inventory.close(0x1000..0x1100, GPU, true);
    inventory.export(0x1000);
    inventory.reopen(&closed);
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::SharedOut), "what was learnt meanwhile holds");
}

#[test]
fn a_change_of_access_waits_until_the_memory_is_put_back_as_a_whole() {
    let inventory = Arc::new(inventory());
    map(&inventory, 0x1000, 0x100, 1);
    map(&inventory, 0x5000, 0x100, 1);
    map(&inventory, 0x3000, 0x100, 2);
    inventory.access(0..u64::MAX, Access { agent: GPU, writes: true });
    let region = |address| inventory.find(address).expect("is known").region;
    let ends: [fn(&Inventory); 2] = [
        |inventory| _ = inventory.unmap(&(0x1000..0x1100), true),
        |inventory| _ = inventory.close(0x3000..0x3100, GPU, true),
    ];
    for (end, address) in ends.into_iter().zip([0x1000, 0x3000]) {
        let region = region(address);
        let pin = region.pin().expect("live");
        let ending = std::thread::spawn({
            let inventory = Arc::clone(&inventory);
            move || end(&inventory)
        });
        // The call has begun when no other window may put it back.
        while region.pin().is_some() {
            std::hint::spin_loop();
        }
        for _ in 0..3 {
            assert!(hold(&region).is_some(), "a chunk of {address:#x} is left as the window's pass made it");
        }
        assert!(!region.is_gone() && !ending.is_finished(), "the call goes on although it is being put back");
        drop(pin);
        ending.join().expect("no panic");
        assert!(region.pin().is_none() && hold(&region).is_none());
    }
}

#[test]
fn a_call_on_mappings_that_may_not_wait_is_made_when_they_are_put_back_and_copied_no_more() {
    let inventory = inventory();
    for (address, physical) in [(0x1000, 1), (0x3000, 2)] {
        map(&inventory, address, 0x100, physical);
    }
    inventory.access(0..u64::MAX, Access { agent: GPU, writes: true });
    let regions = inventory.trackable(GPU);
    let pins: Vec<_> = regions.iter().map(|region| region.pin().expect("live")).collect();
    let mut calls = inventory.unmap(&(0x1000..0x1100), false);
    calls.extend(inventory.close(0x3000..0x3100, GPU, false));
    let made = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&made);
    assert!(calls.iter().all(Closed::is_being_copied));
    Region::when_not_copied(calls.iter().map(Closed::before), move || {
        _ = count.fetch_add(1, Ordering::SeqCst)
    });
    let copies: Vec<_> = regions.iter().map(|region| hold(region).expect("is being put back")).collect();
    assert!(regions.iter().all(|region| region.pin().is_none()), "no other window begins with it");
    drop(pins);
    assert!(regions.iter().all(|region| region.is_gone() && inventory.stays_mapped(region)));
    for copy in copies {
        assert_eq!(made.load(Ordering::SeqCst), 0, "a device may still be at it");
        drop(copy);
    }
    assert_eq!(made.load(Ordering::SeqCst), 1);
}

#[test]
fn an_unmapping_under_way_counts_as_mapped_until_it_is_done() {
    for (outcome, stays) in [(Unmapped::Done, false), (Unmapped::Refused, true)] {
        let inventory = inventory();
        map(&inventory, 0x1000, 0x100, 1);
        inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
        let region = inventory.trackable(GPU).remove(0);
        let taken = inventory.unmap(&(0x1000..0x1100), true);
        assert!(region.is_gone() && inventory.stays_mapped(&region), "a window must not go on without it");
        assert!(inventory.trackable(GPU).is_empty());
        assert!(
            inventory.mappings(GPU).iter().all(|region| hold(region).is_none()),
            "nothing is copied there"
        );
        inventory.unmapped(&taken, &(0x1000..0x1100), outcome);
        assert_eq!(inventory.stays_mapped(&region), stays);
        assert_eq!(bases(&inventory), if stays { vec![0x1000] } else { vec![] });
    }
}

#[test]
fn what_is_learnt_and_mapped_during_an_unmapping_holds() {
    let inventory = inventory();
    map(&inventory, 0x1000, 0x100, 1);
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    let taken = inventory.unmap(&(0x1000..0x1100), true);
    inventory.export(0x1000);
    inventory.unmapped(&taken, &(0x1000..0x1100), Unmapped::Refused);
    assert_eq!(exclusion(&inventory, 0x1000), Some(Exclusion::SharedOut));
    // Another thread is told of a new mapping there before this one is of the end of the old.
    let taken = inventory.unmap(&(0x1000..0x1100), true);
    map(&inventory, 0x1000, 0x100, 2);
    inventory.access(0x1000..0x1100, Access { agent: GPU, writes: true });
    inventory.unmapped(&taken, &(0x1000..0x1100), Unmapped::Done);
    assert_eq!(bases(&inventory), [0x1000]);
}

proptest! {
    /// Mappings of 16 pages in a row, of which ranges are unmapped, refused or closed and opened again.
    #[test]
    fn what_stays_mapped_and_open_is_captured_byte_for_byte(
        cuts in prop::collection::btree_set(1_u64..16, 0..6),
        calls in prop::collection::vec((0_u64..16, 1_u64..8, 0..4_u8), 0..8),
    ) {
        const PAGE: u64 = 0x1000;
        const START: u64 = 0x10_0000;
        let inventory = inventory();
        let bounds: Vec<u64> = std::iter::once(0).chain(cuts).chain([16]).collect();
        for (physical, pair) in (1..).zip(bounds.windows(2)) {
            map(&inventory, START + pair[0] * PAGE, (pair[1] - pair[0]) * PAGE, physical);
        }
        inventory.access(0..u64::MAX, Access { agent: GPU, writes: true });
        let mut mapped = [true; 16];
        for (page, pages, call) in calls {
            let end = (page + pages).min(16);
            let range = START + page * PAGE..START + end * PAGE;
            match call {
                0 | 1 => {
                    let outcome = if call == 0 { Unmapped::Done } else { Unmapped::Refused };
                    inventory.unmapped(&inventory.unmap(&range, true), &range, outcome);
                    for page in page..end {
                        mapped[usize::try_from(page).expect("small")] &= call != 0;
                    }
                }
                2 => inventory.reopen(&inventory.close(range, GPU, true)),
                _ => {
                    inventory.close(range.clone(), GPU, true);
                    inventory.access(range, Access { agent: GPU, writes: true });
                }
            }
        }
        let regions = inventory.trackable(GPU);
        for (page, &mapped) in (0..).zip(&mapped) {
            for address in [START + page * PAGE, START + (page + 1) * PAGE - 1] {
                let holding = regions.iter().filter(|region| region.contains(address)).count();
                prop_assert_eq!(holding, usize::from(mapped), "at {:#x}", address);
            }
        }
        prop_assert!(regions.iter().all(|region| !region.is_gone()));
    }
}
