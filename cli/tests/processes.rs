//! Processes whose numbers recur: in containers, after an exec, in the reports of several runs. No record is lost to that.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use fixture::{COMPLETE, Place, answer};
use serde_json::Value;

/// The golden report's lines, with every window moved by this much.
fn lines(later: u64) -> Vec<String> {
    let text = std::fs::read_to_string(COMPLETE).expect("golden");
    text.lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).expect("JSON");
            if let Some(start) = record.pointer_mut("/window/start_unix_ns") {
                *start = (start.as_u64().expect("a time") + later).into();
            }
            record.to_string()
        })
        .collect()
}

fn report(place: &Place, arguments: &[&str]) -> Value {
    let mut command = place.command(["report", "--format", "json"]);
    command.args(arguments);
    serde_json::from_str(&answer(command)).expect("JSON")
}

/// The dispatch records that all kernels together have.
fn dispatches(report: &Value) -> u64 {
    let kernels = report["kernels"].as_array().expect("kernels");
    kernels.iter().map(|kernel| kernel["dispatches"].as_u64().expect("a number")).sum()
}

fn repeated(report: &Value) -> u64 {
    let processes = report["processes"].as_array().expect("processes");
    processes.iter().map(|process| process["repeated_records"].as_u64().expect("a number")).sum()
}

#[test]
fn records_of_two_containers_with_the_same_process_number_all_count() {
    let place = Place::new();
    let mut all: Vec<String> = Vec::new();
    for (one, other) in lines(0).into_iter().zip(lines(1_000_000)) {
        all.extend([one, other]);
    }
    place.write("r.jsonl", all.join("\n") + "\n");
    let read = report(&place, &["r.jsonl"]);
    assert_eq!((dispatches(&read), repeated(&read)), (8, 0), "{read}");
    let text = answer(place.command(["report", "r.jsonl"]));
    let candidates = |line: &str| line.trim().split(' ').next().and_then(|word| word.parse::<u64>().ok());
    let counted: u64 = text.lines().filter(|line| line.contains(" candidate")).filter_map(candidates).sum();
    assert_eq!(counted, 8, "{text}");
}

#[test]
fn records_behind_a_session_that_is_torn_all_count() {
    let place = Place::new();
    for cut in [0, 20] {
        // The first program ends without a summary, in an exec.
        let mut all = lines(0);
        all.pop();
        let mut second = lines(1_000_000);
        second[0].truncate(cut);
        all.extend(second);
        place.write("r.jsonl", all.join("\n") + "\n");
        let read = report(&place, &["r.jsonl"]);
        assert_eq!((dispatches(&read), repeated(&read)), (8, 0), "{read}");
        let text = answer(place.command(["report", "r.jsonl"]));
        assert!(
            text.contains("8 candidates: 4 replayed, 2 declined") && text.contains("12 filtered"),
            "{text}"
        );
    }
}

#[test]
fn a_kernel_in_which_one_of_two_processes_of_a_number_ended_is_named() {
    let place = Place::new();
    let (one, other) = (lines(0), lines(1_000_000));
    let begin = other.iter().find(|line| line.contains("\"begin\"")).expect("a begin");
    let all = [&one[..one.len() - 1], std::slice::from_ref(begin)].concat();
    place.write("r.jsonl", all.join("\n") + "\n");
    let text = answer(place.command(["report", "r.jsonl"]));
    assert!(text.contains("ended inside "), "{text}");
}

#[test]
fn a_record_without_a_window_is_never_taken_for_another_one() {
    let place = Place::new();
    let mut all = lines(0);
    let at = all.iter().position(|line| line.contains("\"dispatch\"")).expect("a dispatch");
    let mut record: Value = serde_json::from_str(&all[at]).expect("JSON");
    record["window"] = Value::Null;
    all[at] = record.to_string();
    all.insert(at, all[at].clone());
    place.write("r.jsonl", all.join("\n") + "\n");
    let read = report(&place, &["r.jsonl"]);
    assert_eq!((dispatches(&read), repeated(&read)), (5, 0), "{read}");
}

#[test]
fn a_number_that_recurs_in_another_report_is_another_process_and_no_exec() {
    let place = Place::new();
    let ended = |later| {
        let mut lines = lines(later);
        lines.pop();
        lines.join("\n") + "\n"
    };
    place.write("one.jsonl", ended(0));
    place.write("two.jsonl", ended(1_000_000));
    let ends = |read: &Value| {
        let processes = read["processes"].as_array().expect("processes");
        processes.iter().map(|process| process["end"].as_str().expect("text").to_owned()).collect::<Vec<_>>()
    };
    let read = report(&place, &["one.jsonl", "two.jsonl"]);
    assert_eq!((ends(&read), dispatches(&read)), (vec!["abnormal".to_owned(); 2], 8));
    let text = answer(place.command(["report", "one.jsonl", "two.jsonl"]));
    assert!(text.contains("process 4711 (session 2)") && !text.contains("exec"), "{text}");
    // In one file the same is an exec, as far as can be told.
    place.write("both.jsonl", ended(0) + &ended(1_000_000));
    assert_eq!(ends(&report(&place, &["both.jsonl"])), ["replaced", "abnormal"]);
}
