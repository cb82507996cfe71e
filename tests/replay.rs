//! Five passes of each kernel leave the program with the result of one, and the report says to the byte what one pass
//! wrote.

mod rocm;

use hsa_replay_contract::Allow;
use hsa_replay_contract::record::{Dispatch, Outcome, Reason, Tier};
use rocm::report::{Expected, ran, replayed, wrote};
use rocm::{Release, Run, Victim};

const PASSES: usize = 5;

/// Runs a victim under replay and checks that nobody but the report can tell.
#[track_caller]
fn five_passes(victim: &Victim) -> Run {
    let run = victim.replayed(&["--passes", "5"]).run();
    run.same_as(victim.plain().well());
    run.report().complete();
    run
}

fn hip(name: &str, release: Release) -> Run {
    five_passes(&Victim::hip(name, release))
}

on_both_releases! {
    increment
    saxpy
    hidden_pointers
    async_pool
    histogram
    pointer_table
    module_variables
    read_only
    clock
    witness
    dispatch_time
    sizes
    large
    matmul
    reduction
    bitonic_sort
    by_value
    streams
    graph
    copies
    print
    threads
    stamps
    callbacks
    modules
    unoptimised_saxpy
    unoptimised_variables
    attached_by_hand
    one_pass_gives_no_verdict
    without_check_memory_is_not_compared
    what_the_agent_says_is_free_can_be_had
}

fn increment(release: Release) {
    let run = hip("increment", release);
    let dispatch = run.report().of_kernel("increment", 1)[0];
    replayed(dispatch, PASSES);
    let before: Vec<u32> = (0..1000).collect();
    let after: Vec<u32> = (1..=1000).collect();
    wrote(dispatch, &[Expected::argument(0, &before, &after), Expected::variable("calls", &[0], &[1])]);
    assert_eq!(dispatch.symbol, "_Z9incrementPjj");
    assert_eq!(dispatch.kernel, "increment(unsigned int*, unsigned int)");
    assert_eq!((dispatch.grid, dispatch.workgroup), ([1024, 1, 1], [256, 1, 1]));
}

fn saxpy(release: Release) {
    let run = hip("saxpy", release);
    let words = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    let mut y = vec![1.0_f32; 777];
    for (launch, dispatch) in run.report().of_kernel("saxpy", 4).into_iter().enumerate() {
        assert_eq!(dispatch.launch, launch as u64);
        replayed(dispatch, PASSES);
        let before = y.clone();
        for (index, value) in y.iter_mut().enumerate() {
            *value += 2.0 * (index + 1) as f32;
        }
        wrote(dispatch, &[Expected::argument(0, &words(&before), &words(&y))]);
    }
}

/// The generator of the victims.
fn next_random(state: &mut u32) -> u32 {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    *state >> 8
}

fn histogram(release: Release) {
    let run = hip("histogram", release);
    let dispatch = run.report().of_kernel("histogram", 1)[0];
    replayed(dispatch, PASSES);
    let (mut counts, mut state) = (vec![0; 32], 7);
    for _ in 0..5001 {
        counts[(next_random(&mut state) % 32) as usize] += 1;
    }
    wrote(dispatch, &[Expected::argument(0, &[0; 32], &counts)]);
}

fn pointer_table(release: Release) {
    let run = hip("pointer_table", release);
    let cells = |by: u32| (0..64).map(|cell| by * (cell / 16 + 1)).collect::<Vec<_>>();
    let dispatches = run.report().of_kernel("accumulate", 2);
    for (dispatch, (before, after)) in dispatches.into_iter().zip([(0, 10), (10, 11)]) {
        replayed(dispatch, PASSES);
        wrote(dispatch, &[Expected::variable("cells", &cells(before), &cells(after))]);
    }
}

fn module_variables(release: Release) {
    let run = hip("module_variables", release);
    let mut before_results = [0; 4];
    for (launch, dispatch) in (1..).zip(run.report().of_kernel("count", 3)) {
        replayed(dispatch, PASSES);
        let results = [100 + launch, 200 + launch, 300 + launch, launch];
        let variable = |name: &str, after: u32| Expected::variable(name, &[after - 1], &[after]);
        wrote(
            dispatch,
            &[
                Expected::argument(0, &before_results, &results),
                variable("visible", results[0]),
                variable("file_local", results[1]),
                variable("(anonymous namespace)::unnamed", results[2]),
                variable("count(unsigned int*)::kernel_local", results[3]),
            ],
        );
        before_results = results;
    }
}

fn read_only(release: Release) {
    let run = hip("read_only", release);
    let dispatch = run.report().of_kernel("search", 1)[0];
    replayed(dispatch, PASSES);
    wrote(dispatch, &[]);
}

fn clock(release: Release) {
    let run = hip("clock", release);
    let dispatch = run.report().of_kernel("stamp", 1)[0];
    ran(dispatch, PASSES);
    assert_eq!(dispatch.deterministic, Some(false), "{dispatch:#?}");
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    let stamps = writes.iter().position(|write| write.arg == Some(1)).expect("the stamps were written");
    assert_eq!(writes.iter().map(|write| write.arg).collect::<Vec<_>>(), [Some(0), Some(1)]);
    // The results agree between passes; the stamps do not, and nothing outside them differs.
    let divergence = dispatch.divergence.as_deref().expect("memory was compared");
    assert!(!divergence.is_empty());
    for entry in divergence {
        assert_eq!(usize::try_from(entry.write), Ok(stamps), "{entry:?}");
        assert!((1..5).contains(&entry.pass), "{entry:?}");
        assert!(entry.bytes > 0 && entry.offset + entry.bytes <= 8 * 8, "{entry:?}");
    }
}

/// How often each of two kernels ran, by the count that they keep in host memory.
fn witnessed(run: &Run) -> (usize, usize) {
    let line = run.stderr.lines().find_map(|line| line.strip_prefix("witness: "));
    let line = line.unwrap_or_else(|| panic!("no count\n{run}"));
    let counts: Vec<usize> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
    (counts[0], counts[1])
}

fn witness(release: Release) {
    let victim = Victim::hip("witness", release);
    assert_eq!(witnessed(&victim.plain()), (3, 2));
    // Its counter is in host memory, so it is not replayed unless that is allowed, and then without a verdict.
    for dispatch in five_passes(&victim).report().dispatches() {
        let untracked = (Outcome::Declined, Some(Reason::UntrackedMemory));
        assert_eq!((dispatch.outcome, dispatch.reason), untracked, "{dispatch:#?}");
        let detail = dispatch.detail.as_deref().unwrap_or_default();
        assert!(detail.contains("the variable host_counter"), "{detail}");
    }
    let run = victim.replayed(&["--passes", "5", "--allow", "untracked"]).run();
    run.same_as(victim.plain().well());
    for dispatch in run.report().complete().dispatches() {
        ran(dispatch, PASSES);
        assert!(dispatch.passes.iter().all(|pass| pass.hash == dispatch.passes[0].hash), "{dispatch:#?}");
        assert_eq!(
            (dispatch.deterministic, &dispatch.allowed[..]),
            (None, &[Allow::Untracked][..]),
            "{dispatch:#?}"
        );
    }
    assert_eq!(witnessed(&run), (3 * PASSES, 2 * PASSES), "{run}");
}

fn dispatch_time(release: Release) {
    let run = five_passes(&Victim::hsa("dispatch_time", "increment", release));
    let dispatch = run.report().of_kernel("increment", 1)[0];
    replayed(dispatch, PASSES);
    let line = run.stderr.lines().find_map(|line| line.strip_prefix("ticks "));
    let ticks = line.unwrap_or_else(|| panic!("no ticks\n{run}"));
    let ticks: Vec<u64> = ticks.split(' ').filter_map(|word| word.parse().ok()).collect();
    let of_a_pass = dispatch.passes.iter().any(|pass| pass.ticks.is_some_and(|of_pass| of_pass[..] == ticks));
    assert!(of_a_pass, "{ticks:?} are the ticks of no pass\n{run}");
    let before: Vec<u32> = (0..200).map(|index| 7 * index).collect();
    let after: Vec<u32> = before.iter().map(|value| value + 1).collect();
    wrote(dispatch, &[Expected::argument(0, &before, &after)]);
}

fn sizes(release: Release) {
    let run = hip("sizes", release);
    let sizes = [0, 1, 2, 31, 63, 64, 65, 127, 255, 256, 257, 1000, 1023, 1025, 4097];
    let dispatches = run.report().of_kernel("negate", sizes.len());
    for (dispatch, size) in dispatches.into_iter().zip(sizes) {
        replayed(dispatch, PASSES);
        if size == 0 {
            wrote(dispatch, &[]);
            continue;
        }
        // The argument points behind the 16 words in front, into the same allocation.
        let before: Vec<u32> = (0..size + 32).map(|index: u32| index.wrapping_mul(2_654_435_761)).collect();
        let mut after = before.clone();
        after[16..16 + size as usize].iter_mut().for_each(|word| *word = !*word);
        wrote(dispatch, &[Expected::argument(0, &before, &after)]);
    }
}

fn large(release: Release) {
    let run = hip("large", release);
    let dispatch = run.report().of_kernel("touch", 1)[0];
    replayed(dispatch, PASSES);
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    assert_eq!(writes.len(), 1, "{dispatch:#?}");
    // A word in each of 12288 pages: three times as many runs as are listed, so that the closest are merged.
    let write = &writes[0];
    assert_eq!((write.arg, write.merged, write.ranges.len()), (Some(0), true, 4096));
    let changed: u64 =
        (1..=12288_u32).map(|word| word.to_le_bytes().iter().filter(|byte| **byte != 0).count() as u64).sum();
    assert_eq!(write.bytes, changed);
    let snapshot = dispatch.snapshot.expect("a snapshot was taken");
    assert!(snapshot.bytes >= 2 * (48 << 20), "{snapshot:?}");
}

#[track_caller]
fn all_replayed<'a>(dispatches: impl IntoIterator<Item = &'a Dispatch>) {
    dispatches.into_iter().for_each(|dispatch| replayed(dispatch, PASSES));
}

fn matmul(release: Release) {
    let run = hip("matmul", release);
    let dispatch = run.report().of_kernel("multiply", 1)[0];
    replayed(dispatch, PASSES);
    assert_eq!((dispatch.grid, dispatch.workgroup), ([48, 48, 1], [16, 16, 1]));
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    assert_eq!(writes.iter().map(|write| write.arg).collect::<Vec<_>>(), [Some(2)]);
}

fn reduction(release: Release) {
    let run = hip("reduction", release);
    let dispatch = run.report().of_kernel("sum", 1)[0];
    replayed(dispatch, PASSES);
    let mut state = 11;
    let total: u64 = (0..10007).map(|_| u64::from(next_random(&mut state))).sum();
    let words = [total & u64::from(u32::MAX), total >> 32].map(|word| u32::try_from(word).expect("32 bits"));
    wrote(dispatch, &[Expected::argument(2, &[0, 0], &words)]);
}

fn bitonic_sort(release: Release) {
    let run = hip("bitonic_sort", release);
    let (mut values, mut state) = (vec![0_u32; 512], 5);
    values.iter_mut().for_each(|value| *value = next_random(&mut state));
    let steps = (1..=9).flat_map(|block| (0..block).rev().map(move |distance| (1 << block, 1 << distance)));
    for (dispatch, (block, distance)) in run.report().of_kernel("exchange", 45).into_iter().zip(steps) {
        replayed(dispatch, PASSES);
        let before = values.clone();
        for low in (0..512).filter(|index| index ^ distance > *index) {
            let high = low ^ distance;
            if (values[low] > values[high]) == (low & block == 0) {
                values.swap(low, high);
            }
        }
        let expected = (before != values).then(|| Expected::argument(0, &before, &values));
        wrote(dispatch, expected.as_slice());
    }
}

fn by_value(release: Release) {
    let run = hip("by_value", release);
    let dispatch = run.report().of_kernel("apply", 1)[0];
    replayed(dispatch, PASSES);
    let before: Vec<u32> = (-150..150).map(i32::cast_unsigned).collect();
    let after: Vec<u32> = (-150..150).map(|value: i32| (value * 3 - 13).cast_unsigned()).collect();
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    // Whether the pointer inside the structure counts as argument 0 is left open.
    let expected = match writes.first().and_then(|write| write.arg) {
        Some(index) => Expected::argument(index, &before, &after),
        None => Expected::allocation(&before, &after),
    };
    wrote(dispatch, &[expected]);
}

fn streams(release: Release) {
    let run = hip("streams", release);
    all_replayed(run.report().of_kernel("add", 8));
    all_replayed(run.report().of_kernel("twice", 4));
}

fn graph(release: Release) {
    let run = hip("graph", release);
    all_replayed(run.report().of_kernel("add", 6));
    all_replayed(run.report().of_kernel("combine", 3));
}

fn copies(release: Release) {
    let run = hip("copies", release);
    let dispatch = run.report().of_kernel("invert", 1)[0];
    replayed(dispatch, PASSES);
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    assert_eq!(writes.len(), 1);
    assert_eq!((writes[0].arg, &writes[0].ranges[..], writes[0].bytes), (Some(0), &[[0, 70001]][..], 70001));
}

/// A kernel that talks to the host must not say everything five times; memory is right whichever way that is reached.
/// Memory that is not put back and that no pointer argument leads to.
fn hidden_pointers(release: Release) {
    let run = hip("hidden_pointers", release);
    for (kernel, count) in
        [("add_managed", 1), ("add_boxed", 1), ("add_packed", 1), ("add_by_table", 2), ("add_by_chain", 1)]
    {
        for dispatch in run.report().of_kernel(kernel, count) {
            let untracked = (Outcome::Declined, Some(Reason::UntrackedMemory));
            assert_eq!((dispatch.outcome, dispatch.reason), untracked, "{kernel}: {run}");
            assert!(dispatch.passes.is_empty(), "{run}");
        }
    }
}

fn async_pool(release: Release) {
    let run = hip("async_pool", release);
    for dispatch in run.report().of_kernel("raise", 5) {
        replayed(dispatch, PASSES);
        let writes = dispatch.writes.as_deref().expect("memory was compared");
        assert_eq!((writes.len(), writes[0].arg, writes[0].bytes), (1, Some(0), 3000), "{run}");
        // One byte of each word, wherever the pool has put them.
        let first = writes[0].ranges[0][0];
        assert!(writes[0].ranges.iter().copied().eq((0..3000).map(|word| [first + 4 * word, 1])), "{run}");
    }
    replayed(run.report().of_kernel("raise_all", 1)[0], PASSES);
}

/// HIP 5.7 makes no physical memory on this device.
#[test]
fn mappings_on_newest() {
    let run = hip("mappings", Release::Newest);
    for dispatch in run.report().of_kernel("raise", 2) {
        replayed(dispatch, PASSES);
        let writes = dispatch.writes.as_deref().expect("memory was compared");
        assert_eq!(writes.len(), 2, "both mappings of the range are captured: {run}");
    }
    let dispatch = run.report().of_kernel("raise_both", 1)[0];
    replayed(dispatch, PASSES);
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    assert_eq!(
        (writes.len(), writes[0].bytes),
        (1, 128),
        "physical memory at two addresses is captured once: {run}"
    );
}

/// What only a peer may write is not put back: kernels of the peer that add to it run once.
#[test]
fn memory_of_another_gpu_that_is_mapped_for_this_one_alone_declines_on_newest() {
    let run = five_passes(&Victim::with_hsa("peer_mapping", Release::Newest).on_gpus("2"));
    for (kernel, said) in [
        ("put", "leads to memory that others may write"),
        ("add", "leads to memory that others may write"),
        ("add_by_table", "of memory that others may write"),
    ] {
        let dispatch = run.report().of_kernel(kernel, 1)[0];
        let untracked = (Outcome::Declined, Some(Reason::UntrackedMemory));
        assert_eq!((dispatch.outcome, dispatch.reason), untracked, "{run}");
        assert!(dispatch.detail.as_deref().unwrap_or_default().contains(said), "{run}");
    }
    replayed(run.report().of_kernel("take", 1)[0], PASSES);
}

fn print(release: Release) {
    let run = hip("print", release);
    let dispatch = run.report().of_kernel("speak", 1)[0];
    assert_eq!((dispatch.outcome, dispatch.reason), (Outcome::Declined, Some(Reason::Hostcall)), "{run}");
    assert!(dispatch.passes.len() <= 1, "{run}");
}

fn threads(release: Release) {
    let run = hip("threads", release);
    let dispatches = run.report().of_kernel("work", 24);
    // Every candidate has its record; each was replayed, or ran once for a reason that is said.
    for dispatch in dispatches {
        if dispatch.outcome == Outcome::Replayed {
            ran(dispatch, PASSES);
        } else {
            assert_eq!(dispatch.outcome, Outcome::Declined, "{dispatch:#?}");
            assert!(dispatch.reason.is_some(), "{dispatch:#?}");
        }
    }
}

/// A window neither captures nor restores what another stream's kernels write or take their arguments from.
fn stamps(release: Release) {
    let victim = Victim::hip("stamps", release);
    let run = victim.replayed(&["--passes", "5", "--kernel", "churn"]).run();
    run.same_as(victim.plain().well());
    let report = run.report().complete();
    assert!(report.dispatches().count() > 10, "the two did not run at the same time: {run}");
    for dispatch in report.dispatches() {
        ran(dispatch, PASSES);
    }
}

fn callbacks(release: Release) {
    let run = hip("callbacks", release);
    all_replayed(run.report().of_kernel("add", 3));
}

/// A module that is loaded anew starts from its own variables, at addresses that were used before.
fn modules(release: Release) {
    let run = five_passes(&Victim::hip_with_kernels("modules", "increment", release));
    let dispatches = run.report().of_kernel("tally", 6);
    for (launch, dispatch) in (0..).zip(dispatches) {
        replayed(dispatch, PASSES);
        let words = |value: u32| vec![value; 150];
        let tallied = launch % 2;
        wrote(
            dispatch,
            &[
                Expected::argument(0, &words(5 + launch), &words(6 + launch)),
                Expected::variable("tallied", &[tallied], &[tallied + 1]),
            ],
        );
    }
}

/// Without optimisation the metadata does not tell which kernels talk to the host; those that do not are replayed all the same.
fn unoptimised_saxpy(release: Release) {
    let run = five_passes(&Victim::unoptimised("saxpy", release));
    all_replayed(run.report().of_kernel("saxpy", 4));
}

fn unoptimised_variables(release: Release) {
    let run = five_passes(&Victim::unoptimised("module_variables", release));
    all_replayed(run.report().of_kernel("count", 3));
}

/// It is found out by its first pass, which is then its only one. On the newest release only: unoptimised code of LLVM 17
/// reloads registers before it turns the lanes on again that need them, and faults in the device library's printf.
#[test]
fn unoptimised_print_on_newest() {
    let run = five_passes(&Victim::unoptimised("print", Release::Newest));
    let dispatch = run.report().of_kernel("speak", 1)[0];
    assert_eq!((dispatch.outcome, dispatch.reason), (Outcome::Declined, Some(Reason::Hostcall)), "{run}");
    assert_eq!(dispatch.passes.len(), 1, "{run}");
}

fn attached_by_hand(release: Release) {
    let victim = Victim::hip("increment", release);
    for launch in [victim.with_library_path(), victim.with_preload()] {
        let run = launch.armed(3).run();
        run.same_as(victim.plain().well());
        replayed(run.report().complete().of_kernel("increment", 1)[0], 3);
    }
}

fn one_pass_gives_no_verdict(release: Release) {
    let victim = Victim::hip("increment", release);
    let run = victim.replayed(&["--passes", "1"]).run();
    run.same_as(victim.plain().well());
    let dispatch = run.report().complete().of_kernel("increment", 1)[0];
    ran(dispatch, 1);
    assert_eq!(dispatch.deterministic, None, "{run}");
    let before: Vec<u32> = (0..1000).collect();
    let after: Vec<u32> = (1..=1000).collect();
    wrote(dispatch, &[Expected::argument(0, &before, &after), Expected::variable("calls", &[0], &[1])]);
}

fn without_check_memory_is_not_compared(release: Release) {
    let victim = Victim::hip("increment", release);
    let run = victim.replayed(&["--passes", "3", "--no-check"]).run();
    run.same_as(victim.plain().well());
    let dispatch = run.report().complete().of_kernel("increment", 1)[0];
    ran(dispatch, 3);
    assert!(dispatch.passes.iter().all(|pass| pass.hash.is_none()), "{run}");
    assert!(
        dispatch.writes.is_none() && dispatch.divergence.is_none() && dispatch.deterministic.is_none(),
        "{run}"
    );
}

/// Snapshots lie in the agent's memory here, which is small: the program neither sees that nor misses it.
/// HIP 6.4 keeps arguments in device memory and does not say where: those of a stream that is used for the first time could be
/// overwritten where memory is put back without a comparison.
#[test]
fn without_check_arguments_in_unmarked_memory_decline_on_testing() {
    let victim = Victim::hip("increment", Release::Testing);
    let uncompared = |options: &[&str]| {
        let launch = victim.replayed(&[&["--passes", "5"], options].concat());
        launch.variable("MODEL_GPU_STRICT_VRAM", "0")
    };
    let run = uncompared(&["--no-check"]).run();
    run.same_as(victim.plain().well());
    let dispatch = run.report().complete().of_kernel("increment", 1)[0];
    let untracked = (Outcome::Declined, Some(Reason::UntrackedMemory));
    assert_eq!((dispatch.outcome, dispatch.reason), untracked, "{run}");
    assert!(dispatch.detail.as_deref().unwrap_or_default().contains("HIP_FORCE_DEV_KERNARG=0"), "{run}");
    let run = uncompared(&["--no-check"]).variable("HIP_FORCE_DEV_KERNARG", "0").run();
    run.same_as(victim.plain().well());
    ran(run.report().complete().of_kernel("increment", 1)[0], PASSES);
    replayed(uncompared(&[]).run().report().of_kernel("increment", 1)[0], PASSES);
}

fn what_the_agent_says_is_free_can_be_had(release: Release) {
    let victim = Victim::hip("free_memory", release);
    let alone = victim.alone().variable("MODEL_GPU_VRAM", "256M").run();
    let launch = victim.replayed(&["--passes", "2", "--no-check", "--kernel", "mark"]);
    let run = launch.variable("MODEL_GPU_VRAM", "256M").run();
    run.same_as(alone.well());
    let report = run.report().complete();
    let tiers: Vec<_> = report
        .of_kernel("mark", 2)
        .into_iter()
        .map(|dispatch| {
            ran(dispatch, 2);
            dispatch.snapshot.expect("taken").tier
        })
        .collect();
    assert_eq!(tiers, [Tier::Device, Tier::Device], "{run}");
}
