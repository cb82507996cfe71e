//! Candidates beside kernels that wait for others.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::Operation;
use crate::handles::{Executable, Signal};
use hsa_replay_contract::{Allow, Dispatch, Outcome, Reason};

const COLLECTIVE: &str = "ncclDevKernel_Generic_24";

/// A rig with a collective kernel, and that kernel's object.
fn rig(options: &[(&str, &str)]) -> (Rig, u64) {
    let rig = Rig::with(options);
    let kernel = rig.load_renamed(Executable(2), COLLECTIVE);
    rig.fake.kernel(kernel, |_, _| {});
    (rig, kernel)
}

fn outcome(record: &Dispatch) -> (Outcome, Option<Reason>) {
    (record.outcome, record.reason)
}

#[test]
fn a_collective_runs_once_unless_it_is_allowed() {
    for (allow, expected) in [
        (&[][..], (Outcome::Declined, Some(Reason::Collective))),
        (&[("ALLOW", "collective")][..], (Outcome::Replayed, None)),
    ] {
        let (rig, kernel) = rig(allow);
        let queue = rig.queue(16);
        let signal = rig.fake.new_signal(1);
        let mut packet = queue.packet(COUNT, &[0], signal);
        packet[4] = kernel;
        queue.submit(packet);
        queue.wait(signal);
        let (records, _) = rig.finish();
        assert_eq!((records[0].symbol.as_str(), outcome(&records[0])), (COLLECTIVE, expected));
        assert_eq!(records[0].allowed.contains(&Allow::Collective), !allow.is_empty());
    }
}

#[test]
fn candidates_decline_at_once_while_a_collective_is_in_flight_with_or_without_a_signal() {
    for with_signal in [true, false] {
        // A timeout that the test would not survive: the decline does not wait for it.
        let (rig, kernel) = rig(&[("KERNEL", "count"), ("TIMEOUT", "1000")]);
        let out = rig.allocate(64);
        let (collective, queue) = (rig.queue(16), rig.queue(16));
        rig.fake.hold_kernel(kernel);
        let signal = if with_signal { rig.fake.new_signal(1) } else { Signal::NONE };
        let mut packet = collective.packet(COUNT, &[0], signal);
        packet[4] = kernel;
        collective.submit(packet);
        rig.fake.wait_for_held(kernel);
        queue.run(COUNT, &[out]);
        rig.fake.release();
        // Runs behind the collective, which has ended then.
        collective.run(COUNT, &[out]);
        let (records, _) = rig.finish();
        assert_eq!(outcome(&records[0]), (Outcome::Declined, Some(Reason::Collective)));
        assert_eq!(records.len(), 2);
    }
}

#[test]
fn a_collective_that_waits_behind_a_candidate_is_not_kept_waiting() {
    let (rig, kernel) = rig(&[("KERNEL", "count")]);
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(2);
    let mut packet = queue.packet(COUNT, &[out], signal);
    queue.write(packet);
    packet[4] = kernel;
    queue.write(packet);
    queue.ring(1);
    queue.wait(signal);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Declined, Some(Reason::Collective)));
}

#[test]
fn a_collective_that_slips_in_while_a_candidate_is_decided_declines_it() {
    let (rig, kernel) = rig(&[("KERNEL", "count"), ("TIMEOUT", "1000")]);
    let out = rig.allocate(64);
    let (collective, queue) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(kernel);
    // Arguments that no hook has seen are asked for after the look for collectives in flight.
    let counted = rig.fake.new_signal(1);
    let mut packet = queue.packet(COUNT, &[], counted);
    packet[5] = rig.unseen_arguments(&[out]);
    rig.fake.pause(Operation::PointerFacts, 0);
    queue.submit(packet);
    rig.fake.wait_for_pause();
    let signal = rig.fake.new_signal(1);
    let mut packet = collective.packet(COUNT, &[0], signal);
    packet[4] = kernel;
    collective.submit(packet);
    rig.fake.wait_for_held(kernel);
    rig.fake.resume();
    queue.wait(counted);
    rig.fake.release();
    collective.wait(signal);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Declined, Some(Reason::Collective)));
}

#[test]
fn kernels_that_the_user_names_as_waiting_are_treated_as_such() {
    let rig = Rig::with(&[("WAITING", "scale<"), ("TIMEOUT", "1000")]);
    let out = rig.allocate(64);
    let (waiting, queue) = (rig.queue(16), rig.queue(16));
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig.fake.hold_kernel(rig.kernel(SCALE));
    let signal = waiting.dispatch(SCALE, &[out]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    queue.run(COUNT, &[out]);
    rig.fake.release();
    waiting.wait(signal);
    let (records, _) = rig.finish();
    let declined = (Outcome::Declined, Some(Reason::WaitingKernel));
    assert_eq!(records.iter().map(outcome).collect::<Vec<_>>(), [declined, declined]);
}

#[test]
fn kernels_that_have_ended_keep_no_signals_although_no_window_asks_for_them() {
    const MANY: usize = 500;
    let rig = Rig::with(&[("WAITING", "scale<"), ("KERNEL", "count")]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let queue = rig.queue(16);
    let before = rig.fake.signals();
    for turn in 0..MANY {
        let mut packet = queue.packet(SCALE, &[], Signal::NONE);
        packet[7] = 0;
        queue.submit(packet);
        rig.fake.wait_for("its end", |state| state.events.len() > turn);
    }
    let taken = rig.fake.signals() - before;
    assert!(taken < MANY / 5, "{taken} signals of {MANY} kernels are kept");
    rig.finish();
}
