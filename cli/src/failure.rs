//! What commands say beside their answer, and how they fail: an exit code and at most one line.

use std::fmt::Display;
use std::io::Write;

use hsa_replay_contract::text::shown;

/// Exit code of `run` for every failure of ours, as env(1) has it.
pub const RUN_FAILED: u8 = 125;

/// Exit code of `run` when the program exists but cannot be run.
pub const CANNOT_RUN: u8 = 126;

/// Exit code of `run` when the program does not exist.
pub const NOT_FOUND: u8 = 127;

/// Exit code of the other commands for a usage error.
const USAGE: u8 = 2;

/// Exit code of the other commands when they cannot answer.
const CANNOT_ANSWER: u8 = 1;

/// A failed command.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// The line to print, if there is anything to say.
    pub message: Option<String>,
}

impl Failure {
    /// A failure of `run`, before or beside the program.
    pub fn run(message: impl Display) -> Self {
        Self { code: RUN_FAILED, message: Some(message.to_string()) }
    }

    /// A command line that another command does not understand.
    pub fn usage(message: impl Display) -> Self {
        Self { code: USAGE, message: Some(message.to_string()) }
    }

    /// Another command that cannot answer.
    pub fn cannot_answer(message: impl Display) -> Self {
        Self { code: CANNOT_ANSWER, message: Some(message.to_string()) }
    }
}

/// Says one line on standard error. Where nobody listens there is nothing to do about it: the exit code still counts.
pub fn say(line: impl Display) {
    let line = line.to_string();
    let _nobody_listens = std::io::stderr().write_all(format!("hsa-replay: {}\n", shown(&line)).as_bytes());
}
