//! HIP programs on the real stack give the same output and exit code without the shim and with it, not armed.

mod rocm;

use rocm::{Launch, Release, Run, Victim};

/// The shim says in its log which library it forwards to: without that line it was never called.
#[track_caller]
fn attached(launch: Launch) -> Run {
    let log = launch.file("log");
    let run = launch.variable("HSA_REPLAY_LOG", "info").variable("HSA_REPLAY_LOG_FILE", &log).run();
    let lines = std::fs::read_to_string(&log).unwrap_or_default();
    assert!(lines.contains("forwarding to"), "the shim was not in the way; its log:\n{lines}\n{run}");
    run
}

fn runs_alone(victim: &Victim) {
    victim.plain().well();
}

fn runs_by_library_path(victim: &Victim) {
    attached(victim.with_library_path()).same_as(victim.plain().well());
}

fn runs_by_preload(victim: &Victim) {
    attached(victim.with_preload()).same_as(victim.plain().well());
}

fn a_code_of_its_own_reaches_the_caller(release: Release) {
    let victim = Victim::hip("exit_code", release);
    assert_eq!(victim.plain().code, Some(3), "{}", victim.plain());
    attached(victim.with_library_path()).same_as(&victim.plain());
    victim.replayed(&["--passes", "5"]).run().same_as(&victim.plain());
}

on_both_releases! { a_code_of_its_own_reaches_the_caller }

macro_rules! victim {
    ($name:ident, $make:expr) => {
        mod $name {
            use super::*;

            mod stable {
                use super::*;
                modes!($make, Release::Stable);
            }

            mod newest {
                use super::*;
                modes!($make, Release::Newest);
            }
        }
    };
}

macro_rules! modes {
    ($make:expr, $release:expr) => {
        #[test]
        fn alone() {
            runs_alone(&$make($release));
        }

        #[test]
        fn by_library_path() {
            runs_by_library_path(&$make($release));
        }

        #[test]
        fn by_preload() {
            runs_by_preload(&$make($release));
        }
    };
}

macro_rules! hip_victims {
    ($($name:ident)*) => {
        $(victim!($name, |release| Victim::hip(stringify!($name), release));)*
    };
}

hip_victims! {
    increment saxpy histogram pointer_table module_variables read_only clock witness sizes large matmul reduction
    bitonic_sort by_value hidden_pointers async_pool streams graph copies print threads callbacks
}

victim!(modules, |release| Victim::hip_with_kernels("modules", "increment", release));
victim!(dispatch_time, |release| Victim::hsa("dispatch_time", "increment", release));
