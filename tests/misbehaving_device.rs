//! A device that fails, hangs or is slow at one operation of a window: the program ends as it would have, and the record says
//! what was the matter.

mod rocm;

use std::thread;

use hsa_replay_contract::record::{Dispatch, Outcome, Reason};
use rocm::{Launch, Release, Run, Victim};

on_both_releases! {
    a_queue_error_during_a_pass_is_the_applications_own_and_told_once
    a_pass_that_outlasts_its_window_is_the_final_one
}

/// Seconds of a window: much longer than it takes where all is well, on a busy machine too.
const TIMEOUT: &str = "4";
/// Milliseconds, a little longer than that.
const LONGER: u64 = 4300;

fn misbehaving(launch: Launch, plan: &str) -> Run {
    launch.variable("MODEL_GPU_FAULTS", plan).run()
}

fn ended(dispatch: &Dispatch) -> (Outcome, Option<Reason>, usize) {
    (dispatch.outcome, dispatch.reason, dispatch.passes.len())
}

/// Its one dispatch has a queue of its own, whose errors it says and ends with code 2.
fn dispatcher(release: Release) -> Victim {
    Victim::hsa("dispatch_time", "increment", release)
}

/// The number of the program's own dispatch among those of the device: the runtime copies with kernels of its own.
fn own_dispatch(victim: &Victim) -> (usize, Run) {
    let failing = |number: usize| (number, misbehaving(victim.alone(), &format!("dispatch#{number}=fail")));
    let mut all = (1..10).map(failing);
    all.find(|(_, run)| run.code == Some(2)).expect("the program has a dispatch of its own")
}

fn queue_errors(run: &Run) -> Vec<&str> {
    run.stderr.lines().filter(|line| line.starts_with("queue error")).collect()
}

fn a_queue_error_during_a_pass_is_the_applications_own_and_told_once(release: Release) {
    let victim = dispatcher(release);
    let (own, alone) = own_dispatch(&victim);
    assert_eq!(queue_errors(&alone).len(), 1, "{alone}");
    for pass in 0..3 {
        let run = misbehaving(victim.replayed(&["--passes", "3"]), &format!("dispatch#{}=fail", own + pass));
        run.same_as(&alone);
        assert_eq!(queue_errors(&run), queue_errors(&alone), "{run}");
        let dispatch = run.report().of_kernel("increment", 1)[0];
        assert_eq!(ended(dispatch), (Outcome::Faulted, Some(Reason::QueueError), pass), "{run}");
    }
}

fn a_pass_that_outlasts_its_window_is_the_final_one(release: Release) {
    let victim = dispatcher(release);
    let (own, _) = own_dispatch(&victim);
    let late = [
        (Outcome::Declined, Some(Reason::PassTimeout), 1),
        (Outcome::Replayed, None, 2),
        (Outcome::Replayed, None, 3),
    ];
    let one = |pass: usize, expected| {
        let launch = victim.replayed(&["--passes", "3", "--timeout", TIMEOUT]);
        let run = misbehaving(launch, &format!("dispatch#{}=slow:{LONGER}", own + pass));
        run.same_as(victim.plain().well());
        let dispatch = run.report().complete().of_kernel("increment", 1)[0];
        assert_eq!(ended(dispatch), expected, "{run}");
        let said = dispatch.detail.as_deref().unwrap_or_default();
        assert!(said.contains("a pass outlasted the time for one window"), "{run}");
    };
    thread::scope(|scope| {
        for (pass, expected) in late.into_iter().enumerate() {
            let one = &one;
            scope.spawn(move || one(pass, expected));
        }
    });
}

/// Copies of a window of three passes: two regions are saved, read after each pass, and put back twice. HIP 7 makes none of its
/// own by a copy engine in that program; HIP 5 does, and would wait for an engine that hangs with or without us.
const SAVED: usize = 1;
const COMPARED: usize = 3;
const RESTORED: usize = 5;
const COPIES: usize = 12;

/// Runs `increment` once for each of these copies, all at once, and gives its records.
fn each_copy(copies: &[usize], action: &str) -> Vec<(usize, Dispatch)> {
    let victim = Victim::hip("increment", Release::Newest);
    let one = |copy: usize| {
        let launch = victim.replayed(&["--passes", "3", "--timeout", TIMEOUT]);
        let run = misbehaving(launch, &format!("copy#{copy}={action}"));
        run.same_as(victim.plain().well());
        assert!(run.stderr.contains(&format!("fault plan: copy {copy} ")), "there was no such copy: {run}");
        (copy, run.report().complete().of_kernel("increment", 1)[0].clone())
    };
    thread::scope(|scope| {
        let runs: Vec<_> = copies.iter().map(|&copy| scope.spawn(move || one(copy))).collect();
        runs.into_iter().map(|run| run.join().expect("as the program alone")).collect()
    })
}

#[test]
fn a_copy_that_hangs_costs_the_program_nothing_but_time() {
    for (copy, dispatch) in each_copy(&[SAVED, COMPARED, RESTORED, COPIES], "stall") {
        let expected = match copy {
            SAVED => (Outcome::Declined, Some(Reason::SnapshotIncomplete), 0),
            COMPARED => (Outcome::Declined, Some(Reason::SnapshotIncomplete), 1),
            // Nobody knows whether it will still write.
            RESTORED => (Outcome::Tainted, Some(Reason::RestoreFailed), 1),
            _ => (Outcome::Replayed, None, 3),
        };
        assert_eq!(ended(&dispatch), expected, "copy {copy}: {dispatch:#?}");
    }
}

/// A little longer than the window may take: each copy is waited for, and the window goes no further.
#[test]
fn a_copy_that_is_slow_costs_the_program_nothing_but_time() {
    for (copy, dispatch) in each_copy(&[SAVED, COMPARED, RESTORED, COPIES], &format!("slow:{LONGER}")) {
        let (outcome, reason, passes) = ended(&dispatch);
        match copy {
            SAVED => assert_eq!((outcome, passes), (Outcome::Declined, 0), "copy {copy}: {dispatch:#?}"),
            COMPARED => assert_eq!((outcome, passes), (Outcome::Declined, 1), "copy {copy}: {dispatch:#?}"),
            RESTORED => assert_eq!((outcome, passes), (Outcome::Replayed, 2), "copy {copy}: {dispatch:#?}"),
            _ => assert_eq!((outcome, passes), (Outcome::Replayed, 3), "copy {copy}: {dispatch:#?}"),
        }
        assert!(outcome == Outcome::Replayed || reason.is_some(), "copy {copy}: {dispatch:#?}");
    }
}
