use super::*;
use crate::handles::Pool;
use crate::runtime::PoolFacts;
use crate::{Access, Source, Unmapped};

mod mappings;

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
