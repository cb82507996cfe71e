//! What a record says of the arguments, and of the times of its window.

use super::rig::{COUNT, Rig, SCALE};
use crate::runtime::Runtime;
use crate::{Allocation, Source};
use hsa_replay_contract::record::{ArgumentKind, MemoryClass, Stage};
use hsa_replay_contract::{Dispatch, Outcome};

/// `count(int* out, Pair pair)` with these words; the kernel does nothing.
fn counted(rig: Rig, words: &[u64]) -> Dispatch {
    rig.fake.kernel(rig.kernel(COUNT), |_, _| {});
    rig.queue(16).run(COUNT, words);
    let (mut records, _) = rig.finish();
    records.remove(0)
}

#[test]
fn pointers_are_resolved_and_values_decoded() {
    let rig = Rig::new();
    let (data, input) = (rig.allocate(4096), rig.allocate(256));
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    // `scale(float* data, const float* input, float by, int n)`; `input` points one past its end.
    let by_and_n = u64::from(2.5_f32.to_bits()) | u64::from((-3_i32).cast_unsigned()) << 32;
    rig.queue(16).run(SCALE, &[data + 16, input + 256, by_and_n]);
    let (records, _) = rig.finish();
    let arguments = records[0].arguments.as_ref().expect("were read");
    let shown: Vec<_> = arguments
        .iter()
        .map(|argument| (argument.kind, argument.type_name.as_deref(), argument.value.as_deref()))
        .collect();
    let (at_data, at_input) = (format!("{:#x}", data + 16), format!("{:#x}", input + 256));
    assert_eq!(
        shown,
        [
            (ArgumentKind::Pointer, Some("float*"), Some(&*at_data)),
            (ArgumentKind::Pointer, Some("float const*"), Some(&*at_input)),
            (ArgumentKind::Value, Some("float"), Some("2.5")),
            (ArgumentKind::Value, Some("int"), Some("-3")),
        ]
    );
    let places: Vec<_> = arguments
        .iter()
        .flat_map(|argument| &argument.points_to)
        .map(|target| (target.class, target.base, target.size, target.offset))
        .collect();
    assert_eq!(places, [(MemoryClass::Device, data, 4096, 16), (MemoryClass::Device, input, 256, 256)]);
    assert_eq!(arguments[2].bytes.as_deref(), Some("00002040"));
    assert_eq!((arguments[3].offset, arguments[3].size, arguments[3].index), (20, 4, 3));
}

#[test]
fn of_several_arguments_in_one_allocation_the_one_below_the_change_is_named() {
    for (changed, argument) in [(1024, 1), (1500, 1), (100, 0), (4, 0)] {
        let rig = Rig::new();
        let pool = rig.allocate(4096);
        rig.fake.kernel(rig.kernel(SCALE), move |machine, _| machine.write(pool + changed, &[1]));
        rig.queue(16).run(SCALE, &[pool + 64, pool + 1024, 0]);
        let (records, _) = rig.finish();
        let writes = records[0].writes.as_ref().expect("was compared");
        let found: Vec<_> = writes.iter().map(|write| (write.arg, &*write.ranges)).collect();
        assert_eq!(found, [(Some(argument), &[[changed, 1]][..])]);
    }
}

#[test]
fn a_value_shows_the_pointers_in_it() {
    let rig = Rig::new();
    let (out, inner) = (rig.allocate(64), rig.allocate(128));
    let record = counted(rig, &[out, inner + 8, 0]);
    let pair = &record.arguments.as_ref().expect("were read")[1];
    assert_eq!(
        (pair.kind, pair.type_name.as_deref(), &pair.value),
        (ArgumentKind::Value, Some("Pair"), &None)
    );
    let [target] = &pair.points_to[..] else { panic!("{pair:?}") };
    assert_eq!((target.at, target.base, target.offset), (0, inner, 8));
}

#[test]
fn a_refused_dispatch_shows_which_memory_was_the_reason() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.engine.memory_exported(out, true);
    let record = counted(rig, &[out]);
    assert_eq!(record.outcome, Outcome::Declined);
    let target = &record.arguments.as_ref().expect("were read")[0].points_to[0];
    assert_eq!((target.class, target.class.is_restored()), (MemoryClass::SharedOut, false));
}

#[test]
fn null_and_unknown_pointers_lead_nowhere_and_a_variable_is_named() {
    let rig = Rig::new();
    let counter = rig.counter;
    let record = counted(rig, &[counter]);
    let target = &record.arguments.as_ref().expect("were read")[0].points_to[0];
    assert_eq!(
        (target.class, target.name.as_deref(), target.base, target.size),
        (MemoryClass::ModuleVariable, Some("counter"), counter, 4)
    );
    for nowhere in [0, 0x7000_0000_0000] {
        let record = counted(Rig::new(), &[nowhere]);
        assert!(record.arguments.expect("were read")[0].points_to.is_empty(), "{nowhere:#x}");
    }
}

#[test]
fn a_window_lists_its_stages_in_order_and_within_its_time() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.queue(16).run(COUNT, &[out]);
    let (records, _) = rig.finish();
    let window = records[0].window.as_ref().expect("has times");
    let stages: Vec<_> = window.stages.iter().map(|stage| (stage.stage, stage.pass)).collect();
    let of_pass =
        |pass| [(Stage::Pass, Some(pass)), (Stage::Compare, Some(pass)), (Stage::Restore, Some(pass))];
    let mut expected = vec![(Stage::Decide, None), (Stage::Drain, None), (Stage::Snapshot, None)];
    expected.extend((0..3).flat_map(of_pass));
    expected.pop();
    assert_eq!(stages, expected);
    let mut end = 0;
    for stage in &window.stages {
        assert!(stage.start_ns >= end, "{window:?}");
        end = stage.start_ns + stage.ns;
    }
    assert!(end <= window.ns, "{window:?}");
}

#[test]
fn a_declined_dispatch_has_a_window_that_says_how_far_it_came() {
    let rig = Rig::new();
    let address = rig.fake.allocate_host(64).expect("host memory");
    let source = Source::Pool { pool: crate::fake::KERNARG_POOL, flags: 0 };
    rig.engine.memory_allocated(&Allocation { address, bytes: 64, source });
    let record = counted(rig, &[address]);
    assert_eq!(record.outcome, Outcome::Declined);
    let window = record.window.expect("has times");
    assert_eq!(window.stages.iter().map(|stage| stage.stage).collect::<Vec<_>>(), [Stage::Decide]);
}
