//! Every victim with every kernel replayed: what the program says is what it says alone, and what was declined is counted.

use std::collections::BTreeMap;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use hsa_replay_contract::record::{Dispatch, Outcome, Reason};

use crate::all;
use crate::rocm::{Launch, Release, Victim};

/// The victims whose dispatches may be declined, and why: what the program does asks for it (docs/limits.md).
const DECLINED: [(&str, Reason); 10] = [
    // Memory that is not put back: managed, of the host, of another GPU.
    ("hidden_pointers", Reason::UntrackedMemory),
    ("witness", Reason::UntrackedMemory),
    ("managed", Reason::UntrackedMemory),
    ("peers", Reason::UntrackedMemory),
    ("peer_mapping", Reason::UntrackedMemory),
    // Kernels that talk to the host.
    ("print", Reason::Hostcall),
    ("assertion", Reason::Hostcall),
    ("grid_sync", Reason::Cooperative),
    // Threads that copy at any time.
    ("threads", Reason::CopyInFlight),
    ("threads", Reason::DrainTimeout),
];

/// What came of the dispatches of some programs.
#[derive(Debug, Default)]
struct Tally {
    replayed: usize,
    declined: BTreeMap<String, usize>,
}

impl Tally {
    /// One line: the share of each reason.
    fn line(&self) -> String {
        let all = self.replayed + self.declined.values().sum::<usize>();
        let share = |count: usize| 100.0 * count as f64 / all.max(1) as f64;
        let reasons: Vec<_> = self
            .declined
            .iter()
            .map(|(reason, count)| format!("{reason} {count} ({:.1} %)", share(*count)))
            .collect();
        let replayed = format!("{} of {all} replayed ({:.1} %)", self.replayed, share(self.replayed));
        format!(
            "{replayed}; declined: {}",
            if reasons.is_empty() { "none".to_owned() } else { reasons.join(", ") }
        )
    }
}

/// VRAM within the host's reach, as an MI300X has it: there the HIPs of these releases keep kernel arguments.
fn with_kernel_arguments_in_vram(launch: Launch, release: Release) -> Launch {
    match release {
        Release::Testing | Release::Newest => launch.variable("MODEL_GPU_STRICT_VRAM", "0"),
        Release::Oldest | Release::Stable => launch,
    }
}

/// HIP 6.4 does not say which memory it keeps kernel arguments in, and each stream has its own: that shows with the first
/// kernel of a stream, which may come while a window is open.
fn is_first_seen_in_use(release: Release, dispatch: &Dispatch) -> bool {
    let said = "became memory for kernel arguments during the window";
    release == Release::Testing && dispatch.detail.as_ref().is_some_and(|detail| detail.ends_with(said))
}

/// Runs a victim under replay and adds what came of its dispatches.
fn replay(name: &str, victim: &Victim, tally: &mut Tally) {
    let release = victim.release;
    let plain = match release {
        Release::Testing | Release::Newest => {
            with_kernel_arguments_in_vram(victim.alone(), release).run().into()
        }
        Release::Oldest | Release::Stable => victim.plain(),
    };
    let run = with_kernel_arguments_in_vram(victim.replayed(&["--passes", "2"]), release).run();
    victim.ended_well(&plain);
    run.same_as(&plain);
    let report = run.report();
    if victim.code == 0 {
        report.complete();
    }
    for dispatch in report.dispatches() {
        match (dispatch.outcome, dispatch.reason) {
            (Outcome::Replayed, _) => tally.replayed += 1,
            (Outcome::Declined, Some(reason)) => {
                assert!(
                    DECLINED.contains(&(name, reason)) || is_first_seen_in_use(release, dispatch),
                    "declined for no reason of its own: {dispatch:#?}\n{run}"
                );
                *tally.declined.entry(format!("{reason:?}")).or_default() += 1;
            }
            _ => panic!("{dispatch:#?}\n{run}"),
        }
    }
}

/// Says what failed of all, not of the first only.
fn every_victim_prints_the_same_when_replayed(release: Release) {
    let mut tally = Tally::default();
    let mut failed = Vec::new();
    for (name, victim) in all(release) {
        if catch_unwind(AssertUnwindSafe(|| replay(name, &victim, &mut tally))).is_err() {
            failed.push(name);
        }
    }
    // Not captured by the test harness: the share is part of what the suite says.
    let _ = writeln!(std::io::stderr(), "dispatches of all victims on {release}: {}", tally.line());
    assert!(failed.is_empty(), "failed on {release}: {failed:?}");
    assert!(tally.replayed > 100, "{tally:?}");
}

/// A test a release.
macro_rules! releases {
    ($($test:ident: $release:expr;)*) => {
        $(#[test]
        fn $test() {
            every_victim_prints_the_same_when_replayed($release);
        })*
    };
}

releases! {
    on_oldest: Release::Oldest;
    on_stable: Release::Stable;
    on_testing: Release::Testing;
    on_newest: Release::Newest;
}
