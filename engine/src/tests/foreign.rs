//! Writes of others into captured memory while a window is open.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Fault, Operation, argument};
use hsa_replay_contract::{Dispatch, Outcome, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Runs `scale`, which adds one to its argument, while in the given pass somebody writes nine into `other`.
fn run(rig: Rig, data: u64, other: u64, pass: u32, own: bool) -> (Dispatch, u32, u32) {
    let count = Arc::new(AtomicU32::new(0));
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        machine.add_u32(argument(words, 0), 1);
        if own {
            machine.add_u32(other + 32, 5);
        }
        if count.fetch_add(1, Ordering::SeqCst) == pass {
            machine.write(other, &[9; 4]);
        }
    });
    rig.queue(16).run(SCALE, &[data]);
    let words = (rig.u32(data), rig.u32(other));
    (rig.finish().0.remove(0), words.0, words.1)
}

#[test]
fn a_write_of_others_is_kept_whichever_pass_it_falls_into_and_is_said() {
    for pass in 0..3 {
        let rig = Rig::new();
        let (data, other) = (rig.allocate(64), rig.allocate(64));
        let (record, own, foreign) = run(rig, data, other, pass, false);
        assert_eq!((own, foreign), (1, 0x0909_0909), "in pass {pass}");
        assert_eq!((record.outcome, record.deterministic), (Outcome::Replayed, None), "in pass {pass}");
        let detail = record.detail.expect("said");
        assert!(detail.starts_with("foreign_write") && detail.contains(&format!("{other:#x}")), "{detail}");
        assert!(record.passes.iter().all(|pass| pass.hash == record.passes[0].hash));
        assert!(record.divergence.expect("compared").is_empty());
        let writes = record.writes.expect("compared");
        assert_eq!((writes.len(), writes[0].base), (1, data), "what others wrote is not the kernel's");
    }
}

#[test]
fn what_the_kernel_writes_without_a_pointer_in_every_pass_is_its_own() {
    let rig = Rig::new();
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    let (record, _, foreign) = run(rig, data, other, 1, true);
    assert_eq!((foreign, record.deterministic), (0x0909_0909, None));
    let writes = record.writes.expect("compared");
    let own = writes.iter().find(|write| write.base == other).expect("listed");
    assert_eq!(own.ranges, [[32, 1]]);
}

/// It computes where it writes, and writes elsewhere in each pass: no one can tell that from writes of others.
#[test]
fn what_a_kernel_without_pointers_leaves_in_several_passes_is_said() {
    let rig = Rig::new();
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    let count = AtomicU32::new(0);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        machine.write(other + 8 * u64::from(count.fetch_add(1, Ordering::SeqCst)), &[9]);
    });
    rig.queue(16).run(SCALE, &[data]);
    let left = rig.fake.machine(|machine| machine.read(other, 24));
    assert_eq!((left[0], left[8], left[16]), (9, 9, 9), "what each pass wrote");
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.deterministic), (Outcome::Replayed, None));
    let detail = record.detail.expect("said");
    assert!(
        detail.contains("if the kernel wrote them itself") && detail.contains("of several passes"),
        "{detail}"
    );
}

#[test]
fn in_memory_that_the_kernel_reaches_a_difference_is_its_own() {
    let rig = Rig::new();
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    rig.fake.machine(|machine| machine.write(data + 8, &other.to_le_bytes()));
    let (record, _, _) = run(rig, data, other, 1, false);
    assert_eq!((record.outcome, record.deterministic, record.detail), (Outcome::Replayed, Some(false), None));
}

#[test]
fn memory_that_the_kernel_reaches_by_another_mapping_of_it_is_its_own() {
    let rig = Rig::new();
    let (data, alias) = (rig.map(1), rig.map(1));
    let count = Arc::new(AtomicU32::new(0));
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        machine.add_u32(data, 1);
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            machine.write(data + 32, &[9]);
        }
    });
    rig.queue(16).run(SCALE, &[alias]);
    assert_eq!((rig.u32(data), rig.u32(data + 32)), (1, 0), "memory is as the last pass left it");
    let record = rig.finish().0.remove(0);
    assert_eq!((record.deterministic, record.detail), (Some(false), None));
}

#[test]
fn a_write_of_others_that_cannot_be_put_back_taints_the_window() {
    // Written in the first of two passes; of the copies to the device the first two put memory back, the next ones that write.
    let rig = Rig::with(&[("PASSES", "2")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    for nth in 2..10 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    let (record, own, _) = run(rig, data, other, 0, false);
    assert_eq!(own, 1, "the kernel's own result is complete");
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::ForeignWrite)));
    assert!(record.detail.expect("said").contains(&format!("{other:#x}")));
    assert_eq!((record.passes.len(), record.deterministic), (2, None));
}

#[test]
fn a_write_of_others_that_cannot_be_put_again_between_two_passes_is_at_the_end() {
    // Two copies put memory back after the first pass and one after the second; then come the bytes of others.
    let rig = Rig::with(&[("PASSES", "5")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    for nth in 3..5 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    let (record, own, foreign) = run(rig, data, other, 0, false);
    assert_eq!((own, foreign, record.passes.len()), (1, 0x0909_0909, 3));
    assert_eq!((record.outcome, record.deterministic), (Outcome::Replayed, None));
    let detail = record.detail.expect("said");
    assert!(detail.starts_with("restore_failed") && detail.contains("foreign_write"), "{detail}");
}

/// As before, and the memory is opened to them when the last pass has been read: what they write then is newer.
#[test]
fn a_write_of_others_is_not_put_over_what_they_wrote_since_the_memory_was_opened() {
    let rig = Rig::with(&[("PASSES", "5")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    let count = AtomicU32::new(0);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        machine.add_u32(argument(words, 0), 1);
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            machine.write(other, &[9; 4]);
        }
    });
    for nth in 3..5 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    // Snapshot and first pass are three copies each, the second pass twice as many; behind three of the third, where it differs
    // from the first is looked for.
    rig.fake.pause(Operation::CopyToHost, 15);
    let queue = rig.queue(16);
    let done = queue.dispatch(SCALE, &[data]);
    rig.fake.wait_for_pause();
    rig.engine.memory_exported(other, true);
    rig.fake.machine(|machine| machine.write(other, &[5; 4]));
    rig.fake.resume();
    queue.wait(done);
    assert_eq!((rig.u32(data), rig.u32(other)), (1, 0x0505_0505));
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::ForeignWrite)), "{record:?}");
}

#[test]
fn a_write_of_others_outlives_a_window_that_ends_early() {
    // The snapshot takes three copies, the first pass too, the second twice as many: its bytes differ. The third is not read.
    let rig = Rig::with(&[("PASSES", "5")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    for nth in 12..14 {
        rig.fake.fault(Operation::CopyToHost, nth, Fault::Refuse);
    }
    let (record, own, foreign) = run(rig, data, other, 0, false);
    assert_eq!((own, foreign), (1, 0x0909_0909));
    assert_eq!((record.outcome, record.passes.len(), record.deterministic), (Outcome::Replayed, 3, None));
    let detail = record.detail.expect("said");
    assert!(detail.contains("snapshot_incomplete") && detail.contains("foreign_write"), "{detail}");
}

/// Five passes of a kernel that writes 256 KiB without a pointer, other bytes each time or the same, with a budget of 1162 KB.
fn computed_pointer(other_bytes: bool) -> Dispatch {
    const BYTES: usize = 256 << 10;
    let rig = Rig::with(&[("PASSES", "5"), ("BUDGET", "1162144")]);
    let (data, other) = (rig.allocate(64), rig.allocate(BYTES as u64));
    let count = Arc::new(AtomicU32::new(0));
    rig.fake.kernel(rig.kernel(SCALE), move |machine, _| {
        let pass = count.fetch_add(1, Ordering::SeqCst);
        let value = if other_bytes { 1 + u8::try_from(pass).expect("few") } else { 1 };
        machine.write(other, &vec![value; BYTES]);
    });
    rig.queue(16).run(SCALE, &[data]);
    rig.finish().0.remove(0)
}

#[test]
fn what_passes_leave_where_the_kernel_does_not_reach_counts_towards_the_budget() {
    let record = computed_pointer(true);
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 2), "each pass is kept");
    assert!(record.detail.expect("said").starts_with("over_budget"));
    let record = computed_pointer(false);
    assert_eq!((record.passes.len(), record.detail), (5, None), "the same bytes are kept once");
}

#[test]
fn what_the_first_pass_changed_counts_towards_the_budget() {
    const BYTES: usize = 256 << 10;
    for (budget, passes) in [("600000", 3), ("400000", 1)] {
        let rig = Rig::with(&[("BUDGET", budget)]);
        let data = rig.allocate(BYTES as u64);
        rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
            let to = argument(words, 0);
            let value = 1 + machine.read(to, 1)[0];
            machine.write(to, &vec![value; BYTES]);
        });
        rig.queue(16).run(SCALE, &[data]);
        assert_eq!(rig.u32(data), 0x0101_0101);
        let record = rig.finish().0.remove(0);
        assert_eq!(record.passes.len(), passes, "{record:?}");
        let writes = record.writes.expect("compared");
        assert_eq!((writes[0].bytes, writes[0].hash.is_some()), (BYTES as u64, passes > 1));
        if passes == 1 {
            assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::OverBudget)));
            assert!(record.detail.expect("said").contains("first pass"));
        }
    }
}

#[test]
fn a_write_of_others_between_what_is_put_back_is_kept() {
    let rig = Rig::new();
    let (data, other) = (rig.allocate(64), rig.allocate(512));
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        machine.add_u32(argument(words, 0), 1);
        machine.add_u32(other, 1);
        machine.add_u32(other + 256, 1);
    });
    rig.fake.pause(Operation::CopyToDevice, 0);
    let queue = rig.queue(16);
    let done = queue.dispatch(SCALE, &[data]);
    rig.fake.wait_for_pause();
    // After the comparison, and before anything is put back.
    for offset in [8, 128, 264] {
        rig.fake.machine(|machine| machine.write(other + offset, &[9]));
    }
    rig.fake.resume();
    queue.wait(done);
    let words = [0, 8, 128, 256, 264].map(|offset| rig.u32(other + offset));
    assert_eq!((rig.u32(data), words), (1, [1, 9, 9, 1, 9]));
    assert_eq!(rig.finish().0[0].passes.len(), 3);
}

#[test]
fn what_may_be_a_write_of_others_outlives_a_window_that_compared_one_pass_only() {
    // The snapshot takes three copies, the first pass too. The second is not read.
    let rig = Rig::with(&[("PASSES", "5")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    for nth in 6..8 {
        rig.fake.fault(Operation::CopyToHost, nth, Fault::Refuse);
    }
    let (record, own, foreign) = run(rig, data, other, 0, false);
    assert_eq!((own, foreign), (1, 0x0909_0909));
    assert_eq!((record.outcome, record.passes.len(), record.deterministic), (Outcome::Replayed, 2, None));
    let detail = record.detail.expect("said");
    assert!(detail.contains("snapshot_incomplete") && detail.contains("one pass was compared"), "{detail}");
}

#[test]
fn what_may_be_a_write_of_others_is_said_when_the_second_pass_outlasts_the_window() {
    let rig = Rig::with(&[("PASSES", "5"), ("TIMEOUT", "1"), ("KERNEL", "scale")]);
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    let count = AtomicU32::new(0);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        machine.add_u32(argument(words, 0), 1);
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            machine.write(other, &[9; 4]);
        }
    });
    rig.fake.pause(Operation::CopyToDevice, 0);
    let queue = rig.queue(16);
    let done = queue.dispatch(SCALE, &[data]);
    rig.fake.wait_for_pause();
    rig.fake.hold_kernel(rig.kernel(SCALE));
    rig.fake.resume();
    // Waits in software until the pass has outlasted the window.
    rig.queue(16).run(COUNT, &[rig.allocate(64)]);
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    assert_eq!(rig.u32(data), 1);
    let detail = rig.finish().0.remove(0).detail.expect("said");
    assert!(detail.contains("may have been undone") && detail.contains(&format!("{other:#x}")), "{detail}");
}

/// Runs `scale` while somebody writes nine into `other` in the first pass; what puts that again after the second one fails. `third` is
/// called before the third pass begins.
pub(super) fn run_with_lost_put(rig: &Rig, third: impl FnOnce(&Rig)) -> (u64, u64, crate::handles::Signal) {
    let (data, other) = (rig.allocate(64), rig.allocate(64));
    for nth in 3..5 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    let count = AtomicU32::new(0);
    rig.fake.kernel(rig.kernel(SCALE), move |machine, words| {
        machine.add_u32(argument(words, 0), 1);
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            machine.write(other, &[9; 4]);
        }
    });
    rig.fake.pause(Operation::CopyToDevice, 2);
    let queue = rig.queue(16);
    let done = queue.dispatch(SCALE, &[data]);
    rig.fake.wait_for_pause();
    third(rig);
    rig.fake.resume();
    (data, other, done)
}

#[test]
fn a_write_of_others_that_was_not_put_again_taints_a_window_whose_last_pass_outlasts_it() {
    let rig = Rig::with(&[("PASSES", "5"), ("TIMEOUT", "1"), ("KERNEL", "scale")]);
    let (data, other, done) = run_with_lost_put(&rig, |rig| rig.fake.hold_kernel(rig.kernel(SCALE)));
    // Waits in software until the pass has outlasted the window.
    rig.queue(16).run(COUNT, &[rig.allocate(64)]);
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    assert_eq!(rig.u32(data), 1);
    assert_ne!(rig.u32(other), 0x0909_0909, "nothing is put under a running pass");
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::ForeignWrite)));
    assert_eq!((record.passes.len(), record.deterministic), (3, None));
    let detail = record.detail.expect("said");
    assert!(detail.contains(&format!("{other:#x}")) && !detail.contains("was kept"), "{detail}");
}

#[test]
fn a_write_of_others_that_was_not_put_again_is_at_the_end_although_the_last_pass_cannot_be_read() {
    // The snapshot takes three copies, the first pass too, the second twice as many: its bytes differ. The third is not read.
    let rig = Rig::with(&[("PASSES", "5")]);
    for nth in 12..14 {
        rig.fake.fault(Operation::CopyToHost, nth, Fault::Refuse);
    }
    let (data, other, done) = run_with_lost_put(&rig, |_| {});
    rig.fake.wait_for_signal(done);
    assert_eq!((rig.u32(data), rig.u32(other)), (1, 0x0909_0909));
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.passes.len(), record.deterministic), (Outcome::Replayed, 3, None));
    let detail = record.detail.expect("said");
    assert!(detail.contains("snapshot_incomplete") && detail.contains("was kept"), "{detail}");
}

#[test]
fn a_write_of_others_that_was_never_put_again_taints_a_window_whose_last_pass_cannot_be_read() {
    let rig = Rig::with(&[("PASSES", "5")]);
    for nth in 12..14 {
        rig.fake.fault(Operation::CopyToHost, nth, Fault::Refuse);
    }
    for nth in 5..10 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    let (data, _, done) = run_with_lost_put(&rig, |_| {});
    rig.fake.wait_for_signal(done);
    assert_eq!(rig.u32(data), 1);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::ForeignWrite)));
    assert!(!record.detail.expect("said").contains("was kept"));
}
