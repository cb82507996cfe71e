//! A runtime in front of the real one that writes down the calls which reach it and fails those it is told to.

#![allow(dead_code, reason = "each test binary uses its own part")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::rocm::{Launch, Release, Run, checkout, workspace};

const SONAME: &str = "libhsa-runtime64.so.1";
/// Where the roots have the real runtime.
const REAL: &str = "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1";
/// How the names of the engine's threads begin.
pub const ENGINE: &str = "hsa-replay";

/// A call that the runtime below us was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub thread: i32,
    pub thread_name: String,
    pub name: String,
    /// Set in the second entry of a call that gives something out: what that is.
    pub given: Option<u64>,
    /// The first six words of its arguments.
    pub arguments: [u64; 6],
}

impl Call {
    /// Whether a thread of the engine made it.
    pub fn is_the_engines(&self) -> bool {
        self.thread_name.starts_with(ENGINE)
    }

    fn parse(line: &str) -> Self {
        let number = |word: &str| u64::from_str_radix(word, 16).expect("a hexadecimal word");
        let mut words = line.split(' ');
        let mut next = || words.next().expect("the tap writes whole lines");
        let (thread, thread_name, name) = (next(), next(), next());
        let mut rest: Vec<&str> = words.collect();
        let given = (rest[0] == "=").then(|| number(rest.drain(..2).next_back().expect("a value")));
        Self {
            thread: thread.parse().expect("a thread's number"),
            thread_name: thread_name.to_owned(),
            name: name.to_owned(),
            given,
            arguments: std::array::from_fn(|at| number(rest[at])),
        }
    }
}

/// What the tap does.
#[derive(Clone, Debug, Default)]
pub struct Tap {
    watched: Vec<&'static str>,
    failures: Vec<String>,
}

impl Tap {
    pub fn watching(names: &[&'static str]) -> Self {
        Self { watched: names.to_vec(), failures: Vec::new() }
    }

    /// The n-th call of this name by the engine's threads, from 0, fails with this status.
    pub fn failing(mut self, name: &str, nth: usize, status: u32) -> Self {
        self.failures.push(format!("{name}@{ENGINE}:{nth}:{status:x}"));
        self
    }

    /// The same, whichever thread calls.
    pub fn failing_for_all(mut self, name: &str, nth: usize, status: u32) -> Self {
        self.failures.push(format!("{name}:{nth}:{status:x}"));
        self
    }

    fn set_up(&self, launch: Launch) -> Launch {
        let log = launch.file("calls");
        launch
            .variable("TAP_REAL", REAL)
            .variable("TAP_LOG", log)
            .variable("TAP_WATCH", self.watched.join(","))
            .variable("TAP_FAIL", self.failures.join(","))
    }

    /// Runs a program, to which the shim is attached, with the tap below the shim.
    pub fn below(&self, launch: Launch, release: Release) -> (Run, Vec<Call>) {
        let run = self.set_up(launch).variable("HSA_REPLAY_RUNTIME", library(release)).run();
        let calls = calls(&run);
        (run, calls)
    }

    /// Runs a program with the tap alone in the way.
    pub fn alone(&self, launch: Launch, release: Release) -> (Run, Vec<Call>) {
        let folder = library(release).parent().expect("a folder").to_owned();
        let run = self.set_up(launch).variable("LD_LIBRARY_PATH", folder).run();
        let calls = calls(&run);
        (run, calls)
    }
}

fn calls(run: &Run) -> Vec<Call> {
    fs::read_to_string(run.file("calls")).unwrap_or_default().lines().map(Call::parse).collect()
}

/// The tap for a release's runtime, compiled once a process.
fn library(release: Release) -> PathBuf {
    static BUSY: Mutex<()> = Mutex::new(());
    let _guard = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = workspace(Path::new("tap").join(format!("{}-{}", release.name(), std::process::id())));
    let library = folder.join(SONAME);
    if library.is_file() {
        return library;
    }
    fs::write(folder.join("names.h"), names(release)).expect("a header");
    let status = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()))
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-pthread"])
        .arg(format!("-Wl,-soname,{SONAME}"))
        .arg("-I")
        .args([&folder, Path::new("-o"), &library, &checkout().join("tests/tap/tap.c")])
        .status()
        .expect("the C compiler can be run");
    assert!(status.success(), "the tap does not compile");
    library
}

/// The functions that the release's runtime exports, as `tap.c` takes them.
fn names(release: Release) -> String {
    let list = match release {
        Release::Oldest => "rocr-5.2.3.txt",
        Release::Stable => "rocr-6.1.2.txt",
        Release::Testing => "rocr-6.4.3.txt",
        Release::Newest => "rocr-7.2.4.txt",
    };
    let list = fs::read_to_string(checkout().join("symbols").join(list)).expect("a list of names");
    let functions = list.lines().filter_map(|line| line.strip_prefix("T "));
    let lines = functions.enumerate().map(|(number, name)| format!("    X({number}, {name})"));
    format!("#define NAMES(X) \\\n{}\n", lines.collect::<Vec<_>>().join(" \\\n"))
}
