//! `hsa-replay doctor`: scripts, env(1) in their first line, what a wrapper becomes, and programs that do not exist.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use fixture::{Place, answer};

fn executable(place: &Place, name: &str, text: &str) {
    let file = place.write(name, text);
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("mode");
}

fn doctor(place: &Place, words: &[&str]) -> String {
    let mut command = place.command(["doctor", "--"]);
    answer({
        command.args(words);
        command
    })
}

#[test]
fn a_carriage_return_breaks_a_first_line_unless_the_interpreter_overlooks_it() {
    let place = Place::new();
    for (breaks, line) in [
        (true, "#!/bin/sh"),
        (true, "#!/bin/sh -e"),
        (true, "#!/usr/bin/env sh"),
        (true, "#!/usr/bin/perl"),
        (false, "#!/usr/bin/perl -w"),
    ] {
        executable(&place, "script", &format!("{line}\r\n\r\n"));
        let text = doctor(&place, &["./script"]);
        assert_eq!(text.contains("ends in a carriage return"), breaks, "{line}: {text}");
    }
}

#[test]
fn what_hands_a_program_on_is_not_what_a_wrapper_becomes() {
    let place = Place::new();
    fs::create_dir(place.path("bin")).expect("a folder");
    for (name, hands_on) in [("strace", true), ("mpirun", true), ("srun", true), ("sim", false)] {
        executable(&place, &format!("bin/{name}"), "#!/bin/true\n");
        let file = place.path("bin").join(name);
        executable(&place, "wrapper", &format!("exec {} ./other\n", file.display()));
        let text = doctor(&place, &["./wrapper"]);
        assert_eq!(text.contains("doctor -- "), hands_on, "{name}: {text}");
    }
}

#[test]
fn only_an_exec_that_is_reached_is_what_a_wrapper_becomes() {
    let place = Place::new();
    for (reached, script) in [
        (true, "exec /bin/true \"$@\"\n"),
        (true, "set -e\nexport A=1\n\nexec /bin/true \"$@\"   \n\n# the end\n   \n"),
        (true, "if test -z \"$A\"; then\n  echo no >&2\n  exit 1\nfi\nexec '/bin/true'\n"),
        (false, "if test -n \"$A\"; then\n  exec /bin/true\nfi\necho none\n"),
        (false, "if test -n \"$A\"; then\nexec /bin/true\nfi\n"),
        (false, "test -n \"$A\" &&\nexec /bin/true\n"),
        (false, "test -n \"$A\" || \\\nexec /bin/true\n"),
        (false, "echo a |\nexec /bin/true\n"),
        (false, "  exec /bin/true\n"),
        (false, "exec /bin/true\necho never\n"),
        (false, "if test -n \"$A\"; then\n  exec /bin/false\nfi\nexec /bin/true\n"),
        (false, "[ -x /a ] && exec /bin/false\nexec /bin/true\n"),
        (false, "f() {\n  exec /bin/true\n}\nf\n"),
        (false, "cat <<END\nexec /bin/true\nEND\n"),
        (false, "exec env A=1 /bin/true\n"),
        (false, "exec /usr/bin/env A=1 /bin/true\n"),
        (false, "exec -a name /bin/true\n"),
        (false, "exec \"$PROGRAM\"\n"),
    ] {
        executable(&place, "wrapper", &format!("#!/bin/sh\n{script}"));
        let text = doctor(&place, &["./wrapper"]);
        assert_eq!(text.contains("./wrapper becomes /bin/true (exec)"), reached, "{script}\n{text}");
        assert_eq!(
            text.contains("what it starts takes part, but is not looked at here"),
            !reached,
            "{script}\n{text}"
        );
        assert!(!text.contains("becomes /usr/bin/env"), "{script}\n{text}");
    }
}

#[test]
fn env_with_options_is_followed_to_the_program_that_it_runs() {
    let place = Place::new();
    fs::create_dir(place.path("bin")).expect("folder");
    executable(&place, "bin/python-here", "\x7fELF");
    let here = place.path("bin");
    let here = here.display();
    for words in [
        "sh".to_owned(),
        "-S sh -e".to_owned(),
        "-Ssh".to_owned(),
        "-vS sh -e".to_owned(),
        "-S -u FOO sh".to_owned(),
        "-S -uFOO A=1 sh".to_owned(),
        "-S -C / sh".to_owned(),
        "-S --chdir=/ --unset FOO -- sh".to_owned(),
        "--split-string=-u FOO sh".to_owned(),
        "-S 'sh' \"-e\"".to_owned(),
    ] {
        executable(&place, "script", &format!("#!/usr/bin/env {words}\necho\n"));
        let text = doctor(&place, &["./script"]);
        let found = text
            .lines()
            .any(|line| line.contains("./script is a script for /") && line.ends_with("/sh, by env"));
        assert!(found, "{words}\n{text}");
        // What env itself makes of it.
        let alone = std::process::Command::new(place.path("script")).output().expect("runs");
        assert!(alone.status.success(), "{words}: {alone:?}");
    }
    for words in [
        format!("-S PATH={here} python-here"),
        format!("-S -C {here} ./python-here"),
        format!("-S -C {here} PATH=. python-here"),
    ] {
        executable(&place, "script", &format!("#!/usr/bin/env {words}\n"));
        let text = doctor(&place, &["./script"]);
        assert!(
            text.contains("./script is a script for ") && text.contains("python-here, by env"),
            "{words}\n{text}"
        );
    }
}

#[test]
fn env_that_finds_nothing_or_takes_the_library_away_is_a_problem() {
    let place = Place::new();
    for (words, said) in [
        ("-u FOO sh", "gets `-u FOO sh` as one word"),
        ("-C / sh", "gets `-C / sh` as one word"),
        ("-i sh", "gets `-i sh` as one word"),
        ("-S -u FOO no-such-program", "is a script for no-such-program, which env does not find in PATH"),
        ("-S PATH=/no/such sh", "is a script for sh, which env does not find in PATH"),
        ("-S --no-such-option sh", "which does not know the option --no-such-option"),
        ("-S 'sh", "which gets a quote after -S that is not closed"),
        ("-iS sh", "takes LD_PRELOAD away"),
        ("-S -u LD_PRELOAD sh", "takes LD_PRELOAD away"),
        ("-S -u HSA_REPLAY_PASSES sh", "takes HSA_REPLAY_PASSES away"),
    ] {
        executable(&place, "script", &format!("#!/usr/bin/env {words}\n"));
        let text = doctor(&place, &["./script"]);
        let line = text
            .lines()
            .find(|line| line.starts_with("PROBLEM  program"))
            .unwrap_or_else(|| panic!("{words}\n{text}"));
        assert!(line.contains(said), "{words}\n{text}");
    }
}

#[test]
fn a_program_that_does_not_exist_is_one_line_and_the_line_to_type() {
    let place = Place::new();
    fs::create_dir(place.path("a b")).expect("folder");
    for (word, said, typed) in [
        ("nope", "there is no program nope in PATH", "find / -name nope -type f -perm /111 2>/dev/null"),
        (
            "python train.py",
            "there is no program of the name \"python train.py\", which is one word",
            "hsa-replay doctor -- python train.py",
        ),
        ("./a b/none", "there is no file ./a b/none", "ls -l './a b'"),
        ("bin/none", "there is no file bin/none", "ls -l ."),
        ("/etc/none/x", "there is no file /etc/none/x", "ls -l /etc"),
    ] {
        let text = doctor(&place, &[word]);
        let mut lines = text.lines().skip_while(|line| !line.starts_with("PROBLEM  program"));
        let problem = lines.next().unwrap_or_else(|| panic!("{text}"));
        assert!(problem.contains(said), "{text}");
        assert!(lines.next().expect("advice").contains(&format!("-> {typed}")), "{text}");
        assert_eq!(text.lines().filter(|line| line.contains("  program ")).count(), 1, "{text}");
    }
}
