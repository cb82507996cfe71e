//! The `hsa-replay` command: runs a program under replay and reads the reports.
//!
//! `main` decides exit codes; the commands return values. What a command answers goes to standard output, everything
//! else to standard error, each message on one line behind `hsa-replay:`.

mod attach;
mod command;
mod doctor;
mod env;
mod failure;
mod manual;
mod output;
mod report;
mod run;
mod script;
mod usage;

use std::process::ExitCode;

use failure::{Failure, say};

fn main() -> ExitCode {
    match answer() {
        Ok(code) => code,
        Err(failure) => {
            if let Some(message) = &failure.message {
                say(message);
            }
            ExitCode::from(failure.code)
        }
    }
}

fn answer() -> Result<ExitCode, Failure> {
    let matches = match command::parse(std::env::args_os()) {
        Ok(matches) => matches,
        Err(outcome) => return outcome,
    };
    match matches.subcommand() {
        Some(("run", arguments)) => run::main(arguments),
        Some(("report", arguments)) => report::main(arguments),
        Some(("env", arguments)) => env::main(arguments),
        Some(("doctor", arguments)) => doctor::main(arguments),
        Some(("completions", arguments)) => manual::completions(arguments),
        Some(("man", arguments)) => manual::page(arguments),
        _ => Err(Failure::usage("no command given (see hsa-replay --help)")),
    }
}
