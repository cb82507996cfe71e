//! A report and a dump that meet the process's limit on the size of files. The limit is the process's: one test alone.

#[allow(dead_code, reason = "each test file uses a part of the sample")]
mod sample;

use std::fs::File;

use hsa_replay_contract::record::WriteKind;
use hsa_replay_contract::report::{DUMP_VERSION, DumpHeader, DumpWriter, Writer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Beyond what the test's own output may have reached.
const LIMIT: u64 = 64 << 20;

#[test]
fn files_of_ours_that_reach_the_limit_are_failed_writes_and_do_not_end_the_program() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("r.jsonl");
    File::create(&path).and_then(|file| file.set_len(LIMIT)).expect("report");
    let before = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: Some(LIMIT), maximum: before.maximum }).expect("limit");
    let writer = Writer::open(&path, 1).expect("opens");
    for _ in 0..2 {
        let error = writer.write(&sample::begin(0).into()).expect_err("too large");
        assert_eq!(error.source.raw_os_error(), Some(rustix::io::Errno::FBIG.raw_os_error()), "{error}");
    }
    let header = DumpHeader {
        hsa_replay_dump: DUMP_VERSION,
        pid: 1,
        id: 0,
        kernel: "k".to_owned(),
        launch: 0,
        kind: WriteKind::Allocation,
        name: None,
        arg: None,
        base: 0,
        size: 2 * LIMIT,
        spans: vec![],
        complete: true,
    };
    let mut dump = DumpWriter::create(folder.path(), &header).expect("created");
    let block = vec![0; 1 << 20];
    let failed = (0..=LIMIT >> 20).find_map(|_| dump.write(&block).err()).expect("too large");
    assert_eq!(failed.raw_os_error(), Some(rustix::io::Errno::FBIG.raw_os_error()), "{failed}");
    drop(dump);
    setrlimit(Resource::Fsize, before).expect("limit");
}
