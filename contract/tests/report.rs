//! Writing and reading report files, whole and damaged.

mod sample;

use std::fs;
use std::io::{BufReader, Cursor, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use hsa_replay_contract::record::Record;
use hsa_replay_contract::report::{ProblemKind, Reader, TornDispatch, Writer, check_appendable, prepare};
use proptest::prelude::*;

fn lines(records: &[Record]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for record in records {
        bytes.extend(serde_json::to_vec(record).expect("serialises"));
        bytes.push(b'\n');
    }
    bytes
}

/// Reads everything; returns the records and (line, kind) of each problem.
fn read(bytes: &[u8]) -> (Vec<Record>, Vec<(u64, ProblemKind)>) {
    let mut reader = Reader::new(bytes);
    let records = reader.by_ref().map(|record| record.expect("memory does not fail")).collect();
    (records, reader.problems().iter().map(|problem| (problem.line, problem.kind)).collect())
}

fn make_fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo").success());
}

#[test]
fn a_damaged_line_is_placed_by_number_and_offset_and_a_torn_dispatch_is_known() {
    let mut whole = lines(&[sample::replayed(7).into()]);
    let start = whole.len() as u64;
    let torn = lines(&[sample::replayed(8).into()]);
    whole.extend(&torn[..60]);
    let mut reader = Reader::new(&whole[..]);
    assert_eq!(reader.by_ref().count(), 1);
    let problem = &reader.problems()[0];
    assert_eq!((problem.line, problem.offset, problem.kind), (2, start, ProblemKind::Truncated));
    assert_eq!(reader.take_torn(), [TornDispatch { pid: 4711, id: 8 }]);
    // With the next process's record behind it, and with bytes that are no text in it.
    for (damage, read) in [(&lines(&[sample::begin(9).into()])[..], 2), (b"\xff\xfe\0 rest\"}\n", 1)] {
        let bytes = [&whole[..], damage].concat();
        let mut reader = Reader::new(&bytes[..]);
        assert_eq!(reader.by_ref().count(), read);
        assert_eq!((reader.problem_count(), reader.problems()[0].offset), (1, start));
        assert_eq!(reader.take_torn(), [TornDispatch { pid: 4711, id: 8 }]);
    }
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().expect("folder");
    let writer = Writer::open(&folder.path().join("r-{pid}.jsonl"), 4711).expect("opens");
    for record in sample::process() {
        writer.write(&record).expect("writes");
    }
    let bytes = fs::read(folder.path().join("r-4711.jsonl")).expect("report");
    assert_eq!(read(&bytes), (sample::process(), vec![]));
}

#[test]
fn a_second_writer_appends_and_prepare_empties() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("r.jsonl");
    for _ in 0..2 {
        Writer::open(&path, 1).expect("opens").write(&sample::begin(0).into()).expect("writes");
    }
    assert_eq!(fs::read_to_string(&path).expect("report").lines().count(), 2);
    let _no_pipe = prepare(&path).expect("writable");
    assert_eq!(fs::read(&path).expect("report"), b"");
}

#[test]
fn writers_in_parallel_do_not_mix_lines() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("r.jsonl");
    let shared = Writer::open(&path, 1).expect("opens");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (shared, path) = (&shared, &path);
            scope.spawn(move || {
                let own = Writer::open(path, 1).expect("opens");
                for id in 0..200 {
                    shared.write(&sample::replayed(id).into()).expect("writes");
                    own.write(&sample::begin(id).into()).expect("writes");
                }
            });
        }
    });
    let (records, problems) = read(&fs::read(&path).expect("report"));
    assert_eq!((records.len(), problems), (1600, vec![]));
}

#[test]
fn a_full_disk_is_an_error_each_time_and_the_first_is_marked() {
    let writer = Writer::open(Path::new("/dev/full"), 1).expect("opens");
    let first = writer.write(&sample::begin(0).into()).expect_err("full");
    assert!(first.is_first() && first.to_string().contains("No space left"), "{first}");
    let second = writer.write(&sample::begin(1).into()).expect_err("still full");
    assert!(!second.is_first());
    assert_eq!(writer.lost(), 2);
    assert_eq!(second.to_string().lines().count(), 1);
}

#[test]
fn places_that_cannot_hold_a_report_are_refused_in_one_line() {
    let folder = tempfile::tempdir().expect("folder");
    for path in [folder.path().to_owned(), folder.path().join("no/such/r.jsonl"), "/".into(), "".into()] {
        for error in [Writer::open(&path, 1).expect_err("refused"), prepare(&path).expect_err("refused")] {
            assert_eq!(error.to_string().lines().count(), 1, "{error}");
        }
    }
    assert!(prepare(folder.path()).expect_err("folder").to_string().contains("is a directory"));
    let error = prepare(&folder.path().join("no/such/r-{pid}.jsonl")).expect_err("no folder");
    assert!(error.to_string().contains("folder"), "{error}");
    let _no_pipe = prepare(&folder.path().join("r-{pid}.jsonl")).expect("writable");
    assert_eq!(fs::read_dir(folder.path()).expect("folder").count(), 0, "nothing is created before its time");
}

#[test]
fn a_pipe_without_reader_is_refused_without_waiting() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("pipe");
    make_fifo(&path);
    let error = Writer::open(&path, 1).expect_err("nobody reads");
    assert!(error.to_string().contains("nobody reads"), "{error}");
    assert!(prepare(&path).is_err());
}

/// A reader takes the last writer's leaving for the end of the report.
#[test]
fn a_pipe_that_was_looked_at_has_a_writer_until_that_is_dropped() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("pipe");
    make_fifo(&path);
    for look in [prepare, check_appendable] {
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("flags");
        let mut reader =
            fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(&path).expect("pipe");
        let held = look(&path).expect("someone reads");
        let error = reader.read(&mut [0]).expect_err("a writer is there, and has written nothing");
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
        drop(held);
        assert_eq!(reader.read(&mut [0]).expect("the end"), 0);
    }
}

#[test]
fn a_pipe_with_a_reader_gets_records_and_its_end_does_no_harm() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("pipe");
    make_fifo(&path);
    // Opened for both so that opening does not wait for us.
    let mut reader = fs::OpenOptions::new().read(true).write(true).open(&path).expect("pipe");
    let writer = Writer::open(&path, 1).expect("someone reads");
    writer.write(&sample::begin(0).into()).expect("writes");
    let expected = lines(&[sample::begin(0).into()]);
    let mut received = vec![0; expected.len()];
    reader.read_exact(&mut received).expect("record");
    assert_eq!(received, expected);
    drop(reader);
    let error = writer.write(&sample::begin(0).into()).expect_err("nobody reads");
    assert!(error.to_string().contains("the pipe's reader is gone"), "{error}");
    let lost = (0..2000).filter(|&id| writer.write(&sample::begin(id).into()).is_err()).count();
    assert_eq!(lost, 2000, "and nothing happened but lost records");
}

#[test]
fn a_line_that_a_full_pipe_cuts_off_does_not_spoil_the_next_process_s_record() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("pipe");
    make_fifo(&path);
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).expect("flags");
    let mut reader = fs::OpenOptions::new().read(true).custom_flags(nonblocking).open(&path).expect("pipe");
    let [one, other] = [1, 2].map(|pid| Writer::open(&path, pid).expect("someone reads"));
    let mut long = sample::begin(0);
    long.kernel = "k".repeat(40_000);
    let whole = (0..).take_while(|_| one.write(&long.clone().into()).is_ok()).count();
    let mut received = Vec::new();
    let _nothing_more = reader.read_to_end(&mut received);
    other.write(&sample::begin(7).into()).expect("writes");
    let _nothing_more = reader.read_to_end(&mut received);
    // Our own reader finds a record also behind the rest of another; others read lines.
    let all: Vec<&[u8]> = received.split_inclusive(|&byte| byte == b'\n').collect();
    assert_eq!(all.len(), whole + 2, "whole lines, the one that was cut off, and the other's");
    assert_eq!(all.last(), Some(&&lines(&[sample::begin(7).into()])[..]));
}

#[test]
fn a_descriptor_that_the_program_closed_is_not_written_to() {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("r.jsonl");
    let writer = Writer::open(&path, 1).expect("opens");
    writer.write(&sample::begin(0).into()).expect("writes");
    let number = fs::read_dir("/proc/self/fd")
        .expect("descriptors")
        .filter_map(|entry| entry.ok())
        .find(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == path))
        .and_then(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .expect("the writer's descriptor");
    // What a program that becomes a daemon does: the number now names a file of its own.
    let own = fs::File::create(folder.path().join("own")).expect("own file");
    // SAFETY: `number` is open and the writer, its only user, is told to expect exactly this; the descriptor is
    // forgotten below, so that it is closed by nobody.
    let mut stolen = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::dup2(&own, &mut stolen).expect("dup2");
    assert_eq!(stolen.as_raw_fd(), number);
    std::mem::forget(stolen);
    writer.write(&sample::begin(1).into()).expect("finds its file again");
    assert_eq!(fs::read(folder.path().join("own")).expect("own file"), b"");
    assert_eq!(read(&fs::read(&path).expect("report")).0.len(), 2);
}

#[test]
fn a_cut_off_last_line_is_said_and_the_rest_is_read() {
    let bytes = lines(&sample::process());
    let whole = sample::process().len();
    let (records, problems) = read(&bytes[..bytes.len() - 10]);
    assert_eq!(records.len(), whole - 1);
    assert_eq!(problems, [(whole as u64, ProblemKind::Truncated)]);
    // Only the line end is missing: nothing is lost.
    assert_eq!(read(&bytes[..bytes.len() - 1]), (sample::process(), vec![]));
}

#[test]
fn damaged_lines_are_counted_and_skipped() {
    let good = lines(&[sample::begin(0).into()]);
    let mut bytes = b"\xef\xbb\xbf".to_vec();
    bytes.extend(&good);
    bytes.extend(b"\n\0\0\0\0\n{\"record\":\"dispatch\"}\n[]\n\xff\xfe\n{\"record\":\"future\",\"pid\":1}\n");
    bytes.extend(&good);
    let (records, problems) = read(&bytes);
    assert_eq!(records.len(), 2);
    let corrupt = |line| (line, ProblemKind::Corrupt);
    assert_eq!(problems, [corrupt(3), corrupt(4), corrupt(5), corrupt(6), (7, ProblemKind::Unknown)]);
}

#[test]
fn what_is_wrong_with_a_line_is_said_in_terms_of_the_format() {
    let said = |line: &str| {
        let mut reader = Reader::new(line.as_bytes());
        assert_eq!(reader.by_ref().count(), 0, "{line}");
        reader.problems()[0].detail.clone()
    };
    let begin = "{\"record\":\"begin\",\"pid\":1,\"id\":2,\"kernel\":\"k\",\"launch\":3}";
    for (from, to, expected) in [
        ("\"pid\":1,", "", "lacks the field \"pid\""),
        ("\"id\":2", "\"id\":null", "has a value of \"id\" that this version does not know"),
        ("\"id\":2", "\"id\":-2", "has a value of \"id\" that this version does not know"),
        ("\"id\":2", "\"id\":2,\"id\":2", "has the field \"id\" twice"),
        ("\"k\"", "[1]", "has a value of \"kernel\" that this version does not know"),
        ("\"k\"", "k", "is not JSON from its byte 4"),
        ("}", "", "is cut off: its JSON does not end"),
    ] {
        let said = said(&format!("{}\n", begin.replace(from, to)));
        assert!(said.starts_with(expected), "{to}: {said}");
    }
    for (line, expected) in [
        ("hello\n", "is not JSON from its byte "),
        ("[1,2]\n", "is not a JSON object"),
        ("{\"pid\":1}\n", "lacks the field \"record\""),
        ("{\"record\":7}\n", "has a value of \"record\" that this version does not know"),
    ] {
        let said = said(line);
        assert!(said.starts_with(expected), "{line}: {said}");
    }
    // No type of ours, whatever is wrong: each value of each record replaced by one of another kind.
    for record in sample::process() {
        let whole = serde_json::to_value(&record).expect("serialises");
        for (path, _) in leaves(&whole) {
            for wrong in
                [serde_json::Value::Null, (-1).into(), 1.5.into(), "no".into(), true.into(), vec![7].into()]
            {
                let mut value = whole.clone();
                *value.pointer_mut(&path).expect("a leaf") = wrong;
                let line = format!("{value}\n");
                let mut reader = Reader::new(line.as_bytes());
                reader.by_ref().for_each(drop);
                for problem in reader.problems() {
                    for internal in
                        ["invalid", "expected", "struct", "variant", "u64", "u32", "integer", "line 1"]
                    {
                        assert!(!problem.detail.contains(internal), "{path}: {}", problem.detail);
                    }
                }
            }
        }
    }
}

/// The places of all values that are neither objects nor lists.
fn leaves(value: &serde_json::Value) -> Vec<(String, serde_json::Value)> {
    use serde_json::Value;
    let below = |name: String, value: &Value| {
        leaves(value)
            .into_iter()
            .map(move |(path, leaf)| (format!("/{name}{path}"), leaf))
            .collect::<Vec<_>>()
    };
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(name, value)| below(name.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, value)| below(index.to_string(), value)).collect()
        }
        leaf => vec![(String::new(), leaf.clone())],
    }
}

#[test]
fn a_record_behind_a_torn_one_is_saved() {
    let good = lines(&[sample::begin(0).into()]);
    let bytes = [&good[..20], &good[..]].concat();
    let (records, problems) = read(&bytes);
    assert_eq!((records.len(), problems), (1, vec![(1, ProblemKind::Corrupt)]));
}

#[test]
fn an_endless_line_is_skipped() {
    let endless = Cursor::new(b"{\"record\":\"begin\"".to_vec()).chain(std::io::repeat(b'x').take(10 << 20));
    let good = [b"\n".to_vec(), lines(&[sample::begin(0).into()])].concat();
    let mut reader = Reader::new(BufReader::new(endless.chain(Cursor::new(good)))).longest_line(1 << 16);
    assert_eq!(reader.by_ref().filter_map(Result::ok).count(), 1);
    assert_eq!(reader.problems()[0].kind, ProblemKind::TooLong);
}

/// Lists grow with versions: what a later one wrote is not damage, and the kernel did not end the process.
#[test]
fn a_value_of_a_later_version_is_not_called_damage() {
    let whole =
        String::from_utf8(lines(&[sample::declined(7, hsa_replay_contract::Reason::UntrackedMemory).into()]))
            .expect("text");
    let reason = "\"reason\":\"untracked_memory\"";
    assert!(whole.contains(reason), "{whole}");
    let later = whole.replace(reason, "\"reason\":\"solar_flare\"");
    let mut reader = Reader::new(later.as_bytes());
    assert_eq!(reader.by_ref().count(), 0);
    let problem = &reader.problems()[0];
    assert_eq!(problem.kind, ProblemKind::Unknown, "{}", problem.detail);
    assert!(
        problem.detail.starts_with("has a value of \"reason\" that this version does not know"),
        "{}",
        problem.detail
    );
    assert_eq!(reader.take_torn(), [TornDispatch { pid: 4711, id: 7 }]);
    // A line that is torn in such a word, with another record behind it.
    let cut = &whole[..whole.find(reason).expect("is there") + reason.len() - 5];
    let torn = format!("{cut}{}", String::from_utf8(lines(&[sample::begin(9).into()])).expect("text"));
    let (records, problems) = read(torn.as_bytes());
    assert_eq!((records.len(), problems), (1, vec![(1, ProblemKind::Corrupt)]));
    // A value of the wrong kind is damage.
    let wrong = whole.replace(reason, "\"reason\":7");
    let mut reader = Reader::new(wrong.as_bytes());
    assert_eq!(reader.by_ref().count(), 0);
    assert_eq!(reader.problems()[0].kind, ProblemKind::Corrupt);
}

#[test]
fn a_newer_schema_is_said_and_read_as_far_as_possible() {
    let mut session = sample::session();
    session.schema = 2;
    let (records, problems) = read(&lines(&[session.into()]));
    assert_eq!((records.len(), problems), (1, vec![(1, ProblemKind::Unknown)]));
}

#[test]
fn descriptions_are_kept_for_a_few_problems_and_all_are_counted() {
    let mut reader = Reader::new(Cursor::new("x\n".repeat(5000)));
    assert_eq!(reader.by_ref().count(), 0);
    assert_eq!((reader.problem_count(), reader.problems().len()), (5000, 16));
}

#[test]
fn a_kernel_name_of_100_kb_goes_through() {
    let mut record = sample::replayed(0);
    record.kernel = "k".repeat(100_000);
    let bytes = lines(&[record.clone().into()]);
    assert_eq!(read(&bytes), (vec![record.into()], vec![]));
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        read(&bytes);
    }

    #[test]
    fn a_file_cut_anywhere_gives_its_whole_lines(cut in 0_usize..4000) {
        let bytes = lines(&sample::process());
        let cut = cut.min(bytes.len());
        let whole = bytes[..cut].iter().filter(|&&byte| byte == b'\n').count();
        let (records, problems) = read(&bytes[..cut]);
        prop_assert!(records.len() >= whole);
        prop_assert_eq!(&records[..whole], &sample::process()[..whole]);
        prop_assert!(problems.len() <= 1);
    }
}
