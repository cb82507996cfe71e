//! Calls that the runtime's event thread makes while a window is open.

mod rocm;
mod tap;

use std::path::PathBuf;
use std::process::Command;

use hsa_replay_contract::record::{Outcome, Reason};
use rocm::{Release, Run, Victim, checkout, workspace};
use tap::Tap;

on_both_releases! {
    a_copy_on_the_event_thread_ends_the_window_and_waits_for_nothing
    every_call_that_moves_memory_ends_the_window_there
}

fn tool(release: Release) -> PathBuf {
    let tool = workspace("tools").join(format!("event_thread-{}-{}.so", release.name(), std::process::id()));
    let compiled = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(checkout().join("include"))
        .arg("-o")
        .args([&tool, &checkout().join("tests/tool/event_thread.c")])
        .status()
        .expect("a compiler");
    assert!(compiled.success());
    tool
}

/// The window of `increment`, in whose first pass the event thread makes its call.
fn ended_by_a_call(run: &Run, what: &str) {
    assert!(run.stderr.contains("tool: the event thread went on"), "{what}: {run}");
    let dispatch = run.report().complete().of_kernel("increment", 1)[0];
    let ended = (dispatch.outcome, dispatch.reason, dispatch.passes.len());
    assert_eq!(ended, (Outcome::Declined, Some(Reason::CopyInFlight), 1), "{what}: {run}");
}

fn a_copy_on_the_event_thread_ends_the_window_and_waits_for_nothing(release: Release) {
    let tool = tool(release);
    let victim = Victim::hip("increment", release);
    let run = victim.replayed(&["--passes", "3", "--tool", tool.to_str().expect("a plain path")]).run();
    run.same_as(victim.plain().well());
    ended_by_a_call(&run, "hsa_memory_copy");
}

/// Their arguments are not such as the runtime could work with, so the tap answers in its place.
fn every_call_that_moves_memory_ends_the_window_there(release: Release) {
    const SUCCESS: u32 = 0;
    let tool = tool(release);
    let calls = [
        "hsa_memory_copy",
        "hsa_amd_memory_fill",
        "hsa_ext_image_import",
        "hsa_ext_image_export",
        "hsa_ext_image_copy",
        "hsa_ext_image_clear",
    ];
    let calls = calls.into_iter().chain((release == Release::Newest).then_some("hsa_amd_ais_file_read"));
    let victim = Victim::hip("increment", release);
    for call in calls {
        let launch = victim.replayed(&["--passes", "3", "--tool", tool.to_str().expect("a plain path")]);
        let tap = Tap::default().failing_for_all(call, 0, SUCCESS);
        let (run, _) = tap.below(launch.variable("EVENT_THREAD_CALL", call), release);
        run.same_as(victim.plain().well());
        ended_by_a_call(&run, call);
    }
}
