//! `hsa-replay run`: starts a program with the library attached, waits for it, and says what came of it.

mod child;
pub mod closing;
mod id;
pub mod libraries;
mod nothing;
mod program;
mod progress;
pub mod running;
mod signals;
mod written;

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use clap::ArgMatches;
use hsa_replay_contract::report::{check_appendable, expand_origin, prepare, prepare_folder};
use hsa_replay_contract::settings::{PARENT_VARIABLE, PROGRESS_VARIABLE, RUN_VARIABLE, is_unknown_variable};
use hsa_replay_contract::text::{name_of, shorten};
use hsa_replay_contract::{OPTIONS, OptionId, OptionSpec, Settings, Source};

use crate::attach::{self, Folder, LIBRARY_PATH, PRELOAD};
use crate::command::{self, PROGRAM};
use crate::failure::{Failure, say};
use id::RunId;
use signals::Blocked;

/// The most bytes of a variable with its name, `=` and the zero at its end (execve(2), `MAX_ARG_STRLEN`).
const LONGEST: usize = 128 << 10;

/// Runs the program; the exit code is the program's.
pub fn main(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let settings = command::settings(arguments).map_err(Failure::run)?;
    for warning in &settings.warnings {
        say(warning);
    }
    let library = attach::find(&settings).map_err(Failure::run)?;
    let mut words = arguments.get_many::<OsString>(PROGRAM).into_iter().flatten();
    let Some(name) = words.next() else { return Err(Failure::run("no program given")) };
    program::check(name).map_err(|error| child::RunError::Start(error).into_failure(name))?;
    libraries::check(&settings).map_err(Failure::run)?;
    let mut variables = program_variables(&settings).map_err(Failure::run)?;
    // All processes of a run have the same time in the names of their files.
    let output = set_origin(&mut variables, OptionId::Output).unwrap_or_else(|| settings.output.clone());
    let log = set_origin(&mut variables, OptionId::LogFile);
    if let Some((name, _)) = variables.iter().find(|(name, value)| name.len() + value.len() + 2 > LONGEST) {
        let flag = OptionSpec::by_variable(name).map_or(*name, |spec| spec.flag);
        return Err(Failure::run(format!(
            "--{flag}: is too long: a variable ({name}) takes it to the program, which holds {LONGEST} bytes"
        )));
    }
    let mut pipes = Vec::new();
    // Where nothing is logged or compared, nothing is made.
    if let Some(log) = log.as_deref().filter(|_| settings.log.is_some()) {
        let held = check_appendable(log);
        pipes.push(held.map_err(|error| Failure::run(format!("--log-file: {error}")))?);
    }
    if let Some(folder) = settings.dump_writes.as_deref().filter(|_| settings.check) {
        prepare_folder(folder).map_err(Failure::run)?;
    }
    // A name that another `run` handed on is that of its report, which has records by now.
    let is_outer =
        settings.run.is_some() && settings.source_of(OptionId::Output) == Some(&Source::Environment);
    // The last of all: it empties the report of an earlier run.
    let held = if is_outer { check_appendable(&output) } else { prepare(&output) };
    pipes.push(held.map_err(Failure::run)?);

    // From here on a signal waits until the program can have it: the folder must not be left behind.
    let blocked = Blocked::new().map_err(|error| Failure::run(format!("cannot block signals: {error}")))?;
    let folder = Folder::new(&library).map_err(Failure::run)?;
    let mut program = Command::new(name);
    program.args(words);
    attach_to(&mut program, &folder, variables);
    let mut progress = progress::Line::for_a_terminal();
    if let Some(line) = &progress {
        program.env(PROGRESS_VARIABLE, line.page());
    }

    let id = RunId::new(settings.run.as_deref());
    program.env(RUN_VARIABLE, id.name());
    let before = written::Before::note(&output, !is_outer);
    let stale = (!is_outer).then_some(output.as_path());
    let ended = child::run(&mut program, stale, &blocked, progress.as_mut())
        .map_err(|error| error.into_failure(name))?;
    drop(progress);
    drop(folder);
    blocked.release();
    closing::tell(&before, &id, &settings, &ended);
    drop(pipes);
    Ok(ExitCode::from(ended.exit_code()))
}

/// Sets the variables of the loader and of the library.
fn attach_to(program: &mut Command, folder: &Folder, variables: Vec<(&'static str, OsString)>) {
    // Behind the user's own libraries: some, such as the sanitizers' runtimes, insist on being first.
    let preload = joined(std::env::var_os(PRELOAD), Some(folder.preload.clone().into()));
    let search = joined(Some(folder.search.clone().into()), std::env::var_os(LIBRARY_PATH));
    program.env(PRELOAD, preload).env(LIBRARY_PATH, search);
    for spec in OPTIONS {
        program.env_remove(spec.variable);
    }
    // What has no meaning was named here, once.
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_unknown_variable(name)) {
        program.env_remove(name);
    }
    program.env_remove(PROGRESS_VARIABLE);
    program.env(PARENT_VARIABLE, std::process::id().to_string());
    program.envs(variables);
}

fn joined(first: Option<OsString>, second: Option<OsString>) -> OsString {
    let mut parts = [first, second].into_iter().flatten().filter(|part| !part.is_empty());
    let mut all = parts.next().unwrap_or_default();
    for part in parts {
        all.push(":");
        all.push(part);
    }
    all
}

/// The library's variables for these settings: names of files are absolute, since the program may change its working
/// directory, and the number of passes is always there, since it arms the library.
pub fn program_variables(settings: &Settings) -> Result<Vec<(&'static str, OsString)>, String> {
    let passes = OptionId::Passes.spec().variable;
    let output = OptionId::Output.spec().variable;
    let files =
        [OptionId::Output, OptionId::DumpWrites, OptionId::LogFile, OptionId::Runtime, OptionId::Tool]
            .map(|id| id.spec().variable);
    let mut variables = settings.to_variables();
    variables.retain(|(name, _)| *name != passes && *name != output);
    variables.push((passes, settings.passes.to_string().into()));
    variables.push((output, settings.output.clone().into()));
    for (name, value) in &mut variables {
        if files.contains(name) {
            *value = absolute(Path::new(value))?.into();
        }
    }
    Ok(variables)
}

/// Replaces the placeholders for host and time in a file's name; gives the name if there is one.
fn set_origin(variables: &mut [(&'static str, OsString)], id: OptionId) -> Option<PathBuf> {
    let (_, value) = variables.iter_mut().find(|(name, _)| *name == id.spec().variable)?;
    let path = expand_origin(Path::new(value));
    *value = path.clone().into();
    Some(path)
}

fn absolute(path: &Path) -> Result<std::path::PathBuf, String> {
    std::path::absolute(path).map_err(|error| {
        format!("{}: the working directory cannot be told: {error}", shown(path.as_os_str()))
    })
}

/// A word of the command line for a message.
fn shown(word: &OsStr) -> String {
    if word.is_empty() {
        return "''".to_owned();
    }
    shorten(&name_of(word).to_string(), 200)
}
