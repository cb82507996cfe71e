//! How many passes a window has, and whom it tells of them: the user's tool, and the page that `run` looks at.

use super::{Refusal, Window};
use crate::sync::Arc;
use crate::tool::{Choice, Listener};
use hsa_replay_contract::Reason;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

/// Between two looks at whether a callback's copies have ended.
const LOOK: Duration = Duration::from_micros(200);

/// The passes of a window.
#[derive(Debug)]
pub(super) struct PassPlan {
    /// As many, or at most as many.
    passes: NonZeroU16,
    /// The tool says when it is enough.
    until_stopped: bool,
    listener: Option<Arc<dyn Listener>>,
}

impl PassPlan {
    pub(super) fn new(passes: NonZeroU16) -> Self {
        Self { passes, until_stopped: false, listener: None }
    }

    /// The most passes there will be.
    pub(super) fn most(&self) -> u32 {
        u32::from(self.passes.get())
    }
}

impl Window<'_> {
    /// Has the tool, if there is one, choose the passes.
    pub(super) fn ask_tool(&mut self) -> Result<(), Refusal> {
        let Some(tool) = &self.process.attachments.tool else {
            return Ok(());
        };
        let configure = || tool.configure(&self.record, self.agent.agent, self.plan.passes);
        let Some(choice) = self.process.tool_calls.make(configure) else {
            return Err(Refusal::new(Reason::ShuttingDown));
        };
        let (passes, listener, until_stopped) = match choice {
            Choice::Leave(why, listener) => {
                self.plan.listener = Some(listener);
                return Err(Refusal::with(Reason::Tool, why));
            }
            Choice::Passes(passes, listener) => (passes, listener, false),
            Choice::UntilStopped(bound, listener) => (bound, listener, true),
        };
        self.plan = PassPlan { passes, until_stopped, listener: Some(listener) };
        Ok(())
    }

    /// Memory is captured.
    pub(super) fn tell_captured(&self, bytes: u64) {
        if let Some(progress) = self.agent.progress() {
            progress.captured(bytes);
        }
    }

    /// A pass, from 0, is about to be submitted.
    pub(super) fn tell_enter(&self, pass: u32) {
        if let Some(progress) = self.agent.progress() {
            progress.pass(pass + 1, if self.plan.until_stopped { 0 } else { self.plan.most() });
        }
        self.tell(|listener| listener.pass_enter(pass));
        self.wait_for_the_tools_copies();
    }

    /// The pass that is the record's last one has ended.
    pub(super) fn tell_exit(&self) {
        if let Some(pass) = self.record.passes.last() {
            self.tell(|listener| listener.pass_exit(pass));
            self.wait_for_the_tools_copies();
        }
    }

    /// Whether the tool wants no further pass, or cannot be asked any more.
    pub(super) fn is_stopped_by_tool(&self) -> bool {
        let stopped = self.plan.listener.is_some() && self.tell(|listener| listener.goes_on()) != Some(true);
        self.wait_for_the_tools_copies();
        stopped
    }

    /// The window is closed, or its last pass goes on without it.
    pub(super) fn tell_closed(&self, running: bool) {
        self.tell(|listener| listener.closed(&self.record, running));
    }

    /// The asynchronous copies of a callback are the only ones in flight: the window goes on when they have ended, or when its time
    /// is over.
    fn wait_for_the_tools_copies(&self) {
        if self.plan.listener.is_some() {
            while !self.agent.fence.is_quiet(&self.process.promises) && Instant::now() < self.deadline {
                std::thread::sleep(LOOK);
            }
        }
    }

    /// Calls the tool, if there is one and the process does not end.
    fn tell<R>(&self, callback: impl FnOnce(&dyn Listener) -> R) -> Option<R> {
        let listener = self.plan.listener.as_ref()?;
        self.process.tool_calls.make(|| callback(&**listener))
    }
}
