//! Two runs of one program held against each other: `hsa-replay report --diff` on reports that a real run left.

mod rocm;

use std::process::Command;

use rocm::{Installed, Release, Run, Victim};
use serde_json::Value;

on_both_releases! {
    a_program_run_twice_has_left_the_same_wherever_its_memory_lay
    a_kernel_that_left_something_else_is_said_to_differ_and_no_other
}

/// A run with so many bytes allocated before anything else, and this factor.
fn run(release: Release, padding: u32, factor: u32) -> Run {
    let victim = Victim::hip("two_runs", release);
    let launch = victim.replayed(&["--passes", "2"]);
    let launch = launch.variable("PADDING", padding.to_string()).variable("FACTOR", factor.to_string());
    let run = launch.run();
    victim.ended_well(&run);
    assert!(run.report().complete().dispatches().count() >= 6, "{run}");
    run
}

/// The addresses of what was written.
fn bases(run: &Run) -> Vec<u64> {
    let written = run.report().dispatches().filter_map(|dispatch| dispatch.writes.as_ref());
    written.flatten().map(|write| write.base).collect()
}

fn diff(before: &Run, after: &Run) -> Value {
    let reports = [before, after].map(|run| run.file("report.jsonl"));
    let output = Command::new(&Installed::get().command)
        .args(["report", "--diff", "--format", "json"])
        .args(reports)
        .output()
        .expect("the command starts");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

/// Launches that were compared, that left the same and that left something else.
#[track_caller]
fn launches(diff: &Value, kernel: &str) -> [u64; 3] {
    let kernels = diff["kernels"].as_array().expect("kernels");
    let is_meant =
        |kernel_of: &&Value| kernel_of["kernel"].as_str().is_some_and(|name| name.starts_with(kernel));
    let found = kernels.iter().find(is_meant).unwrap_or_else(|| panic!("no {kernel}: {diff}"));
    ["compared", "equal", "different"].map(|field| found["launches"][field].as_u64().expect("a number"))
}

fn a_program_run_twice_has_left_the_same_wherever_its_memory_lay(release: Release) {
    let (before, after) = (run(release, 0, 2), run(release, 3000, 2));
    assert_ne!(bases(&before), bases(&after), "memory lies at the same addresses: this compares nothing");
    let diff = diff(&before, &after);
    for kernel in ["scale(", "count_bins("] {
        assert_eq!(launches(&diff, kernel), [3, 3, 0], "{diff:#}");
    }
    // The program is known by its command line.
    assert_eq!(diff["processes"][0]["paired_by"], "command", "{diff:#}");
}

fn a_kernel_that_left_something_else_is_said_to_differ_and_no_other(release: Release) {
    let diff = diff(&run(release, 0, 2), &run(release, 3000, 3));
    assert_eq!(launches(&diff, "scale("), [3, 0, 3], "{diff:#}");
    assert_eq!(launches(&diff, "count_bins("), [3, 3, 0], "{diff:#}");
}
