//! A process that is killed in the middle of its work leaves a report that is readable to its last whole line.

mod rocm;

use std::io::{BufRead, BufReader};

use hsa_replay_contract::record::Record;
use rocm::report::replayed;
use rocm::{Release, Victim};

on_both_releases! { the_report_is_whole_up_to_the_kill }

fn the_report_is_whole_up_to_the_kill(release: Release) {
    let victim = Victim::hip("endless", release);
    let mut launch = victim.replayed(&["--passes", "3"]);
    let mut child = launch.spawn();
    let mut output = BufReader::new(child.stdout.take().expect("standard output is a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("the program says when it is at work");
    let pid: Option<i32> = line.trim().strip_prefix("pid ").and_then(|pid| pid.parse().ok());
    let Some(pid) = pid else {
        let run = launch.finish(child.wait_with_output().expect("the command ends"));
        panic!("the program did not come to work\n{run}");
    };
    // SAFETY: kill(2) touches no memory of this process; the program said this number, is not waited for by anybody else
    // than the command above it, and runs until it is killed.
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0, "kill {pid}");
    let run = launch.finish(child.wait_with_output().expect("the command ends"));
    assert_eq!(run.code, Some(128 + libc::SIGKILL), "{run}");

    let report = run.report();
    assert!(matches!(report.records.first(), Some(Record::Session(_))), "{run}");
    assert!(!report.records.iter().any(|record| matches!(record, Record::Summary(_))), "{run}");
    // At most the last line is cut.
    assert!(report.problems.len() <= 1, "{run}");
    let whole: Vec<_> = report.dispatches().collect();
    assert!(whole.len() >= 10, "ten launches had completed\n{run}");
    for (launch, dispatch) in whole.iter().enumerate() {
        assert_eq!(dispatch.launch, launch as u64);
        replayed(dispatch, 3);
    }
}
