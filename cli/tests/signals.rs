//! `hsa-replay run` and signals: those of the program, those sent to `run`, and what `run` inherits.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fixture::{COMPLETE, Place, answer, library, messages};

#[test]
fn a_signal_gives_128_and_its_number_and_is_named() {
    for (name, code) in [("TERM", 143), ("KILL", 137), ("SEGV", 139)] {
        let output =
            Place::new().run(["--", "sh", "-c", &format!("kill -{name} $$")]).output().expect("runs");
        assert_eq!(output.status.code(), Some(code));
        assert!(messages(&output)[0].contains(&format!("(SIG{name})")), "{output:?}");
    }
}

#[test]
fn a_signal_sent_to_run_reaches_the_program_and_is_answered_by_it() {
    for (signal, code) in [("TERM", 7), ("INT", 8), ("HUP", 9), ("USR1", 10)] {
        let place = Place::new();
        let script = "trap 'exit 7' TERM; trap 'exit 8' INT; trap 'exit 9' HUP; trap 'exit 10' USR1; echo ready; \
                      read line; exit 1";
        let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", script]);
        // SAFETY: `signal` is async-signal-safe. A test in the background starts with the signal ignored, and a shell
        // then cannot trap it.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("starts");
        // Waiting would close it, and the program would see the end of its input.
        let _open = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().expect("stdout"));
        let mut line = String::new();
        output.read_line(&mut line).expect("ready");
        assert_eq!(line, "ready\n");
        let sent = std::process::Command::new("kill")
            .args([format!("-{signal}"), child.id().to_string()])
            .status()
            .expect("kill");
        assert!(sent.success());
        assert_eq!(child.wait().expect("ends").code(), Some(code), "{signal}");
        let mut messages = String::new();
        child.stderr.take().expect("stderr").read_to_string(&mut messages).expect("text");
        assert!(messages.contains("made no HSA call"), "{messages}");
    }
}

/// Python's `SIG_IGN` and bash's `trap '' CHLD` are inherited, and whoever ignores the signal has no children to wait for.
#[test]
fn run_ends_with_its_program_where_sigchld_is_ignored_and_the_program_inherits_that() {
    let place = Place::new();
    // What waits for ever is ended by timeout(1), with 124.
    let started = |program: &[&str]| {
        let run = place.run(["-o", "r.jsonl", "--"].iter().chain(program));
        let mut outer = Command::new("timeout");
        outer.args(["60", "env", "--ignore-signal=CHLD"]).arg(run.get_program());
        outer.args(run.get_args()).current_dir(place.path("."));
        outer.env("HSA_REPLAY_SHIM", library());
        outer
    };
    assert_eq!(started(&["sh", "-c", "exit 3"]).status().expect("runs").code(), Some(3));
    let mask = |text: &str| {
        let digits = text.trim().rsplit('\t').next().expect("mask").to_owned();
        u64::from_str_radix(&digits, 16).expect("mask")
    };
    let ignored = mask(&answer(started(&["grep", "SigIgn", "/proc/self/status"])));
    assert_eq!(ignored >> (libc::SIGCHLD - 1) & 1, 1, "{ignored:x}");
    let plain = place.run(["-o", "r.jsonl", "--", "grep", "SigIgn", "/proc/self/status"]);
    assert_eq!(mask(&answer(plain)) >> (libc::SIGCHLD - 1) & 1, 0);
}

/// A pipe of one page: it has room again only when all of that was read.
#[test]
fn run_can_be_interrupted_while_it_tells_what_came_of_the_program() {
    let place = Place::new();
    let mut folder = PathBuf::new();
    for _ in 0..6 {
        folder.push("f".repeat(200));
    }
    std::fs::create_dir_all(place.path(&folder)).expect("folder");
    let output = folder.join("r-{pid}.jsonl");
    let mut command = place.run([Path::new("-o"), &output]);
    command.args(["--", "sh", "-c", "/bin/true; /bin/true; /bin/true; /bin/true; exit 0"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let (mut reader, writer) = std::io::pipe().expect("pipe");
    rustix::pipe::fcntl_setpipe_size(&writer, 4096).expect("pipe");
    // SAFETY: `signal` is async-signal-safe. A test in the background starts with the signal ignored.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGINT, libc::SIG_DFL);
            Ok(())
        });
    }
    let mut child = command.stderr(writer).spawn().expect("starts");
    drop(command);
    let mut said = vec![0];
    reader.read_exact(&mut said).expect("the first line");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    reader.read_to_end(&mut said).expect("the rest");
    let status = child.wait().expect("ends");
    assert_eq!(status.signal(), Some(libc::SIGINT), "{status}: {}", String::from_utf8_lossy(&said));
}
