//! Processes of a run that have not ended when its program has: the shell's background jobs, daemons.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use hsa_replay_contract::Session;
use hsa_replay_contract::settings::RUN_VARIABLE;

use super::id::RunId;

/// The numbers of those that can be seen from here: their environment names the run.
pub fn processes(id: &RunId) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse().ok())
        // Of another user, or gone by now: there is nothing to read. A zombie has no environment.
        .filter(|&pid| run_of(pid).is_some_and(|run| id.includes(&run)))
        .collect()
}

/// Whether the process that a session record is of is one of this machine and has not ended. No two runs have the same name, so
/// another process of its number is not taken for it; where no run started it, nobody can tell.
pub fn is_running(session: &Session) -> bool {
    session.run.is_some() && run_of(session.pid) == session.run
}

/// The run in a process's environment.
fn run_of(pid: u32) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut words = environment.split(|&byte| byte == 0);
    let run = words.find_map(|word| word.strip_prefix(RUN_VARIABLE.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(run.to_owned()).ok()
}
