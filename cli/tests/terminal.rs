//! `hsa-replay run` at a terminal: Ctrl-C reaches the program once, and run outlives it.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use fixture::{COMPLETE, Place};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// A command on a terminal of its own, as the foreground group.
struct Terminal {
    control: File,
    child: Child,
    shown: String,
}

impl Terminal {
    fn start(mut command: Command) -> Self {
        let control =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("terminal");
        grantpt(&control).expect("terminal");
        unlockpt(&control).expect("terminal");
        let name = ptsname(&control, Vec::new()).expect("name").into_string().expect("text");
        let open = || OwnedFd::from(OpenOptions::new().read(true).write(true).open(&name).expect("terminal"));
        let terminal = open();
        // Otherwise the terminal throws away, with the input, what a program answers quickly.
        let mut modes = rustix::termios::tcgetattr(&terminal).expect("terminal");
        modes.local_modes.insert(rustix::termios::LocalModes::NOFLSH);
        rustix::termios::tcsetattr(&terminal, rustix::termios::OptionalActions::Now, &modes)
            .expect("terminal");
        command.stdin(open()).stdout(open()).stderr(open());
        // SAFETY: signal, setsid and ioctl are async-signal-safe, and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                // A test in the background starts with the signal ignored, and a shell then cannot trap it.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                rustix::process::setsid()?;
                rustix::process::ioctl_tiocsctty(terminal.as_fd())?;
                Ok(())
            });
        }
        let child = command.spawn().expect("starts");
        // The command holds the terminal's other end: reading ends when the last process has left it.
        drop(command);
        Self { control: control.into(), child, shown: String::new() }
    }

    /// Reads until `text` is shown.
    fn wait_for(&mut self, text: &str) {
        let mut byte = [0];
        while !self.shown.contains(text) {
            match self.control.read(&mut byte) {
                Ok(1) => self.shown.push(char::from(byte[0])),
                other => panic!("{text} was not shown before the end ({other:?}): {}", self.shown),
            }
        }
    }

    fn type_in(&mut self, keys: &str) {
        self.control.write_all(keys.as_bytes()).expect("terminal");
    }

    /// Reads to the end; the exit code and all that was shown.
    fn end(mut self) -> (Option<i32>, String) {
        let mut byte = [0];
        // A terminal that everyone has left is an error, not an end of file.
        while let Ok(1) = self.control.read(&mut byte) {
            self.shown.push(char::from(byte[0]));
        }
        (self.child.wait().expect("ends").code(), self.shown)
    }
}

#[test]
fn a_program_that_handles_ctrl_c_gets_it_once() {
    let place = Place::new();
    // Whether a signal ends `read` is the shell's choice.
    let script = "n=0; trap 'n=$((n+1)); echo caught $n' INT; echo ready; \
                  until read line && [ \"$line\" = go ]; do :; done; echo total $n; exit 3";
    let mut terminal = Terminal::start(place.run(["-o", "r.jsonl", "--", "sh", "-c", script]));
    terminal.wait_for("ready");
    terminal.type_in("\u{3}");
    terminal.wait_for("caught 1");
    terminal.type_in("go\n");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(3), "{shown}");
    assert!(shown.contains("total 1"), "{shown}");
    assert!(shown.contains("made no HSA call"), "{shown}");
}

#[test]
fn a_program_that_ctrl_c_ends_leaves_a_report_that_is_told_of() {
    let place = Place::new();
    let mut command = place.run(["-o", "r.jsonl", "--", "sh", "-c", "echo ready; read a"]);
    command.env("FIXTURE_PROGRAM", "sh").env("FIXTURE_REPORT", COMPLETE);
    std::fs::create_dir(place.path("temporary")).expect("folder");
    command.env("TMPDIR", place.path("temporary"));
    let mut terminal = Terminal::start(command);
    terminal.wait_for("ready");
    let temporary = || std::fs::read_dir(place.path("temporary")).expect("folder").count();
    assert_eq!(temporary(), 1, "the folder from which the library is attached");
    terminal.type_in("\u{3}");
    let (code, shown) = terminal.end();
    assert_eq!(code, Some(130), "{shown}");
    assert!(shown.contains("ended by signal 2 (SIGINT)"), "{shown}");
    assert!(shown.contains("4 candidates: 2 replayed"), "{shown}");
    assert_eq!(place.names(), ["r.jsonl", "temporary"]);
    assert_eq!(temporary(), 0, "the temporary folder is gone");
}

/// The kernel tells the leader of the session alone, and leaves the rest to it.
#[test]
fn a_program_hears_of_it_when_the_terminal_hangs_up_on_run_as_the_leader_of_its_session() {
    let place = Place::new();
    let script =
        "trap 'exit 9' HUP; trap 'exit 8' TERM; mkfifo go; echo ready; while :; do read line <> go; done";
    let Terminal { control, mut child, .. } = {
        let mut terminal = Terminal::start(place.run(["-o", "r.jsonl", "--", "sh", "-c", script]));
        terminal.wait_for("ready");
        terminal
    };
    drop(control);
    // Comes later, and ends a program that was not told.
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    assert_eq!(child.wait().expect("ends").code(), Some(9));
}
