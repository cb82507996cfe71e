//! `hsa-replay run`: whether the program can be started at all, and what a pipe tells when it has ended.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::Stdio;

use fixture::{COMPLETE, Place, messages, refused};

fn executable(place: &Place, name: &str, text: impl AsRef<[u8]>) {
    let file = place.write(name, text);
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("mode");
}

#[test]
fn a_program_whose_interpreter_cannot_be_run_leaves_the_last_report_and_names_it() {
    let place = Place::new();
    place.write("plain", "text");
    fs::create_dir(place.path("folder")).expect("folder");
    executable(&place, "gone", "#!/no/such/python\n");
    executable(&place, "middle", format!("#!{}\n", place.path("gone").display()));
    executable(&place, "closed", "#! ./plain -x\n");
    executable(&place, "at-folder", "#!./folder\n");
    executable(&place, "returns", "#!/bin/sh\r\necho\r\n");
    executable(&place, "by-env", "#!/usr/bin/env no-such-python\n");
    executable(&place, "by-path", "#!/usr/bin/env ./no-such-python\n");
    // A program whose loader is not there, as one built for another C library.
    let program = fs::read("/bin/true").expect("program");
    let name = b"/lib64/ld-linux";
    let at = program.windows(name.len()).position(|part| part == name).expect("its loader");
    let mut other = program;
    other[at..at + 6].copy_from_slice(b"/lib46");
    executable(&place, "musl", other);
    let kept = place.write("keep.jsonl", "the last report\n");
    for (name, code, said) in [
        ("./gone", 127, "./gone: its first line names the interpreter /no/such/python, which does not exist"),
        ("./middle", 127, "/gone names the interpreter /no/such/python, which does not exist"),
        ("./closed", 126, "its first line names the interpreter ./plain, which may not be executed"),
        ("./at-folder", 126, "its first line names the interpreter ./folder, which may not be executed"),
        ("./returns", 127, ", which does not exist"),
        ("./by-env", 127, "has env look for the interpreter no-such-python, which is not in PATH"),
        ("./by-path", 127, "has env look for the interpreter ./no-such-python, which is not there"),
        ("./musl", 127, "it needs the loader /lib46/ld-linux-x86-64.so.2, which does not exist"),
    ] {
        let line = refused(place.run(["-o", "keep.jsonl", "--", name]), code);
        assert!(line.contains(said), "{line}");
        assert_eq!(fs::read_to_string(&kept).expect("report"), "the last report\n", "{name}");
        // What the kernel or env makes of it without us.
        let mut alone = std::process::Command::new(place.path(name));
        let alone = alone.current_dir(place.path(".")).stderr(Stdio::null()).status();
        assert!(alone.map_or(true, |status| status.code() == Some(code)), "{name} can be run");
    }
}

#[test]
fn whatever_keeps_the_program_from_its_start_leaves_the_last_report() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("folder");
    let kept = place.write("keep.jsonl", "the last report\n");
    let long = "x".repeat((128 << 10) - 7) + "=info";
    for (options, said) in [
        (["--runtime", "folder"], "--runtime folder: is a directory"),
        (["--tool", "folder"], "--tool folder: is a directory"),
        (["--log=info", "--log-file=folder"], "is a directory"),
        (["--dump-writes", "keep.jsonl"], "is no folder for dumps"),
        (["--log=info", "--log-file={pid}/log"], "{pid} may stand in the file's name alone"),
        (["--log", &long], "--log: is too long: a variable (HSA_REPLAY_LOG) takes it to the program"),
    ] {
        // An argument may be as long as a variable; the name is not counted there.
        let [option, value] = options;
        let line = refused(place.run(["-o", "keep.jsonl", option, value, "--", "touch", "started"]), 125);
        assert!(line.contains(said) && line.len() < 1000, "{option}: {line}");
        assert_eq!(fs::read_to_string(&kept).expect("report"), "the last report\n", "{option}");
    }
    let line = refused(place.run(["-o", "{pid}/r.jsonl", "--", "touch", "started"]), 125);
    assert!(line.contains("/{pid}/r.jsonl: a folder of its own"), "{line}");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "mkdir gone && cd gone && rmdir ../gone && exec \"$@\"", "sh"]);
    command.arg(env!("CARGO_BIN_EXE_hsa-replay")).args(["run", "--", "true"]);
    command.current_dir(place.path(".")).env("HSA_REPLAY_SHIM", fixture::library());
    assert!(refused(command, 125).contains("the working directory cannot be told"));
    assert!(!place.path("started").exists());
}

#[test]
fn what_can_be_started_is_started() {
    let place = Place::new();
    fs::create_dir(place.path("bin")).expect("folder");
    executable(&place, "bin/tool", "#!/no/such/interpreter\n");
    executable(&place, "python-here", "#!/bin/sh\nexit 9\n");
    executable(&place, "text", "exit 9\n");
    executable(&place, "tool", "#!/bin/sh\nexit 9\n");
    executable(&place, "by-env", "#!/usr/bin/env python-here\n");
    executable(&place, "options", "#!/usr/bin/env -S -u PATH PATH=. python-here\n");
    executable(&place, "twice", format!("#!{}\n", place.path("by-env").display()));
    let path = format!("bin:.:{}", std::env::var("PATH").expect("PATH"));
    // As execvp does, the search goes on behind a script without an interpreter.
    for name in ["tool", "./text", "./by-env", "./options", "./twice"] {
        let output = place.run(["-o", "r.jsonl", "--", name]).env("PATH", &path).output().expect("runs");
        assert_eq!(output.status.code(), Some(9), "{name}: {output:?}");
    }
}

/// Has system call 439 (`faccessat2`) fail, as filters do that are older than it.
fn without_faccessat2(error: i32) -> std::io::Result<()> {
    const LOAD: u16 = 0x20; // BPF_LD | BPF_W | BPF_ABS
    const JUMP_IF_EQUAL: u16 = 0x15; // BPF_JMP | BPF_JEQ | BPF_K
    const RETURN: u16 = 0x06; // BPF_RET | BPF_K
    const ALLOW: u32 = 0x7fff_0000;
    const FAIL: u32 = 0x0005_0000;
    let step = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut filter = [
        step(LOAD, 0, 0),
        step(JUMP_IF_EQUAL, 1, 439),
        step(RETURN, 0, FAIL | u32::try_from(error).unwrap_or(0)),
        step(RETURN, 0, ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: both calls read their arguments only; the filter lives to the end of the second one.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

#[test]
fn where_the_kernel_does_not_tell_whether_a_file_may_be_executed_the_program_is_started() {
    let place = Place::new();
    place.write("plain", "text");
    executable(&place, "script", "#!/bin/sh\nexit 9\n");
    for error in [libc::EPERM, libc::ENOSYS] {
        for (name, code) in
            [("sh", 0), ("./script", 9), ("no-such-program", 127), ("./plain", 126), ("/", 126)]
        {
            let mut command = place.run(["-o", "r.jsonl", "--", name]);
            // SAFETY: prctl is a system call and nothing else; nothing is allocated.
            unsafe { command.pre_exec(move || without_faccessat2(error)) };
            let output = command.output().expect("runs");
            assert_eq!(output.status.code(), Some(code), "{name}: {output:?}");
        }
    }
}

/// On overlayfs and NFS the time of a pipe does not move when it is written to; here the program puts it back.
#[test]
fn a_pipe_whose_time_stands_still_is_not_said_to_be_empty() {
    for (script, known) in
        [("/bin/true", true), ("/bin/true; touch -r before pipe", false), ("exit 0", false)]
    {
        let place = Place::new();
        let pipe = place.path("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        let touched = std::process::Command::new("touch").args(["-d", "2001-01-01"]).arg(&pipe).status();
        assert!(touched.expect("touch").success());
        let copied = std::process::Command::new("cp").arg("-a").args([&pipe, &place.path("before")]).status();
        assert!(copied.expect("cp").success());
        let mut options = fs::OpenOptions::new();
        let mut reader = options.read(true).custom_flags(libc::O_NONBLOCK).open(&pipe).expect("pipe");
        let mut command = place.run(["-o", "pipe", "--", "sh", "-c", script]);
        command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
        let output = command.output().expect("runs");
        let mut report = String::new();
        reader.read_to_string(&mut report).expect("text");
        let lines = messages(&output);
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(!lines[0].contains("nothing was written"), "{script}: {lines:?}");
        assert_eq!(lines[0].contains("is not known here"), !known, "{script}: {lines:?}");
        assert_eq!(report.is_empty(), script == "exit 0");
    }
}
