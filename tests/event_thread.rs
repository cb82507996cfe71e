//! Calls that the runtime's event thread makes while a window is open.

mod rocm;

use std::process::Command;

use hsa_replay_contract::record::{Outcome, Reason};
use rocm::{Release, Victim, checkout, workspace};

on_both_releases! { a_copy_on_the_event_thread_ends_the_window_and_waits_for_nothing }

fn a_copy_on_the_event_thread_ends_the_window_and_waits_for_nothing(release: Release) {
    let tool = workspace("tools").join(format!("event_thread-{}-{}.so", release.name(), std::process::id()));
    let compiled = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(checkout().join("include"))
        .arg("-o")
        .args([&tool, &checkout().join("tests/tool/event_thread.c")])
        .status()
        .expect("a compiler");
    assert!(compiled.success());
    let victim = Victim::hip("increment", release);
    let run = victim.replayed(&["--passes", "3", "--tool", tool.to_str().expect("a plain path")]).run();
    run.same_as(victim.plain().well());
    assert!(run.stderr.contains("tool: the event thread went on"), "{run}");
    let dispatch = run.report().complete().of_kernel("increment", 1)[0];
    let ended = (dispatch.outcome, dispatch.reason, dispatch.passes.len());
    assert_eq!(ended, (Outcome::Declined, Some(Reason::CopyInFlight), 1), "{run}");
}
