//! `hsa-replay report --diff`: two runs held against each other.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use fixture::{COMPLETE, Place, answer, complete, json, messages, refused};

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
        // A report of this version lacks them where the budget has no room.
        assert_eq!(text.contains("--budget"), name == "moved.jsonl", "{text}");
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

/// Two ranks of one program, which append to one report: `order` is that of their sessions.
fn two_ranks(order: [u32; 2], command: &str) -> String {
    let session = "\"command\":[\"./program\",\"--size\",\"1024\"],\"rank\":null";
    assert!(complete().contains(session));
    let rank = |rank: u32| {
        complete()
            .replace(session, &format!("\"command\":[\"{command}\"],\"rank\":\"{rank}\""))
            .replace("4711", &(5000 + rank).to_string())
            .replace("000a11", &format!("000a1{rank}"))
    };
    order.map(rank).concat()
}

#[test]
fn processes_of_two_runs_are_compared_by_rank_whichever_began_first() {
    let place = Place::new();
    place.write("before.jsonl", two_ranks([0, 1], "sim"));
    for (name, order, command, by) in [
        ("same", [0, 1], "sim", "command"),
        ("swapped", [1, 0], "sim", "command"),
        ("rebuilt", [1, 0], "new/sim", "rank"),
    ] {
        place.write(name, two_ranks(order, command));
        let text = answer(place.command(["report", "--diff", "before.jsonl", name]));
        let row = text.lines().find(|line| line.starts_with("saxpy")).expect("the kernel");
        assert!(row.ends_with("4 equal") && !text.contains("in the order"), "{name}: {text}");
        let value =
            json(&answer(place.command(["report", "--diff", "--format", "json", "before.jsonl", name])));
        let pairs = value["processes"].as_array().expect("pairs");
        assert_eq!(pairs.len(), 2, "{value}");
        assert_eq!((&pairs[0]["pids"], &pairs[0]["paired_by"]), (&json("[5000,5000]"), &by.into()));
    }
    // Without ranks nothing tells them apart.
    for name in ["before.jsonl", "swapped"] {
        let text = two_ranks(if name == "swapped" { [1, 0] } else { [0, 1] }, "sim");
        place.write(
            name,
            text.replace("\"rank\":\"0\"", "\"rank\":null").replace("\"rank\":\"1\"", "\"rank\":null"),
        );
    }
    let text = answer(place.command(["report", "--diff", "before.jsonl", "swapped"]));
    assert!(
        text.contains("2 processes of A and B have neither a rank nor a command line of their own"),
        "{text}"
    );
    let text = answer(place.command(["report", "--diff", "before.jsonl", COMPLETE]));
    assert!(text.contains("1 process of one run without one of the other to compare with"), "{text}");
    assert!(
        text.contains("1 process of A and B has neither a rank nor a command line of its own: it is"),
        "{text}"
    );
}
