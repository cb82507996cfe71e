//! Why a run may have left no record at all, as far as it can be known when the program has ended.

use std::io;
use std::path::Path;

use hsa_replay_contract::Settings;
use hsa_replay_contract::report::expand_pid;
use hsa_replay_contract::text::name_of;

use super::child::Ended;
use crate::report::units::counted;

/// What there is to know beside the settings.
pub struct Facts<'a> {
    /// The report's name, with its placeholder for the process.
    pub template: &'a Path,
    /// Processes of the run that have not ended.
    pub running: &'a [u32],
}

/// One line.
pub fn why(facts: &Facts, settings: &Settings, ended: &Ended) -> String {
    let report = name_of(&facts.template);
    if is_gone(facts.template) {
        return format!(
            "the report {report} is gone: it was moved or removed while the program ran, so what was replayed is not known here"
        );
    }
    if let Some(code @ (126 | 127)) = ended.code() {
        return format!(
            "the program ended with status {code} before it made an HSA call: as a rule its loader or its shell did not find \
             something, and has said what"
        );
    }
    if is_full(facts.template) {
        return format!(
            "no record was written, and the file system of {report} is full: whether anything was replayed is not known here"
        );
    }
    if !settings.follow_children {
        return "nothing was replayed: the program itself made no HSA call that reached hsa-replay, and with \
                --no-follow-children the processes that it starts do not take part"
            .to_owned();
    }
    if !facts.running.is_empty() {
        let are = if facts.running.len() == 1 { "is" } else { "are" };
        let processes = counted(u64::try_from(facts.running.len()).unwrap_or(u64::MAX), "process");
        return format!(
            "nothing was reported yet: {processes} of the program {are} still running, and what they report from now on is not \
             counted here"
        );
    }
    if let Some(tool) = settings.tool.as_deref() {
        return format!(
            "nothing was replayed: a line above says it if the tool {} was refused, else the program made no HSA call that \
             reached hsa-replay",
            name_of(tool)
        );
    }
    "the program made no HSA call that reached hsa-replay, or a line above says why replay is off or the report could not be \
     written: nothing is known to have been replayed (a program that is statically linked or set-user-ID cannot be attached to)"
        .to_owned()
}

/// Whether the report is not there any more. One with a number in its name is made by its process: that it is missing says nothing.
fn is_gone(template: &Path) -> bool {
    let made = expand_pid(template, 0) == template;
    made && template.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

fn is_full(template: &Path) -> bool {
    let folder = template.parent().filter(|parent| !parent.as_os_str().is_empty());
    rustix::fs::statvfs(folder.unwrap_or(Path::new(".")))
        .is_ok_and(|system| system.f_blocks > 0 && system.f_bavail == 0)
}
