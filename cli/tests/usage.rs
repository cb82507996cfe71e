//! Command lines that are wrong: one line says what is wrong, where, and what to type; and completions, which prevent some.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::process::Command;

use fixture::{Place, answer, refused};

#[test]
fn a_wrong_command_line_is_told_what_to_type() {
    let place = Place::new();
    let runs = [
        ("run", "no program is given: hsa-replay run [OPTIONS] -- ./program"),
        ("run -k saxpy", "no program is given"),
        (
            "run --passe 3 -- true",
            "run has no option --passe: did you mean --passes? (see hsa-replay run --help)",
        ),
        ("run --kernal x -- true", "did you mean --kernel?"),
        ("run -p 3 -- true", "run has no option -p: an option of the program stands behind it"),
        ("run -k", "--kernel: its value is missing: --kernel REGEX"),
        ("run -n 3 -k -- true", "--kernel: its value is missing"),
        ("run -o -- true", "--output: its value is missing: --output FILE"),
        ("run --format json -- true", "--format is an option of report and doctor, not of run"),
        ("run --as f32 -- true", "--as is an option of report, not of run"),
        ("run -v -- true", "-v is an option of report, not of run"),
        ("run --check=yes -- true", "--check=yes: it takes no value: write --check, or --no-check"),
        ("run --no-check=1 -- true", "--no-check=1: it takes no value: write --no-check"),
        ("run --allow hostcal -- true", "--allow hostcal: must name kinds out of untracked, hostcall"),
    ];
    let others = [
        ("report", "no report is given: hsa-replay report report.jsonl"),
        ("report --format xml f", "--format xml: must be one of text, json, csv, html, trace"),
        ("report --as f31 f", "--as f31: must be one of f16, bf16, f32"),
        ("report --as", "--as: its value is missing: one of f16"),
        ("report --json f", "there is no option --json: --format json"),
        ("report -k saxpy f", "-k is an option of run and env, not of report"),
        ("report --passes 3 f", "--passes is an option of run and env, not of report"),
        ("report -f json f", "report has no option -f (see hsa-replay report --help)"),
        ("report --dumps", "--dumps: its value is missing: --dumps DIR"),
        ("report --verbose=3 f", "--verbose=3: it takes no value: write --verbose"),
        ("doctor --format html", "--format html: must be one of text, json"),
        ("doctor -n 3 -- true", "-n is an option of run and env, not of doctor"),
        ("env foo", "foo: env takes options alone; to run a program: hsa-replay run -- foo"),
        ("env -- true", "env takes options alone"),
        ("man one two", "two: is one word too many"),
        ("completions", "no shell is given"),
        ("completions cmd", "SHELL cmd: must be one of bash, elvish, fish"),
        ("", "no command is given: the commands are run, report"),
        ("rnu -- true", "there is no command rnu: did you mean run?"),
        ("./prog", "to run a program of that name: hsa-replay run -- ./prog"),
        ("-n 3 ./prog", "-n is an option of run, whose name comes first: hsa-replay run -n"),
        ("help run", "there is no command help: hsa-replay --help"),
        ("--versoin", "there is no option --versoin: did you mean --version?"),
    ];
    let lines = runs.map(|line| (line, 125)).into_iter().chain(others.map(|line| (line, 2)));
    for ((line, said), code) in lines {
        let message = refused(place.command(line.split_whitespace()), code);
        assert!(message.contains(said), "{line}: {message}");
        assert!(!message.contains("tip:") && !message.contains("as a value"), "{line}: {message}");
    }
}

#[test]
fn of_an_option_given_twice_the_last_one_counts() {
    let place = Place::new();
    place.write("r.jsonl", std::fs::read(fixture::COMPLETE).expect("golden"));
    let csv = answer(place.command(["report", "--format", "html", "--format", "csv", "-v", "-v", "r.jsonl"]));
    assert!(csv.starts_with("pid,") || csv.lines().next().expect("a header").contains(','), "{csv}");
    assert!(!csv.contains("<html"));
}

/// Every option whose value is one of a few words, with some of them.
const WORDS: [(&str, &str, &[&str]); 8] = [
    ("run", "--allow", &["untracked", "hostcall", "cooperative", "collective"]),
    ("env", "--allow", &["untracked", "hostcall", "cooperative", "collective"]),
    ("run", "--log", &["off", "error", "warn", "info", "debug", "trace"]),
    ("env", "--log", &["off", "error", "warn", "info", "debug", "trace"]),
    ("report", "--format", &["text", "json", "csv", "html", "trace"]),
    ("report", "--as", &["f16", "bf16", "u64"]),
    ("doctor", "--format", &["text", "json"]),
    ("completions", "", &["bash", "zsh", "fish"]),
];

#[test]
fn bash_completes_words_where_a_value_is_one_of_a_few() {
    let place = Place::new();
    let script = place.write("completions", answer(place.command(["completions", "bash"])));
    place.write("a-file", "");
    let completed = |command: &str, option: &str| {
        let previous = if option.is_empty() { command } else { option };
        let output = Command::new("bash")
            .args(["--norc", "-c"])
            .arg(
                r#"source "$1"; COMP_WORDS=(hsa-replay $2 $3 ""); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
                handler=$(complete -p hsa-replay); handler=${handler#*-F }
                "${handler%% *}" hsa-replay "" "$4" 2>/dev/null
                printf '%s\n' "${COMPREPLY[@]}""#,
            )
            .arg("bash")
            .arg(&script)
            .args([command, option, previous])
            .current_dir(place.path("."))
            .output()
            .expect("bash");
        String::from_utf8(output.stdout).expect("text")
    };
    for (command, option, words) in WORDS {
        let completed = completed(command, option);
        for word in words {
            assert!(completed.lines().any(|line| line == *word), "{command} {option}: {completed}");
        }
        assert!(!completed.contains("a-file"), "{command} {option}: {completed}");
    }
    assert!(completed("man", "").contains("completions"));
    // A number or an expression is no file.
    for option in ["--passes", "--kernel", "--budget"] {
        assert!(!completed("run", option).contains("a-file"), "{option}");
    }
    assert!(completed("run", "--runtime").contains("a-file"));
}

/// Neither shell is needed for this: their scripts list the words where the option is described.
#[test]
fn zsh_and_fish_know_the_same_words() {
    let place = Place::new();
    let script = |shell: &str| answer(place.command(["completions", shell]));
    let (zsh, fish) = (script("zsh"), script("fish"));
    for (command, option, words) in WORDS {
        let list = words.join(" ");
        if !option.is_empty() && words.len() > 3 {
            assert!(
                zsh.lines().filter(|line| line.contains(option)).any(|line| line.contains(&list)),
                "{command} {option}"
            );
        }
        let long = option.trim_start_matches("--");
        let of_command = format!("__fish_hsa_replay_using_subcommand {command}\"");
        let mut block = fish.split("complete -c hsa-replay ").filter(|block| {
            block.contains(&of_command) && (option.is_empty() || block.contains(&format!(" -l {long} ")))
        });
        assert!(
            block.any(|block| words
                .iter()
                .all(|word| block.split([' ', '"', '\n', '\\']).any(|found| found == *word))),
            "{command} {option}"
        );
    }
    let file = zsh.lines().find(|line| line.contains("--passes=[")).expect("an option");
    assert!(!file.contains("_default") && !file.contains("_files"), "{file}");
}
