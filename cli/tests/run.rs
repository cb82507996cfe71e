//! `hsa-replay run`: exit codes, what the program sees, what is said at the end.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::process::Stdio;

use fixture::{COMPLETE, Place, answer, library, messages, refused};

#[test]
fn a_folder_for_dumps_is_made_before_the_program_starts_and_must_be_writable() {
    let place = Place::new();
    let output = place.run(["--dump-writes", "new/dumps", "--", "true"]).output().expect("runs");
    assert!(output.status.success() && place.path("new/dumps").is_dir(), "{output:?}");
    let file = place.write("file", "");
    let file = file.to_str().expect("text");
    let line = refused(place.run(["--dump-writes", file, "--", "touch", "started"]), 125);
    assert!(line.contains("is no folder for dumps"), "{line}");
    assert!(!place.path("started").exists());
}

#[test]
fn the_exit_code_is_the_programs() {
    for code in [0, 1, 3, 124, 255] {
        let output = Place::new().run(["--", "sh", "-c", &format!("exit {code}")]).output().expect("runs");
        assert_eq!(output.status.code(), Some(code));
    }
}

#[test]
fn a_program_that_cannot_be_run_gives_126_or_127_as_env_does() {
    let place = Place::new();
    let plain = place.write("plain", "text");
    fs::set_permissions(&plain, fs::Permissions::from_mode(0o644)).expect("mode");
    assert!(refused(place.run(["--", ""]), 127).contains("cannot run '': No such file"));
    assert!(refused(place.run(["--", "no-such-program"]), 127).contains("cannot run no-such-program"));
    assert!(refused(place.run(["--", "./plain"]), 126).contains("Permission denied"));
    assert!(refused(place.run(["--", "/"]), 126).contains("cannot run /: is a directory"));
}

#[test]
fn a_program_that_cannot_be_run_leaves_the_last_report_as_it_is() {
    let place = Place::new();
    let kept = place.write("keep.jsonl", "the last report\n");
    place.write("plain", "text");
    for (name, code) in [("no-such-program", 127), ("./no-such-program", 127), ("./plain", 126), ("/", 126)] {
        refused(place.run(["-o", "keep.jsonl", "--dump-writes", "dumps", "--", name]), code);
        assert_eq!(fs::read_to_string(&kept).expect("report"), "the last report\n", "{name}");
    }
    refused(place.run(["-o", "new.jsonl", "--", "no-such-program"]), 127);
    assert_eq!(place.names(), ["keep.jsonl", "plain"]);
}

#[test]
fn bad_settings_give_125_before_the_program_starts() {
    let place = Place::new();
    let witness = ["--", "touch", "started"];
    let bad_options: &[&[&str]] = &[
        &["--passes", "0"],
        &["--passes", "65536"],
        &["--passes=-1"],
        &["--kernel", "saxpy("],
        &["--kernel", ""],
        &["--waiting", ""],
        &["--log", "warning"],
        &["--launch-skip", "few"],
        &["--timeout", "0"],
        &["--timeout", "-3"],
        &["--budget", "much"],
        &["--allow", "everything"],
        &["--no-such-option"],
        &["--config", "no-such.toml"],
        &["--shim", "no-such.so"],
        &["--log", "hsa_replay=loud"],
        &["--passes", "+2"],
        &["--passes", ""],
        &["--launch-skip", " "],
        &["--launch-count", "+1"],
        &["--timeout", "+1"],
        &["--budget", "+1G"],
        &["--allow", ","],
        &["--allow", ""],
        &["--allow", "hostcall,"],
    ];
    for options in bad_options {
        let line = refused(place.run(options.iter().chain(&witness)), 125);
        let shown = options[0].split('=').next().expect("flag");
        assert!(line.contains(shown), "{options:?}: {line}");
    }
    let mut command = place.run(witness);
    command.env("HSA_REPLAY_PASSES", "many");
    assert!(refused(command, 125).contains("HSA_REPLAY_PASSES=many: must be a whole number from 1 to 65535"));
    place.write("c.toml", "pases = 3\n");
    assert!(
        refused(place.run(["--config", "c.toml", "--", "touch", "started"]), 125)
            .contains("c.toml: pases: unknown key")
    );
    assert!(!place.path("started").exists());
}

#[test]
fn a_report_that_cannot_be_written_gives_125_before_the_program_starts() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("folder");
    let status = std::process::Command::new("mkfifo").arg(place.path("pipe")).status().expect("mkfifo");
    assert!(status.success());
    for (name, problem) in [
        ("folder", "is a directory"),
        ("pipe", "nobody reads"),
        ("no/such/report.jsonl", "No such file"),
        ("no/such/report-{pid}.jsonl", "folder cannot be written"),
    ] {
        let line = refused(place.run(["-o", name, "--", "touch", "started"]), 125);
        assert!(line.contains(problem), "{line}");
    }
    assert!(!place.path("started").exists());
}

/// The records of all processes, one after the other: between two of them nobody writes, and the pipe must not end there.
#[test]
fn a_pipe_gets_the_whole_report_and_its_reader_sees_one_end() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut reader = Reader::of(&pipe);
    let mut command = place.run(["-o", "pipe", "--", "sh", "-c", "/bin/true; /bin/true; exit 0"]);
    command.env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let child = command.stderr(Stdio::piped()).spawn().expect("starts");
    let report = reader.read_on();
    let output = child.wait_with_output().expect("ends");
    assert_eq!(report, fs::read_to_string(COMPLETE).expect("golden").repeat(2));
    let lines = messages(&output);
    assert!(lines.len() == 1 && lines[0].contains("the report went to /"), "{lines:?}");
}

#[test]
fn a_pipe_or_device_that_nothing_was_written_to_is_not_said_to_have_the_report() {
    let place = Place::new();
    let pipe = place.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let mut reader = Reader::of(&pipe);
    let child = place.run(["-o", "pipe", "--", "true"]).stderr(Stdio::piped()).spawn().expect("starts");
    assert_eq!(reader.read_on(), "");
    let lines = messages(&child.wait_with_output().expect("ends"));
    assert!(
        lines.len() == 1 && lines[0].contains("whether there was anything is not known here"),
        "{lines:?}"
    );
    let lines = messages(&place.run(["-o", "/dev/null", "--", "true"]).output().expect("runs"));
    assert!(lines.len() == 1 && lines[0].contains("went to /dev/null: it cannot be read again"), "{lines:?}");
}

/// A pipe's reader that was there before its writers.
struct Reader(fs::File);

impl Reader {
    fn of(pipe: &Path) -> Self {
        let mut options = fs::OpenOptions::new();
        Self(options.read(true).custom_flags(libc::O_NONBLOCK).open(pipe).expect("pipe"))
    }

    /// Waits for the first writer, then reads until there is none.
    fn read_on(&mut self) -> String {
        use rustix::event::{PollFd, PollFlags, poll};
        use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
        poll(&mut [PollFd::new(&self.0, PollFlags::IN)], None).expect("pipe");
        fcntl_setfl(&self.0, fcntl_getfl(&self.0).expect("pipe") - OFlags::NONBLOCK).expect("pipe");
        let mut text = String::new();
        self.0.read_to_string(&mut text).expect("text");
        text
    }
}

#[test]
fn the_programs_streams_are_its_own() {
    let place = Place::new();
    let mut command = place.run(["--", "sh", "-c", "cat; printf 'out\\0'; printf err >&2; exit 5"]);
    fs::write(place.path("in"), "in").expect("file");
    let output = command.stdin(fs::File::open(place.path("in")).expect("file")).output().expect("runs");
    assert_eq!(output.stdout, b"inout\0");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(errors.starts_with("errhsa-replay: "), "{errors}");
}

#[test]
fn the_program_gets_settings_as_variables_and_no_others() {
    let place = Place::new();
    place.write("c.toml", "kernel = \"from file\"\nlog_file = \"l.txt\"\n");
    let mut command = place.run([
        "--budget",
        "1K",
        "--",
        "sh",
        "-c",
        "env | grep ^HSA_REPLAY_ | grep -Ev 'PARENT=|RUN=' | sort",
    ]);
    command.env("HSA_REPLAY_PASES", "3");
    command.env("HSA_REPLAY_CONFIG", "c.toml").env("HSA_REPLAY_TIMEOUT", "5").env("HSA_REPLAY_CHECK", "");
    let here = fs::canonicalize(place.path(".")).expect("folder");
    let here = here.display();
    let expected = format!(
        "HSA_REPLAY_BUDGET=1K\nHSA_REPLAY_KERNEL=from file\nHSA_REPLAY_LOG_FILE={here}/l.txt\n\
         HSA_REPLAY_OUTPUT={here}/hsa-replay-{{pid}}.jsonl\nHSA_REPLAY_PASSES=2\nHSA_REPLAY_TIMEOUT=5\n"
    );
    assert_eq!(answer(command), expected);
}

#[test]
fn options_without_effect_are_a_warning_each_and_make_nothing() {
    let place = Place::new();
    let options =
        ["--no-check", "--dump-writes", "dumps", "--log-file", "log", "-o", "r.jsonl", "--", "true"];
    let output = place.run(options).output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    let lines = messages(&output);
    let idle = |text: &str| lines.iter().filter(|line| line.contains(text)).count();
    assert_eq!(
        idle("--dump-writes dumps: has no effect, since nothing is stored without --check"),
        1,
        "{lines:?}"
    );
    assert_eq!(idle("--log-file log: has no effect, since nothing is logged without --log"), 1, "{lines:?}");
    assert_eq!(place.names(), ["r.jsonl"]);
}

#[test]
fn a_variable_without_meaning_is_named_once() {
    let place = Place::new();
    let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", "test -z \"$HSA_REPLAY_PASES\""]);
    command.env("HSA_REPLAY_PASES", "3");
    let output = command.output().expect("runs");
    assert!(output.status.success(), "the program does not get it: {output:?}");
    let named = messages(&output).iter().filter(|line| line.contains("HSA_REPLAY_PASES")).count();
    assert_eq!(named, 1, "{output:?}");
}

#[test]
fn a_runtime_or_tool_that_cannot_serve_is_refused_before_the_program_starts() {
    let place = Place::new();
    place.write("text", "text");
    let mut other = fs::read(library()).expect("library");
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    place.write("arm.so", other);
    let refused_at = |option: &str, file: &str, problem: &str| {
        let line = refused(place.run([option, file, "--", "touch", "started"]), 125);
        assert!(line.contains(&format!("{option} {file}: {problem}")), "{line}");
    };
    for option in ["--runtime", "--tool"] {
        refused_at(option, "/etc", "is a directory");
        refused_at(option, "text", "is not an ELF file");
        refused_at(option, "arm.so", "is for another machine");
        refused_at(option, "missing.so", "cannot be read");
    }
    let ours = library().to_str().expect("text");
    refused_at("--runtime", ours, "is hsa-replay itself");
    refused_at("--tool", ours, "is not a tool");
    refused_at("--runtime", "/bin/sh", "is not an HSA runtime");
    let mut command = place.run(["--", "touch", "started"]);
    command.env("HSA_REPLAY_RUNTIME", "/etc");
    assert!(refused(command, 125).contains("HSA_REPLAY_RUNTIME=/etc: is a directory"));
    assert!(!place.path("started").exists());
}

#[test]
fn a_log_that_cannot_be_written_is_refused_before_the_program_starts_and_nothing_is_made() {
    let place = Place::new();
    for (file, problem) in
        [("no/such/log", "No such file"), (".", "is a directory"), ("", "must name a file")]
    {
        let line = refused(place.run(["--log", "info", "--log-file", file, "--", "touch", "started"]), 125);
        assert!(line.contains("--log-file") && line.contains(problem), "{line}");
    }
    assert!(place.names().is_empty(), "{:?}", place.names());
    assert!(refused(place.run(["-o", "", "--", "true"]), 125).contains("--output '': must name a file"));
}

#[test]
fn the_loaders_variables_keep_what_the_user_has_there() {
    let place = Place::new();
    let script = "echo $LD_PRELOAD; echo $LD_LIBRARY_PATH; ls $(echo $LD_LIBRARY_PATH | cut -d: -f1)";
    let mut command = place.run(["--", "sh", "-c", script]);
    command.env("LD_PRELOAD", "libm.so.6").env("LD_LIBRARY_PATH", "/one:/two");
    let text = answer(command);
    let lines: Vec<&str> = text.lines().collect();
    let folder = lines[1].strip_suffix(":/one:/two").expect("ours is in front");
    assert_eq!(lines[0], format!("libm.so.6:{}", library().display()));
    assert_eq!(lines[2..], ["libhsa-runtime64.so", "libhsa-runtime64.so.1"]);
    assert!(!Path::new(folder).exists(), "the temporary folder is gone");
}

#[test]
fn an_installed_library_is_used_where_it_is() {
    let place = Place::new();
    let folder = place.path("lib");
    fs::create_dir(&folder).expect("folder");
    fs::copy(library(), folder.join("libhsa-runtime64.so.1")).expect("copy");
    std::os::unix::fs::symlink("libhsa-runtime64.so.1", folder.join("libhsa-runtime64.so")).expect("link");
    for shim in [&folder, &folder.join("libhsa-runtime64.so.1")] {
        let mut command = place.run(["--", "sh", "-c", "echo $LD_PRELOAD $LD_LIBRARY_PATH"]);
        command.env("HSA_REPLAY_SHIM", shim);
        let folder = folder.display();
        assert_eq!(answer(command), format!("{folder}/libhsa-runtime64.so.1 {folder}\n"));
    }
}

#[test]
fn paths_with_spaces_colons_and_bytes_that_are_not_text_work() {
    let place = Place::new();
    let odd = OsString::from_vec(b"a b:c;d$e'f\xff".to_vec());
    fs::create_dir(place.path(&odd)).expect("folder");
    let shim = place.path(&odd).join("lib r.so");
    fs::copy(library(), &shim).expect("copy");
    let output = place.path(&odd).join("r.jsonl");
    let mut command = place.run(["-o".into(), output.clone().into_os_string(), "--".into(), "true".into()]);
    command.env("HSA_REPLAY_SHIM", &shim).env("FIXTURE_PROGRAM", "true").env("FIXTURE_REPORT", COMPLETE);
    let result = command.output().expect("runs");
    assert!(result.status.success(), "{result:?}");
    assert_eq!(fs::read(output).expect("report"), fs::read(COMPLETE).expect("golden"));
}

/// The loader complains about a library that it cannot preload, and would do so in someone else's output.
#[test]
fn a_process_that_outlives_run_can_start_others() {
    let place = Place::new();
    for name in ["go", "late"] {
        let status = std::process::Command::new("mkfifo").arg(place.path(name)).status().expect("mkfifo");
        assert!(status.success());
    }
    let script = "{ read line < go; /bin/true; echo done; } > late 2>&1 &";
    let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", script]);
    assert!(command.stdout(Stdio::null()).stderr(Stdio::null()).status().expect("runs").success());
    let mut late = fs::File::open(place.path("late")).expect("pipe");
    fs::write(place.path("go"), "go\n").expect("pipe");
    let mut said = String::new();
    late.read_to_string(&mut said).expect("text");
    assert_eq!(said, "done\n");
}

#[test]
fn a_library_that_is_not_ours_is_refused() {
    let place = Place::new();
    place.write("text.so", "text");
    let mut other = fs::read(library()).expect("library");
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    place.write("arm.so", other);
    for (shim, problem) in [
        ("text.so", "no ELF header"),
        ("arm.so", "another machine"),
        ("/bin/sh", "not hsa-replay's library"),
        (".", "holds neither"),
        ("missing.so", "No such file"),
    ] {
        let mut command = place.run(["--", "true"]);
        command.env("HSA_REPLAY_SHIM", shim);
        let line = refused(command, 125);
        assert!(line.contains(problem) && line.contains("HSA_REPLAY_SHIM="), "{line}");
    }
}

#[test]
fn unknown_variables_are_one_warning_each_and_do_no_harm() {
    let place = Place::new();
    let mut command = place.run(["-o", "r.jsonl", "--", "true"]);
    command.env("HSA_REPLAY_PASES", "3");
    let output = command.output().expect("runs");
    assert!(output.status.success());
    assert_eq!(messages(&output)[0], "hsa-replay: HSA_REPLAY_PASES is not a variable of hsa-replay: ignored");
}
