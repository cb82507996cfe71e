//! `hsa-replay run` on a terminal while a window is open: the line that shows it, and Ctrl-C.
//!
//! A tool holds the second pass back until the test has seen the line, so nothing hangs on time.

mod rocm;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

use rocm::{Release, Victim, checkout, workspace};
use tempfile::TempDir;

/// The tool of `tests/tool`.
fn tool() -> &'static PathBuf {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| {
        let library = workspace("tools").join(format!("recorder-terminal-{}.so", std::process::id()));
        let compiled = Command::new("cc")
            .args(["-std=gnu99", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-I"])
            .args([
                checkout().join("include"),
                "-o".into(),
                library.clone(),
                checkout().join("tests/tool/recorder.c"),
            ])
            .status()
            .expect("a compiler");
        assert!(compiled.success());
        library
    })
}

/// `run` on a terminal of its own, in the middle of a window.
struct Session {
    folder: TempDir,
    child: Child,
    shown: String,
}

impl Session {
    fn start() -> Self {
        let folder = TempDir::new_in(workspace("runs")).expect("a temporary folder");
        let victim = Victim::hip("increment", Release::Stable).executable;
        let line = format!(
            "exec timeout --foreground 300 {}/scripts/in-root --release stable hsa-replay run -n 3 --tool {} -o report.jsonl -- {}",
            checkout().display(),
            tool().display(),
            victim.display()
        );
        let child = Command::new("script")
            .args(["--quiet", "--return", "--command", &line, "/dev/null"])
            .current_dir(folder.path())
            .env("TERM", "xterm")
            .env("TOOL_CHOICE", "three")
            .env("TOOL_WAITS_FOR", folder.path().join("go"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script(1) can be run");
        Self { folder, child, shown: String::new() }
    }

    /// Reads until `text` is shown.
    fn wait_for(&mut self, text: &str) {
        let output = self.child.stdout.as_mut().expect("a pipe");
        let mut bytes = [0; 256];
        while !self.shown.contains(text) {
            let count = output.read(&mut bytes).expect("the terminal can be read");
            assert!(count > 0, "{text} was not shown before the end: {}", self.shown);
            self.shown.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
    }

    fn type_in(&mut self, keys: &[u8]) {
        let input = self.child.stdin.as_mut().expect("a pipe");
        input.write_all(keys).and_then(|()| input.flush()).expect("the terminal takes keys");
    }

    /// The exit code, everything shown, and the report.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut rest = Vec::new();
        self.child.stdout.as_mut().expect("a pipe").read_to_end(&mut rest).expect("the terminal can be read");
        self.shown.push_str(&String::from_utf8_lossy(&rest));
        let code = self.child.wait().expect("script(1) ends").code();
        let report = fs::read_to_string(self.folder.path().join("report.jsonl")).expect("a report");
        (code, self.shown, report)
    }
}

#[test]
fn an_open_window_is_shown_with_its_pass_its_bytes_and_its_kernel() {
    let mut session = Session::start();
    session.wait_for("pass 2/3, ");
    session.wait_for("B captured: increment(unsigned int*, unsigned int)");
    fs::write(session.folder.path().join("go"), "").expect("a file");
    let (code, shown, report) = session.end();
    assert_eq!(code, Some(0), "{shown}");
    // The line is wiped out before anything else is said.
    let last = shown.lines().find(|line| line.contains("hsa-replay: 1 candidate: 1 replayed"));
    let before = last.and_then(|line| line.split("hsa-replay: 1 candidate").next());
    assert!(before.is_some_and(|text| text.is_empty() || text.ends_with("\u{1b}[2K")), "{shown:?}");
    assert_eq!(
        report.lines().filter(|line| line.contains("\"outcome\":\"replayed\"")).count(),
        1,
        "{report}"
    );
}

#[test]
fn ctrl_c_in_a_window_ends_the_program_and_leaves_a_report_that_names_the_kernel() {
    let mut session = Session::start();
    session.wait_for("pass 2/3, ");
    session.type_in(&[3]);
    let (code, shown, report) = session.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("the program was ended by signal 2 (SIGINT)"), "{shown}");
    assert!(shown.contains("ended inside increment(unsigned int*, unsigned int), launch 0"), "{shown}");
    let records: Vec<&str> = report.lines().collect();
    assert!(records.last().is_some_and(|line| line.contains("\"record\":\"begin\"")), "{report}");
}
