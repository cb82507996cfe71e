//! Help, manual pages and completions: all of them know every option, and a reader that stops early is no error.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::process::Stdio;

use fixture::{Place, answer, refused};
use hsa_replay_contract::OPTIONS;

#[test]
fn the_manual_page_of_run_knows_every_option_and_shows_examples() {
    let place = Place::new();
    let page = answer(place.command(["man", "run"]));
    assert!(page.contains(".TH") && page.contains("hsa\\-replay\\-run"), "{page}");
    let page = page.replace('\\', "");
    for spec in OPTIONS {
        assert!(page.contains(&format!("--{}", spec.flag)), "{}", spec.flag);
        assert!(page.contains(spec.variable), "{}", spec.variable);
    }
    assert!(page.contains("hsa-replay run -n 5 -k saxpy"));
    let whole = answer(place.command(["man"])).replace('\\', "");
    for name in ["run", "report", "env", "doctor", "completions", "man"] {
        assert!(whole.contains(&format!("hsa-replay-{name}")), "{name}");
    }
    assert!(
        refused(place.command(["man", "fly"]), 2).contains("'fly' is no command: the commands are run, ")
    );
}

#[test]
fn a_page_has_the_usual_sections_and_a_synopsis_that_can_be_read() {
    let place = Place::new();
    let run = answer(place.command(["man", "run"]));
    let headings: Vec<&str> = run.lines().filter_map(|line| line.strip_prefix(".SH ")).collect();
    assert_eq!(headings, ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS"]);
    let synopsis = run.lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).expect("a synopsis");
    assert_eq!(synopsis.replace('\\', ""), "hsa-replay run [OPTIONS] <CMD>...");
    assert!(run.lines().any(|line| line.replace('\\', "") == "126  the program cannot be run"), "{run}");
    for name in ["", "run", "report", "env", "doctor", "completions", "man"] {
        let mut command = place.command(["man"]);
        command.args(Some(name).filter(|name| !name.is_empty()));
        let page = answer(command);
        assert!(!page.contains("EXTRA") && page.contains(".SH SYNOPSIS\nhsa\\-replay"), "{page}");
        assert!(page.matches("\n.nf").count() <= page.matches("\n.fi").count(), "{page}");
    }
}

#[test]
fn lines_behind_the_options_of_the_help_fit_a_terminal() {
    let place = Place::new();
    for name in ["run", "report", "env", "doctor", "completions", "man"] {
        let help = answer(place.command([name, "--help"]));
        let (_, behind) = help.rsplit_once("\nExample").expect("examples");
        for line in behind.lines().filter(|line| !line.contains("completions/")) {
            assert!(line.len() <= 80, "{name}: {line}");
        }
    }
}

#[test]
fn every_page_names_its_version() {
    let place = Place::new();
    for name in ["", "run", "report", "env", "doctor", "completions", "man"] {
        let mut command = place.command(["man"]);
        command.args(Some(name).filter(|name| !name.is_empty()));
        let page = answer(command);
        let header = page.lines().find(|line| line.starts_with(".TH")).expect("a header");
        let expected = format!("\"hsa-replay {}\" \"User Commands\"", hsa_replay_contract::VERSION);
        assert!(header.replace('\\', "").contains(&expected), "{header}");
    }
}

#[test]
fn completions_of_every_shell_know_every_option() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = answer(place.command(["completions", shell]));
        for spec in OPTIONS {
            assert!(script.contains(spec.flag), "{shell}: {}", spec.flag);
        }
    }
    assert!(refused(place.command(["completions", "cmd"]), 2).contains("SHELL cmd: must be one of"));
}

#[test]
fn the_shell_accepts_its_completions() {
    let place = Place::new();
    let script = place.write("completions", answer(place.command(["completions", "bash"])));
    let status = std::process::Command::new("bash").arg("-n").arg(script).status().expect("bash");
    assert!(status.success());
}

#[test]
fn bash_completes_what_follows_a_command() {
    let place = Place::new();
    let script = place.write("completions", answer(place.command(["completions", "bash"])));
    let completed = |words: &[&str]| {
        let [.., previous, current] = words else { panic!("two words") };
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c"])
            .arg(
                r#"source "$1"; shift; previous=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
                handler=$(complete -p hsa-replay); handler=${handler#*-F }
                "${handler%% *}" hsa-replay "${COMP_WORDS[COMP_CWORD]}" "$previous"
                printf '%s\n' "${COMPREPLY[@]}""#,
            )
            .arg("bash")
            .arg(&script)
            .arg(previous)
            .args(words)
            .output()
            .expect("bash");
        assert!(output.status.success() && output.stderr.is_empty(), "{current}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["hsa-replay", "rep"]), ["report"]);
    assert_eq!(completed(&["hsa-replay", "report", "--fo"]), ["--format"]);
    assert_eq!(
        completed(&["hsa-replay", "report", "--format", ""]),
        ["text", "json", "csv", "html", "trace"]
    );
    assert!(completed(&["hsa-replay", "run", "--waiti"]).contains(&"--waiting".into()));
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let place = Place::new();
    for arguments in [&["run", "--help"][..], &["--version"], &["man"], &["completions", "zsh"]] {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }
}
