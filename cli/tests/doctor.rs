//! `hsa-replay doctor`: what the loader would do, against what it does, and each thing that may be in the way.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use fixture::{Place, answer, library, refused};
use serde_json::Value;

/// The doctor with the stand-in library, on `words`.
fn doctor(place: &Place, words: &[&str]) -> Command {
    let mut command = place.command(["doctor"]);
    command.args(words).env("HSA_REPLAY_SHIM", library());
    command
}

fn cc(place: &Place, arguments: &[&str]) {
    let mut command = Command::new("cc");
    command.args(arguments).current_dir(place.path("."));
    assert!(command.status().expect("the C compiler").success(), "{command:?}");
}

/// Three folders with a runtime each, and a HIP that needs one, as shared libraries.
struct Stack {
    place: Place,
}

impl Stack {
    fn new() -> Self {
        let place = Place::new();
        place.write("runtime.c", "int hsa_init(void) { return 0; } int hsa_novel(void) { return 0; }");
        place.write("hip.c", "int hsa_init(void); int hipInit(void) { return hsa_init(); }");
        place.write("main.c", "int hipInit(void); int main(void) { return hipInit(); }");
        for folder in ["one", "two", "three"] {
            fs::create_dir(place.path(folder)).expect("folder");
            let output = format!("{folder}/libhsa-runtime64.so.1");
            cc(
                &place,
                &["-shared", "-fPIC", "-Wl,-soname,libhsa-runtime64.so.1", "-o", &output, "runtime.c"],
            );
        }
        Self { place }
    }

    /// A program that needs a HIP by its path; `hip` and `main` are linker options that say where libraries are.
    fn program(&self, hip: &[&str], main: &[&str]) -> &'static str {
        let shared = ["-shared", "-fPIC", "-o", "libamdhip64.so.6", "hip.c"];
        cc(&self.place, &[&shared[..], &["one/libhsa-runtime64.so.1"], hip].concat());
        let allow = "-Wl,--allow-shlib-undefined";
        cc(&self.place, &[&["-o", "program", "main.c", "./libamdhip64.so.6", allow][..], main].concat());
        "./program"
    }

    /// The runtime that the doctor names for the program, and the one that the loader takes.
    fn both(&self, library_path: Option<&str>) -> (String, String) {
        let mut command = doctor(&self.place, &["--", "./program"]);
        let mut real = Command::new(self.place.path("program"));
        real.env("LD_TRACE_LOADED_OBJECTS", "1").current_dir(self.place.path("."));
        if let Some(path) = library_path {
            command.env("LD_LIBRARY_PATH", path);
            real.env("LD_LIBRARY_PATH", path);
        }
        let text = answer(command);
        let doctor = text
            .lines()
            .find_map(|line| line.split_once("./program would load ")?.1.split(',').next())
            .unwrap_or_else(|| panic!("{text}"))
            .to_owned();
        let loaded = String::from_utf8(real.output().expect("program").stdout).expect("text");
        let line = loaded.lines().find(|line| line.contains("libhsa-runtime64.so.1")).expect("a runtime");
        let real = line.split(" => ").nth(1).and_then(|rest| rest.split(" (").next()).expect("a path");
        (absolute(&self.place, &doctor), absolute(&self.place, real))
    }
}

fn absolute(place: &Place, path: &str) -> String {
    fs::canonicalize(place.path(path)).unwrap_or_else(|_| PathBuf::from(path)).display().to_string()
}

#[test]
fn the_runtime_named_is_the_one_that_the_loader_takes() {
    let stack = Stack::new();
    let at = |folder: &str| absolute(&stack.place, &format!("{folder}/libhsa-runtime64.so.1"));
    let rpath = |folder: &str| format!("-Wl,--disable-new-dtags,-rpath,$ORIGIN/{folder}");
    let runpath = |folder: &str| format!("-Wl,--enable-new-dtags,-rpath,${{ORIGIN}}/{folder}");
    for (hip, main, library_path, expected) in [
        (vec![runpath("one")], vec![], None, "one"),
        // LD_LIBRARY_PATH beats the runpath and loses to the rpath.
        (vec![runpath("one")], vec![], Some("two"), "two"),
        (vec![rpath("one")], vec![], Some("two"), "one"),
        // The program's rpath reaches the libraries of its libraries, its runpath does not.
        (vec![], vec![rpath("three")], Some("two"), "three"),
        (vec![], vec![runpath("three")], Some("two"), "two"),
        // A library with a runpath has no part in anyone's rpath.
        (vec![runpath("one")], vec![rpath("three")], None, "one"),
    ] {
        stack.program(
            &hip.iter().map(String::as_str).collect::<Vec<_>>(),
            &main.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let (doctor, real) = stack.both(library_path);
        assert_eq!(doctor, real, "{hip:?} {main:?} {library_path:?}");
        assert_eq!(doctor, at(expected), "{hip:?} {main:?} {library_path:?}");
    }
}

#[test]
fn names_that_the_library_lacks_and_libraries_that_are_missing_are_said() {
    let stack = Stack::new();
    stack.program(&["-Wl,-rpath,$ORIGIN/one"], &[]);
    fs::rename(stack.place.path("libamdhip64.so.6"), stack.place.path("away")).expect("rename");
    let text = answer(doctor(&stack.place, &["--", "./program"]));
    assert!(text.contains("PROBLEM  program       ./libamdhip64.so.6 would not be found"), "{text}");

    // A library of ours that knows one of the two names.
    stack
        .place
        .write("ours.c", "unsigned hsa_replay_interface_version = 1; int hsa_init(void) { return 0; }");
    cc(&stack.place, &["-shared", "-fPIC", "-o", "ours.so", "ours.c"]);
    let mut command = doctor(&stack.place, &[]);
    command.env("HSA_REPLAY_SHIM", "ours.so").env("HSA_REPLAY_RUNTIME", "one/libhsa-runtime64.so.1");
    let text = answer(command);
    assert!(text.contains("hsa-replay lacks names of it: hsa_novel\n"), "{text}");
}

#[test]
fn programs_that_nothing_can_be_attached_to_are_problems_with_advice() {
    let place = Place::new();
    place.write("start.c", "void _start(void) { __builtin_trap(); }");
    cc(&place, &["-static", "-nostdlib", "-no-pie", "-o", "static", "start.c"]);
    cc(&place, &["-static-pie", "-nostdlib", "-fPIE", "-o", "static-pie", "start.c"]);
    for name in ["./static", "./static-pie"] {
        let text = answer(doctor(&place, &["--", name]));
        assert!(text.contains(&format!("PROBLEM  program       {name} is statically linked\n")), "{text}");
        assert!(text.contains("-> link it dynamically"), "{text}");
    }
    fs::copy("/bin/true", place.path("privileged")).expect("copy");
    fs::set_permissions(place.path("privileged"), fs::Permissions::from_mode(0o4755)).expect("mode");
    assert!(answer(doctor(&place, &["--", "./privileged"])).contains("./privileged is set-user-ID"));
    assert!(
        answer(doctor(&place, &["--", "no-such-program"]))
            .contains("there is no program no-such-program in PATH")
    );
    executable(&place, "bytes", "\0\u{1}\u{2}");
    assert!(answer(doctor(&place, &["--", "./bytes"])).contains("./bytes is not an ELF file"));
}

/// Writes a file that may be executed.
fn executable(place: &Place, name: &str, text: &str) {
    place.write(name, text);
    fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).expect("mode");
}

#[test]
fn what_cannot_be_run_is_one_problem_that_says_why() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("folder");
    place.write("plain", "text");
    for (name, text) in [
        ("empty", ""),
        ("self", "#!./self\n"),
        ("ping", "#!./pong\n"),
        ("pong", "#!./ping\n"),
        ("again", "#!/usr/bin/env ./again\n"),
        ("gone", "#!/no/such/interpreter -x\n"),
        ("stray", "#!/usr/bin/env no-such-program\n"),
        ("words", "#!/usr/bin/env sh -e\n"),
        ("windows", "#!/bin/sh\r\necho\r\n"),
    ] {
        executable(&place, name, text);
    }
    assert!(
        Command::new("mkfifo")
            .args(["-m", "755"])
            .arg(place.path("pipe"))
            .status()
            .expect("mkfifo")
            .success()
    );
    for (name, said) in [
        ("", "no program is named: the word behind -- is empty"),
        ("folder", "folder is a directory, not a program"),
        ("./folder", "./folder is a directory, not a program"),
        ("./plain", "./plain is not executable"),
        ("plain", "plain is not found in PATH"),
        ("./none", "there is no file ./none"),
        ("./empty", "./empty is empty: a shell runs it as a script that does nothing"),
        ("./self", "./self is a script for ./self, which is a script in turn, and so on without end"),
        ("./ping", "./pong is a script for ./ping, which is a script in turn, and so on without end"),
        ("./again", "./again is a script for ./again, which is a script in turn, and so on without end"),
        ("./gone", "./gone is a script for /no/such/interpreter, which does not exist"),
        ("./stray", "./stray is a script for no-such-program, which env does not find in PATH"),
        ("./words", "./words is a script for env, which gets `sh -e` as one word"),
        ("./pipe", "./pipe is not a regular file"),
        ("./windows", "./windows has a first line that ends in a carriage return"),
    ] {
        let text = answer(doctor(&place, &["--", name]));
        let problems: Vec<&str> = text.lines().filter(|line| line.starts_with("PROBLEM  program")).collect();
        assert!(problems.len() == 1 && problems[0].contains(said), "{name}: {text}");
    }
}

#[test]
fn a_shell_script_is_followed_to_what_it_becomes_as_far_as_that_can_be_told() {
    let place = Place::new();
    let pyenv = "#!/usr/bin/env bash\nset -e\nprogram=\"${0##*/}\"\nexport PYENV_ROOT=\"/root/.pyenv\"\n\
                 exec \"/root/.pyenv/libexec/pyenv\" exec \"$program\" \"$@\"\n";
    executable(&place, "python3", pyenv);
    let text = answer(doctor(&place, &["--", "./python3", "train.py"]));
    assert!(
        text.contains("./python3 is a shell script: what it starts takes part, but is not looked at here"),
        "{text}"
    );
    assert!(text.contains("-> hsa-replay doctor -- \"$(pyenv which python3)\""), "{text}");
    executable(&place, "wrapper", "#!/bin/sh\nexport A=1\nexec \"/bin/true\" \"$@\"\n");
    let text = answer(doctor(&place, &["--", "./wrapper"]));
    assert!(text.contains("./wrapper becomes /bin/true (exec)"), "{text}");
    assert!(text.contains("/bin/true links to no HSA runtime"), "{text}");
    executable(&place, "circle", &format!("#!/bin/sh\nexec {}\n", place.path("circle").display()));
    let text = answer(doctor(&place, &["--", place.path("circle").to_str().expect("text")]));
    assert!(text.contains("is a shell script: what it starts"), "{text}");
    executable(&place, "text", "echo hello\n");
    let text = answer(doctor(&place, &["--", "./text"]));
    assert!(text.contains("./text is text without a first line #!…: /bin/sh runs it"), "{text}");
}

#[test]
fn scripts_are_followed_to_what_runs_them() {
    let place = Place::new();
    for (name, line) in
        [("one", "#!/bin/sh"), ("two", "#!/usr/bin/env sh"), ("three", "#! /usr/bin/env -S sh -e")]
    {
        place.write(name, format!("{line}\n"));
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).expect("mode");
        let text = answer(doctor(&place, &["--", &format!("./{name}")]));
        assert!(text.contains("sh links to no HSA runtime"), "{text}");
    }
}

#[test]
fn a_runtime_path_that_cannot_be_used_is_a_problem() {
    let place = Place::new();
    fs::create_dir(place.path("folder")).expect("folder");
    let mut other = fs::read(library()).expect("library");
    other[18..20].copy_from_slice(&183_u16.to_le_bytes());
    place.write("arm.so", other);
    symlink(library(), place.path("ours.so")).expect("link");
    for (path, said) in [
        ("folder", "HSA_REPLAY_RUNTIME=folder is a directory"),
        ("arm.so", "HSA_REPLAY_RUNTIME=arm.so is for another machine"),
        ("ours.so", "HSA_REPLAY_RUNTIME=ours.so is hsa-replay itself"),
        ("none.so", "HSA_REPLAY_RUNTIME=none.so cannot be read: No such file"),
    ] {
        let mut command = doctor(&place, &[]);
        command.env("HSA_REPLAY_RUNTIME", path);
        let text = answer(command);
        assert!(text.contains(&format!("PROBLEM  runtime       {said}")), "{text}");
    }
}

#[test]
fn settings_tools_and_a_missing_library_are_told() {
    let place = Place::new();
    let mut command = doctor(&place, &[]);
    command
        .env("HSA_REPLAY_PASSES", "5")
        .env("HSA_TOOLS_LIB", "librocprofiler64.so")
        .env("HSA_REPLAY_PASES", "1");
    let text = answer(command);
    assert!(text.contains("arm the library: 5 passes"), "{text}");
    assert!(text.contains("note     surroundings  HSA_TOOLS_LIB=librocprofiler64.so: a tool"), "{text}");
    assert!(text.contains("note     settings      HSA_REPLAY_PASES is not a variable"), "{text}");
    let mut command = doctor(&place, &[]);
    command.env("HSA_REPLAY_PASSES", "0").env("HSA_REPLAY_SHIM", "gone.so");
    assert!(answer(command).contains("PROBLEM  settings      HSA_REPLAY_PASSES=0: must be"));
    let mut command = doctor(&place, &[]);
    command.env("HSA_REPLAY_SHIM", "gone.so");
    assert!(answer(command).contains("PROBLEM  library       HSA_REPLAY_SHIM=gone.so: No such file"));
}

#[test]
fn a_problem_never_comes_without_advice() {
    let stack = Stack::new();
    stack.program(&[], &[]);
    fs::create_dir(stack.place.path("folder")).expect("folder");
    for (words, variables) in [
        (&["--", "./program"][..], &[][..]),
        (&["--", "no-such-program"], &[("HSA_REPLAY_SHIM", "gone.so"), ("HSA_REPLAY_RUNTIME", "folder")]),
        (&["--", "./folder"], &[]),
        (&["--", "./hip.c"], &[("HSA_REPLAY_PASSES", "0")]),
        (&[], &[("HSA_TOOLS_LIB", "/no/such/tool.so"), ("LD_LIBRARY_PATH", "")]),
    ] {
        let mut command = doctor(&stack.place, &["--format", "json"]);
        command.args(words).envs(variables.iter().copied());
        let value: Value = serde_json::from_str(&answer(command)).expect("JSON");
        let problems: Vec<&Value> = value["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .filter(|finding| finding["level"] == "problem")
            .collect();
        assert!(!problems.is_empty(), "{words:?}: {value}");
        for problem in problems {
            assert!(problem["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{problem}");
        }
    }
}

#[test]
fn a_library_that_is_not_found_is_not_taken_for_one_that_is_not_needed() {
    let stack = Stack::new();
    stack.program(&[], &[]);
    let text = answer(doctor(&stack.place, &["--", "./program"]));
    assert!(text.contains("libhsa-runtime64.so.1 would not be found"), "{text}");
    assert!(!text.contains("links to no HSA runtime"), "{text}");
}

#[test]
fn a_runtime_in_front_of_ours_is_a_problem() {
    let stack = Stack::new();
    stack.program(&["-Wl,-rpath,$ORIGIN/one"], &[]);
    let other = stack.place.path("two/libhsa-runtime64.so.1");
    let mut command = doctor(&stack.place, &["--", "./program"]);
    command.env("LD_PRELOAD", &other);
    let text = answer(command);
    let said =
        format!("PROBLEM  program       {} comes in front of hsa-replay, by LD_PRELOAD", other.display());
    assert!(text.contains(&said), "{text}");
    let plain = answer(doctor(&stack.place, &["--", "./program"]));
    assert!(!plain.contains("in front of hsa-replay"), "{plain}");
}

#[test]
fn a_runtime_that_a_python_package_brings_is_found_and_is_the_real_one() {
    let stack = Stack::new();
    for folder in ["venv/bin", "venv/lib/python3.11/site-packages/torch/lib"] {
        fs::create_dir_all(stack.place.path(folder)).expect("folder");
    }
    let runtime = stack.place.path("venv/lib/python3.11/site-packages/torch/lib/libhsa-runtime64.so");
    fs::copy(stack.place.path("one/libhsa-runtime64.so.1"), &runtime).expect("copy");
    fs::copy("/bin/true", stack.place.path("venv/bin/python3.11")).expect("copy");
    symlink("python3.11", stack.place.path("venv/bin/python")).expect("link");
    stack.place.write("train", format!("#!{}\n", stack.place.path("venv/bin/python").display()));
    fs::set_permissions(stack.place.path("train"), fs::Permissions::from_mode(0o755)).expect("mode");
    for program in ["venv/bin/python", "./train"] {
        let text = answer(doctor(&stack.place, &["--", program, "train.py"]));
        assert!(text.contains("the Python package torch brings its own runtime, "), "{text}");
        let runtime = fs::canonicalize(&runtime).expect("runtime");
        assert!(text.contains(&format!("ok       runtime       {}", runtime.display())), "{text}");
    }
}

#[test]
fn json_holds_the_same_findings() {
    let place = Place::new();
    let text = answer(doctor(&place, &["--format", "json", "--", "sh"]));
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let findings = value["findings"].as_array().expect("findings");
    let subjects: Vec<&str> = findings.iter().filter_map(|finding| finding["subject"].as_str()).collect();
    for subject in ["settings", "library", "program", "runtime", "device"] {
        assert!(subjects.contains(&subject), "{text}");
    }
    let problems = findings.iter().filter(|finding| finding["level"] == "problem").count();
    assert_eq!(value["problems"], problems);
    let plain = answer(doctor(&place, &["--", "sh"]));
    for finding in findings {
        assert!(plain.contains(finding["text"].as_str().expect("text")));
    }
}

#[test]
fn usage_errors_are_one_line() {
    let place = Place::new();
    assert!(refused(place.command(["doctor", "--format", "xml"]), 2).contains("xml"));
    let command = place.command([OsStr::new("doctor"), OsStr::new("--loud")]);
    assert!(refused(command, 2).contains("no option --loud"));
}

/// What the doctor says to a user without groups where an agent's device files have these rights.
fn said_of_devices(rights: &str) -> String {
    let script = r#"
        mount -t tmpfs none /dev
        mount -t tmpfs none /sys
        mkdir -p /dev/dri /sys/class/kfd/kfd/topology/nodes/1
        printf 'simd_count 1216\ngfx_target_version 90402\ndrm_render_minor 128\n' >/sys/class/kfd/kfd/topology/nodes/1/properties
        touch /dev/kfd /dev/dri/renderD128
        chmod "$1" /dev/kfd /dev/dri/renderD128
        cp "$0" /dev/hsa-replay
        cd /dev
        exec setpriv --reuid=65534 --regid=65534 --clear-groups /dev/hsa-replay doctor
    "#;
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", script, env!("CARGO_BIN_EXE_hsa-replay"), rights]);
    answer(command)
}

#[test]
fn device_files_that_the_user_may_not_open_are_problems_with_the_groups_to_join() {
    let text = said_of_devices("0660");
    for device in ["/dev/kfd", "/dev/dri/renderD128"] {
        let problem = format!("PROBLEM  device        {device} cannot be opened: Permission denied");
        let line = text.lines().skip_while(|line| !line.starts_with(&problem)).nth(1);
        let advice = line.unwrap_or_else(|| panic!("{text}"));
        assert!(advice.contains("-> sudo usermod -aG render,video $USER"), "{text}");
        assert!(advice.contains(&format!("stat -c %g {device}")), "{text}");
    }
    assert!(text.contains("ok       device        agent gfx942, node 1, 1216 SIMDs\n"), "{text}");
    let text = said_of_devices("0666");
    for device in ["/dev/kfd", "/dev/dri/renderD128"] {
        assert!(text.contains(&format!("ok       device        {device} can be opened\n")), "{text}");
    }
}
