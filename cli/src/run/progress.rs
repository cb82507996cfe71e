//! One line on a terminal while windows are open: which kernel, which pass, how many bytes its snapshot has.
//!
//! The library writes what it is at on a page that we share with it ([`hsa_replay_contract::progress`]); here it is looked at a
//! few times a second. Short windows come and go unseen: a line that flickers tells nothing. Where standard error is no
//! terminal there is no page, and the library has nothing to write on.

use std::fs::File;
use std::io::IsTerminal;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use hsa_replay_contract::progress::{Activity, Page};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::units::shorten;

/// Time between two looks.
pub const LOOK: Duration = Duration::from_millis(100);

/// Windows that are open for less are not shown.
const PATIENCE: Duration = Duration::from_millis(300);

/// The most of a kernel's name that is shown; the terminal's width cuts off more.
const NAME_WIDTH: usize = 60;

/// The line. It is wiped out when this is dropped.
#[derive(Debug)]
pub struct Line {
    page: Page,
    file: File,
    bar: ProgressBar,
    /// The window that was seen last, and when it was seen first.
    seen: Option<(u32, u64, Instant)>,
}

impl Line {
    /// A line for standard error, if that is a terminal and memory can be shared.
    pub fn for_a_terminal() -> Option<Self> {
        if !std::io::stderr().is_terminal() {
            return None;
        }
        let (page, file) = Page::create().ok()?;
        let style = ProgressStyle::with_template("{spinner} {wide_msg}").ok()?;
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()).with_style(style);
        Some(Self { page, file, bar, seen: None })
    }

    /// Where the program's processes open the page.
    pub fn page(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Looks at the page and draws.
    pub fn look(&mut self) {
        let open = self.page.activities();
        // The one that was shown, as long as it is open, so that the line does not jump between agents.
        let shown = self.seen.and_then(|(pid, window, _)| {
            open.iter().find(|activity| (activity.pid, activity.window) == (pid, window))
        });
        let Some(activity) = shown.or(open.first()) else {
            self.seen = None;
            return self.wipe();
        };
        if shown.is_none() {
            self.seen = Some((activity.pid, activity.window, Instant::now()));
        }
        if self.seen.is_some_and(|(_, _, since)| since.elapsed() >= PATIENCE) {
            if self.bar.is_hidden() {
                self.bar.reset();
                self.bar.set_draw_target(ProgressDrawTarget::stderr());
            }
            self.bar.set_message(describe(activity, open.len()));
            self.bar.tick();
        }
    }

    fn wipe(&mut self) {
        if !self.bar.is_hidden() {
            self.bar.finish_and_clear();
            self.bar.set_draw_target(ProgressDrawTarget::hidden());
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.wipe();
    }
}

fn describe(activity: &Activity, open: usize) -> String {
    let stage = match (activity.pass, activity.passes) {
        (0, _) if activity.captured == 0 => "waiting for the agent, taking the snapshot".to_owned(),
        (0, _) => "snapshot taken".to_owned(),
        (pass, 0) => format!("pass {pass}"),
        (pass, passes) => format!("pass {pass}/{passes}"),
    };
    let captured = match activity.captured {
        0 => String::new(),
        bytes => format!(", {} captured", indicatif::BinaryBytes(bytes)),
    };
    let others = if open > 1 { format!(" (and {} more)", open - 1) } else { String::new() };
    format!("{stage}{captured}: {}{others}", shorten(&activity.kernel, NAME_WIDTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_described_by_pass_bytes_and_kernel() {
        let mut activity = Activity {
            pid: 1,
            window: 1,
            kernel: "saxpy(float)".to_owned(),
            pass: 3,
            passes: 5,
            captured: 12 << 20,
        };
        assert_eq!(describe(&activity, 1), "pass 3/5, 12.00 MiB captured: saxpy(float)");
        assert_eq!(describe(&activity, 3), "pass 3/5, 12.00 MiB captured: saxpy(float) (and 2 more)");
        activity.passes = 0;
        assert!(describe(&activity, 1).starts_with("pass 3, "));
        activity.pass = 0;
        assert!(describe(&activity, 1).starts_with("snapshot taken, 12.00 MiB"));
    }
}
