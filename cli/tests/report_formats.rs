//! `hsa-replay report` as a trace, as a comparison and as numbers, and every format on files and outputs in every state.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use fixture::{COMPLETE, Place, answer, messages, refused};
use hsa_replay_contract::record::WriteKind;
use hsa_replay_contract::report::{DUMP_VERSION, DumpHeader, DumpWriter};
use hsa_replay_contract::text::is_shown;
use serde_json::Value;

const FORMATS: [&str; 5] = ["text", "json", "csv", "html", "trace"];

fn complete() -> String {
    fs::read_to_string(COMPLETE).expect("golden")
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

fn trace(text: &str) -> Vec<Value> {
    json(text)["traceEvents"].as_array().expect("events").clone()
}

#[test]
fn a_trace_has_a_window_for_each_dispatch_and_its_stages_within() {
    let place = Place::new();
    let output = place.command(["report", "--format", "trace", COMPLETE]).output().expect("runs");
    assert_eq!(
        messages(&output),
        [
            "hsa-replay: 1 dispatch not in the trace: their records have no times (written by an earlier version)"
        ]
    );
    let events = trace(&String::from_utf8(output.stdout).expect("text"));
    let named = |name: &str| events.iter().find(|event| event["name"] == name).expect("is there");
    assert_eq!(
        (&named("process_name")["ph"], &named("process_name")["args"]["name"]),
        (&"M".into(), &"process 4711".into())
    );
    assert_eq!(named("thread_name")["args"]["name"], "agent 0 (gfx942) queue 2");
    let windows: Vec<&Value> = events.iter().filter(|event| event["cat"] == "window").collect();
    assert_eq!(windows.len(), 3);
    let times = |event: &Value| {
        let start = event["ts"].as_f64().expect("a number");
        (start, start + event["dur"].as_f64().expect("a number"))
    };
    let mut seen = Vec::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        assert_eq!((&event["pid"], &event["tid"]), (&4711.into(), &1.into()), "{event}");
        let (start, end) = times(event);
        let inside = windows.iter().any(|window| times(window).0 <= start && end <= times(window).1);
        assert!(start > 0.0 && inside, "{event}");
        seen.push(event["name"].as_str().expect("a name"));
    }
    assert_eq!(
        seen[..8],
        [
            "saxpy(int, float, float const*, float*)",
            "decide",
            "drain",
            "snapshot",
            "pass 0",
            "compare",
            "restore",
            "pass 1"
        ]
    );
    assert_eq!(named("pass 0")["args"]["device_ns"], 8120);
    assert_eq!(named("snapshot")["args"]["bytes"], 12_288);
    // Two windows a millisecond apart.
    assert!((times(windows[1]).0 - times(windows[0]).0 - 1000.0).abs() < 0.01);
}

#[test]
fn two_sessions_of_one_process_are_kept_apart_in_every_format() {
    let place = Place::new();
    place.write("twice.jsonl", complete().repeat(2));
    let report = |format: &str| {
        let output = place.command(["report", "--format", format, "twice.jsonl"]).output().expect("runs");
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    };
    let text = report("text");
    assert!(text.contains("process 4711: ") && text.contains("process 4711 (session 2): "), "{text}");
    assert_eq!(json(&report("json"))["processes"].as_array().map(Vec::len), Some(2));
    let csv = report("csv");
    assert_eq!(csv.lines().filter(|line| line.starts_with("4711,0,")).count(), 4, "{csv}");
    assert_eq!(csv.lines().filter(|line| line.starts_with("4711,1,")).count(), 4, "{csv}");
    let threads: Vec<Value> =
        trace(&report("trace")).into_iter().filter(|event| event["name"] == "thread_name").collect();
    assert_eq!(threads.len(), 2, "{threads:?}");
    assert_eq!(threads[1]["args"]["name"], "agent 0 (gfx942) queue 2 (session 2)");
    let verbose = answer(place.command(["report", "-v", "twice.jsonl"]));
    assert!(verbose.contains("process 4711 (session 2) #0 saxpy"), "{verbose}");
}

#[test]
fn named_stretches_of_code_are_shown_in_every_format() {
    let place = Place::new();
    let report = complete().replacen("\"range\":null", "\"range\":\"train/step 1\"", 2);
    place.write("ranges.jsonl", report);
    let text = answer(place.command(["report", "-v", "ranges.jsonl"]));
    assert!(text.contains("workgroup 256 x 1 x 1, agent 0, queue 2, range train/step 1\n"), "{text}");
    let row = text.lines().find(|line| line.starts_with("train/step 1")).expect("a row");
    let cells: Vec<&str> = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["train/step 1", "2", "replayed", "2", "16.1 µs"], "{text}");
    let value = json(&answer(place.command(["report", "--format", "json", "ranges.jsonl"])));
    assert_eq!(
        value["ranges"][0],
        json(
            "{\"range\":\"train/step 1\",\"dispatches\":2,\"outcomes\":{\"replayed\":2},\"kernels\":2,\"time_ns\":16100}"
        )
    );
    let csv = answer(place.command(["report", "--format", "csv", "ranges.jsonl"]));
    assert_eq!(csv.lines().filter(|line| line.ends_with(",train/step 1")).count(), 2, "{csv}");
    let output = place.command(["report", "--format", "trace", "ranges.jsonl"]).output().expect("runs");
    let events = trace(&String::from_utf8(output.stdout).expect("text"));
    assert_eq!(events.iter().filter(|event| event["args"]["range"] == "train/step 1").count(), 2);
    let html = answer(place.command(["report", "--format", "html", "ranges.jsonl"]));
    assert_eq!(html.matches("\"range\":\"train/step 1\"").count(), 3, "two dispatches and the table");
    assert!(!answer(place.command(["report", COMPLETE])).contains("RANGE"));
}

#[test]
fn a_record_that_is_there_twice_counts_once_and_that_is_said() {
    let place = Place::new();
    let lines: Vec<String> = complete().lines().map(str::to_owned).collect();
    // A file that was merged from two copies of one: sorted, as some do.
    // A record without a window could be another one.
    let copies = |line: &str| if line.contains("\"window\":null") { 1 } else { 2 };
    let mut twice: Vec<&str> =
        lines[1..8].iter().flat_map(|line| vec![line.as_str(); copies(line)]).collect();
    twice.insert(0, &lines[0]);
    twice.push(&lines[8]);
    place.write("twice.jsonl", twice.join("\n"));
    place.write("once.jsonl", complete());
    let text = answer(place.command(["report", "twice.jsonl"]));
    let said = "  3 dispatch records more than once in the reports: each counts once\n";
    assert!(text.contains(said) && !text.contains("ended inside"), "{text}");
    let once = answer(place.command(["report", "once.jsonl"]));
    assert_eq!(text.replace(said, ""), once);
    for format in ["csv", "trace", "html"] {
        let of =
            |file: &str| place.command(["report", "--format", format, file]).output().expect("runs").stdout;
        if format == "html" {
            let rows = |file| String::from_utf8(of(file)).expect("text").matches("\"pass_count\"").count();
            assert_eq!(rows("twice.jsonl"), rows("once.jsonl"));
        } else {
            assert_eq!(of("twice.jsonl"), of("once.jsonl"), "{format}");
        }
    }
    // The same file named twice cannot be told from a process that became another program, but for its first dispatch.
    let both = answer(place.command(["report", "once.jsonl", "once.jsonl"]));
    assert!(
        both.contains("  begins with the dispatch of process 4711: the reports hold it twice\n"),
        "{both}"
    );
    let value = json(&answer(place.command(["report", "--format", "json", "once.jsonl", "once.jsonl"])));
    assert_eq!(
        (&value["processes"][0]["copy_of"], &value["processes"][1]["copy_of"]),
        (&Value::Null, &0.into())
    );
}

#[test]
fn a_report_compared_with_itself_is_equal() {
    let place = Place::new();
    let text = answer(place.command(["report", "--diff", COMPLETE, COMPLETE]));
    let row = text.lines().find(|line| line.starts_with("saxpy")).expect("the kernel");
    assert!(row.contains("1.00") && row.ends_with("2 equal") && !row.contains("->"), "{text}");
}

#[test]
fn a_comparison_names_what_changed_kernel_by_kernel() {
    let place = Place::new();
    let complete = complete_without_hashes_of_regions;
    place.write("before.jsonl", complete());
    let other = complete()
        .replace("\"ns\":7990", "\"ns\":15980")
        .replace("\"ns\":8050", "\"ns\":16100")
        .replace("\"ns\":8120", "\"ns\":16240")
        // The second kernel leaves other bytes at the same addresses; the first changes memory elsewhere.
        .replace(
            "\"hash\":\"00000000000000010000000000000000\"",
            "\"hash\":\"00000000000000090000000000000000\"",
        )
        .replace(
            "\"base\":139964394242048,\"size\":4096,\"ranges\"",
            "\"base\":139964394246144,\"size\":4096,\"ranges\"",
        )
        .replace("report_progress", "report_at_last");
    place.write("other.jsonl", other);
    let text = answer(place.command(["report", "--diff", "before.jsonl", "other.jsonl"]));
    assert!(text.contains("8.05 µs -> 16.1 µs") && text.contains("2.00"), "{text}");
    assert!(text.contains("an earlier version"), "{text}");
    let value =
        json(&answer(place.command(["report", "--diff", "--format", "json", "before.jsonl", "other.jsonl"])));
    let kernels = value["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 4, "each kernel of either report");
    let launches =
        |kernel: usize, field: &str| kernels[kernel]["launches"][field].as_u64().expect("a number");
    assert_eq!(
        (launches(0, "compared"), launches(0, "other_addresses"), launches(0, "same_ranges")),
        (2, 2, 2)
    );
    assert_eq!((launches(1, "compared"), launches(1, "different"), launches(1, "equal")), (1, 1, 0));
    assert_eq!((&kernels[2]["dispatches"], &kernels[3]["dispatches"]), (&json("[1,0]"), &json("[0,1]")));
    assert!((kernels[0]["ratio"].as_f64().expect("a ratio") - 2.0).abs() < 0.001);
}

#[test]
fn results_of_two_runs_are_compared_wherever_their_memory_lies_and_in_any_order() {
    let place = Place::new();
    let [first, second] = [
        r#"{"kind":"allocation","name":null,"arg":3,"base":139964394242048,"size":4096,"ranges":[[0,4092]],"merged":false,"bytes":4092,"hash":"00000000000000000000000000000a11","dump":"/home/me/dumps/4711-0-7f4c00000000.dump"}"#,
        r#"{"kind":"module_variable","name":"counter","arg":null,"base":139964395290688,"size":4,"ranges":[[0,1]],"merged":false,"bytes":1,"hash":"000000000000000000000000000000c0","dump":null}"#,
    ];
    let both = format!("[{first},{second}]");
    assert!(complete().contains(&both));
    // As after another choice of addresses: others, in another order, and so another hash of the pass.
    let moved =
        format!("[{},{}]", second.replace("95290688", "00000000"), first.replace("94242048", "99242048"));
    let pass = "\"hash\":\"0123456789abcdef0123456789abcdef\"";
    let elsewhere = complete().replace(&both, &moved).replace(pass, &pass.replace("0123", "3210"));
    for (name, report, said) in [
        ("moved.jsonl", elsewhere.clone(), "2 equal"),
        ("changed.jsonl", elsewhere.replace("000a11", "000a12"), "2 different"),
        (
            "other.jsonl",
            elsewhere.replace("[[0,4092]]", "[[0,4088]]").replace("000a11", "000a12"),
            "2 different, 2 with other ranges",
        ),
    ] {
        place.write(name, report);
        let text = answer(place.command(["report", "--diff", COMPLETE, name]));
        let row = text.lines().find(|line| line.starts_with("saxpy")).expect("the kernel");
        assert!(row.ends_with(said), "{said}: {text}");
    }
}

/// The golden report as a version wrote it that had no hash of a region.
fn complete_without_hashes_of_regions() -> String {
    complete()
        .replace("\"hash\":\"00000000000000000000000000000a11\",", "")
        .replace("\"hash\":\"000000000000000000000000000000c0\",", "")
        .replace("\"hash\":null,\"dump\"", "\"dump\"")
}

#[test]
fn a_comparison_tells_other_regions_from_regions_that_moved() {
    let place = Place::new();
    let complete = complete_without_hashes_of_regions;
    let at = "\"arg\":3,\"base\":139964394242048,\"size\":4096,\"ranges\"";
    assert!(complete().contains(at));
    for (name, other, said) in [
        ("moved.jsonl", at.replace("4242048", "4246144"), "2 at other addresses"),
        ("argument.jsonl", at.replace(":3", ":2"), "2 in other regions"),
        ("size.jsonl", at.replace("4096", "8192"), "2 in other regions"),
    ] {
        place.write("before.jsonl", complete());
        place.write(name, complete().replace(at, &other));
        let text = answer(place.command(["report", "--diff", "before.jsonl", name]));
        let row = text.lines().find(|line| line.starts_with("saxpy")).expect("the kernel");
        assert!(row.ends_with(said), "{said}: {text}");
        assert_eq!(text.contains("an earlier version"), name == "moved.jsonl", "{text}");
    }
}

#[test]
fn a_comparison_takes_two_files_and_text_or_json() {
    let place = Place::new();
    assert!(refused(place.command(["report", "--diff", COMPLETE]), 2).contains("name two files"));
    assert!(
        refused(place.command(["report", "--diff", "--format", "csv", COMPLETE, COMPLETE]), 2)
            .contains("text or json")
    );
    assert!(
        refused(place.command(["report", "--diff", COMPLETE, "missing"]), 1)
            .contains("missing: No such file")
    );
    place.write("text", "no report\n");
    let output = place.command(["report", "--diff", COMPLETE, "text"]).output().expect("runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_comparison_with_an_empty_or_quite_another_report_says_so() {
    let place = Place::new();
    place.write("empty.jsonl", "");
    let both = |one: &str, other: &str| {
        let output = place.command(["report", "--diff", one, other]).output().expect("runs");
        assert!(output.status.success(), "{output:?}");
        (messages(&output), String::from_utf8(output.stdout).expect("text"))
    };
    let (said, text) = both("empty.jsonl", COMPLETE);
    assert_eq!(said, ["hsa-replay: empty.jsonl holds no record: there is nothing to compare with"]);
    assert!(text.contains("0 -> 1") && text.contains("- -> 8.05 µs"), "{text}");
    let (said, text) = both("empty.jsonl", "empty.jsonl");
    assert_eq!((said.len(), text.lines().last()), (2, Some("no kernel in either")));
    // No kernel in common, and a report that was cut off.
    let other = complete().replace("saxpy", "daxpy").replace("stamp", "stomp").replace("report_p", "p");
    place.write("other.jsonl", &other[..other.len() - 100]);
    let (said, text) = both(COMPLETE, "other.jsonl");
    assert!(said.len() == 1 && said[0].contains("other.jsonl: line "), "{said:?}");
    assert_eq!(
        text.lines().filter(|line| line.contains("1 -> 0") || line.contains("0 -> 1")).count(),
        4,
        "{text}"
    );
    assert_eq!(
        text.lines().filter(|line| line.contains("2 -> 0") || line.contains("0 -> 2")).count(),
        2,
        "{text}"
    );
    for arguments in [&["report", "--diff", "-", "-"][..], &["report", "-", COMPLETE, "-"]] {
        assert!(refused(place.command(arguments), 2).contains("- is standard input, which can be read once"));
    }
}

/// A dump of the first region of the golden report: 24 floats, of which the second and the last change.
fn dump(place: &Place) -> String {
    let header = DumpHeader {
        hsa_replay_dump: DUMP_VERSION,
        pid: 4711,
        id: 0,
        kernel: "saxpy(int, float, float const*, float*)".into(),
        launch: 0,
        kind: WriteKind::Allocation,
        name: None,
        arg: Some(3),
        base: 0x7f4c_0000_0000,
        size: 4096,
        spans: vec![[0, 16], [64, 80]],
        complete: true,
    };
    let floats = |values: &[f32]| values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = DumpWriter::create(&place.path("dumps"), &header).expect("a dump");
    let (mut before, mut after) = (vec![0.0; 20], vec![0.0; 20]);
    (before[19], after[19]) = (1.0, f32::NAN);
    for values in [&[1.0, 2.0, 3.0, 4.0][..], &[1.0, 2.5, 3.0, 4.0], &before, &after] {
        file.write(&floats(values)).expect("a disk with room");
    }
    let path = file.finish().expect("a disk with room");
    path.to_str().expect("text").to_owned()
}

#[test]
fn written_bytes_are_shown_as_numbers() {
    let place = Place::new();
    let path = dump(&place);
    let text = complete().replace("/home/me/dumps/4711-0-7f4c00000000.dump", &path);
    place.write("dumped.jsonl", text);
    let shown = answer(place.command(["report", "--as", "f32", "dumped.jsonl"]));
    assert!(
        shown.contains("as f32: 2 elements changed\n      [1] 2 -> 2.5\n      [35] 1 -> NaN\n"),
        "{shown}"
    );
    // The variable and the other kernel's region have no dump.
    assert_eq!(shown.matches("as f32: no dump (run again with --dump-writes DIR)").count(), 2, "{shown}");
    let shown = answer(place.command(["report", "-v", "--as", "u16", "dumped.jsonl"]));
    assert!(shown.contains("as u16: 2 elements changed\n        [3] 16384 -> 16416\n"), "{shown}");
}

/// A report may come from anywhere: it does not choose which files are opened.
#[test]
fn dumps_are_read_below_the_reports_folder_or_where_the_user_says_and_under_their_own_name_only() {
    let place = Place::new();
    let recorded = "/home/me/dumps/4711-0-7f4c00000000.dump";
    let shown = |report: &str, options: &[&str]| {
        let mut command = place.command(["report", "--as", "f32", report]);
        command.args(options);
        answer(command)
    };
    let read = "2 elements changed";
    fs::create_dir(place.path("reports")).expect("folder");
    let path = dump(&place);
    let name = "4711-0-7f4c00000000.dump";
    // A folder of dumps that was copied together with the report.
    place.write("copied.jsonl", complete());
    assert!(shown("copied.jsonl", &[]).contains(read));
    // Elsewhere, it has to be named.
    place.write("reports/r.jsonl", complete().replace(recorded, &path));
    for refused in [shown("reports/r.jsonl", &[]), shown("reports/r.jsonl", &["--dumps", "reports"])] {
        assert!(!refused.contains(read), "{refused}");
    }
    assert!(shown("reports/r.jsonl", &[]).contains("name the folder of the dumps with --dumps DIR"));
    assert!(shown("reports/r.jsonl", &["--dumps", "dumps"]).contains(read));
    // By a way up, by a link to a folder, by a link to a file.
    place.write("reports/up.jsonl", complete().replace(recorded, &format!("../dumps/{name}")));
    symlink("../dumps", place.path("reports/link")).expect("link");
    place.write("reports/folder.jsonl", complete().replace(recorded, &format!("link/{name}")));
    fs::create_dir(place.path("reports/files")).expect("folder");
    symlink(&path, place.path("reports/files").join(name)).expect("link");
    place.write("reports/file.jsonl", complete().replace(recorded, &format!("files/{name}")));
    for report in ["reports/up.jsonl", "reports/folder.jsonl", "reports/file.jsonl"] {
        let refused = shown(report, &[]);
        assert!(refused.contains("is not below the report's folder"), "{report}: {refused}");
    }
    // Another name, a pipe that would be waited for.
    for named in ["/etc/passwd", "dumps/4711-1-7f4c00000000.dump", "dumps/..", "", "/"] {
        place.write("named.jsonl", complete().replace(recorded, named));
        let refused = shown("named.jsonl", &[]);
        assert!(refused.contains("no dump of this dispatch and region is called so"), "{named}: {refused}");
    }
    fs::remove_file(&path).expect("dump");
    assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    assert!(shown("copied.jsonl", &[]).contains("is not below the report's folder"));
    assert!(refused(place.command(["report", "--dumps", "dumps", "copied.jsonl"]), 2).contains("--as"));
}

#[test]
fn a_dump_that_is_gone_cut_off_or_another_s_is_said_in_one_line() {
    let place = Place::new();
    let path = dump(&place);
    let whole = fs::read(&path).expect("a dump");
    let text = complete().replace("/home/me/dumps/4711-0-7f4c00000000.dump", &path);
    place.write("dumped.jsonl", text);
    let other = String::from_utf8_lossy(&whole).replace("\"size\":4096", "\"size\":4095");
    for (bytes, said) in [
        (&whole[..whole.len() - 1], "the dump is cut off"),
        (b"hello\n", "is not a dump of hsa-replay"),
        (other.as_bytes(), "is the dump of another dispatch or region"),
    ] {
        fs::write(&path, bytes).expect("a file");
        let shown = answer(place.command(["report", "--as", "f32", "dumped.jsonl"]));
        assert!(
            shown.lines().any(|line| line.contains("as f32: ") && line.contains(said)),
            "{said}\n{shown}"
        );
    }
    fs::remove_file(&path).expect("removed");
    let shown = answer(place.command(["report", "--as", "f32", "dumped.jsonl"]));
    assert!(shown.contains(&format!("as f32: {path}: is not below the report's folder")), "{shown}");
    assert!(refused(place.command(["report", "--as", "f33", COMPLETE]), 2).contains("f33"));
    assert!(
        refused(place.command(["report", "--as", "f32", "--format", "csv", COMPLETE]), 2).contains("--as")
    );
}

#[test]
fn what_was_allowed_and_what_its_records_do_not_speak_of_is_said() {
    let place = Place::new();
    place.write("allowed.jsonl", complete().replace("\"allowed\":[]", "\"allowed\":[\"untracked\"]"));
    let text = answer(place.command(["report", "allowed.jsonl"]));
    for said in [
        "saxpy(int, float, float const*, float*): untracked, 2 dispatches\n",
        "(untracked: memory that is not captured was written once a pass and not put back; neither what changed nor",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    let csv = answer(place.command(["report", "--format", "csv", "allowed.jsonl"]));
    assert!(csv.contains(",untracked,3,"), "{csv}");
}

#[test]
fn an_earlier_report_without_the_newer_fields_is_read_in_every_format() {
    let place = Place::new();
    let mut old = String::new();
    for line in complete().lines() {
        let mut record = json(line);
        let fields = record.as_object_mut().expect("an object");
        for name in ["arguments", "window"] {
            fields.remove(name);
        }
        if let Some(writes) = fields.get_mut("writes").and_then(Value::as_array_mut) {
            writes.iter_mut().for_each(|write| drop(write.as_object_mut().expect("object").remove("dump")));
        }
        // As the writer has it: the kind first.
        let kind = fields.remove("record").expect("a kind");
        let rest = serde_json::to_string(&record).expect("serialises");
        old += &format!("{{\"record\":{kind},{}\n", &rest[1..]);
    }
    place.write("old.jsonl", old);
    for format in FORMATS {
        let output = place.command(["report", "--format", format, "old.jsonl"]).output().expect("runs");
        assert!(output.status.success(), "{format}: {output:?}");
        assert!(messages(&output).iter().all(|line| line.contains("no times")), "{output:?}");
    }
}

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
    assert!(said[0].contains("18446744073709551615 candidates"), "{said:?}");
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
