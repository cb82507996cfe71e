//! `hsa-replay report` in each of its formats.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use fixture::{COMPLETE, FORMATS, Place, answer, complete, json, messages};
use serde_json::Value;

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
    assert_eq!(
        html.matches("\"range\":\"train/step 1\"").count(),
        3,
        "data of two dispatches and of the table"
    );
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
