//! Starting a victim: alone, or with the shim attached in one of its ways.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use tempfile::TempDir;

use super::Victim;
use super::installed::Installed;
use super::release::workspace;
use super::report::Report;

/// A victim about to be started.
pub struct Launch {
    command: Command,
    what: String,
    files: TempDir,
}

/// How it went.
#[derive(Debug)]
pub struct Run {
    /// What was started, for messages.
    pub what: String,
    pub stdout: String,
    pub stderr: String,
    /// The exit code; 128 and its number after a signal.
    pub code: Option<i32>,
    /// What was written to [`Launch::report_path`], if anything.
    pub report: Option<Report>,
    files: TempDir,
}

impl Victim {
    /// Without the shim.
    pub fn alone(&self) -> Launch {
        self.launch("alone", |_, _| {})
    }

    /// Checks that a run of it ended as it should.
    #[track_caller]
    pub fn ended_well(&self, run: &Run) {
        assert_eq!(run.code, Some(self.code), "{run}");
    }

    /// The result without the shim, from one run a process.
    pub fn plain(&self) -> Arc<Run> {
        type Slot = Arc<OnceLock<Arc<Run>>>;
        static PLAIN: OnceLock<Mutex<HashMap<PathBuf, Slot>>> = OnceLock::new();
        let mut runs = PLAIN.get_or_init(Mutex::default).lock().expect("no panic while listing");
        let slot = runs.entry(self.executable.clone()).or_default().clone();
        drop(runs);
        slot.get_or_init(|| Arc::new(self.alone().run())).clone()
    }

    /// With the shim found by `LD_LIBRARY_PATH`.
    pub fn with_library_path(&self) -> Launch {
        self.launch("LD_LIBRARY_PATH", |command, _| {
            command.env("LD_LIBRARY_PATH", &Installed::get().folder);
        })
    }

    /// With the shim loaded by `LD_PRELOAD`.
    pub fn with_preload(&self) -> Launch {
        self.launch("LD_PRELOAD", |command, _| {
            command.env("LD_PRELOAD", Installed::get().library());
        })
    }

    /// Under `hsa-replay run`, with a report and more options.
    pub fn replayed<O: AsRef<OsStr>>(&self, options: &[O]) -> Launch {
        let text: Vec<_> = options.iter().map(|option| option.as_ref().to_string_lossy()).collect();
        self.launch(&format!("hsa-replay run {}", text.join(" ")), |command, files| {
            command
                .arg(&Installed::get().command)
                .arg("run")
                .args([OsStr::new("-o"), report_path(files).as_ref()])
                .args(options)
                .arg("--");
        })
    }

    /// Under `hsa-replay run` with these words only: no report is asked for.
    pub fn run_with(&self, words: &[&str]) -> Launch {
        self.launch(&format!("hsa-replay run {}", words.join(" ")), |command, _| {
            command.arg(&Installed::get().command).arg("run").args(words).arg("--");
        })
    }

    fn launch(&self, how: &str, attach: impl FnOnce(&mut Command, &TempDir)) -> Launch {
        let files = TempDir::new_in(workspace("runs")).expect("a temporary folder");
        let mut command = self.release.on_gpu();
        attach(&mut command, &files);
        command.envs(self.variables.iter().copied());
        command.arg(&self.executable).args(&self.arguments);
        Launch { command, what: format!("{} on {}, {how}", self.name, self.release), files }
    }
}

fn report_path(files: &TempDir) -> PathBuf {
    files.path().join("report.jsonl")
}

impl Launch {
    /// Sets a variable of the program.
    pub fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.command.env(name, value.into());
        self
    }

    /// Arms an attached shim for this many passes with a report.
    pub fn armed(self, passes: u32) -> Self {
        let report = self.report_path();
        self.variable("HSA_REPLAY_PASSES", passes.to_string()).variable("HSA_REPLAY_OUTPUT", report)
    }

    /// A file of this run's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// Where the report of [`Victim::replayed`] and [`Launch::armed`] goes.
    pub fn report_path(&self) -> PathBuf {
        report_path(&self.files)
    }

    /// Runs it to its end.
    pub fn run(mut self) -> Run {
        let output = self.command.output().expect("timeout and scripts/in-root can be run");
        self.finish(output)
    }

    /// Starts it with its standard output as a pipe.
    pub fn spawn(&mut self) -> Child {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts")
    }

    /// What is left of it after [`Launch::spawn`].
    pub fn finish(self, output: Output) -> Run {
        let report_path = self.report_path();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Run {
            report: report_path.is_file().then(|| Report::read(&report_path)),
            what: self.what,
            stdout: text(output.stdout),
            stderr: text(output.stderr),
            code: output.status.code().or_else(|| Some(128 + output.status.signal()?)),
            files: self.files,
        }
    }
}

impl Run {
    /// Checks that it ended well.
    #[track_caller]
    pub fn well(&self) -> &Self {
        assert_eq!(self.code, Some(0), "{self}");
        self
    }

    /// Checks that output and exit code are those of another run.
    #[track_caller]
    pub fn same_as(&self, other: &Self) -> &Self {
        let results = |run: &Self| (run.code, run.stdout.clone());
        assert_eq!(results(self), results(other), "{self}\n--- compared with ---\n{other}");
        self
    }

    /// The report, which must be there.
    #[track_caller]
    pub fn report(&self) -> &Report {
        self.report.as_ref().unwrap_or_else(|| panic!("there is no report\n{self}"))
    }

    /// A file of this run's own.
    pub fn file(&self, name: &str) -> PathBuf {
        self.files.path().join(name)
    }

    /// The lines of standard error that come from us.
    pub fn our_lines(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.contains("hsa-replay")).collect()
    }
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let code = self.code.map_or("a signal".to_owned(), |code| format!("code {code}"));
        writeln!(f, "{} ended with {code}", self.what)?;
        if self.code == Some(124) {
            writeln!(f, "(124 is what timeout(1) says of a command that hangs)")?;
        }
        write!(f, "stdout:\n{}stderr:\n{}", self.stdout, self.stderr)?;
        if let Some(report) = &self.report {
            write!(f, "report:\n{}", report.text)?;
        }
        Ok(())
    }
}

/// Both releases, one test each, for a function that takes the release.
#[macro_export]
macro_rules! on_both_releases {
    ($($(#[$attribute:meta])* $test:ident)*) => {
        mod stable {
            $($(#[$attribute])* #[test] fn $test() { super::$test($crate::rocm::Release::Stable); })*
        }
        mod newest {
            $($(#[$attribute])* #[test] fn $test() { super::$test($crate::rocm::Release::Newest); })*
        }
    };
}
