//! `hsa_replay.h`: what a program asks for holds from that point of its own order on, a tool chooses passes and hears of them,
//! and one that cannot be used is one line.

mod rocm;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use hsa_replay_contract::Outcome;
use rocm::{Launch, Release, Run, Victim, checkout, workspace};

on_both_releases! {
    requests_hold_for_the_packets_behind_them
    requests_without_replay_are_refused_and_do_no_harm
}

fn requests_hold_for_the_packets_behind_them(release: Release) {
    let victim = Victim::hip("requests", release);
    let run = victim.replayed(&["--passes", "2"]).run();
    run.same_as(victim.plain().well());
    let summary: Vec<(Outcome, usize, Option<&str>)> = run
        .report()
        .complete()
        .dispatches()
        .map(|dispatch| (dispatch.outcome, dispatch.passes.len(), dispatch.range.as_deref()))
        .collect();
    let expected = [
        (Outcome::Replayed, 2, None),
        (Outcome::Replayed, 2, Some("outer/inner")),
        (Outcome::Replayed, 5, Some("outer")),
        (Outcome::Replayed, 2, None),
        (Outcome::Replayed, 2, None),
    ];
    assert_eq!(summary, expected, "{run}");
    let launches: Vec<u64> = run.report().dispatches().map(|dispatch| dispatch.launch).collect();
    assert_eq!(launches, [0, 3, 4, 5, 6], "what was left out is counted");
    assert!(run.stderr.contains("left out: 24"), "memory that is left out sees every pass\n{run}");
}

fn requests_without_replay_are_refused_and_do_no_harm(release: Release) {
    let victim = Victim::hip("requests", release);
    let run = victim.with_library_path().run();
    run.same_as(victim.plain().well());
    assert!(run.stderr.contains("left out: 16"), "{run}");
}

/// Compiles a tool of `tests/tool` or `examples/tool`, as C or as C++.
fn tool(source: &str, compiler: &str, options: &[&str]) -> PathBuf {
    let source = checkout().join(source);
    let name = source.file_stem().and_then(|name| name.to_str()).expect("a plain name");
    let library =
        workspace("tools").join(format!("{name}-{}-{}.so", compiler.replace('+', "p"), std::process::id()));
    let compiled = Command::new(compiler)
        .args(options)
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([&checkout().join("include"), Path::new("-o"), &library, &source])
        .status()
        .expect("a compiler");
    assert!(compiled.success(), "{}", source.display());
    library
}

fn recorder() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| tool("tests/tool/recorder.c", "cc", &["-std=c99"]))
}

fn with_recorder(choice: &str) -> Launch {
    let victim = Victim::hip("increment", Release::Stable);
    victim.replayed(&["--tool", recorder().to_str().expect("a plain path")]).variable("TOOL_CHOICE", choice)
}

/// What the tool told, and that the program is as it is alone.
fn told(run: &Run) -> Vec<String> {
    run.same_as(Victim::hip("increment", Release::Stable).plain().well());
    run.stderr.lines().filter_map(|line| line.strip_prefix("tool: ")).map(str::to_owned).collect()
}

const CONFIGURE: &str = "configure increment(unsigned int*, unsigned int) _Z9incrementPjj launch 0 grid 1024 workgroup 256 passes 2 data mine";

#[test]
fn a_tool_chooses_the_passes_and_hears_of_each() {
    let run = with_recorder("three").run();
    let expected = [
        CONFIGURE,
        "enter 0 of 3 data 100",
        "exit 0 data 100",
        "continue after 0 data 100",
        "enter 1 of 3 data 100",
        "exit 1 data 101",
        "continue after 1 data 101",
        "enter 2 of 3 data 100",
        "exit 2 data 102",
        "finish 0 data 100 record {\"record\":\"dispatch\",\"pid\":",
    ];
    let told = told(&run);
    assert!(told.len() == expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.starts_with(expected), "{told} / {expected}");
    }
    let dispatch = run.report().complete().dispatches().next().expect("a record");
    assert_eq!((dispatch.passes.len(), dispatch.deterministic), (3, Some(true)), "{run}");
}

#[test]
fn a_tool_says_when_it_is_enough() {
    for (choice, passes) in [("until", 3), ("bound", 4), ("finish", 2)] {
        let run = with_recorder(choice).run();
        told(&run);
        let dispatch = run.report().complete().dispatches().next().expect("a record");
        assert_eq!((dispatch.outcome, dispatch.passes.len()), (Outcome::Replayed, passes), "{choice}\n{run}");
    }
}

#[test]
fn what_a_tool_leaves_out_or_chooses_wrongly_runs_once() {
    for (choice, why) in [
        ("leave", "the tool leaves it out"),
        ("many", "65536 passes, which is not 1 to 65535"),
        ("unbound", "bounds the passes by 0"),
    ] {
        let run = with_recorder(choice).run();
        let told = told(&run);
        assert_eq!(told.len(), 2, "configure and finish: {told:#?}");
        assert!(told[1].starts_with("finish 1 data 100"), "{told:#?}");
        let dispatch = run.report().complete().dispatches().next().expect("a record");
        assert_eq!(dispatch.reason.map(|reason| reason.name()), Some("tool"), "{run}");
        assert!(dispatch.detail.as_deref().is_some_and(|detail| detail.contains(why)), "{run}");
    }
}

#[test]
fn a_tool_that_cannot_be_used_is_one_line_and_the_program_runs_as_ever() {
    for (choice, why) in [
        ("version", "is built for version 0 of the interface, and this is version 1"),
        ("size", "it set the size of its callbacks to 8"),
        ("nothing", "it sets no callback"),
    ] {
        let run = with_recorder(choice).run();
        told(&run);
        let lines: Vec<&str> = run.our_lines().into_iter().filter(|line| line.contains("TOOL")).collect();
        assert_eq!(lines.len(), 1, "{run}");
        assert!(lines[0].contains(why) && lines[0].contains("replay is off"), "{run}");
    }
    let victim = Victim::hip("increment", Release::Stable);
    for path in ["/no/such/tool.so", "/etc", "/etc/passwd"] {
        let run = victim.with_library_path().armed(2).variable("HSA_REPLAY_TOOL", path).run();
        run.same_as(victim.plain().well());
        assert_eq!(run.our_lines().len(), 1, "{run}");
        assert!(run.our_lines()[0].contains(path), "{run}");
    }
}

#[test]
fn the_example_works_as_c_and_as_cpp() {
    let victim = Victim::hip("increment", Release::Stable);
    let example = tool("examples/tool/until_stable.c", "cc", &["-std=c99", "-Wpedantic"]);
    let run = victim.replayed(&["--tool", example.to_str().expect("a plain path")]).run();
    run.same_as(victim.plain().well());
    assert!(run.stderr.contains("until_stable: increment(unsigned int*, unsigned int): "), "{run}");
    let passes = run.report().complete().dispatches().next().expect("a record").passes.len();
    assert!((4..=50).contains(&passes), "{run}");
    tool("tests/tool/compiles.cpp", "c++", &["-std=c++11", "-Wpedantic"]);
}
