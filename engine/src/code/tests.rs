//! Loading and unloading code objects that the real compiler made.

use super::*;
use crate::handles::{Agent, Executable};
use crate::runtime::{LoadedCodeObject, RuntimeError};
use proptest::prelude::*;

/// Two kernels; one writable segment of 0x114 bytes at 0x42e8 with five variables.
const VARIABLES: &[u8] = include_bytes!("../../../code-object/tests/data/variables-v5.co");
const SEGMENT: u64 = 0x42e8;
const SEGMENT_SIZE: u64 = 0x114;
/// Value of the symbol `_Z5scaleIfEvPT_PKS0_S0_i.kd` in it.
const SCALE: u64 = 0xb00;

const GPU: Agent = Agent(0xa0);
const OTHER_GPU: Agent = Agent(0xb0);
const FIRST: Executable = Executable(1);
const SECOND: Executable = Executable(2);

fn loaded(agent: Agent, load_base: u64) -> LoadedCodeObject {
    LoadedCodeObject {
        agent: Some(agent),
        load_base,
        load_size: 0x5000,
        load_delta: i64::try_from(load_base).unwrap(),
        image: VARIABLES.to_vec(),
    }
}

fn load(modules: &Modules, executable: Executable, object: LoadedCodeObject) -> Frozen {
    modules.frozen(executable, Ok(vec![object]))
}

#[test]
fn a_kernel_is_found_by_the_address_that_packets_carry() {
    let modules = Modules::new();
    load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    let kernel = modules.kernel(0x7000_0000 + SCALE).expect("the kernel is loaded");
    assert_eq!(kernel.symbol(), "_Z5scaleIfEvPT_PKS0_S0_i");
    assert_eq!(kernel.demangled(), "void scale<float>(float*, float const*, float, int)");
    assert_eq!((kernel.agent, kernel.executable), (GPU, FIRST));
    assert!(modules.kernel(0x7000_0000).is_none());
}

#[test]
fn a_region_is_cut_at_its_variables_without_a_gap() {
    let modules = Modules::new();
    let frozen = load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    assert_eq!((frozen.oversized.len(), frozen.errors.len(), frozen.regions.len()), (0, 0, 1));
    let region = &frozen.regions[0];
    assert_eq!((region.base, region.size), (0x7000_0000 + SEGMENT, SEGMENT_SIZE));
    let mut end = 0;
    for part in &region.parts {
        assert_eq!(part.offset, end);
        end += part.size;
    }
    assert_eq!(end, SEGMENT_SIZE);
    let names: Vec<_> = region.parts.iter().filter_map(|part| part.name.as_deref()).collect();
    assert_eq!(
        names,
        [
            "counter",
            "table",
            "count(int*, Pair)::local_calls",
            "hidden_counter",
            "(anonymous namespace)::anonymous_counter",
        ]
    );
}

#[test]
fn an_offset_leads_to_its_part() {
    let modules = Modules::new();
    let region = load(&modules, FIRST, loaded(GPU, 0)).regions.remove(0);
    let name = |offset| region.part_at(offset).map(|part| part.name.as_deref());
    assert_eq!(name(0), Some(Some("counter")));
    assert_eq!(name(3), Some(Some("counter")));
    assert_eq!(name(4), Some(None));
    assert_eq!(name(8), Some(Some("table")));
    assert_eq!(name(SEGMENT_SIZE - 1), Some(Some("(anonymous namespace)::anonymous_counter")));
    assert_eq!(name(SEGMENT_SIZE), None);
}

#[test]
fn destroying_an_executable_takes_its_kernels_and_regions_along() {
    let modules = Modules::new();
    let frozen = load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    load(&modules, SECOND, loaded(GPU, 0x8000_0000));
    assert_eq!(modules.destroyed(FIRST), frozen.regions);
    assert!(modules.kernel(0x7000_0000 + SCALE).is_none());
    assert!(modules.kernel(0x8000_0000 + SCALE).is_some());
    assert!(!modules.is_loaded(&frozen.regions[0]));
    assert_eq!(modules.regions(GPU).unwrap().len(), 1);
    assert_eq!(modules.destroyed(FIRST), []);
}

#[test]
fn the_same_object_loaded_again_at_the_same_address_is_another_region() {
    let modules = Modules::new();
    let before = load(&modules, FIRST, loaded(GPU, 0x7000_0000)).regions.remove(0);
    modules.destroyed(FIRST);
    let now = load(&modules, FIRST, loaded(GPU, 0x7000_0000)).regions.remove(0);
    assert_eq!((before.base, before.size), (now.base, now.size));
    assert!(modules.is_loaded(&now));
    assert!(!modules.is_loaded(&before));
}

#[test]
fn an_address_reused_before_the_old_executable_is_forgotten_keeps_the_new_kernel() {
    let modules = Modules::new();
    load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    load(&modules, SECOND, loaded(GPU, 0x7000_0000));
    modules.destroyed(FIRST);
    let kernel = modules.kernel(0x7000_0000 + SCALE).expect("the newer loading stays");
    assert_eq!(kernel.executable, SECOND);
}

#[test]
fn each_agent_has_its_own_copy_of_a_module() {
    let modules = Modules::new();
    modules.frozen(FIRST, Ok(vec![loaded(GPU, 0x7000_0000), loaded(OTHER_GPU, 0x8000_0000)]));
    let bases = |agent| modules.regions(agent).unwrap().iter().map(|region| region.base).collect::<Vec<_>>();
    assert_eq!(bases(GPU), [0x7000_0000 + SEGMENT]);
    assert_eq!(bases(OTHER_GPU), [0x8000_0000 + SEGMENT]);
}

#[test]
fn regions_ascend_over_all_executables() {
    let modules = Modules::new();
    load(&modules, FIRST, loaded(GPU, 0x9000_0000));
    load(&modules, SECOND, loaded(GPU, 0x7000_0000));
    let regions = modules.regions(GPU).unwrap();
    assert!(regions.is_sorted_by_key(|region| region.base));
}

#[test]
fn module_memory_is_recognised_by_address() {
    let modules = Modules::new();
    load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    let base = 0x7000_0000 + SEGMENT;
    assert!(modules.region_at(base).is_some());
    assert!(modules.region_at(base + SEGMENT_SIZE - 1).is_some());
    assert!(modules.region_at(base + SEGMENT_SIZE).is_none());
    assert!(modules.region_at(base - 1).is_none());
}

#[test]
fn an_unreadable_code_object_leaves_its_agent_incomplete_until_it_goes() {
    let modules = Modules::new();
    load(&modules, FIRST, loaded(GPU, 0x7000_0000));
    let broken = LoadedCodeObject { image: b"not an ELF file".to_vec(), ..loaded(GPU, 0x8000_0000) };
    let frozen = load(&modules, SECOND, broken);
    assert!(matches!(frozen.errors[..], [EnumerationError::Unreadable { load_base: 0x8000_0000, .. }]));
    assert_eq!(modules.regions(GPU).unwrap_err(), frozen.errors[0]);
    assert!(modules.regions(OTHER_GPU).unwrap().is_empty());
    assert!(modules.kernel(0x7000_0000 + SCALE).is_some(), "kernels of other objects stay known");
    modules.destroyed(SECOND);
    assert_eq!(modules.regions(GPU).unwrap().len(), 1);
}

#[test]
fn a_failed_walk_leaves_every_agent_incomplete() {
    let modules = Modules::new();
    let error =
        RuntimeError { call: "hsa_ven_amd_loader_executable_iterate_loaded_code_objects", status: 0x1001 };
    modules.frozen(FIRST, Err(error));
    assert!(matches!(modules.regions(GPU), Err(EnumerationError::Walk { executable: 1, .. })));
    assert!(modules.regions(OTHER_GPU).is_err());
}

#[test]
fn a_segment_outside_the_memory_of_its_object_is_not_captured() {
    let modules = Modules::new();
    let short = LoadedCodeObject { load_size: SEGMENT + SEGMENT_SIZE - 1, ..loaded(GPU, 0x7000_0000) };
    let frozen = load(&modules, FIRST, short);
    assert!(matches!(frozen.errors[..], [EnumerationError::SegmentOutside { address: SEGMENT, .. }]));
    assert!(frozen.regions.is_empty());
    let astray = LoadedCodeObject { load_delta: i64::MIN, ..loaded(GPU, 0x7000_0000) };
    assert_eq!(load(&modules, SECOND, astray).errors.len(), 1);
}

#[test]
fn an_oversized_segment_is_told_and_left_out() {
    let modules = Modules::new();
    let mut huge = LoadedCodeObject { load_size: 4 << 30, ..loaded(GPU, 0x7_0000_0000) };
    enlarge_segment(&mut huge.image, MAX_SEGMENT + 1);
    let frozen = load(&modules, FIRST, huge);
    let base = 0x7_0000_0000 + SEGMENT;
    assert_eq!(frozen.oversized, [OversizedSegment { agent: GPU, base, size: MAX_SEGMENT + 1 }]);
    assert_eq!(modules.regions(GPU), Ok(Vec::new()));
}

/// Writes another memory size into the program header of the segment (ELF-64 Object File Format, "Program Header").
fn enlarge_segment(image: &mut [u8], size: u64) {
    const HEADER: usize = 56;
    let at = (64..64 + 9 * HEADER)
        .step_by(HEADER)
        .find(|&at| image[at..at + 4] == [1, 0, 0, 0] && image[at + 16..at + 24] == SEGMENT.to_le_bytes())
        .expect("the segment has its header");
    image[at + 40..at + 48].copy_from_slice(&size.to_le_bytes());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn whatever_the_loader_reports_is_taken_in_or_named_and_lies_in_its_memory(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        load_base in any::<u64>(),
        load_size in prop_oneof![Just(0x5000_u64), any::<u64>()],
        load_delta in prop_oneof![Just(None), any::<i64>().prop_map(Some)],
    ) {
        let mut image = VARIABLES.to_vec();
        for (at, value) in changes {
            let at = at.index(image.len());
            image[at] = value;
        }
        let load_delta = load_delta.unwrap_or(load_base.cast_signed());
        let object = LoadedCodeObject { agent: Some(GPU), load_base, load_size, load_delta, image };
        let modules = Modules::new();
        let frozen = load(&modules, FIRST, object);
        let end = u128::from(load_base) + u128::from(load_size);
        for region in &frozen.regions {
            prop_assert!(region.base >= load_base && u128::from(region.base) + u128::from(region.size) <= end);
            let mut offset = 0;
            for part in &region.parts {
                prop_assert_eq!(part.offset, offset);
                offset += part.size;
            }
            prop_assert_eq!(offset, region.size);
        }
        prop_assert!(frozen.errors.iter().all(|error| !error.to_string().is_empty()));
        prop_assert_eq!(modules.regions(GPU).is_err(), !frozen.errors.is_empty());
        modules.destroyed(FIRST);
        prop_assert!(modules.regions(GPU).is_ok_and(|regions| regions.is_empty()));
    }
}
