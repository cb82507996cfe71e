//! `hsa-replay report`: its formats, and files in every state.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use fixture::{COMPLETE, Place, answer, messages, refused};
use serde_json::Value;

/// Compares with a golden file; `UPDATE_GOLDEN=1` rewrites it.
#[track_caller]
fn golden(name: &str, text: &str) {
    let path = format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, text).expect("golden file");
    }
    assert_eq!(text, fs::read_to_string(&path).expect("golden file"));
}

fn lines() -> Vec<String> {
    fs::read_to_string(COMPLETE).expect("golden").lines().map(str::to_owned).collect()
}

#[test]
fn text_is_what_the_golden_files_show() {
    let place = Place::new();
    golden("complete.txt", &answer(place.command(["report", COMPLETE])));
    golden("complete-verbose.txt", &answer(place.command(["report", "-v", COMPLETE])));
}

/// Many ranges and differences are summed up, and `-v` lists them.
#[test]
fn long_lists_are_cut_unless_wanted_in_full() {
    let place = Place::new();
    let ranges: Vec<String> = (0..50).map(|index| format!("[{},1]", index * index)).collect();
    let divergence: Vec<String> = (0..64)
        .map(|index| {
            format!("{{\"write\":0,\"pass\":{},\"offset\":{},\"bytes\":1}}", index / 8 + 1, index % 8 * 4)
        })
        .collect();
    let text = lines()
        .join("\n")
        .replace("[[0,3],[64,3],[128,3],[192,3],[256,3],[320,3]]", &format!("[{}]", ranges.join(",")))
        .replace(
            "[{\"write\":0,\"pass\":1,\"offset\":0,\"bytes\":2},{\"write\":0,\"pass\":2,\"offset\":64,\"bytes\":1}]",
            &format!("[{}]", divergence.join(",")),
        );
    place.write("many.jsonl", text);
    let short = answer(place.command(["report", "many.jsonl"]));
    for said in [
        "in 50 ranges, close ones merged:\n      [0, 1) [1, 2) [4, 5) [9, 10) and 46 more below 2402\n",
        "differ from pass 0 (the list is full with 64 places: each pass may have more)\n    pass 1: 8 bytes of argument 0, ",
        ": [0, 1) every 4 bytes (8 times)\n",
        "    and 4 more differences\n",
    ] {
        assert!(short.contains(said), "{said}\n{short}");
    }
    let full = answer(place.command(["report", "-v", "many.jsonl"]));
    assert!(
        full.lines().all(|line| !line.contains("[1600, 1601) [1681, 1682)") || line.len() <= 110),
        "{full}"
    );
    assert!(full.contains(" [2304, 2305) [2401, 2402)\n") && full.contains("    pass 8: 8 bytes"), "{full}");
}

#[test]
fn csv_has_a_line_for_each_dispatch() {
    let place = Place::new();
    golden("complete.csv", &answer(place.command(["report", "--format", "csv", COMPLETE])));
}

#[test]
fn json_is_one_object_with_processes_kernels_and_problems() {
    let place = Place::new();
    let text = answer(place.command(["report", "--format", "json", COMPLETE]));
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let process = &value["processes"][0];
    assert_eq!((process["pid"].as_u64(), process["end"].as_str()), (Some(4711), Some("orderly")));
    assert_eq!(process["summary"]["filtered"], 12);
    let kernel = &value["kernels"][1];
    assert_eq!(kernel["kernel"], "stamp(unsigned long*)");
    assert_eq!(kernel["time_ns"]["median"], 8050);
    assert_eq!(kernel["deterministic"], false);
    assert_eq!(kernel["allowed"]["hostcall"], 1);
    assert_eq!((&kernel["example"]["session"], &kernel["example"]["dispatch"]["id"]), (&0.into(), &1.into()));
    assert_eq!(value["kernels"][2]["reasons"]["untracked_memory"], 1);
    assert_eq!(value["problem_count"], 0);
}

#[test]
fn a_process_that_is_still_running_is_not_said_to_have_ended() {
    let place = Place::new();
    let mut program = std::process::Command::new("cat")
        .env("HSA_REPLAY_RUN", "0123456789abcdef")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let begun = lines()[..4].join("\n").replace("4711", &program.id().to_string()) + "\n";
    for (run, said) in [
        ("null", "it ended abnormally, or is still running"),
        ("\"0123456789abcdef\"", "still running: this"),
    ] {
        place.write("r.jsonl", begun.replace("\"run\":null", &format!("\"run\":{run}")));
        let text = answer(place.command(["report", "r.jsonl"]));
        assert!(text.contains(said) && text.contains("ended inside") == (run == "null"), "{text}");
    }
    drop(program.stdin.take());
    program.wait().expect("ends");
    let text = answer(place.command(["report", "r.jsonl"]));
    assert!(text.contains("it ended abnormally, or is still running"), "{text}");
}

#[test]
fn a_report_without_end_is_recounted_and_the_kernel_it_died_in_is_named() {
    let place = Place::new();
    // Session, one whole dispatch, the begin of a second, and a record cut in the middle.
    let cut = lines()[..5].join("\n");
    place.write("cut.jsonl", &cut[..cut.len() - 100]);
    let text = answer(place.command(["report", "cut.jsonl"]));
    for said in [
        "1 candidate: 1 replayed",
        "the record of stamp(unsigned long*), launch 0 (#1) cannot be read",
        "no summary: it ended abnormally, or is still running",
        "1 line cannot be read:\n  cut.jsonl: line 5 (byte ",
        "): the last line is cut off",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    // Its record had begun: it did not die in that kernel.
    assert!(!text.contains("ended inside"), "{text}");
    place.write("begun.jsonl", lines()[..4].join("\n"));
    let text = answer(place.command(["report", "begun.jsonl"]));
    let ended = "  ended inside stamp(unsigned long*), launch 0 (#1 has no record)\n";
    let given = "    grid 1024 x 1 x 1, workgroup 256 x 1 x 1\n    argument 0: int = 1023\n";
    assert!(text.contains(&format!("{ended}{given}")), "{text}");
    // Reports of earlier versions do not say what it was given.
    let begin = lines()[3].split_once(",\"grid\"").expect("a grid").0.to_owned();
    place.write("older.jsonl", format!("{}\n{begin}}}\n", lines()[..3].join("\n")));
    let text = answer(place.command(["report", "older.jsonl"]));
    assert!(text.contains(&format!("{ended}  no summary: ")), "{text}");
}

#[test]
fn a_verdict_says_how_many_passes_agreed_and_that_few_are_few() {
    let place = Place::new();
    let hint = "yes: these passes left the same bytes. A rare difference takes more of them to show: run --passes 10\n";
    let text = answer(place.command(["report", COMPLETE]));
    assert!(
        text.lines().any(|line| line.starts_with("saxpy(") && line.ends_with("  yes (3 passes)")),
        "{text}"
    );
    assert!(text.contains(hint), "{text}");
    let mut dispatch: Value = serde_json::from_str(&lines()[2]).expect("JSON");
    let passes = dispatch["passes"].as_array_mut().expect("passes");
    *passes = passes.iter().cycle().take(10).cloned().collect();
    place.write("ten.jsonl", format!("{}\n{dispatch}\n", lines()[0]));
    let text = answer(place.command(["report", "ten.jsonl"]));
    assert!(text.contains("  yes (10 passes)\n") && !text.contains(hint), "{text}");
}

#[test]
fn the_number_of_passes_is_said_in_proper_words() {
    let place = Place::new();
    for (passes, words) in [(1, "1 pass;"), (2, "2 passes;"), (11, "11 passes;"), (21, "21 passes;")] {
        let mut session: Value = serde_json::from_str(&lines()[0]).expect("JSON");
        session["config"]["passes"] = passes.into();
        place.write("passes.jsonl", format!("{session}\n"));
        let text = answer(place.command(["report", "passes.jsonl"]));
        assert!(text.contains(&format!("settings: {words}")), "{text}");
    }
}

#[test]
fn records_that_could_not_be_written_are_missed() {
    let place = Place::new();
    let mut kept = lines();
    kept.remove(4);
    kept.remove(3);
    place.write("lossy.jsonl", kept.join("\n"));
    let text = answer(place.command(["report", "lossy.jsonl"]));
    assert!(text.contains("1 record missing: not all could be written"), "{text}");
    let mut kept = lines();
    let lost = kept.remove(2);
    assert!(lost.starts_with("{\"record\":\"dispatch\""), "{lost}");
    place.write("lossy.jsonl", kept.join("\n"));
    let text = answer(place.command(["report", "lossy.jsonl"]));
    assert!(text.contains("1 record missing: not all could be written"), "{text}");
    assert!(text.contains("launch 0 (#0) is lost") && !text.contains("ended inside"), "{text}");
}

#[test]
fn files_are_read_together_and_each_process_stands_for_itself() {
    let place = Place::new();
    let other = lines().join("\n").replace("4711", "4712");
    place.write("other.jsonl", &other);
    place.write("merged.jsonl", format!("{}\n{other}\n", lines().join("\n")));
    let both = answer(place.command(["report", COMPLETE, "other.jsonl"]));
    let merged = answer(place.command(["report", "merged.jsonl"]));
    assert_eq!(both, merged);
    assert!(both.contains("process 4711") && both.contains("process 4712"), "{both}");
}

#[test]
fn a_process_that_became_another_program_is_not_called_abnormal() {
    let place = Place::new();
    let twice = [&lines()[..3], &lines()[..]].concat().join("\n");
    place.write("exec.jsonl", twice);
    let text = answer(place.command(["report", "exec.jsonl"]));
    assert!(
        text.contains("another session of this number follows (exec") && !text.contains("abnormal"),
        "{text}"
    );
}

#[test]
fn damage_is_said_and_the_rest_is_shown() {
    let place = Place::new();
    let mut damaged = lines();
    damaged.insert(2, "not a record".to_owned());
    damaged.insert(5, "{\"record\":\"later\",\"pid\":1}".to_owned());
    place.write("damaged.jsonl", damaged.join("\n"));
    let text = answer(place.command(["report", "damaged.jsonl"]));
    assert!(text.contains("4 candidates: 2 replayed"), "{text}");
    assert!(text.contains("2 lines cannot be read:\n  damaged.jsonl: line 3 (byte "), "{text}");
    let output = place.command(["report", "--format", "csv", "damaged.jsonl"]).output().expect("runs");
    assert_eq!(messages(&output).len(), 2, "problems do not go between the values");
    assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 6);
}

#[test]
fn what_is_no_report_is_refused_in_one_line() {
    let place = Place::new();
    place.write("text", "hello\nworld\n");
    assert!(refused(place.command(["report", "missing.jsonl"]), 1).contains("missing.jsonl: No such file"));
    assert!(refused(place.command(["report", "."]), 1).contains("is a directory"));
    assert!(
        refused(place.command(["report", "/dev/zero"]), 1).contains("/dev/zero: is a device: name a report")
    );
    assert!(answer(place.command(["report", "/dev/null"])).contains("holds no record"));
    let output = place.command(["report", "text"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output)[0].contains("not a report of hsa-replay"), "{output:?}");
    assert!(refused(place.command(["report", "--format", "xml", COMPLETE]), 2).contains("xml"));
    assert!(refused(place.command(["report"]), 2).contains("no report is given"));
}

#[test]
fn an_empty_report_is_explained() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    assert!(answer(place.command(["report", "empty.jsonl"])).contains("holds no record"));
}

#[test]
fn a_file_that_is_no_report_is_not_taken_for_a_run_without_calls() {
    let place = Place::new();
    place.write("other.txt", "int main() {\n}\n");
    let output = place.command(["report", "other.txt"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.contains("may be no report") && !shown.contains("no HSA call"), "{shown}");
}

#[test]
fn standard_input_is_read_as_a_dash() {
    let place = Place::new();
    let mut command = place.command(["report", "-"]);
    command.stdin(fs::File::open(COMPLETE).expect("golden"));
    assert_eq!(answer(command), answer(place.command(["report", COMPLETE])));
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let place = Place::new();
    let many: String =
        (0..2000).map(|id| lines()[2].replace("\"id\":0", &format!("\"id\":{id}")) + "\n").collect();
    place.write("many.jsonl", many);
    let mut child = place
        .command(["report", "-v", "many.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut first = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut first).expect("line");
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn an_answer_that_cannot_be_written_is_an_error() {
    let place = Place::new();
    let mut command = place.command(["report", COMPLETE]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("device");
    let output = command.stdout(full).output().expect("runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(messages(&output)[0].contains("No space left"), "{output:?}");
}

#[test]
fn a_kernel_name_of_100_kb_does_not_widen_the_table() {
    let place = Place::new();
    let long = "k".repeat(100_000);
    place.write("long.jsonl", lines().join("\n").replace("stamp(unsigned long*)", &long));
    let text = answer(place.command(["report", "long.jsonl"]));
    assert!(text.lines().all(|line| line.len() < 300));
    assert!(answer(place.command(["report", "-v", "long.jsonl"])).contains(&long));
}

#[test]
fn control_characters_in_names_do_not_reach_the_terminal() {
    let place = Place::new();
    place.write("odd.jsonl", lines().join("\n").replace("stamp(unsigned long*)", "\\u001b[2Jstamp"));
    for arguments in [&["report", "odd.jsonl"][..], &["report", "-v", "odd.jsonl"]] {
        let text = answer(place.command(arguments));
        assert!(text.contains("\\u{1b}[2Jstamp") && !text.contains('\u{1b}'), "{text}");
    }
}

/// A full list of differences has an end: the passes that it does not reach are known by their hashes.
#[test]
fn passes_that_the_list_of_differences_leaves_out_are_said() {
    let place = Place::new();
    let entry = |pass: u32| format!("{{\"write\":0,\"pass\":{pass},\"offset\":0,\"bytes\":1}}");
    let listed = "[{\"write\":0,\"pass\":1,\"offset\":0,\"bytes\":2},{\"write\":0,\"pass\":2,\"offset\":64,\"bytes\":1}]";
    let text = lines().join("\n");
    assert!(text.contains(listed));
    let full: Vec<String> = (0..64).map(|_| entry(1)).collect();
    for (entries, said) in [
        (entry(1), "(pass 2 differs too and is not listed)"),
        (full.join(","), "(the list is full with 64 places; pass 2 differs too and is not listed)"),
        (String::new(), "(2 more passes differ too and are not listed: 1, 2)"),
    ] {
        place.write("some.jsonl", text.replace(listed, &format!("[{entries}]")));
        let shown = answer(place.command(["report", "some.jsonl"]));
        assert!(shown.contains(said), "{said}\n{shown}");
    }
}
