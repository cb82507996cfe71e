//! `hsa-replay doctor`: looks at everything that a replay needs, without running anything, and says what to do.

mod cache;
mod device;
pub mod elf;
mod finding;
mod library;
mod loader;
mod program;
mod python;
mod script;
mod surroundings;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::ArgMatches;
use hsa_replay_contract::{Layer, Settings, settings};

use crate::command::PROGRAM;
use crate::failure::Failure;
use finding::{Finding, Subject, print_json, print_text};

/// Looks and prints.
pub fn main(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let program: Option<&OsString> = arguments.get_many(PROGRAM).into_iter().flatten().next();
    let findings = look(program);
    let mut output = io::stdout().lock();
    let printed = match arguments.get_one::<String>("format").map(String::as_str) {
        Some("json") => print_json(&mut output, &findings),
        _ => print_text(&mut output, &findings),
    };
    match printed.and_then(|()| output.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::cannot_answer(format!("cannot write the answer: {error}")))
        }
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn look(program: Option<&OsString>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let settings = Settings::resolve(Layer::default(), std::env::vars_os(), settings::read_config_file);
    let (shim, runtime) = match &settings {
        Ok(settings) => {
            findings
                .extend(settings.warnings.iter().map(|warning| Finding::note(Subject::Settings, warning)));
            findings.push(Finding::ok(Subject::Settings, surroundings::settings_in_words(settings)));
            (library::ours(settings, &mut findings), settings.runtime.clone())
        }
        Err(error) => {
            findings.push(Finding::problem(
                Subject::Settings,
                error.to_string(),
                "correct or unset it: the library stays out of the way until then",
            ));
            (None, None)
        }
    };
    let loaded = program.map(|name| program::look(name, shim.as_ref(), &mut findings)).unwrap_or_default();
    library::runtime(runtime.as_deref(), &loaded, shim.as_ref(), &mut findings);
    device::look(&mut findings);
    surroundings::look(&mut findings);
    findings
}
