//! A runtime with a GPU that completes packets without running anything, and a program that uses its queues.

use std::ffi::OsString;
use std::path::PathBuf;

use super::{Outcome, SONAME, Stage};

/// A stage with the fake device as the runtime and the program that uses its queues.
pub struct Device {
    pub stage: Stage,
    library: PathBuf,
}

impl Device {
    pub fn new() -> Self {
        let stage = Stage::new();
        let library = stage.folder("device").join(SONAME);
        let soname = format!("-Wl,-soname,{SONAME}");
        super::compile("device.c", &library, ["-shared", "-fPIC", "-pthread", &soname].into_iter());
        let program = stage.path("queues");
        super::compile(
            "queues.c",
            &program,
            ["-Wl,--no-as-needed", &super::linked_runtime(), "-ldl"].into_iter(),
        );
        Self { stage, library }
    }

    pub fn report(&self) -> PathBuf {
        self.stage.path("report.jsonl")
    }

    pub fn run(&self, variables: &[(&'static str, &str)], commands: &[&str]) -> Outcome {
        let library = self.library.to_str().expect("a plain path");
        let commands: Vec<_> = [library].into_iter().chain(commands.iter().copied()).collect();
        let report = ("HSA_REPLAY_OUTPUT", self.report().into_os_string());
        let variables = variables.iter().map(|(name, value)| (*name, OsString::from(value)));
        let environment = variables.chain([self.stage.library_path(&["shim", "device"]), report]);
        self.stage.run_program("queues", environment, &commands)
    }

    pub fn armed(&self, commands: &[&str]) -> Outcome {
        self.run(&[("HSA_REPLAY_PASSES", "2")], commands)
    }

    pub fn report_lines(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.report()).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
