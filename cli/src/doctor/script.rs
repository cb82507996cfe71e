//! Scripts: what runs them, as execve(2), execvp(3) and env(1) have it, and which program a shell script becomes.

use hsa_replay_contract::OptionId;
use hsa_replay_contract::text::name_of;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Subject};
use super::program::{DEFAULT_PATH, resolve, resolve_in};
use crate::script::{Env, FirstLine, LOOKED_AT, split_for_env, start_of};

/// Scripts in a row that the kernel follows (`fs/exec.c`, `exec_binprm`).
const IN_A_ROW: usize = 5;

/// The longest part of a script's line that is shown, in characters.
const SHOWN: usize = 100;

/// Programs that run the one which their arguments name.
const HANDING_ON: [&str; 30] = [
    "env", "nice", "ionice", "numactl", "taskset", "stdbuf", "setsid", "setarch", "timeout", "nohup", "sudo",
    "su", "runuser", "time", "chrt", "chroot", "unshare", "nsenter", "xargs", "script", "strace", "ltrace",
    "perf", "valgrind", "gdb", "rocgdb", "mpirun", "mpiexec", "srun", "flux",
];

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
        let (next, text) = match step(&file, &start, findings) {
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

fn step(file: &Path, start: &[u8], findings: &mut Vec<Finding>) -> Step {
    let Some(line) = FirstLine::of(start) else { return without_interpreter(file, start) };
    if line.ends_in_return && !line.overlooks_return() {
        return Step::Broken(
            "has a first line that ends in a carriage return, which the kernel takes for a part of its last word".to_owned(),
            format!("sed -i 's/\\r$//' {}", name_of(&file)),
        );
    }
    let interpreter = PathBuf::from(line.interpreter);
    let advice = format!("correct its first line, or install what it names: head -n 1 {}", name_of(&file));
    if !interpreter.exists() {
        return Step::Broken(
            format!("is a script for {}, which does not exist", name_of(&interpreter)),
            advice,
        );
    }
    if !line.is_env() || line.argument.is_empty() {
        return Step::Interpreter(interpreter);
    }
    let env = match split_for_env(line.argument) {
        // Options take one word each there: the rest of the line is one.
        _ if line.argument.contains(&b' ') && !splits(line.argument) => {
            return Step::Broken(
                format!("is a script for env, which gets `{}` as one word", shown(line.argument)),
                "write #!/usr/bin/env -S and the words behind it".to_owned(),
            );
        }
        Ok(env) => env,
        Err(problem) => return Step::Broken(format!("is a script for env, which {problem}"), advice),
    };
    if let Some(variable) = withheld(&env) {
        findings.push(Finding::problem(
            Subject::Program,
            format!(
                "the first line of {} takes {variable} away: hsa-replay is not attached behind it",
                name_of(&file)
            ),
            format!("leave that to the script, behind its first line: head -n 1 {}", name_of(&file)),
        ));
    }
    match program_of(&env) {
        Some(program) => Step::Env(program),
        None => Step::Broken(
            format!("is a script for {}, which env does not find in PATH", name_of(&env.program)),
            advice,
        ),
    }
}

/// Whether env splits this word: `-S` is among its options.
fn splits(argument: &[u8]) -> bool {
    let long = argument.starts_with(b"--s");
    let letters = argument.strip_prefix(b"-").unwrap_or_default();
    long || letters.iter().find(|letter| !b"iv0".contains(letter)) == Some(&b'S')
}

/// The program that env finds.
fn program_of(env: &Env) -> Option<PathBuf> {
    let path = env.variable("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    let folder = env.folder.as_deref();
    let program = &env.program;
    match folder {
        // The names of files count from there.
        Some(folder) if program.as_bytes().contains(&b'/') => resolve(folder.join(program).as_os_str()).ok(),
        Some(folder) => {
            let folders = std::env::split_paths(&path).map(|entry| folder.join(entry));
            resolve_in(program, &std::env::join_paths(folders).ok()?).ok()
        }
        None => resolve_in(program, &path).ok(),
    }
}

/// The variable without which the library is not in the program.
fn withheld(env: &Env) -> Option<&'static str> {
    let is_gone = |name| {
        let changed = env.changes.iter().rev().find(|(changed, _)| changed == name);
        changed.map_or(env.clears, |(_, value)| value.is_none())
    };
    ["LD_PRELOAD", OptionId::Passes.spec().variable].into_iter().find(|name| is_gone(*name))
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

/// What a shell script ends in.
enum Becomes {
    /// `exec` of a program by its path.
    Program(PathBuf),
    /// `exec` of something that only the shell can tell; the line.
    Unknown(String),
}

/// What the last line of a shell script makes of it, if that is an `exec` which is reached whenever the script comes to its end: one
/// that is indented, or goes on from the line before, belongs to something whose condition only the shell can tell.
fn becomes(script: &[u8]) -> Option<Becomes> {
    if u64::try_from(script.len()).is_ok_and(|length| length >= LOOKED_AT) {
        return None;
    }
    let is_code = |line: &&[u8]| !line.trim_ascii_start().starts_with(b"#") && !line.trim_ascii().is_empty();
    let mut lines = script.split(|&byte| byte == b'\n').filter(is_code).rev();
    let line = lines.next()?.strip_prefix(b"exec ").map(<[u8]>::trim_ascii)?;
    let shown = shown(&[b"exec ", line].concat());
    let goes_on =
        |line: &[u8]| [&b"\\"[..], b"&&", b"|"].iter().any(|end| line.trim_ascii_end().ends_with(end));
    let mut before = lines.peekable();
    if before.peek().is_some_and(|line| goes_on(line)) {
        return None;
    }
    // It may have become another one before.
    if before.any(|line| line.split(|byte| b" \t;&|".contains(byte)).any(|word| word == b"exec")) {
        return Some(Becomes::Unknown(shown));
    }
    let word = line.split(u8::is_ascii_whitespace).next()?;
    let unquoted =
        [b'"', b'\''].into_iter().find_map(|quote| word.strip_prefix(&[quote])?.strip_suffix(&[quote]));
    let path = Path::new(OsStr::from_bytes(unquoted.unwrap_or(word)));
    let plain = path.is_absolute()
        && !path.as_os_str().as_bytes().iter().any(|byte| b"$`\"'\\*?;&|<>(){}".contains(byte));
    // A program that is given another to run, as pyenv is, is not what the script is for.
    let hands_on = line.windows(6).any(|part| part == b" exec ")
        || path.file_name().is_some_and(|name| HANDING_ON.iter().any(|handing| name == *handing));
    Some(match resolve(path.as_os_str()) {
        Ok(program) if plain && !hands_on => Becomes::Program(program),
        _ => Becomes::Unknown(shown),
    })
}

fn is_shell(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default();
    ["sh", "bash", "dash", "ksh", "zsh", "fish"].iter().any(|shell| name == *shell)
}

fn shown(bytes: &[u8]) -> String {
    crate::report::units::shorten(&String::from_utf8_lossy(bytes), SHOWN)
}
