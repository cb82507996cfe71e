//! `hsa-replay env`: shell lines that attach the library by hand.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::process::ExitCode;

use clap::ArgMatches;
use hsa_replay_contract::OptionId;
use hsa_replay_contract::settings::PARENT_VARIABLE;

use crate::attach::{self, Folder, LIBRARY_PATH, PRELOAD};
use crate::command;
use crate::failure::{Failure, say};
use crate::run::{libraries, program_variables};

/// Prints the lines; they are for sh and everything that understands it.
pub fn main(arguments: &ArgMatches) -> Result<ExitCode, Failure> {
    let settings = command::settings(arguments).map_err(Failure::usage)?;
    for warning in &settings.warnings {
        say(warning);
    }
    libraries::check(&settings).map_err(Failure::usage)?;
    let library = attach::find(&settings).map_err(Failure::cannot_answer)?;
    let folder = Folder::lasting(&library).map_err(Failure::cannot_answer)?;
    let mut lines = Vec::new();
    export_appended(&mut lines, PRELOAD, folder.preload.as_os_str());
    export_prepended(&mut lines, LIBRARY_PATH, folder.search.as_os_str());
    // Programs that the shell itself starts, where their children are not followed.
    lines.extend_from_slice(format!("export {PARENT_VARIABLE}=$$\n").as_bytes());
    if std::env::var_os(OptionId::Config.spec().variable).is_some() {
        // The values of the file that counts stand in the lines below.
        lines.extend_from_slice(b"unset HSA_REPLAY_CONFIG\n");
    }
    for (name, value) in program_variables(&settings).map_err(Failure::cannot_answer)? {
        export(&mut lines, name, &value);
    }
    match std::io::stdout().write_all(&lines) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(Failure::cannot_answer(error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn export(lines: &mut Vec<u8>, name: &str, value: &OsStr) {
    lines.extend_from_slice(format!("export {name}=").as_bytes());
    quote(lines, value);
    lines.push(b'\n');
}

/// `value` behind what the variable holds when the line is executed.
fn export_appended(lines: &mut Vec<u8>, name: &str, value: &OsStr) {
    lines.extend_from_slice(format!("export {name}=\"${{{name}:+${name}:}}\"").as_bytes());
    quote(lines, value);
    lines.push(b'\n');
}

/// `value` in front of what the variable holds when the line is executed.
fn export_prepended(lines: &mut Vec<u8>, name: &str, value: &OsStr) {
    lines.extend_from_slice(format!("export {name}=").as_bytes());
    quote(lines, value);
    lines.extend_from_slice(format!("\"${{{name}:+:${name}}}\"\n").as_bytes());
}

/// Quotes any bytes for sh: in single quotes only the single quote itself needs care.
fn quote(lines: &mut Vec<u8>, value: &OsStr) {
    lines.push(b'\'');
    for &byte in value.as_bytes() {
        match byte {
            b'\'' => lines.extend_from_slice(b"'\\''"),
            _ => lines.push(byte),
        }
    }
    lines.push(b'\'');
}
