//! Processes of a run that have not ended when its program has: the shell's background jobs, daemons.

use std::fs;
use std::os::unix::ffi::OsStrExt;

use hsa_replay_contract::settings::RUN_VARIABLE;

use super::id::RunId;

/// The numbers of those that can be seen from here: their environment names the run.
pub fn processes(id: &RunId) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(Result::ok)
        .filter_map(|entry| std::str::from_utf8(entry.file_name().as_bytes()).ok()?.parse().ok())
        // Of another user, or gone by now: there is nothing to read. A zombie has no environment.
        .filter(|pid| fs::read(format!("/proc/{pid}/environ")).is_ok_and(|words| names(&words, id)))
        .collect()
}

fn names(environment: &[u8], id: &RunId) -> bool {
    environment.split(|&byte| byte == 0).any(|word| {
        let value = word.strip_prefix(RUN_VARIABLE.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
        value.and_then(|value| std::str::from_utf8(value).ok()).is_some_and(|value| id.includes(value))
    })
}
