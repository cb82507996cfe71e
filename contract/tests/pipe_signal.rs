//! A pipe whose reader leaves, in a program that leaves SIGPIPE as it is. What a signal does is the process's: one test alone.

#[allow(dead_code, reason = "each test file uses a part of the sample")]
mod sample;

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;

use hsa_replay_contract::message;
use hsa_replay_contract::report::Writer;

#[test]
fn a_reader_that_leaves_is_a_failed_write_and_does_not_end_the_program() {
    // SAFETY: the default action is set in a process that has no handler for the signal.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
    let reader = OpenOptions::new().read(true).write(true).open(&path).expect("pipe");
    let writer = Writer::open(&path, 1).expect("someone reads");
    writer.write(&sample::begin(0).into()).expect("writes");
    drop(reader);
    for _ in 0..2 {
        let error = writer.write(&sample::begin(1).into()).expect_err("nobody reads");
        assert!(error.to_string().contains("the pipe's reader is gone"), "{error}");
    }
    // Messages go to standard error, which may be such a pipe.
    let (reader, left) = std::io::pipe().expect("pipe");
    drop(reader);
    message::write_all(left.as_raw_fd(), b"nobody reads this\n");
}
