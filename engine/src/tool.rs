//! A tool: code of the user's that chooses how often a dispatch runs and hears of each pass.
//!
//! It is called on the worker of the agent that replays, one dispatch of an agent at a time, workers of several agents at once;
//! never on a thread of the application or the runtime. It must not wait for work of that agent: the window waits for it.

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Pass;
use std::cell::Cell;
use std::fmt::Debug;
use std::num::NonZeroU16;

use crate::handles::Agent;
use crate::sync::Arc;

/// A loaded tool.
pub trait Tool: Debug + Send + Sync {
    /// A dispatch could be replayed as far as its packet tells; nothing of the window has happened. `dispatch` has neither
    /// passes nor an outcome, `passes` is what the settings say.
    fn configure(&self, dispatch: &Dispatch, agent: Agent, passes: NonZeroU16) -> Choice;
}

/// What a tool wants of a dispatch.
#[derive(Debug)]
pub enum Choice {
    /// It runs once, unchanged. The text completes the record's detail.
    Leave(String, Arc<dyn Listener>),
    /// A window with this many passes.
    Passes(NonZeroU16, Arc<dyn Listener>),
    /// Passes until the listener stops them, at most this many.
    UntilStopped(NonZeroU16, Arc<dyn Listener>),
}

/// Hears of one window.
pub trait Listener: Debug + Send + Sync {
    /// Pass `pass`, from 0, is about to be submitted; memory is as it was before the dispatch.
    fn pass_enter(&self, pass: u32);

    /// It has ended; memory is as it left it.
    fn pass_exit(&self, pass: &Pass);

    /// Whether another pass is wanted; asked between two passes.
    fn goes_on(&self) -> bool;

    /// The window is closed, or was never opened: `dispatch` is the record as it is written. `running`: its last pass outlasted
    /// the window and still runs; the record is written when it ends.
    fn closed(&self, dispatch: &Dispatch, running: bool);
}

thread_local! {
    static CALLED: Cell<bool> = const { Cell::new(false) };
}

/// Calls the tool. What it copies meanwhile is kept apart from no window: the window is its own, and waits for it.
pub(crate) fn call<R>(callback: impl FnOnce() -> R) -> R {
    struct Return;
    impl Drop for Return {
        fn drop(&mut self) {
            CALLED.set(false);
        }
    }
    CALLED.set(true);
    let _return = Return;
    callback()
}

/// Whether this thread is in a call of the tool.
pub(crate) fn is_called() -> bool {
    CALLED.get()
}
