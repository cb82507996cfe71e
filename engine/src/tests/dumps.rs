//! `--dump-writes`: the bytes before and after the first pass.

use super::rig::{COUNT, Rig};
use crate::fake::argument;
use hsa_replay_contract::report::{DumpReader, DumpedSpan};
use hsa_replay_contract::{Dispatch, Outcome};
use std::path::Path;

fn dumped(dispatch: &Dispatch, write: usize) -> (DumpReader, Vec<DumpedSpan>) {
    let write = &dispatch.writes.as_ref().expect("compared")[write];
    let path = write.dump.as_deref().unwrap_or_else(|| panic!("no dump of {write:?}"));
    let mut reader = DumpReader::open(Path::new(path)).expect("a dump");
    let spans = reader.by_ref().map(|span| span.expect("whole")).collect();
    (reader, spans)
}

#[test]
fn a_dump_holds_whole_elements_as_they_were_before_and_after_one_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    // A folder that does not exist yet is made.
    let dumps = folder.path().join("new/dumps");
    let rig = Rig::with(&[("DUMP_WRITES", dumps.to_str().expect("text"))]);
    let out = rig.allocate(4096);
    rig.fake.machine(|machine| machine.write(out + 96, &[7; 16]));
    rig.fake.kernel(rig.kernel(COUNT), |machine, words| {
        machine.add_u32(argument(words, 0), 0x0101);
        machine.add_u32(argument(words, 0) + 100, 1);
    });
    let queue = rig.queue(16);
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    for (launch, record) in (0..).zip(&records) {
        let (reader, spans) = dumped(record, 0);
        let header = reader.header();
        assert_eq!((header.id, header.launch, header.base, header.size), (launch, launch, out, 4096));
        assert_eq!((header.arg, header.complete), (Some(0), true));
        assert_eq!(header.spans, [[0, 16], [96, 16]]);
        let n = u8::try_from(launch).expect("small");
        let head = |count: u8| [&[count, count][..], &[0; 14]].concat();
        let tail = |count: u8| [&[7; 4][..], &[7 + count], &[7; 11]].concat();
        assert_eq!((&spans[0].before, &spans[0].after), (&head(n), &head(n + 1)));
        assert_eq!((spans[1].offset, &spans[1].before, &spans[1].after), (96, &tail(n), &tail(n + 1)));
    }
}

#[test]
fn a_variable_has_a_dump_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let rig = Rig::with(&[("DUMP_WRITES", folder.path().to_str().expect("text")), ("PASSES", "1")]);
    let out = rig.allocate(64);
    rig.queue(16).run(COUNT, &[out]);
    let counter = rig.counter;
    let (records, _) = rig.finish();
    let at = records[0].writes.as_ref().expect("compared").iter().position(|write| write.base == counter);
    let (reader, spans) = dumped(&records[0], at.expect("was written"));
    assert_eq!((reader.header().name.as_deref(), reader.header().size), (Some("counter"), 4));
    assert_eq!((&spans[0].before[..], &spans[0].after[..]), (&[0; 4][..], &[1, 0, 0, 0][..]));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 2);
}

#[test]
fn a_folder_that_cannot_be_written_does_the_program_no_harm() {
    let rig = Rig::with(&[("DUMP_WRITES", "/proc/no/such")]);
    let out = rig.allocate(64);
    rig.queue(16).run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed);
    assert!(records[0].writes.as_ref().expect("compared").iter().all(|write| write.dump.is_none()));
}
