//! HIP programs on the real stack give the same output and exit code without the shim, with it, and with every kernel
//! replayed (`sweep`); no dispatch is declined but for what the program does.
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
    pointer_table on oldest stable testing newest: hip;
    module_variables on oldest stable testing newest: hip;
    free_memory on oldest stable testing newest: hip;
    read_only on oldest stable testing newest: hip;
    clock on oldest stable testing newest: hip;
    witness on oldest stable testing newest: hip;
    two_runs on oldest stable testing newest: hip;
    sizes on oldest stable testing newest: hip;
    large on oldest stable testing newest: hip;
    matmul on oldest stable testing newest: hip;
    reduction on oldest stable testing newest: hip;
    bitonic_sort on oldest stable testing newest: hip;
    by_value on oldest stable testing newest: hip;
    hidden_pointers on oldest stable testing newest: hip;
    // HIP 5.2 hangs in hipStreamDestroy after a hipFreeAsync.
    async_pool on stable testing newest: hip;
    streams on oldest stable testing newest: hip;
    graph on oldest stable testing newest: hip;
    copies on oldest stable testing newest: hip;
    print on oldest stable testing newest: hip;
    threads on oldest stable testing newest: hip;
    // HIP 5.2 has no hipLaunchHostFunc.
    callbacks on stable testing newest: hip;
    scan on oldest stable testing newest: hip;
    radix_sort on oldest stable testing newest: hip;
    stencil on oldest stable testing newest: hip;
    n_body on oldest stable testing newest: hip;
    fft on oldest stable testing newest: hip;
    mandelbrot on oldest stable testing newest: hip;
    sha256 on oldest stable testing newest: hip;
    spmv on oldest stable testing newest: hip;
    monte_carlo on oldest stable testing newest: hip;
    string_search on oldest stable testing newest: hip;
    cooperative_groups on oldest stable testing newest: hip;
    grid_sync on oldest stable testing newest: hip;
    shuffles on oldest stable testing newest: hip;
    dynamic_shared on oldest stable testing newest: hip;
    function_pointers on oldest stable testing newest: hip;
    recursion on oldest stable testing newest: hip;
    events on oldest stable testing newest: hip;
    async_alloc on oldest stable testing newest: hip;
    managed on oldest stable testing newest: hip;
    runtime_compiled on oldest stable testing newest: Victim::with_runtime_compiler;
    mfma on oldest stable testing newest: hip;
    atomics on oldest stable testing newest: hip;
    half on oldest stable testing newest: hip;
    doubles on oldest stable testing newest: hip;

    assertion on oldest stable testing newest: |name, release| hip(name, release).that_aborts();
    peers on oldest stable testing newest: |name, release| hip(name, release).on_gpus("2");
    peer_mapping on newest: |name, release| Victim::with_hsa(name, release).on_gpus("2");
    modules on oldest stable testing newest: |name, release| Victim::hip_with_kernels(name, "increment", release);
    dispatch_time on oldest stable testing newest: |name, release| Victim::hsa(name, "increment", release);

    // Unoptimised code of LLVM 17 and older is wrong where lanes part: programs whose lanes stay together.
    saxpy_unoptimised on oldest stable testing newest: |_, release| Victim::unoptimised("saxpy", release);
    variables_unoptimised on oldest stable testing newest: |_, release| Victim::unoptimised("module_variables", release);
    stencil_unoptimised on newest: |_, release| Victim::unoptimised("stencil", release);
    scan_at_level_1 on oldest stable testing newest: |_, release| Victim::at_level("scan", release, "-O1");
    sha256_at_level_1 on oldest stable testing newest: |_, release| Victim::at_level("sha256", release, "-O1");
    fft_at_level_2 on oldest stable testing newest: |_, release| Victim::at_level("fft", release, "-O2");
    matmul_at_level_2 on oldest stable testing newest: |_, release| Victim::at_level("matmul", release, "-O2");

    // The older target under a release that knows both.
    saxpy_for_gfx90a on stable testing newest: |_, release| Victim::for_target("saxpy", release, "gfx90a");
    mfma_for_gfx90a on stable testing newest: |_, release| Victim::for_target("mfma", release, "gfx90a");
    recursion_for_gfx90a on stable testing newest: |_, release| Victim::for_target("recursion", release, "gfx90a");
    atomics_for_gfx90a on stable testing newest: |_, release| Victim::for_target("atomics", release, "gfx90a");
    function_pointers_for_gfx90a on stable testing newest: |_, release| Victim::for_target("function_pointers", release, "gfx90a");
}
