//! What of ours reaches the real runtime, in which order and by which thread, and what becomes of a dispatch when a call of
//! ours fails there: the program's result never changes.

mod rocm;
mod tap;

use std::collections::BTreeSet;

use hsa_replay_contract::record::{Dispatch, Outcome, Reason, Tier};
use rocm::report::replayed;
use rocm::{Release, Victim};
use tap::{Call, Tap};

const COPY: &str = "hsa_amd_memory_async_copy";
const ALLOCATE: &str = "hsa_amd_memory_pool_allocate";
const FREE: &str = "hsa_amd_memory_pool_free";
const CREATE_SIGNAL: &str = "hsa_signal_create";
const DESTROY_SIGNAL: &str = "hsa_signal_destroy";
const PUBLISH: &str = "hsa_queue_store_write_index_screlease";
const COMPLETE: &str = "hsa_signal_subtract_screlease";
const SHUT_DOWN: &str = "hsa_shut_down";
/// `HSA_STATUS_ERROR` and `HSA_STATUS_ERROR_OUT_OF_RESOURCES`.
const ERROR: u32 = 0x1000;
const OUT_OF_RESOURCES: u32 = 0x1008;

const PASSES: usize = 3;

on_both_releases! {
    the_calls_of_a_window_come_in_its_order
    no_wait_of_ours_is_for_a_signal_of_the_application
    nothing_of_ours_is_called_on_the_runtimes_event_thread
    all_that_the_engine_takes_is_given_back_before_the_runtime_ends
    what_the_engine_takes_is_host_memory
    without_host_memory_the_kernel_runs_once
    without_the_agents_memory_the_snapshot_goes_elsewhere
    without_any_memory_the_kernel_runs_once
    a_copy_to_the_host_that_fails_once_is_made_another_way
    a_copy_to_the_host_that_fails_ends_the_window_where_it_is
    a_copy_to_the_device_that_fails_leaves_the_first_pass
    without_signals_the_kernel_runs_once
    without_a_list_of_code_objects_the_kernel_runs_once
    memory_that_the_runtime_does_not_confirm_is_not_captured
}

fn options() -> [&'static str; 4] {
    ["--passes", "3", "--kernel", "increment"]
}

/// Runs `increment` with the tap below the shim; it ends as without either.
fn incremented(tap: &Tap, release: Release) -> (Dispatch, Vec<Call>) {
    let victim = Victim::hip("increment", release);
    let (run, calls) = tap.below(victim.replayed(&options()), release);
    run.same_as(victim.plain().well());
    let dispatch = run.report().complete().of_kernel("increment", 1)[0].clone();
    (dispatch, calls)
}

fn of_the_engine(calls: &[Call]) -> Vec<&Call> {
    calls.iter().filter(|call| call.is_the_engines() && call.given.is_none()).collect()
}

fn named<'a>(calls: &[&'a Call], name: &str) -> Vec<&'a Call> {
    calls.iter().copied().filter(|call| call.name == name).collect()
}

/// Copies of the engine, in order: true for those whose destination is the agent. The first one is to the host.
fn directions(copies: &[&Call]) -> Vec<bool> {
    // The second argument is the destination's agent, the fourth the source's.
    let host = copies.first().map(|copy| copy.arguments[1]);
    copies.iter().map(|copy| Some(copy.arguments[1]) != host).collect()
}

fn ended(dispatch: &Dispatch) -> (Outcome, Option<Reason>, usize) {
    (dispatch.outcome, dispatch.reason, dispatch.passes.len())
}

/// Snapshot, pass, comparison, restore, and so on; the program's signal last.
fn the_calls_of_a_window_come_in_its_order(release: Release) {
    let victim = Victim::hsa("dispatch_time", "increment", release);
    let tap = Tap::watching(&[COPY, PUBLISH, COMPLETE]);
    let (run, calls) = tap.below(victim.replayed(&["--passes", "3"]), release);
    run.same_as(victim.plain().well());
    replayed(run.report().complete().of_kernel("increment", 1)[0], PASSES);
    let calls = of_the_engine(&calls);
    let mut to_device = directions(&named(&calls, COPY)).into_iter();
    let mut order = String::new();
    for call in calls {
        let letter = match call.name.as_str() {
            COPY if to_device.next() == Some(true) => 'w',
            COPY => 'r',
            PUBLISH => 'p',
            _ => 'c',
        };
        if letter == 'c' || !order.ends_with(letter) {
            order.push(letter);
        }
    }
    assert_eq!(order, "rprwprwprc", "{run}");
}

fn no_wait_of_ours_is_for_a_signal_of_the_application(release: Release) {
    let waits = [
        "hsa_signal_wait_scacquire",
        "hsa_signal_wait_relaxed",
        "hsa_signal_wait_acquire",
        "hsa_amd_signal_wait_any",
        "hsa_amd_signal_async_handler",
    ];
    let victim = Victim::hip("streams", release);
    let tap = Tap::watching(&[&waits[..], &[CREATE_SIGNAL]].concat());
    let (run, calls) = tap.below(victim.replayed(&["--passes", "3"]), release);
    run.same_as(victim.plain().well());
    let own: BTreeSet<u64> =
        calls.iter().filter(|call| call.is_the_engines()).filter_map(|call| call.given).collect();
    let of_the_engine = of_the_engine(&calls);
    let waited: Vec<_> = of_the_engine.iter().filter(|call| call.name != CREATE_SIGNAL).collect();
    assert!(!waited.is_empty(), "no window waited for anything: {run}");
    for call in waited {
        assert_eq!(call.name, waits[0], "{run}");
        assert!(own.contains(&call.arguments[0]), "{call:x?}\n{run}");
    }
}

/// A host function of the program's runs there; what it and HIP call is what they call without us. HIP gives back there what a
/// command held, if it is the last to let go: a matter of luck, so only what the engine had taken counts.
fn nothing_of_ours_is_called_on_the_runtimes_event_thread(release: Release) {
    let victim = Victim::hip("callbacks", release);
    let tap = Tap::watching(&["all"]);
    let there = |calls: &[Call]| -> BTreeSet<String> {
        let threads: BTreeSet<i32> =
            calls.iter().filter(|call| call.name == "handler").map(|call| call.thread).collect();
        assert_eq!(threads.len(), 1, "the runtime has one such thread");
        let taken: BTreeSet<u64> =
            calls.iter().filter(|call| call.is_the_engines()).filter_map(|call| call.given).collect();
        let of_hip = |call: &Call| {
            [FREE, DESTROY_SIGNAL].contains(&call.name.as_str()) && !taken.contains(&call.arguments[0])
        };
        let calls = calls.iter().filter(|call| threads.contains(&call.thread) && !call.is_the_engines());
        calls.filter(|call| !of_hip(call)).map(|call| call.name.clone()).collect()
    };
    let (alone, calls) = tap.alone(victim.alone(), release);
    alone.same_as(victim.plain().well());
    let without_us = there(&calls);
    let (run, calls) = tap.below(victim.replayed(&["--passes", "3"]), release);
    run.same_as(victim.plain().well());
    assert!(calls.iter().any(Call::is_the_engines), "the engine had nothing to do: {run}");
    let ours: Vec<_> = there(&calls).difference(&without_us).cloned().collect();
    assert!(ours.is_empty(), "{ours:?}\n{run}");
}

fn all_that_the_engine_takes_is_given_back_before_the_runtime_ends(release: Release) {
    let victim = Victim::hsa("dispatch_time", "increment", release);
    let tap = Tap::watching(&[ALLOCATE, FREE, CREATE_SIGNAL, DESTROY_SIGNAL, SHUT_DOWN]);
    let (run, calls) = tap.below(victim.replayed(&["--passes", "3"]), release);
    run.same_as(victim.plain().well());
    let end = calls.iter().position(|call| call.name == SHUT_DOWN).expect("the program shuts down");
    let taken = calls.iter().enumerate().filter(|(_, call)| call.is_the_engines() && call.given.is_some());
    let taken: Vec<_> = taken.collect();
    assert!(taken.iter().any(|(_, call)| call.name == ALLOCATE), "{run}");
    assert!(taken.iter().any(|(_, call)| call.name == CREATE_SIGNAL), "{run}");
    for (at, call) in taken {
        let back = if call.name == ALLOCATE { FREE } else { DESTROY_SIGNAL };
        let is_back = |later: &Call| later.name == back && Some(later.arguments[0]) == call.given;
        assert!(at < end && calls[at..end].iter().any(is_back), "{call:x?} is not given back\n{run}");
    }
    assert!(calls[end..].iter().all(|call| !call.is_the_engines()), "{run}");
}

/// Device memory is what scratch is made of, and what programs size their caches by. Where memory is compared, none is taken.
fn what_the_engine_takes_is_host_memory(release: Release) {
    const FINE_GRAINED: u64 = 2;
    let (dispatch, calls) = incremented(&Tap::watching(&[ALLOCATE]), release);
    replayed(&dispatch, PASSES);
    let taken: Vec<_> = calls.iter().filter(|call| call.is_the_engines() && call.given.is_some()).collect();
    assert!(!taken.is_empty());
    for call in taken {
        // The flags of the pool.
        assert_eq!(call.arguments[0], FINE_GRAINED, "{call:x?}");
    }
}

/// Or its snapshot goes elsewhere.
/// Two mappings side by side, of different physical memory: the real runtime copies them at once.
#[test]
fn adjoining_mappings_are_copied_together_on_newest() {
    let victim = Victim::hip("mappings", Release::Newest);
    let launch = victim.replayed(&["--passes", "3", "--kernel", "raise\\("]);
    let (run, calls) = Tap::watching(&[COPY]).below(launch, Release::Newest);
    run.same_as(victim.plain().well());
    for dispatch in run.report().complete().of_kernel("raise", 2) {
        replayed(dispatch, PASSES);
        let [first, second] = dispatch.writes.as_deref().expect("memory was compared") else {
            panic!("both mappings are written: {run}")
        };
        assert_eq!(first.base + first.size, second.base, "{run}");
        // Destination, its agent, source, its agent, bytes.
        let both =
            |call: &&Call| call.arguments[2] == first.base && call.arguments[4] >= first.size + second.size;
        assert!(of_the_engine(&calls).iter().any(both), "{run}");
    }
}

fn without_host_memory_the_kernel_runs_once(release: Release) {
    let (dispatch, calls) = incremented(&Tap::watching(&[ALLOCATE]), release);
    replayed(&dispatch, PASSES);
    let count = named(&of_the_engine(&calls), ALLOCATE).len();
    assert!(count > 0);
    for nth in 0..count {
        let tap = Tap::default().failing(ALLOCATE, nth, OUT_OF_RESOURCES);
        let (dispatch, _) = incremented(&tap, release);
        if dispatch.outcome == Outcome::Replayed {
            let tier = dispatch.snapshot.map(|snapshot| snapshot.tier);
            assert_ne!(tier, Some(Tier::Host), "{nth}: {dispatch:#?}");
            continue;
        }
        assert_eq!((dispatch.outcome, dispatch.passes.len()), (Outcome::Declined, 0), "{nth}: {dispatch:#?}");
        let known = [Some(Reason::SnapshotIncomplete), Some(Reason::KernargUnreadable)];
        assert!(known.contains(&dispatch.reason), "{nth}: {dispatch:#?}");
    }
}

/// Runs `increment` without comparing: the agent's own memory is the first choice then.
fn uncompared(tap: &Tap, release: Release) -> (Dispatch, Vec<Call>) {
    let victim = Victim::hip("increment", release);
    let options = [&options()[..], &["--no-check"]].concat();
    let (run, calls) = tap.below(victim.replayed(&options), release);
    run.same_as(victim.plain().well());
    let dispatch = run.report().complete().of_kernel("increment", 1)[0].clone();
    (dispatch, calls)
}

fn tier(dispatch: &Dispatch) -> Option<Tier> {
    dispatch.snapshot.map(|snapshot| snapshot.tier)
}

fn without_the_agents_memory_the_snapshot_goes_elsewhere(release: Release) {
    let (dispatch, calls) = uncompared(&Tap::watching(&[ALLOCATE]), release);
    assert_eq!(ended(&dispatch), (Outcome::Replayed, None, PASSES), "{dispatch:#?}");
    assert_eq!(tier(&dispatch), Some(Tier::Device), "{dispatch:#?}");
    let taken = named(&of_the_engine(&calls), ALLOCATE);
    let pools: BTreeSet<u64> = taken.iter().map(|call| call.arguments[0]).collect();
    assert!(pools.len() > 1, "memory of the host and of the agent: {taken:x?}");
    let mut elsewhere = 0;
    for nth in 0..taken.len() {
        let (dispatch, _) = uncompared(&Tap::default().failing(ALLOCATE, nth, OUT_OF_RESOURCES), release);
        match dispatch.outcome {
            Outcome::Replayed => elsewhere += usize::from(tier(&dispatch) == Some(Tier::Host)),
            _ => {
                assert_eq!(
                    (dispatch.outcome, dispatch.passes.len()),
                    (Outcome::Declined, 0),
                    "{dispatch:#?}"
                );
                let known = [Some(Reason::SnapshotIncomplete), Some(Reason::KernargUnreadable)];
                assert!(known.contains(&dispatch.reason), "{nth}: {dispatch:#?}");
            }
        }
    }
    assert!(elsewhere > 0, "no failure was of the agent's memory: {taken:x?}");
}

fn without_any_memory_the_kernel_runs_once(release: Release) {
    let tap = (0..100).fold(Tap::default(), |tap, nth| tap.failing(ALLOCATE, nth, OUT_OF_RESOURCES));
    for (dispatch, _) in [incremented(&tap, release), uncompared(&tap, release)] {
        assert_eq!((dispatch.outcome, dispatch.passes.len()), (Outcome::Declined, 0), "{dispatch:#?}");
        let known = [Some(Reason::SnapshotIncomplete), Some(Reason::KernargUnreadable)];
        assert!(known.contains(&dispatch.reason), "{dispatch:#?}");
    }
}

/// Numbers of the engine's copies to the host and to the device, of a run in which all is well.
fn copies(release: Release) -> (Vec<usize>, Vec<usize>) {
    let (dispatch, calls) = incremented(&Tap::watching(&[COPY]), release);
    replayed(&dispatch, PASSES);
    let directions = directions(&named(&of_the_engine(&calls), COPY));
    let of = |to_device: bool| {
        directions.iter().enumerate().filter(|(_, way)| **way == to_device).map(|(at, _)| at).collect()
    };
    (of(false), of(true))
}

fn a_copy_to_the_host_that_fails_once_is_made_another_way(release: Release) {
    let (to_host, _) = copies(release);
    for nth in [to_host[0], to_host[to_host.len() / 2], to_host[to_host.len() - 1]] {
        let (dispatch, _) = incremented(&Tap::default().failing(COPY, nth, ERROR), release);
        replayed(&dispatch, PASSES);
    }
}

fn a_copy_to_the_host_that_fails_ends_the_window_where_it_is(release: Release) {
    let (to_host, to_device) = copies(release);
    // The copies before the first restore read arguments, make the snapshot and read what the first pass left.
    let early: Vec<usize> = to_host.into_iter().filter(|nth| *nth < to_device[0]).collect();
    for (nth, passes) in [(early[0], 0), (early[early.len() - 1], 1)] {
        // Both ways fail.
        let tap = Tap::default().failing(COPY, nth, ERROR).failing(COPY, nth + 1, ERROR);
        let (dispatch, _) = incremented(&tap, release);
        assert_eq!((dispatch.outcome, dispatch.passes.len()), (Outcome::Declined, passes), "{dispatch:#?}");
        let known = [Some(Reason::SnapshotIncomplete), Some(Reason::KernargUnreadable)];
        assert!(known.contains(&dispatch.reason), "{dispatch:#?}");
    }
}

fn a_copy_to_the_device_that_fails_leaves_the_first_pass(release: Release) {
    let (_, to_device) = copies(release);
    let first = to_device[0];
    let spans = to_device.iter().zip(first..).take_while(|(nth, next)| **nth == *next).count();
    // Each span in two ways, and all of that once more.
    let tap = (first..first + 4 * spans).fold(Tap::default(), |tap, nth| tap.failing(COPY, nth, ERROR));
    let (dispatch, _) = incremented(&tap, release);
    assert_eq!(ended(&dispatch), (Outcome::Declined, Some(Reason::RestoreFailed), 1), "{dispatch:#?}");
    let once = Tap::default().failing(COPY, first, ERROR);
    replayed(&incremented(&once, release).0, PASSES);
}

fn without_signals_the_kernel_runs_once(release: Release) {
    let tap = (0..100).fold(Tap::default(), |tap, nth| tap.failing(CREATE_SIGNAL, nth, OUT_OF_RESOURCES));
    let (dispatch, _) = incremented(&tap, release);
    assert_eq!((dispatch.outcome, dispatch.passes.len()), (Outcome::Declined, 0), "{dispatch:#?}");
    assert!(dispatch.reason.is_some(), "{dispatch:#?}");
}

/// Then no kernel has a name either.
fn without_a_list_of_code_objects_the_kernel_runs_once(release: Release) {
    let victim = Victim::hip("increment", release);
    let tap = (0..100).fold(Tap::default(), |tap, nth| tap.failing_for_all("loader_walk", nth, ERROR));
    let (run, _) = tap.below(victim.replayed(&["--passes", "3"]), release);
    run.same_as(victim.plain().well());
    let report = run.report().complete();
    assert!(report.dispatches().count() > 0, "{run}");
    for dispatch in report.dispatches() {
        assert_eq!(ended(dispatch), (Outcome::Declined, Some(Reason::EnumerationFailed), 0), "{run}");
    }
}

fn memory_that_the_runtime_does_not_confirm_is_not_captured(release: Release) {
    let tap = (0..100).fold(Tap::default(), |tap, nth| tap.failing("hsa_amd_pointer_info", nth, ERROR));
    let (dispatch, _) = incremented(&tap, release);
    assert_eq!(ended(&dispatch), (Outcome::Declined, Some(Reason::UntrackedMemory), 0), "{dispatch:#?}");
}
