//! Settings, and other tools that the environment brings into the process.

use std::path::Path;

use hsa_replay_contract::Settings;
use hsa_replay_contract::text::name_of;

use super::finding::{Finding, Subject};
use crate::report::units::counted;

/// Variables of others that matter, with what they mean for a replay.
const VARIABLES: [(&str, &str); 7] = [
    ("HSA_TOOLS_LIB", "a tool is loaded into the runtime; it sees each pass as a dispatch"),
    ("ROCP_TOOL_LIBRARIES", "a profiler is loaded into the runtime; it sees each pass as a dispatch"),
    ("LD_AUDIT", "an auditing library may redirect the loader"),
    ("ROCR_VISIBLE_DEVICES", "agents that it leaves out are not in the report"),
    ("HIP_VISIBLE_DEVICES", "agents that it leaves out are used by no kernel"),
    (
        "HSA_SIGNAL_WAIT_ABORT_TIMEOUT",
        "the runtime aborts a wait longer than this, so keep --timeout below it",
    ),
    ("HSA_ENABLE_DEBUG", "the runtime's debug mode slows dispatches down"),
];

/// Variables that hold libraries.
const LIBRARIES: [&str; 4] = ["HSA_TOOLS_LIB", "ROCP_TOOL_LIBRARIES", "LD_AUDIT", "LD_PRELOAD"];

/// Libraries of profilers that are preloaded, by the start of their name.
const PROFILERS: [&str; 6] =
    ["librocprofiler", "libroctracer", "libomnitrace", "librocprof-sys", "librocprofv3", "libroctx64"];

/// Notes the variables that are set.
pub fn look(findings: &mut Vec<Finding>) {
    for (name, meaning) in VARIABLES {
        if let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) {
            findings
                .push(Finding::note(Subject::Surroundings, format!("{name}={}: {meaning}", name_of(&value))));
        }
    }
    for name in LIBRARIES {
        let value = std::env::var(name).unwrap_or_default();
        for file in value.split([':', ' ']).filter(|file| file.contains('/') && !Path::new(file).exists()) {
            findings.push(Finding::problem(
                Subject::Surroundings,
                format!("{name} names {file}, which does not exist"),
                format!("correct it, or: unset {name}"),
            ));
        }
    }
    for entry in std::env::var("LD_PRELOAD").unwrap_or_default().split([':', ' ']) {
        let file = entry.rsplit('/').next().unwrap_or_default();
        if PROFILERS.iter().any(|profiler| file.starts_with(profiler)) {
            findings.push(Finding::note(
                Subject::Surroundings,
                format!("LD_PRELOAD has {entry}: a profiler, which sees each pass as a dispatch"),
            ));
        }
    }
}

/// What environment and config file ask for.
pub fn settings_in_words(settings: &Settings) -> String {
    if settings.armed() {
        let passes = u64::from(settings.passes.get());
        let passes = if passes == 1 { "1 pass".to_owned() } else { format!("{passes} passes") };
        return format!("environment and config file arm the library: {passes}");
    }
    match u64::try_from(settings.to_variables().len()) {
        Ok(0) => "environment and config file set nothing; `run` arms the library".to_owned(),
        count => format!(
            "environment and config file give {}, but no number of passes; `run` arms the library",
            counted(count.unwrap_or(u64::MAX), "setting")
        ),
    }
}
