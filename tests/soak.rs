//! Random work on eight threads and their streams: kernels, graphs, copies, fills, allocations, frees, events, host functions,
//! priorities. Seed after seed, for a minute a release; `scripts/soak` goes on for as long as it is told.

mod rocm;
mod tap;

use std::time::{Duration, Instant};

use hsa_replay_contract::record::Outcome;
use rocm::{Release, Run, Victim};
use tap::{Call, Tap};

/// Threads and steps of each.
const WORK: [&str; 2] = ["8", "6"];
const TIME: Duration = Duration::from_secs(60);

const SHUT_DOWN: &str = "hsa_shut_down";
/// What is taken from the runtime, and the call that gives it back.
const TAKEN: [(&str, &str); 4] = [
    ("hsa_signal_create", "hsa_signal_destroy"),
    ("hsa_amd_signal_create", "hsa_signal_destroy"),
    ("hsa_amd_memory_pool_allocate", "hsa_amd_memory_pool_free"),
    ("hsa_queue_create", "hsa_queue_destroy"),
];

on_both_releases! { random_work_ends_as_without_us_and_gives_back_what_it_took }

fn random_work_ends_as_without_us_and_gives_back_what_it_took(release: Release) {
    let watched: Vec<_> = TAKEN.iter().flat_map(|&(take, back)| [take, back]).chain([SHUT_DOWN]).collect();
    let tap = Tap::watching(&watched);
    let begun = Instant::now();
    let mut seed = 0;
    let mut replayed = 0;
    let mut candidates = 0;
    while seed < 2 || begun.elapsed() < TIME {
        seed += 1;
        let mut victim = Victim::hip("soak", release);
        victim.arguments = [seed.to_string().as_str(), WORK[0], WORK[1]].map(Into::into).to_vec();
        let (alone, calls_alone) = tap.alone(victim.alone(), release);
        alone.well();
        let (run, calls) = tap.below(victim.replayed(&["--passes", "3"]), release);
        run.same_as(&alone);
        recorded(&run);
        given_back(&calls_alone, &calls, &run);
        candidates += run.report().dispatches().count();
        replayed +=
            run.report().dispatches().filter(|dispatch| dispatch.outcome == Outcome::Replayed).count();
    }
    println!("{seed} seeds on {release}: {replayed} of {candidates} dispatches replayed");
    assert!(replayed > 0, "nothing was replayed");
}

/// Each launch has its record: replayed, or declined by name.
fn recorded(run: &Run) {
    let report = run.report().complete();
    let launches: Option<usize> =
        run.stdout.split(", ").find_map(|part| part.strip_suffix(" launches")?.parse().ok());
    assert_eq!(report.dispatches().count(), launches.expect("the program counts its launches"), "{run}");
    for dispatch in report.dispatches() {
        let declined = dispatch.outcome == Outcome::Declined && dispatch.reason.is_some();
        assert!(dispatch.outcome == Outcome::Replayed || declined, "{dispatch:#?}");
    }
}

/// When the runtime is shut down, nothing of the engine's is left, and no more of each kind than the program leaves alone. HIP 5.7
/// does not shut it down: there the engine keeps what it uses again, which does not grow with the work.
fn given_back(alone: &[Call], calls: &[Call], run: &Run) {
    const KEPT_A_QUEUE: usize = 8;
    let shut_down = calls.iter().rposition(|call| call.name == SHUT_DOWN);
    let queues = calls.iter().filter(|call| call.name == "hsa_queue_create" && call.given.is_some()).count();
    for (take, back) in TAKEN {
        let left = |calls: &[Call]| {
            let end = calls.iter().rposition(|call| call.name == SHUT_DOWN).unwrap_or(calls.len());
            let calls = &calls[..end];
            let mut left: Vec<Call> =
                calls.iter().filter(|call| call.name == take && call.given.is_some()).cloned().collect();
            assert!(take == "hsa_amd_signal_create" || !left.is_empty(), "no {take} was seen: {run}");
            for returned in calls.iter().filter(|call| call.name == back) {
                if let Some(at) = left.iter().position(|taken| taken.given == Some(returned.arguments[0])) {
                    left.swap_remove(at);
                }
            }
            left
        };
        let (without_us, with_us) = (left(alone), left(calls));
        let engines = with_us.iter().filter(|call| call.is_the_engines()).count();
        if shut_down.is_some() {
            let counts = (with_us.len(), without_us.len());
            assert!(
                engines == 0 && counts.0 <= counts.1,
                "{take}: {counts:?} are left with us and alone\n{run}"
            );
        } else {
            assert!(engines <= KEPT_A_QUEUE * queues, "{take}: {engines} of the engine's are left\n{run}");
        }
    }
}
