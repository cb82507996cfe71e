//! How many passes a window has, and whom it tells of them: the user's tool, and the page that `run` looks at.

use super::{Refusal, Window};
use crate::sync::Arc;
use crate::tool::{self, Choice, Listener};
use hsa_replay_contract::Reason;
use std::num::NonZeroU16;

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
        let choice = tool::call(|| tool.configure(&self.record, self.agent.agent, self.plan.passes));
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
        if let Some(listener) = &self.plan.listener {
            tool::call(|| listener.pass_enter(pass));
        }
    }

    /// The pass that is the record's last one has ended.
    pub(super) fn tell_exit(&self) {
        if let (Some(listener), Some(pass)) = (&self.plan.listener, self.record.passes.last()) {
            tool::call(|| listener.pass_exit(pass));
        }
    }

    /// Whether the tool wants no further pass.
    pub(super) fn is_stopped_by_tool(&self) -> bool {
        self.plan.listener.as_ref().is_some_and(|listener| !tool::call(|| listener.goes_on()))
    }

    /// The window is closed, or its last pass goes on without it.
    pub(super) fn tell_closed(&self, running: bool) {
        if let Some(listener) = &self.plan.listener {
            tool::call(|| listener.closed(&self.record, running));
        }
    }
}
