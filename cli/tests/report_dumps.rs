//! `hsa-replay report --as`: the bytes of written regions as numbers, from dumps.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use fixture::{COMPLETE, Place, answer, complete, refused};
use hsa_replay_contract::record::WriteKind;
use hsa_replay_contract::report::{DUMP_VERSION, DumpHeader, DumpWriter};

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
fn a_dump_that_was_asked_for_and_could_not_be_stored_is_not_asked_for_again() {
    let place = Place::new();
    let asked = complete().replace("\"dump_writes\":null", "\"dump_writes\":\"/full/disk\"");
    place.write("asked.jsonl", &asked);
    for options in [&["--as", "f32"][..], &["-v", "--as", "f32"]] {
        let mut command = place.command(["report", "asked.jsonl"]);
        command.args(options);
        let shown = answer(command);
        assert!(
            shown.contains(
                "as f32: no dump (it was asked for and could not be stored: the run has said why)\n"
            ),
            "{shown}"
        );
        assert!(!shown.contains("run again"), "{shown}");
    }
    // Whether it was asked for is not known without the session record.
    let headless: String = asked.lines().skip(1).map(|line| format!("{line}\n")).collect();
    place.write("headless.jsonl", headless);
    let shown = answer(place.command(["report", "--as", "f32", "headless.jsonl"]));
    assert!(shown.contains("as f32: no dump (run again with --dump-writes DIR)"), "{shown}");
}

/// An allocator that gives out parts of large blocks leaves a kernel's array anywhere in its region.
#[test]
fn elements_are_counted_from_the_arguments_pointer() {
    let place = Place::new();
    let path = dump(&place);
    let text = complete().replace("/home/me/dumps/4711-0-7f4c00000000.dump", &path);
    let target = "\"class\":\"device\",\"name\":null,\"base\":139964394242048,\"size\":4096,\"offset\":";
    let shown = |offset: u32, kind: &str| {
        let moved = text.replace(&format!("{target}0"), &format!("{target}{offset}"));
        assert!(offset == 0 || moved != text);
        place.write("moved.jsonl", moved);
        answer(place.command(["report", "--as", kind, "moved.jsonl"]))
    };
    let read = shown(64, "f32");
    assert!(
        read.contains(
            "as f32: 2 elements changed, counted from argument 3\n      [-15] 2 -> 2.5\n      [19] 1 -> NaN\n"
        ),
        "{read}"
    );
    assert!(shown(0, "f32").contains("as f32: 2 elements changed\n      [1] 2 -> 2.5\n"));
    // An argument that does not point to a whole element of the type.
    let read = shown(2, "f32");
    assert!(
        read.contains("as f32: 2 elements changed, counted from the region's start\n      [1] 2 -> 2.5\n"),
        "{read}"
    );
    // No argument leads there.
    let alone = text.replace("\"arg\":3,\"base\":139964394242048", "\"arg\":null,\"base\":139964394242048");
    place.write("alone.jsonl", alone);
    let read = answer(place.command(["report", "--as", "f32", "alone.jsonl"]));
    assert!(read.contains("as f32: 2 elements changed, counted from the region's start\n"), "{read}");
}
