//! Options: filters select exactly the launches that they name, and what is wrong is said in one line while the program
//! goes on unharmed.

mod rocm;

use hsa_replay_contract::record::{Dispatch, MemoryClass, Record};
use hsa_replay_contract::report::DumpReader;
use rocm::{Launch, Release, Run, Victim};

on_both_releases! {
    the_kernel_filter_selects_by_name
    the_kernel_filter_sees_mangled_names
    skip_and_count_select_launches_over_all_kernels
    a_filter_that_matches_nothing_replays_nothing
    hips_own_kernels_take_part_when_named
    the_environment_and_the_file_are_heard
    children_take_part_unless_told_otherwise
    a_full_disk_is_said_once_and_does_no_harm
    arguments_are_shown_and_the_written_bytes_dumped
    a_bad_option_ends_run_before_the_program
    a_bad_variable_leaves_the_program_alone
    a_bad_file_leaves_the_program_alone
    a_bad_runtime_path_leaves_the_program_alone
}

const ARMED: &str = "3";

/// The dispatches of a run as kernel name and ordinal, in the order of their records.
fn selected(run: &Run) -> Vec<(String, u64)> {
    let name = |dispatch: &Dispatch| dispatch.kernel.split('(').next().unwrap_or_default().to_owned();
    run.report().complete().dispatches().map(|dispatch| (name(dispatch), dispatch.launch)).collect()
}

fn launches(name: &str, ordinals: impl IntoIterator<Item = u64>) -> Vec<(String, u64)> {
    ordinals.into_iter().map(|ordinal| (name.to_owned(), ordinal)).collect()
}

/// The victim launches `increment` three times, then `decrement` twice, and counts in host memory how often each ran.
fn filtered(release: Release, options: &[&str]) -> (Run, String) {
    let victim = Victim::hip("witness", release);
    let mut all = vec!["--passes", ARMED, "--allow", "untracked"];
    all.extend(options);
    let run = victim.replayed(&all).run();
    run.same_as(victim.plain().well());
    let witness = run.stderr.lines().find(|line| line.starts_with("witness:")).map(str::to_owned);
    let witness = witness.unwrap_or_else(|| panic!("no count\n{run}"));
    (run, witness)
}

fn the_kernel_filter_selects_by_name(release: Release) {
    let (run, witness) = filtered(release, &["--kernel", "^decr.*int\\)$"]);
    assert_eq!(selected(&run), launches("decrement", 0..2));
    assert_eq!(witness, "witness: increment ran 3 times, decrement 6 times");
    assert!(run.report().summary().filtered >= 3, "{run}");
}

fn the_kernel_filter_sees_mangled_names(release: Release) {
    let (run, witness) = filtered(release, &["--kernel", "^_Z9incrementPjj$"]);
    assert_eq!(selected(&run), launches("increment", 0..3));
    assert_eq!(witness, "witness: increment ran 9 times, decrement 2 times");
}

fn skip_and_count_select_launches_over_all_kernels(release: Release) {
    let (run, witness) = filtered(release, &["--launch-skip", "2", "--launch-count", "2"]);
    let mut expected = launches("increment", [2]);
    expected.extend(launches("decrement", [0]));
    assert_eq!(selected(&run), expected);
    assert_eq!(witness, "witness: increment ran 5 times, decrement 4 times");

    let (run, witness) = filtered(release, &["--kernel", "increment", "--launch-skip", "1"]);
    assert_eq!(selected(&run), launches("increment", 1..3));
    assert_eq!(witness, "witness: increment ran 7 times, decrement 2 times");

    let (run, witness) = filtered(release, &["--launch-count", "1"]);
    assert_eq!(selected(&run), launches("increment", [0]));
    assert_eq!(witness, "witness: increment ran 5 times, decrement 2 times");
}

/// `saxpy(float* y, const float* x, float a, int count)` over 777 elements.
fn arguments_are_shown_and_the_written_bytes_dumped(release: Release) {
    let victim = Victim::hip("saxpy", release);
    let launch = victim.replayed(&["--passes", ARMED]);
    let folder = launch.file("dumps");
    let run = launch.variable("HSA_REPLAY_DUMP_WRITES", &folder).run();
    run.same_as(victim.plain().well());
    let floats = |bytes: &[u8]| -> Vec<f32> {
        let (words, rest) = bytes.as_chunks::<4>();
        assert!(rest.is_empty());
        words.iter().map(|word| f32::from_le_bytes(*word)).collect()
    };
    let mut y = vec![1.0; 777];
    for dispatch in run.report().complete().of_kernel("saxpy", 4) {
        let arguments = dispatch.arguments.as_deref().expect("were read");
        let values: Vec<_> = arguments
            .iter()
            .map(|argument| (argument.type_name.as_deref(), argument.value.as_deref()))
            .collect();
        assert_eq!(values[2..], [(Some("float"), Some("2")), (Some("int"), Some("777"))]);
        let write = &dispatch.writes.as_deref().expect("memory was compared")[0];
        for (argument, name) in arguments[..2].iter().zip(["float*", "float const*"]) {
            let [target] = &argument.points_to[..] else { panic!("{argument:?}") };
            assert_eq!((argument.type_name.as_deref(), target.class), (Some(name), MemoryClass::Device));
            assert!(target.size >= 777 * 4, "{target:?}");
        }
        assert_eq!(arguments[0].points_to[0].base, write.base);
        let path = std::path::Path::new(write.dump.as_deref().expect("was dumped"));
        assert_eq!(path.parent(), Some(&*folder));
        let mut dump = DumpReader::open(path).expect("a dump");
        let span = dump.next().expect("a span").expect("whole");
        // Four elements begin a multiple of 16 bytes; behind the last written one nothing changes.
        assert_eq!((span.offset, dump.next().is_none()), (0, true));
        assert_eq!(floats(&span.before)[..777], y);
        for (index, value) in y.iter_mut().enumerate() {
            *value += 2.0 * (index + 1) as f32;
        }
        assert_eq!(floats(&span.after)[..777], y);
    }
}

fn a_filter_that_matches_nothing_replays_nothing(release: Release) {
    let (run, witness) = filtered(release, &["--kernel", "no such kernel"]);
    assert_eq!(selected(&run), []);
    assert_eq!(witness, "witness: increment ran 3 times, decrement 2 times");
    assert!(run.report().summary().filtered >= 5, "{run}");
}

fn hips_own_kernels_take_part_when_named(release: Release) {
    // Whether HIP fills with a kernel is its own choice; that it does here is checked first.
    let victim = Victim::hip("copies", release);
    let without = victim.replayed(&["--passes", ARMED]).run();
    without.same_as(victim.plain().well());
    assert_eq!(selected(&without), launches("invert", [0]));
    assert!(without.report().summary().filtered > 0, "HIP launched no kernel of its own\n{without}");
    let with = victim.replayed(&["--passes", ARMED, "--kernel", "__amd_rocclr_"]).run();
    with.same_as(victim.plain().well());
    let own = selected(&with);
    assert!(
        !own.is_empty() && own.iter().all(|(name, _)| name.starts_with("__amd_rocclr_")),
        "{own:?}\n{with}"
    );
}

fn the_environment_and_the_file_are_heard(release: Release) {
    let victim = Victim::hip("witness", release);
    let launch = victim.with_library_path();
    let file = launch.file("replay.toml");
    std::fs::write(&file, "passes = 2\nkernel = \"decrement\"\nlaunch_count = 1\nallow = [\"untracked\"]\n")
        .expect("a file");
    let output = launch.report_path();
    let run = launch
        .variable("HSA_REPLAY_CONFIG", &file)
        .variable("HSA_REPLAY_OUTPUT", output)
        // The environment beats the file.
        .variable("HSA_REPLAY_PASSES", "4")
        .run();
    run.same_as(victim.plain().well());
    assert_eq!(selected(&run), launches("decrement", [0]));
    assert!(run.stderr.contains("witness: increment ran 3 times, decrement 5 times"), "{run}");
    let Some(Record::Session(session)) = run.report().records.first() else { panic!("no session\n{run}") };
    assert_eq!(session.config.passes, 4);
}

/// `run` refuses before the program starts: code 125, one line, nothing on standard output.
fn a_bad_option_ends_run_before_the_program(release: Release) {
    let victim = Victim::hip("increment", release);
    for (words, named) in [
        (&["--passes", "0"][..], "passes"),
        (&["--passes", "many"], "passes"),
        (&["--kernel", "(unclosed"], "kernel"),
        (&["--budget", "12Q"], "budget"),
        (&["--timeout", "-3"], "timeout"),
        (&["--allow", "everything"], "allow"),
        (&["--output", "/no/such/folder/report.jsonl"], "/no/such/folder"),
    ] {
        let run = victim.run_with(words).run();
        assert_eq!((run.code, run.stdout.as_str()), (Some(125), ""), "{run}");
        one_line(&run, named);
    }
}

fn a_full_disk_is_said_once_and_does_no_harm(release: Release) {
    let victim = Victim::hip("increment", release);
    let run = victim.run_with(&["-o", "/dev/full"]).run();
    run.same_as(victim.plain().well());
    let said: Vec<&str> = run.our_lines().into_iter().filter(|line| line.contains("No space left")).collect();
    assert_eq!(said.len(), 1, "{run}");
    assert!(said[0].contains("/dev/full: cannot write the report"), "{run}");
    let lost =
        run.our_lines().into_iter().filter(|line| line.contains("/dev/full: 4 records of process")).count();
    assert_eq!(lost, 1, "session, begin, dispatch and summary: {run}");
}

fn children_take_part_unless_told_otherwise(release: Release) {
    let victim = Victim::hip("increment", release);
    let replayed = |options: &[&str], script: &str| {
        // The shell gets the victim's name as its first argument.
        let words: Vec<&str> = options.iter().copied().chain(["sh", "-c", script]).collect();
        let run = victim.replayed(&words).run();
        run.same_as(victim.plain().well());
        run.report().dispatches().count()
    };
    let child = "\"$1\"; exit $?";
    assert_eq!(replayed(&[], child), 1);
    assert_eq!(replayed(&["--no-follow-children"], child), 0);
    assert_eq!(replayed(&["--no-follow-children"], "exec \"$1\""), 1, "the program itself, after an exec");
}

/// The shim stays out of the way: same output and exit code, one line, no report.
#[track_caller]
fn harmless(victim: &Victim, launch: Launch, named: &str) {
    let run = launch.run();
    run.same_as(victim.plain().well());
    one_line(&run, named);
    assert!(run.report.is_none(), "{run}");
}

#[track_caller]
fn one_line(run: &Run, named: &str) {
    let lines = run.our_lines();
    assert_eq!(lines.len(), 1, "{run}");
    assert!(lines[0].contains(named), "the line does not name {named}\n{run}");
}

fn a_bad_variable_leaves_the_program_alone(release: Release) {
    let victim = Victim::hip("increment", release);
    for (variable, value) in [
        ("HSA_REPLAY_PASSES", "-1"),
        ("HSA_REPLAY_KERNEL", "[a-"),
        ("HSA_REPLAY_LAUNCH_COUNT", "two"),
        ("HSA_REPLAY_TIMEOUT", "soon"),
    ] {
        let launch = victim.with_library_path().armed(3).variable(variable, value);
        harmless(&victim, launch, variable);
    }
}

fn a_bad_file_leaves_the_program_alone(release: Release) {
    let victim = Victim::hip("increment", release);
    for text in ["passes = 3\nno_such_key = 1\n", "passes = \"three\"\n", "passes = = 3\n"] {
        let launch = victim.with_library_path();
        let file = launch.file("replay.toml");
        std::fs::write(&file, text).expect("a file");
        harmless(&victim, launch.variable("HSA_REPLAY_CONFIG", &file), "replay.toml");
    }
    let launch = victim.with_library_path().variable("HSA_REPLAY_CONFIG", "/no/such/file.toml");
    harmless(&victim, launch, "/no/such/file.toml");
}

/// Where nothing sensible is named, the runtime is searched for as if nothing had been named.
fn a_bad_runtime_path_leaves_the_program_alone(release: Release) {
    let victim = Victim::hip("increment", release);
    for path in ["/no/such/library.so", "/etc", "/etc/passwd"] {
        let run = victim.with_library_path().variable("HSA_REPLAY_RUNTIME", path).run();
        run.same_as(victim.plain().well());
        one_line(&run, path);
        // Like any bad value it leaves the library disarmed.
        harmless(&victim, victim.with_library_path().armed(3).variable("HSA_REPLAY_RUNTIME", path), path);
    }
}
