//! What `hsa-replay run` says at the end.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::io::Read;
use std::process::{Output, Stdio};

use fixture::{COMPLETE, Place, library, messages};

#[test]
fn a_program_that_its_loader_gives_up_is_not_said_to_have_made_no_hsa_call() {
    let place = Place::new();
    let output = place.run(["-o", "r.jsonl", "--", "sh", "-c", "exit 127"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(127));
    let lines = messages(&output);
    assert!(
        lines.iter().any(|line| line.contains("ended with status 127 before it made an HSA call")),
        "{lines:?}"
    );
}

#[test]
fn a_run_with_a_tool_and_without_a_record_points_at_the_tool() {
    let place = Place::new();
    place.write("tool.c", "int hsa_replay_tool_start(unsigned version, void *table) { return 1; }");
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o", "tool.so", "tool.c"])
        .current_dir(place.path("."))
        .status();
    assert!(compiled.expect("a C compiler").success());
    let output = place.run(["--tool", "tool.so", "-o", "r.jsonl", "--", "true"]).output().expect("runs");
    let lines = messages(&output);
    assert!(
        lines.len() == 1
            && lines[0].contains("if the tool tool.so was refused")
            && !lines[0].contains("statically"),
        "{lines:?}"
    );
}

/// Its report being gone, its children being left alone and its processes still running are not the program's making no HSA call.
#[test]
fn a_run_without_records_says_what_is_known_of_why() {
    let place = Place::new();
    for (options, script, said) in [
        (&["-o", "r.jsonl"][..], "/bin/true; rm r.jsonl; exit 0", "r.jsonl is gone: it was moved or removed"),
        (&["-o", "r.jsonl", "--no-follow-children"], "exit 0", "with --no-follow-children the processes"),
    ] {
        let mut command = place.run(options.iter().chain(&["--", "sh", "-c", script]));
        command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
        let lines = messages(&command.output().expect("runs"));
        assert!(lines.len() == 1 && lines[0].contains(said), "{lines:?}");
    }
    for (then, said) in [
        ("", "nothing was reported yet: 1 process of the program is still running"),
        ("sed s/4711/$!/ canned >> r.jsonl; ", "is still running: its records so far are counted"),
    ] {
        let begun: String =
            fs::read_to_string(COMPLETE).expect("golden").lines().take(2).map(|l| format!("{l}\n")).collect();
        place.write("canned", begun);
        let script = format!("exec 3<&0; cat <&3 >/dev/null 2>&1 & {then}exit 0");
        let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", &script]);
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        // What the script left behind ends with its input.
        let input = child.stdin.take();
        let lines = messages(&child.wait_with_output().expect("ends"));
        drop(input);
        assert!(lines.iter().any(|line| line.contains(said)), "{lines:?}");
    }
}

#[test]
fn the_report_is_emptied_once_and_the_end_is_told() {
    let place = Place::new();
    for _ in 0..2 {
        let mut command = place.run(["-o", "r.jsonl", "--", "true"]);
        command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
        let output = command.output().expect("runs");
        assert_eq!(
            messages(&output),
            [
                "hsa-replay: 4 candidates: 2 replayed, 1 declined (untracked_memory 1), 1 tainted; 12 filtered out (copies and fills of HIP's own)".into(),
                format!("hsa-replay: report: {}", fs::canonicalize(place.path("r.jsonl")).expect("report").display()),
            ]
        );
    }
    assert_eq!(fs::read(place.path("r.jsonl")).expect("report"), fs::read(COMPLETE).expect("golden"));
    assert_eq!(place.names(), ["r.jsonl"], "nothing else is left behind");
}

#[test]
fn reports_of_a_programs_children_are_found_by_their_name() {
    let place = Place::new();
    place.write("hsa-replay-1.jsonl", "stale\n");
    let mut command = place.run(["--", "sh", "-c", "true; /bin/true & wait; /bin/true; exit 0"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let lines = messages(&command.output().expect("runs"));
    assert!(lines[0].starts_with("hsa-replay: 8 candidates: 4 replayed, 2 declined"), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("report: ")).count(), 2, "{lines:?}");
}

#[test]
fn a_program_without_hsa_and_a_filter_without_match_are_said() {
    let place = Place::new();
    let lines = messages(&place.run(["-o", "r.jsonl", "--", "true"]).output().expect("runs"));
    assert!(lines[0].contains("made no HSA call"), "{lines:?}");

    let session = fs::read_to_string(COMPLETE).expect("golden").lines().next().expect("session").to_owned();
    let summary = |filtered: u64| {
        format!(
            "{session}\n{{\"record\":\"summary\",\"pid\":4711,\"candidates\":0,\"replayed\":0,\"declined\":{{}},\
             \"tainted\":0,\"faulted\":0,\"filtered\":{filtered}}}\n"
        )
    };
    for (filtered, options, said) in [
        (0, &["-o", "r.jsonl"][..], "launched no kernel"),
        (
            7,
            &["-o", "r.jsonl", "-k", "nomatch"],
            "no dispatch was selected: 7 dispatches left out by --kernel nomatch",
        ),
        (1, &["-o", "r.jsonl", "--launch-skip", "9"], "1 dispatch left out by --launch-skip 9"),
        (2, &["-o", "r.jsonl"], "copies and fills of HIP's own"),
    ] {
        let report = place.write("canned", summary(filtered));
        let mut command = place.run(options.iter().chain(&["--", "true"]));
        command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", report);
        let lines = messages(&command.output().expect("runs"));
        assert!(lines[0].contains(said), "{lines:?}");
    }
}

#[test]
fn without_a_summary_nothing_is_claimed_of_kernels_that_nobody_counted() {
    let place = Place::new();
    let session = fs::read_to_string(COMPLETE).expect("golden").lines().next().expect("session").to_owned();
    let report = place.write("canned", format!("{session}\n"));
    let mut command = place.run(["-o", "r.jsonl", "--", "true"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", report);
    let lines = messages(&command.output().expect("runs"));
    assert!(lines.iter().any(|line| line.contains("no dispatch was recorded")), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("launched no kernel")), "{lines:?}");
}

#[test]
fn a_program_that_dies_in_a_kernel_is_recounted_and_the_kernel_is_named() {
    let place = Place::new();
    let golden = fs::read_to_string(COMPLETE).expect("golden");
    let until_second_begin: String = golden.lines().take(4).map(|line| format!("{line}\n")).collect();
    let canned = place.write("canned", format!("{until_second_begin}{{\"record\":\"disp"));
    let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", "kill -ABRT $$"]);
    command.env("FIXTURE_PROGRAM", "sh").env("FIXTURE_REPORT", canned);
    let output = command.output().expect("runs");
    assert_eq!(output.status.code(), Some(134));
    let lines = messages(&output);
    for said in [
        "ended by signal 6 (SIGABRT)",
        "process 4711 ended inside stamp(unsigned long*), launch 0",
        "1 line of",
        "ended without a summary",
        "1 candidate: 1 replayed",
    ] {
        assert!(lines.iter().any(|line| line.contains(said)), "{said}: {lines:?}");
    }
}

#[test]
fn the_exit_code_counts_where_nobody_listens() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("device");
    let status =
        place.run(["-o", "r.jsonl", "--", "sh", "-c", "exit 6"]).stderr(full).status().expect("runs");
    assert_eq!(status.code(), Some(6));
    let (reader, writer) = std::io::pipe().expect("pipe");
    drop(reader);
    let status =
        place.run(["-o", "r.jsonl", "--", "sh", "-c", "exit 6"]).stderr(writer).status().expect("runs");
    assert_eq!(status.code(), Some(6));
}

/// The closing lines of a run whose one process left this report.
fn closing_lines(report: &[&str]) -> Vec<String> {
    let place = Place::new();
    let canned = place.write("canned", report.join("\n") + "\n");
    let mut command = place.run(["-o", "r.jsonl", "--", "true"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", canned);
    messages(&command.output().expect("runs"))
}

#[test]
fn a_record_that_is_lost_is_counted_and_no_kernel_is_blamed_for_it() {
    let golden = fs::read_to_string(COMPLETE).expect("golden");
    let mut kept: Vec<&str> = golden.lines().collect();
    kept.remove(2);
    let lines = closing_lines(&kept);
    assert!(lines[0].ends_with("1 record of process 4711 is missing: not all could be written"), "{lines:?}");
    assert!(lines.iter().all(|line| !line.contains("ended inside")), "{lines:?}");
}

#[test]
fn many_processes_that_did_not_end_in_order_are_not_named_one_by_one() {
    let golden = fs::read_to_string(COMPLETE).expect("golden");
    let begun: Vec<&str> = golden.lines().take(2).collect();
    let many: Vec<String> = (1..=100)
        .flat_map(|pid| begun.iter().map(move |line| line.replace("4711", &pid.to_string())))
        .collect();
    let lines = closing_lines(&many.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(lines.len() < 16, "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("process 1 ended inside")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("and 96 more processes")), "{lines:#?}");
}

#[test]
fn what_another_run_writes_at_the_same_time_in_the_same_folder_is_not_counted() {
    let place = Place::new();
    let canned = place.write("canned", fs::read(COMPLETE).expect("golden"));
    let run = |script: &str| {
        let mut command = place.run(["--", "sh", "-c", script]);
        command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", &canned).env("FIXTURE_RUN", "1");
        command
    };
    let mut first = run("/bin/true; echo ready; read line; exit 0");
    first.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut first = first.spawn().expect("starts");
    let mut ready = [0; 6];
    first.stdout.take().expect("stdout").read_exact(&mut ready).expect("ready");
    // The first run's process goes on writing.
    let more = "for report in hsa-replay-*.jsonl; do sed -n 3p canned >> $report; done; /bin/true; exit 0";
    let counted = |output: &Output| {
        let lines = messages(output);
        let reports = lines.iter().filter(|line| line.contains("report: ")).count();
        (lines[0].clone(), reports, lines.len())
    };
    let second = run(more).output().expect("runs");
    let expected = "hsa-replay: 4 candidates: 2 replayed, 1 declined (untracked_memory 1), 1 tainted; 12 filtered out (copies and fills of HIP's own)";
    assert_eq!(counted(&second), (expected.to_owned(), 1, 2), "{second:?}");
    drop(first.stdin.take());
    let first = first.wait_with_output().expect("ends");
    assert_eq!(counted(&first), (expected.to_owned(), 1, 2), "{first:?}");
}

#[test]
fn a_run_inside_of_another_appends_to_its_report_and_both_count_what_is_theirs() {
    let place = Place::new();
    let script = "/bin/true; \"$COMMAND\" run --shim \"$LIBRARY\" -- /bin/true";
    let mut command = place.run(["-o", "all.jsonl", "--", "sh", "-c", script]);
    command
        .env("COMMAND", env!("CARGO_BIN_EXE_hsa-replay"))
        .env("LIBRARY", library())
        .env("FIXTURE_RUN", "1");
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let lines = messages(&command.output().expect("runs"));
    let counts: Vec<&str> =
        lines.iter().filter_map(|line| line.split_once(" candidates").map(|(count, _)| count)).collect();
    assert_eq!(counts, ["hsa-replay: 4", "hsa-replay: 8"], "{lines:?}");
}

#[test]
fn host_and_time_in_the_reports_name_are_one_for_all_processes_of_a_run() {
    let place = Place::new();
    let script = "/bin/true; /bin/true; exit 0";
    let mut command = place.run(["-o", "r_{host}_{time}_{pid}.jsonl", "--", "sh", "-c", script]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let lines = messages(&command.output().expect("runs"));
    assert!(lines[0].starts_with("hsa-replay: 8 candidates"), "{lines:?}");
    let names = place.names();
    let parts: Vec<Vec<&str>> = names.iter().map(|name| name.split('_').collect()).collect();
    let host = rustix::system::uname();
    let [one, other] = &parts[..] else { panic!("{names:?}") };
    assert_eq!(one[..3], other[..3], "{names:?}");
    assert_eq!(one[1], host.nodename().to_str().expect("text"), "{names:?}");
}
