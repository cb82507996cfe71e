//! Every format of `hsa-replay report` on files and outputs in every state.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use fixture::{COMPLETE, FORMATS, Place, answer, complete, json, messages};
use hsa_replay_contract::text::is_shown;
use serde_json::Value;

#[test]
fn damage_is_placed_and_the_rest_shown_in_every_format() {
    let place = Place::new();
    let lines: Vec<String> = complete().lines().map(str::to_owned).collect();
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(lines[..3].join("\n").as_bytes());
    let offset = bytes.len() + 1;
    bytes.extend(b"\n\xff\xfe not text \x00\n");
    bytes.extend(lines[3..].join("\n").as_bytes());
    place.write("damaged.jsonl", bytes);
    for format in FORMATS {
        let output = place.command(["report", "--format", format, "damaged.jsonl"]).output().expect("runs");
        assert!(output.status.success(), "{format}: {output:?}");
        let text = String::from_utf8(output.stdout.clone()).expect("the answer is text");
        let place = format!("line 4 (byte {offset})");
        let said = match format {
            "json" => json(&text)["problems"][0]["offset"] == offset,
            "text" => text.contains(&place),
            _ => messages(&output).iter().any(|line| line.contains(&place)),
        };
        assert!(said, "{format}: {output:?}");
        // A dispatch behind the damage.
        assert!(text.contains("restore_failed"), "{format}");
    }
}

/// Characters that steer a terminal, turn text around, hide, or end a line; and the start of a formula.
const ODD: &str = "=1+\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{2066}\u{feff}\r\nnext\u{0}\u{e0041}";

/// The report with [`ODD`] in front of each text that may be anything.
fn odd() -> String {
    fn spoil(name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| spoil(name, value)),
            Value::Array(items) => items.iter_mut().for_each(|value| spoil(name, value)),
            Value::String(text) => {
                let closed = [
                    "record", "outcome", "reason", "allowed", "allow", "tier", "kind", "class", "stage",
                    "hash",
                ];
                if !closed.contains(&name) {
                    text.insert_str(0, ODD);
                }
            }
            Value::Null if matches!(name, "range" | "uuid" | "dump_writes" | "waiting" | "detail") => {
                *value = ODD.into()
            }
            _ => {}
        }
    }
    complete()
        .lines()
        .map(|line| {
            let mut record = json(line);
            spoil("", &mut record);
            format!("{record}\n")
        })
        .collect()
}

#[test]
fn nothing_that_a_report_holds_steers_a_terminal_or_a_spreadsheet() {
    let place = Place::new();
    let report = odd();
    // A dispatch without its record, a record that is unknown, and one that is none.
    let unfinished = report.lines().nth(1).expect("a begin record").replace("\"id\":0", "\"id\":9");
    let unknown =
        "{\"record\":\"\u{9b}2J\u{202e}\",\"pid\":1}\n{\"record\":\"begin\",\"pid\":\"\u{9b}\u{202e}\"}\n";
    place.write("odd\u{202e}.jsonl", format!("{report}{unfinished}\n{unknown}"));
    let name = "odd\u{202e}.jsonl";
    let mut answers = FORMATS.map(|format| vec!["report", "--format", format, name]).to_vec();
    answers.extend([
        vec!["report", "-v", "--as", "f32", name],
        vec!["report", "--as", "f32", name],
        vec!["report", "--diff", name, name],
        vec!["report", "--diff", "--format", "json", name, name],
    ]);
    for arguments in answers {
        let output = place.command(&arguments).output().expect("runs");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        for bytes in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(bytes).expect("text");
            let bad = text.chars().find(|&character| character != '\n' && !is_shown(character));
            assert_eq!(bad, None, "{arguments:?}: {text}");
            assert!(!text.lines().any(|line| line.starts_with("next")), "{arguments:?}: {text}");
        }
    }
    // JSON means what the report means.
    let value = json(&answer(place.command(["report", "--format", "json", name])));
    assert!(value["kernels"][0]["kernel"].as_str().is_some_and(|kernel| kernel.starts_with(ODD)));
    let csv = answer(place.command(["report", "--format", "csv", name]));
    assert!(
        csv.lines().nth(1).is_some_and(|line| line.starts_with("4711,0,0,\"'=1+\\u{1b}]0;title")),
        "{csv}"
    );
    // What run says of it.
    let mut command = place.run(["-o", name, "--", "true"]);
    place.write("canned", report);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", place.path("canned"));
    let output = command.output().expect("runs");
    let text = std::str::from_utf8(&output.stderr).expect("text");
    assert!(text.chars().all(|character| character == '\n' || is_shown(character)), "{text}");
    assert!(text.contains("report: $'/") && text.contains("odd\\xe2\\x80\\xae.jsonl'"), "{text}");
}

/// Every number of the report as large as its type, as damage may leave it.
fn enormous() -> String {
    fn grow(name: &str, value: &mut Value) {
        match value {
            Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| grow(name, value)),
            Value::Array(items) => items.iter_mut().for_each(|value| grow(name, value)),
            Value::Number(_) => match name {
                "schema" | "pid" | "passes" | "write" => {}
                "agent" | "index" | "node" | "grid" | "workgroup" | "arg" | "pass" => {
                    *value = u32::MAX.into()
                }
                _ => *value = u64::MAX.into(),
            },
            _ => {}
        }
    }
    let mut lines = String::new();
    for line in complete().lines() {
        let mut record = json(line);
        grow("", &mut record);
        lines += &format!("{record}\n");
    }
    lines
}

#[test]
fn sums_of_enormous_numbers_end_at_the_largest_in_every_format() {
    let place = Place::new();
    let report = enormous();
    place.write("enormous.jsonl", format!("{report}{}", report.replace("4711", "4712")));
    for options in FORMATS.map(|format| ["--format", format]).iter().chain([&["-v", "--as=f32"]]) {
        let output = place.command(["report", "enormous.jsonl"]).args(options).output().expect("runs");
        assert!(output.status.success(), "{options:?}: {output:?}");
        let said = messages(&output);
        assert!(said.iter().all(|line| line.contains("no times")), "{options:?}: {said:?}");
    }
    answer(place.command(["report", "--diff", "enormous.jsonl", "enormous.jsonl"]));
    let text = answer(place.command(["report", "-v", "enormous.jsonl"]));
    for said in
        ["changed 16777216 TiB", "18446744073709551615 candidates", "18446744073709551615 bytes of argument"]
    {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let csv = answer(place.command(["report", "--format", "csv", "enormous.jsonl"]));
    assert!(csv.contains(",18446744073709551615,true,\n"), "{csv}");
    let path = place.path("enormous.jsonl");
    let mut command = place.run(["-o", "r.jsonl", "--", "true"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", path);
    let said = messages(&command.output().expect("runs"));
    assert!(said.iter().any(|line| line.contains("18446744073709551615 candidates")), "{said:?}");
}

#[test]
fn a_directory_and_a_full_disk_are_one_line_in_every_format() {
    let place = Place::new();
    for format in FORMATS {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("device");
        let mut command = place.command(["report", "--format", format, COMPLETE]);
        let output = command.stdout(full).output().expect("runs");
        assert_eq!(output.status.code(), Some(1), "{format}");
        let said = messages(&output);
        assert!(said.last().is_some_and(|line| line.contains("No space left")), "{format}: {said:?}");
        let output = place.command(["report", "--format", format, "."]).output().expect("runs");
        assert_eq!((output.status.code(), messages(&output).len()), (Some(1), 1), "{format}");
        assert!(messages(&output)[0].contains("is a directory"), "{output:?}");
    }
}

#[test]
fn a_file_of_many_that_cannot_be_read_costs_that_file_only_in_every_format() {
    let place = Place::new();
    place.write("other.jsonl", complete().replace("4711", "4712"));
    let both = |format: &str| {
        answer(place.command(["report", "--format", format, COMPLETE, "other.jsonl"]))
            .matches("restore_failed")
            .count()
    };
    // One that is not there, one that is a folder, and one that fails while it is read.
    let unread = ["missing.jsonl: No such file", ".: is a directory", "/proc/self/mem: Input/output error"];
    for format in FORMATS {
        let mut command = place.command(["report", "--format", format, COMPLETE]);
        let output =
            command.args(["missing.jsonl", ".", "/proc/self/mem", "other.jsonl"]).output().expect("runs");
        assert_eq!(output.status.code(), Some(1), "{format}: {output:?}");
        let said = messages(&output);
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(text.matches("restore_failed").count(), both(format), "{format}: {text}");
        for line in unread {
            assert!(
                said.iter().any(|said| said.starts_with(&format!("hsa-replay: {line}"))),
                "{format}: {said:?}"
            );
        }
        match format {
            "text" => assert!(text.contains("\n3 files cannot be read:\n  missing.jsonl: No such"), "{text}"),
            "json" => {
                let value = json(&text);
                let files: Vec<&Value> =
                    value["unreadable_files"].as_array().expect("a list").iter().collect();
                assert_eq!((files.len(), &files[1]["file"]), (3, &".".into()), "{text}");
                assert!(files[1]["detail"].as_str().is_some_and(|detail| detail.contains("is a directory")));
                assert_eq!(value["files"].as_array().map(Vec::len), Some(5), "{text}");
            }
            "csv" => assert_eq!(text.lines().count(), 9, "{text}"),
            "html" => assert!(text.ends_with("</html>\n") && text.contains("is a directory"), "{text}"),
            _ => assert!(json(&text)["traceEvents"].is_array()),
        }
    }
    // Where there is none that can be read, there is no answer.
    for format in FORMATS {
        let output =
            place.command(["report", "--format", format, "missing.jsonl", "."]).output().expect("runs");
        assert_eq!((output.status.code(), messages(&output).len()), (Some(1), 2), "{format}: {output:?}");
        assert!(output.stdout.is_empty(), "{format}: {output:?}");
    }
}

#[test]
fn a_pipe_is_waited_for_and_that_is_said() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut child = place
        .command(["report", "pipe"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut said = String::new();
    BufReader::new(child.stderr.take().expect("stderr")).read_line(&mut said).expect("a line");
    assert_eq!(said, "hsa-replay: pipe: is a pipe, and nobody has written to it: waiting\n");
    let mut writer = fs::OpenOptions::new().write(true).open(&pipe).expect("the reader is there");
    writer.write_all(complete().as_bytes()).expect("written");
    drop(writer);
    let output = child.wait_with_output().expect("ends");
    assert_eq!(String::from_utf8_lossy(&output.stdout), answer(place.command(["report", COMPLETE])));
}

#[test]
fn a_kernel_name_of_100_kb_goes_through_every_format() {
    let place = Place::new();
    let long = "k".repeat(100_000);
    place.write("long.jsonl", complete().replace("stamp(unsigned long*)", &long));
    for (format, whole) in [("json", true), ("csv", true), ("html", false), ("trace", false)] {
        let output = place.command(["report", "--format", format, "long.jsonl"]).output().expect("runs");
        assert!(output.status.success(), "{format}");
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(text.contains(&long), whole, "{format}");
        assert!(text.contains("kkkkkkkk"), "{format}");
    }
}
