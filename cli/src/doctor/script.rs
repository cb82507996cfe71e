//! Scripts: what runs them, as execve(2), execvp(3) and env(1) have it, and which program a shell script becomes.

use hsa_replay_contract::text::name_of;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Subject};
use super::program::resolve;

/// Scripts in a row that the kernel follows (`fs/exec.c`, `exec_binprm`).
const IN_A_ROW: usize = 5;

/// A script is looked at so far.
const LOOKED_AT: u64 = 1 << 20;

/// The longest part of a script's line that is shown, in characters.
const SHOWN: usize = 100;

/// What becomes of a file when it is executed.
enum Step {
    /// It is a program, or at least no script.
    Program,
    /// The kernel gives it to this interpreter.
    Interpreter(PathBuf),
    /// `env` looks for this program.
    Env(PathBuf),
    /// It has no first line that says what runs it: execvp(3) and shells give it to `/bin/sh`.
    Shell,
    /// It cannot be run: the problem, which completes "the file …", and what to do.
    Broken(String, String),
}

/// Follows scripts to the program that is run in the end, and tells each step; `None` if it does not come to that.
pub fn follow(mut file: PathBuf, findings: &mut Vec<Finding>) -> Option<PathBuf> {
    let mut seen = vec![file.clone()];
    let mut in_a_row = 0;
    loop {
        let start = start_of(&file);
        let (next, text) = match step(&file, &start) {
            Step::Program => return Some(file),
            Step::Interpreter(next) => {
                in_a_row += 1;
                let text = format!("{} is a script for {}", name_of(&file), name_of(&next));
                (next, text)
            }
            Step::Env(next) => {
                in_a_row = 0;
                let text = format!("{} is a script for {}, by env", name_of(&file), name_of(&next));
                (next, text)
            }
            Step::Shell => {
                in_a_row = 0;
                let text = format!("{} is text without a first line #!…: /bin/sh runs it", name_of(&file));
                (PathBuf::from("/bin/sh"), text)
            }
            Step::Broken(problem, advice) => {
                let text = format!("{} {problem}", name_of(&file));
                findings.push(Finding::problem(Subject::Program, text, advice));
                return None;
            }
        };
        if seen.contains(&next) || in_a_row > IN_A_ROW {
            findings.push(Finding::problem(
                Subject::Program,
                format!(
                    "{} is a script for {}, which is a script in turn, and so on without end",
                    name_of(&file),
                    name_of(&next)
                ),
                format!("name a program in its first line: head -n 1 {}", name_of(&file)),
            ));
            return None;
        }
        findings.push(Finding::ok(Subject::Program, text));
        if is_shell(&next) {
            match becomes(&start) {
                Some(Becomes::Program(program)) if !seen.contains(&program) => {
                    let text = format!("{} becomes {} (exec)", name_of(&file), name_of(&program));
                    findings.push(Finding::ok(Subject::Program, text));
                    seen.extend([next, program.clone()]);
                    file = program;
                    in_a_row = 0;
                    continue;
                }
                other => findings.push(starts_others(&file, other)),
            }
        }
        seen.push(next.clone());
        file = next;
    }
}

/// What is not known of a shell script, and how to know more.
fn starts_others(file: &Path, becomes: Option<Becomes>) -> Finding {
    let mut text =
        format!("{} is a shell script: what it starts takes part, but is not looked at here", name_of(&file));
    let mut advice = "name the program that it starts: hsa-replay doctor -- PROGRAM".to_owned();
    if let Some(Becomes::Unknown(line)) = becomes {
        text += &format!("; it ends in `{line}`");
        // A shim of pyenv's knows which Python is meant only when it runs.
        if let Some(name) = file.file_name().filter(|_| line.contains("pyenv")) {
            advice = format!("hsa-replay doctor -- \"$(pyenv which {})\"", name_of(name));
        }
    }
    Finding::note(Subject::Program, text).advise(advice)
}

fn start_of(file: &Path) -> Vec<u8> {
    let mut start = Vec::new();
    // What cannot be read, or would be waited for, is no script that could be followed; reading it as a program says why.
    if !file.is_file() {
        return start;
    }
    let _unreadable = File::open(file).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start));
    start
}

fn step(file: &Path, start: &[u8]) -> Step {
    let Some(rest) = start.strip_prefix(b"#!") else { return without_interpreter(file, start) };
    let line = rest.split(|&byte| byte == b'\n').next().unwrap_or_default();
    if line.ends_with(b"\r") {
        return Step::Broken(
            "has a first line that ends in a carriage return, which the kernel takes for a part of the interpreter's name".to_owned(),
            format!("sed -i 's/\\r$//' {}", name_of(&file)),
        );
    }
    // As the kernel splits it: one name, and the rest as one word.
    let mut words = line.trim_ascii().splitn(2, |byte| matches!(byte, b' ' | b'\t'));
    let name = words.next().unwrap_or_default();
    let rest = words.next().unwrap_or_default().trim_ascii();
    if name.is_empty() {
        return without_interpreter(file, start);
    }
    let interpreter = PathBuf::from(OsStr::from_bytes(name));
    let advice = format!("correct its first line, or install what it names: head -n 1 {}", name_of(&file));
    if !interpreter.exists() {
        return Step::Broken(
            format!("is a script for {}, which does not exist", name_of(&interpreter)),
            advice,
        );
    }
    if interpreter.file_name() != Some(OsStr::new("env")) {
        return Step::Interpreter(interpreter);
    }
    match program_of_env(rest) {
        Ok(Some(name)) => match resolve(&name) {
            Ok(program) => Step::Env(program),
            Err(_) => Step::Broken(
                format!("is a script for {}, which env does not find in PATH", name_of(&name)),
                advice,
            ),
        },
        Ok(None) => Step::Interpreter(interpreter),
        Err(word) => Step::Broken(
            format!("is a script for env, which gets `{word}` as one word"),
            "write #!/usr/bin/env -S and the words behind it".to_owned(),
        ),
    }
}

fn without_interpreter(file: &Path, start: &[u8]) -> Step {
    if start.is_empty() && file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() == 0) {
        return Step::Broken(
            "is empty: a shell runs it as a script that does nothing".to_owned(),
            format!("write the program again: ls -l {}", name_of(&file)),
        );
    }
    // Not even a shell takes a file with such bytes for a script.
    let binary = start.is_empty() || start.iter().take(256).any(|&byte| byte == 0);
    if binary { Step::Program } else { Step::Shell }
}

/// The program that env(1) is asked for, if any; the error is a word with a space in it, which env takes for one name.
fn program_of_env(rest: &[u8]) -> Result<Option<OsString>, String> {
    let split = rest.strip_prefix(b"-S").or_else(|| rest.strip_prefix(b"--split-string="));
    let words = split.unwrap_or(rest);
    if split.is_none() && words.contains(&b' ') {
        return Err(shown(words));
    }
    let mut words = words.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    Ok(words
        .find(|word| !word.starts_with(b"-") && !word.contains(&b'='))
        .map(|word| OsStr::from_bytes(word).to_owned()))
}

/// What a shell script ends in.
enum Becomes {
    /// `exec` of a program by its path.
    Program(PathBuf),
    /// `exec` of something that only the shell can tell; the line.
    Unknown(String),
}

/// What the last line of a shell script that begins with `exec` makes of it.
fn becomes(script: &[u8]) -> Option<Becomes> {
    let line = script
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .rfind(|line| line.starts_with(b"exec "))?;
    let word = line["exec ".len()..].trim_ascii_start().split(u8::is_ascii_whitespace).next()?;
    let unquoted =
        [b'"', b'\''].into_iter().find_map(|quote| word.strip_prefix(&[quote])?.strip_suffix(&[quote]));
    let path = Path::new(OsStr::from_bytes(unquoted.unwrap_or(word)));
    let plain = path.is_absolute()
        && !path.as_os_str().as_bytes().iter().any(|byte| b"$`\"'\\*?;&|<>(){}".contains(byte));
    // A program that is given another to run, as pyenv is, is not what the script is for.
    let hands_on = line.windows(6).any(|part| part == b" exec ");
    Some(match resolve(path.as_os_str()) {
        Ok(program) if plain && !hands_on => Becomes::Program(program),
        _ => Becomes::Unknown(shown(line)),
    })
}

fn is_shell(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    ["sh", "bash", "dash", "ksh", "zsh", "fish"].iter().any(|shell| name == *shell)
}

fn shown(bytes: &[u8]) -> String {
    crate::report::units::shorten(&String::from_utf8_lossy(bytes), SHOWN)
}
