use super::*;
use crate::handles::Pool;
use crate::runtime::PoolFacts;
use crate::{Access, Source, Unmapped};
use proptest::prelude::*;

const GPU: Agent = Agent(0x10);
const PEER: Agent = Agent(0x11);
const HOST: Agent = Agent(0x20);
const VRAM: Pool = Pool(1);

fn inventory() -> Inventory {
    let vram = PoolFacts { pool: VRAM, agent: GPU, global_flags: 4, global: true };
    Inventory::new(Classifier::new(vec![vram], [GPU, PEER]))
}

fn allocate(inventory: &Inventory, address: u64, bytes: u64) {
    inventory.add(&Allocation { address, bytes, source: Source::Pool { pool: VRAM, flags: 0 } });
}

fn bases(inventory: &Inventory) -> Vec<u64> {
    inventory.trackable(GPU).iter().map(|region| region.base).collect()
}

fn hold(region: &Arc<Region>) -> Option<Held<'_>> {
    Held::all(std::slice::from_ref(region))
}

#[test]
fn an_allocation_is_captured_from_its_call_to_its_free() {
    let inventory = inventory();
    allocate(&inventory, 0x2000, 0x100);
    allocate(&inventory, 0x1000, 0x100);
    assert_eq!(bases(&inventory), [0x1000, 0x2000]);
    assert!(inventory.trackable(PEER).is_empty());
    assert!(inventory.remove(0x1000, true).is_some());
    assert_eq!(bases(&inventory), [0x2000]);
    assert!(inventory.remove(0x1000, true).is_none());
}

#[test]
fn an_interior_or_null_pointer_frees_nothing() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    assert!(inventory.remove(0x1010, true).is_none());
    assert!(inventory.remove(0, true).is_none());
    assert_eq!(bases(&inventory), [0x1000]);
}

#[test]
fn the_same_address_allocated_again_is_another_region() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    let first = inventory.trackable(GPU).remove(0);
    inventory.remove(0x1000, true);
    allocate(&inventory, 0x1000, 0x100);
    let second = inventory.trackable(GPU).remove(0);
    assert!(first.is_gone() && !second.is_gone());
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(hold(&first).is_none());
}

#[test]
fn a_free_that_was_not_seen_is_noticed_by_the_next_allocation() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    let first = inventory.trackable(GPU).remove(0);
    allocate(&inventory, 0x1000, 0x200);
    assert!(first.is_gone());
    assert_eq!(inventory.trackable(GPU)[0].bytes, 0x200);
}

#[test]
fn memory_that_could_not_be_freed_is_there_but_not_captured() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    let record = inventory.remove(0x1000, true).expect("is there");
    inventory.put_back_excluded(&record);
    assert!(bases(&inventory).is_empty());
    assert_eq!(inventory.find(0x1080).and_then(|record| record.exclusion()), Some(Exclusion::FailedFree));
}

#[test]
fn memory_is_excluded_by_use_for_arguments() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    assert_eq!(inventory.mark_kernarg(0x1080), Some(0x1000..0x1100));
    assert!(bases(&inventory).is_empty());
    assert_eq!(inventory.mark_kernarg(0x1100), None);
}

#[test]
fn freeing_memory_that_held_arguments_invalidates_what_queues_remember() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    inventory.mark_kernarg(0x1000);
    let epoch = inventory.kernarg_epoch();
    inventory.remove(0x1000, true);
    assert_ne!(inventory.kernarg_epoch(), epoch);
}

#[test]
fn memory_shared_with_others_who_may_write_it_is_excluded() {
    let inventory = inventory();
    for address in [0x1000, 0x2000, 0x3000] {
        allocate(&inventory, address, 0x100);
    }
    inventory.export(0x1010);
    inventory.open(0x2010, PEER);
    inventory.open(0x3010, HOST);
    inventory.export(0x9000);
    inventory.open(0x9000, PEER);
    assert_eq!(bases(&inventory), [0x3000], "opening memory to the host does not make it another's");
}

fn map(inventory: &Inventory, address: u64, bytes: u64, physical: u64) {
    let source = Source::VirtualMemory { pool: Some(VRAM), physical, offset: 0 };
    inventory.add(&Allocation { address, bytes, source });
}

fn exclusion(inventory: &Inventory, address: u64) -> Option<Exclusion> {
    inventory.find(address).expect("is known").exclusion()
}

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
fn whatever_changes_what_is_captured_changes_the_version() {
    let inventory = inventory();
    let access = |agent, writes| Access { agent, writes };
    let all = 0x1000..0x1300;
    let changes: [(&str, &dyn Fn()); 15] = [
        ("allocation", &|| allocate(&inventory, 0x5000, 0x100)),
        ("allocation over one whose end nobody saw", &|| allocate(&inventory, 0x5000, 0x100)),
        ("left out by the program", &|| assert_eq!(inventory.ask(0x5000, Asked::Exclude), Some(true))),
        ("taken in by the program", &|| assert_eq!(inventory.ask(0x5000, Asked::Include), Some(true))),
        ("found to hold arguments", &|| assert!(inventory.mark_kernarg(0x5010).is_some())),
        ("another", &|| allocate(&inventory, 0x6000, 0x100)),
        ("exported", &|| _ = inventory.export(0x6000)),
        ("another", &|| allocate(&inventory, 0x7000, 0x100)),
        ("opened to another GPU", &|| _ = inventory.open(0x7000, PEER)),
        ("another", &|| allocate(&inventory, 0x8000, 0x100)),
        ("freed", &|| assert!(inventory.remove(0x8000, true).is_some())),
        ("mapped and opened", &|| {
            map(&inventory, 0x1000, 0x300, 1);
            inventory.access(all.clone(), access(GPU, true));
        }),
        ("partly unmapped", &|| {
            let part = 0x1100..0x1200;
            inventory.unmapped(&inventory.unmap(&part, true), &part, Unmapped::Done);
        }),
        ("closed and opened again", &|| inventory.reopen(&inventory.close(all.clone(), GPU, true))),
        ("opened to another GPU", &|| _ = inventory.access(all.clone(), access(PEER, true))),
    ];
    for (what, change) in changes {
        let (version, before) = (inventory.version(), inventory.trackable(GPU));
        change();
        let after = inventory.trackable(GPU);
        let same = before.len() == after.len() && before.iter().zip(&after).all(|(a, b)| Arc::ptr_eq(a, b));
        assert!(!same, "{what}");
        assert_ne!(inventory.version(), version, "{what}");
    }
}

#[test]
fn what_changes_nothing_leaves_the_version() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    inventory.mark_kernarg(0x1000);
    let version = inventory.version();
    // Asked of every packet.
    inventory.mark_kernarg(0x1000);
    inventory.mark_kernarg(0x9000);
    inventory.remove(0x9000, true);
    inventory.trackable(GPU);
    assert_eq!(inventory.version(), version);
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
fn a_managed_range_over_an_allocation_does_not_take_its_place() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    inventory.add(&Allocation { address: 0x1000, bytes: 0x4000, source: Source::Managed });
    assert_eq!(bases(&inventory), [0x1000]);
    assert_eq!(exclusion(&inventory, 0x2000), Some(Exclusion::Managed));
}

#[test]
fn a_free_waits_for_the_chunk_being_copied_and_no_copy_begins_after_it() {
    let inventory = std::sync::Arc::new(inventory());
    allocate(&inventory, 0x1000, 0x100);
    let region = inventory.trackable(GPU).remove(0);
    let copying = hold(&region).expect("live");
    let freeing = std::thread::spawn({
        let inventory = std::sync::Arc::clone(&inventory);
        move || inventory.remove(0x1000, true).is_some()
    });
    while !region.is_gone() {
        std::hint::spin_loop();
    }
    assert!(!freeing.is_finished(), "the free goes on although a copy holds the memory");
    drop(copying);
    assert!(freeing.join().expect("no panic"));
    assert!(hold(&region).is_none());
}

#[test]
fn regions_are_held_together_or_not_at_all() {
    let inventory = inventory();
    for address in [0x1000, 0x2000, 0x3000] {
        allocate(&inventory, address, 0x100);
    }
    let regions = inventory.trackable(GPU);
    let held = Held::all(&regions).expect("live");
    assert!(regions.iter().all(|region| region.is_being_copied()));
    drop(held);
    assert!(inventory.remove(0x2000, true).is_some());
    assert!(Held::all(&regions).is_none());
    assert!(!regions.iter().any(|region| region.is_being_copied()), "a free would wait for ever");
}

#[test]
fn the_program_leaves_memory_out_and_takes_it_in_again() {
    const FINE: Pool = Pool(2);
    let pool = |pool, global_flags| PoolFacts { pool, agent: GPU, global_flags, global: true };
    let inventory = Inventory::new(Classifier::new(vec![pool(VRAM, 4), pool(FINE, 2)], [GPU]));
    allocate(&inventory, 0x1000, 0x100);
    inventory.add(&Allocation {
        address: 0x2000,
        bytes: 0x100,
        source: Source::Pool { pool: FINE, flags: 0 },
    });
    inventory.add(&Allocation { address: 0x3000, bytes: 0x100, source: Source::IpcImport });
    assert_eq!(bases(&inventory), [0x1000]);
    assert_eq!(inventory.ask(0x10ff, Asked::Exclude), Some(true));
    assert_eq!(inventory.find(0x1000).and_then(|record| record.exclusion()), Some(Exclusion::Program));
    assert_eq!(
        inventory.ask(0x2000, Asked::Include),
        Some(true),
        "the program answers for fine-grained memory"
    );
    assert_eq!(inventory.ask(0x3000, Asked::Include), Some(false), "nobody can answer for another process");
    assert_eq!(inventory.ask(0x4000, Asked::Include), None);
    assert_eq!(bases(&inventory), [0x2000]);
    assert_eq!(inventory.ask(0x1000, Asked::Include), Some(true));
    inventory.mark_kernarg(0x2000);
    assert_eq!(bases(&inventory), [0x1000], "arguments are never captured, whatever is asked");
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

#[test]
fn a_free_that_may_not_wait_is_done_when_the_copies_have_ended() {
    let inventory = inventory();
    for address in [0x1000, 0x2000] {
        allocate(&inventory, address, 0x100);
    }
    let regions = inventory.trackable(GPU);
    let copies: Vec<_> = regions.iter().map(|region| hold(region).expect("live")).collect();
    assert!(inventory.remove(0x1000, false).is_some() && inventory.remove(0x2000, false).is_some());
    assert!(regions.iter().all(|region| hold(region).is_none() && region.is_being_copied()));
    let freed = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&freed);
    Region::when_not_copied(&regions, move || _ = count.fetch_add(1, Ordering::SeqCst));
    for copy in copies {
        assert_eq!(freed.load(Ordering::SeqCst), 0, "a device may still be at it");
        drop(copy);
    }
    assert_eq!(freed.load(Ordering::SeqCst), 1);
    let count = Arc::clone(&freed);
    Region::when_not_copied(&regions, move || _ = count.fetch_add(1, Ordering::SeqCst));
    assert_eq!(freed.load(Ordering::SeqCst), 2, "nobody is at it");
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
