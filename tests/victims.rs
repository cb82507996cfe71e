//! HIP programs on the real stack give the same output and exit code without the shim and with it. That they do so with
//! every kernel replayed, and that no dispatch is declined for a reason of its own, is `sweep`, which is still ignored.
//!
//! Each program checks its own results against the host's.

mod rocm;
mod sweep;

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
    victim.ended_well(&victim.plain());
}

fn runs_by_library_path(victim: &Victim) {
    runs_alone(victim);
    attached(victim.with_library_path()).same_as(&victim.plain());
}

fn a_code_of_its_own_reaches_the_caller(release: Release) {
    let victim = Victim::hip("exit_code", release);
    assert_eq!(victim.plain().code, Some(3), "{}", victim.plain());
    attached(victim.with_library_path()).same_as(&victim.plain());
    victim.replayed(&["--passes", "5"]).run().same_as(&victim.plain());
}

fn preloaded_programs_run_as_well(release: Release) {
    for name in
        ["increment", "module_variables", "streams", "graph", "copies", "callbacks", "threads", "print"]
    {
        let victim = Victim::hip(name, release);
        attached(victim.with_preload()).same_as(victim.plain().well());
    }
}

on_both_releases! {
    a_code_of_its_own_reaches_the_caller
    preloaded_programs_run_as_well
}

/// `NAME on RELEASES: HOW;` makes a module of tests for each, and one list of all.
macro_rules! victims {
    ($($name:ident on $($release:ident)*: $make:expr;)*) => {
        $(mod $name {
            use super::*;

            fn make(release: Release) -> Victim {
                let how: fn(&str, Release) -> Victim = $make;
                how(stringify!($name), release)
            }

            pub fn on(release: Release) -> Option<Victim> {
                [$(stringify!($release)),*].contains(&release.name()).then(|| make(release))
            }

            $(mod $release {
                use super::*;

                fn victim() -> Victim {
                    make(Release::named(stringify!($release)))
                }

                #[test]
                fn alone() {
                    runs_alone(&victim());
                }

                #[test]
                fn by_library_path() {
                    runs_by_library_path(&victim());
                }
            })*
        })*

        /// Every victim that the release knows, by its name here.
        fn all(release: Release) -> Vec<(&'static str, Victim)> {
            let every = [$((stringify!($name), $name::on as fn(Release) -> Option<Victim>)),*];
            every.into_iter().filter_map(|(name, on)| Some((name, on(release)?))).collect()
        }
    };
}

fn hip(name: &str, release: Release) -> Victim {
    Victim::hip(name, release)
}

victims! {
    increment on oldest stable testing newest: hip;
    saxpy on oldest stable testing newest: hip;
    histogram on oldest stable testing newest: hip;
    pointer_table on stable newest: hip;
    module_variables on stable newest: hip;
    read_only on stable newest: hip;
    clock on stable newest: hip;
    witness on stable newest: hip;
    sizes on stable newest: hip;
    large on stable newest: hip;
    matmul on stable newest: hip;
    reduction on oldest stable testing newest: hip;
    bitonic_sort on stable newest: hip;
    by_value on stable newest: hip;
    hidden_pointers on stable newest: hip;
    async_pool on stable testing newest: hip;
    streams on stable newest: hip;
    graph on stable newest: hip;
    copies on stable newest: hip;
    print on stable newest: hip;
    threads on stable newest: hip;
    callbacks on stable newest: hip;
    scan on stable newest: hip;
    radix_sort on stable newest: hip;
    stencil on stable newest: hip;
    n_body on stable newest: hip;
    fft on stable newest: hip;
    mandelbrot on stable newest: hip;
    sha256 on stable newest: hip;
    spmv on stable newest: hip;
    monte_carlo on stable newest: hip;
    string_search on stable newest: hip;
    cooperative_groups on stable newest: hip;
    grid_sync on stable newest: hip;
    shuffles on stable newest: hip;
    dynamic_shared on stable newest: hip;
    function_pointers on stable newest: hip;
    recursion on stable newest: hip;
    events on stable newest: hip;
    async_alloc on stable newest: hip;
    managed on stable newest: hip;
    runtime_compiled on stable newest: Victim::with_runtime_compiler;
    mfma on stable newest: hip;
    atomics on stable newest: hip;
    half on stable newest: hip;
    doubles on stable newest: hip;

    assertion on stable newest: |name, release| hip(name, release).that_aborts();
    peers on stable newest: |name, release| hip(name, release).on_gpus("2");
    modules on stable newest: |name, release| Victim::hip_with_kernels(name, "increment", release);
    dispatch_time on stable newest: |name, release| Victim::hsa(name, "increment", release);

    // Unoptimised code of LLVM 17 and older is wrong where lanes part: programs whose lanes stay together.
    saxpy_unoptimised on oldest stable testing newest: |_, release| Victim::unoptimised("saxpy", release);
    variables_unoptimised on stable newest: |_, release| Victim::unoptimised("module_variables", release);
    stencil_unoptimised on newest: |_, release| Victim::unoptimised("stencil", release);
    scan_at_level_1 on stable newest: |_, release| Victim::at_level("scan", release, "-O1");
    sha256_at_level_1 on stable newest: |_, release| Victim::at_level("sha256", release, "-O1");
    fft_at_level_2 on stable newest: |_, release| Victim::at_level("fft", release, "-O2");
    matmul_at_level_2 on stable newest: |_, release| Victim::at_level("matmul", release, "-O2");

    // The older target under a release that knows both.
    saxpy_for_gfx90a on stable newest: |_, release| Victim::for_target("saxpy", release, "gfx90a");
    mfma_for_gfx90a on stable newest: |_, release| Victim::for_target("mfma", release, "gfx90a");
    recursion_for_gfx90a on stable newest: |_, release| Victim::for_target("recursion", release, "gfx90a");
    atomics_for_gfx90a on stable newest: |_, release| Victim::for_target("atomics", release, "gfx90a");
    function_pointers_for_gfx90a on stable newest: |_, release| Victim::for_target("function_pointers", release, "gfx90a");
}
