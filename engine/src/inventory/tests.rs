use super::*;
use crate::Source;
use crate::handles::Pool;
use crate::runtime::PoolFacts;

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

#[test]
fn an_allocation_is_captured_from_its_call_to_its_free() {
    let inventory = inventory();
    allocate(&inventory, 0x2000, 0x100);
    allocate(&inventory, 0x1000, 0x100);
    assert_eq!(bases(&inventory), [0x1000, 0x2000]);
    assert!(inventory.trackable(PEER).is_empty());
    assert!(inventory.remove(0x1000).is_some());
    assert_eq!(bases(&inventory), [0x2000]);
    assert!(inventory.remove(0x1000).is_none());
}

#[test]
fn an_interior_or_null_pointer_frees_nothing() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    assert!(inventory.remove(0x1010).is_none());
    assert!(inventory.remove(0).is_none());
    assert_eq!(bases(&inventory), [0x1000]);
}

#[test]
fn the_same_address_allocated_again_is_another_region() {
    let inventory = inventory();
    allocate(&inventory, 0x1000, 0x100);
    let first = inventory.trackable(GPU).remove(0);
    inventory.remove(0x1000);
    allocate(&inventory, 0x1000, 0x100);
    let second = inventory.trackable(GPU).remove(0);
    assert!(first.is_gone() && !second.is_gone());
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(first.hold().is_none());
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
    let record = inventory.remove(0x1000).expect("is there");
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
    inventory.remove(0x1000);
    assert_ne!(inventory.kernarg_epoch(), epoch);
}

#[test]
fn memory_shared_with_others_who_may_write_it_is_excluded() {
    let inventory = inventory();
    for (address, sharing) in
        [(0x1000, Sharing::Exported), (0x2000, Sharing::OpenedTo(PEER)), (0x3000, Sharing::OpenedTo(HOST))]
    {
        allocate(&inventory, address, 0x100);
        inventory.share(address + 0x10, sharing);
    }
    inventory.share(0x9000, Sharing::Exported);
    assert_eq!(bases(&inventory), [0x3000], "opening memory to the host does not make it another's");
}

#[test]
fn a_free_waits_for_the_chunk_being_copied_and_no_copy_begins_after_it() {
    let inventory = std::sync::Arc::new(inventory());
    allocate(&inventory, 0x1000, 0x100);
    let region = inventory.trackable(GPU).remove(0);
    let copying = region.hold().expect("live");
    let freeing = std::thread::spawn({
        let inventory = std::sync::Arc::clone(&inventory);
        move || inventory.remove(0x1000).is_some()
    });
    while !region.is_gone() {
        std::hint::spin_loop();
    }
    assert!(!freeing.is_finished(), "the free goes on although a copy holds the memory");
    drop(copying);
    assert!(freeing.join().expect("no panic"));
    assert!(region.hold().is_none());
}
