//! `--strict`: a record that says that memory is not one complete pass is the last one, however the window came to it.

use super::foreign::run_with_lost_put;
use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Fault, Operation};
use hsa_replay_contract::{Outcome, Record};

/// The process was ended once, with 125, behind a tainted record and a summary. The simulation goes on after that.
#[track_caller]
fn ended_by_a_tainted_record(rig: &Rig) {
    assert_eq!(rig.fake.take_ended(), [125]);
    let records = rig.records();
    let tainted = |record: &Record| matches!(record, Record::Dispatch(it) if it.outcome == Outcome::Tainted);
    let at = records.iter().position(tainted).expect("a tainted record");
    assert!(
        records[at..].iter().any(|record| matches!(record, Record::Summary(_))),
        "the report is complete"
    );
}

#[test]
fn a_restore_that_fails_for_good_ends_the_process() {
    let rig = Rig::with(&[("STRICT", "1")]);
    let out = rig.allocate(4096);
    for nth in 0..100 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    rig.queue(16).run(COUNT, &[out]);
    ended_by_a_tainted_record(&rig);
}

#[test]
fn a_panic_while_memory_is_put_back_ends_the_process() {
    let rig = Rig::with(&[("STRICT", "1")]);
    let out = rig.allocate(4096);
    rig.fake.fault(Operation::CopyToDevice, 0, Fault::Panic);
    rig.queue(16).run(COUNT, &[out]);
    ended_by_a_tainted_record(&rig);
}

/// Has the last pass of a window that has lost a write of others outlast it.
fn overlong() -> (Rig, crate::handles::Signal) {
    let rig = Rig::with(&[("PASSES", "5"), ("TIMEOUT", "1"), ("KERNEL", "scale"), ("STRICT", "1")]);
    let (_, _, done) = run_with_lost_put(&rig, |rig| rig.fake.hold_kernel(rig.kernel(SCALE)));
    // Waits in software until the pass has outlasted the window.
    rig.queue(16).run(COUNT, &[rig.allocate(64)]);
    assert!(rig.fake.take_ended().is_empty(), "it still runs");
    (rig, done)
}

#[test]
fn a_tainted_window_whose_last_pass_outlasts_it_ends_the_process_when_the_pass_ends() {
    let (rig, done) = overlong();
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    ended_by_a_tainted_record(&rig);
}

#[test]
fn a_tainted_window_whose_last_pass_outlasts_the_engine_ends_the_process_behind_all_records() {
    let (rig, done) = overlong();
    rig.engine.stop();
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    ended_by_a_tainted_record(&rig);
    assert!(matches!(rig.records().last(), Some(Record::Summary(_))));
}

#[test]
fn what_is_not_tainted_ends_nothing() {
    let rig = Rig::with(&[("STRICT", "1")]);
    let out = rig.allocate(4096);
    for nth in 0..8 {
        rig.fake.fault(Operation::CopyToDevice, nth, Fault::Refuse);
    }
    rig.queue(16).run(COUNT, &[out]);
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Declined, "one complete pass");
}
