//! A tool: code of the user's that chooses how often a dispatch runs and hears of each pass.
//!
//! It is called on the worker of the agent that replays, one dispatch of an agent at a time, workers of several agents at once;
//! never on a thread of the application or the runtime. It must not wait for work of that agent: the window waits for it.

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Pass;
use std::cell::Cell;
use std::fmt::Debug;
use std::num::NonZeroU16;
use std::thread::ThreadId;
use std::time::Instant;

use crate::handles::Agent;
use crate::sync::{Arc, Condvar, Mutex};

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

/// Calls of the tool. None begins once the process ends: what the tool's code works with may be gone then.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    state: Mutex<State>,
    returned: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Threads that are in a call.
    running: Vec<ThreadId>,
    over: bool,
    /// One was waited for in vain.
    given_up: bool,
    /// One that returns later does not return to its window.
    abandoned: bool,
}

impl State {
    fn others_run(&self) -> bool {
        let own = std::thread::current().id();
        self.running.iter().any(|thread| *thread != own)
    }
}

impl Calls {
    /// Calls the tool. What it copies meanwhile is kept apart from no window: the window is its own, and waits for it. `None`: it
    /// is not called any more.
    pub(crate) fn make<R>(&self, callback: impl FnOnce() -> R) -> Option<R> {
        struct Return<'a>(&'a Calls);
        impl Drop for Return<'_> {
            fn drop(&mut self) {
                CALLED.set(false);
                let mut state = self.0.state.lock();
                let own = std::thread::current().id();
                if let Some(at) = state.running.iter().position(|thread| *thread == own) {
                    state.running.swap_remove(at);
                }
                drop(state);
                self.0.returned.notify_all();
            }
        }
        {
            let mut state = self.state.lock();
            if state.over {
                return None;
            }
            state.running.push(std::thread::current().id());
        }
        CALLED.set(true);
        let returned = {
            let _return = Return(self);
            callback()
        };
        while self.state.lock().abandoned {
            std::thread::park();
        }
        Some(returned)
    }

    /// The runtime is shut down under calls that still run: whoever is in one goes on into no window, since nothing of it may be
    /// there any more. The thread sleeps for ever.
    pub(crate) fn abandon(&self) {
        self.state.lock().abandoned = true;
    }

    /// Lets none begin any more, and waits for those that run, but for the caller's own; at most until `deadline`, and not again
    /// after that was in vain. False: one still runs.
    pub(crate) fn end(&self, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        state.over = true;
        while !state.given_up && state.others_run() {
            if self.returned.wait_until(&mut state, deadline).timed_out() {
                state.given_up = state.others_run();
                break;
            }
        }
        !state.others_run()
    }

    /// Whether a thread is in a call that nobody waits for any more at the end of the process: one that was waited for in vain, or
    /// the caller's own.
    pub(crate) fn holds(&self, thread: ThreadId) -> bool {
        let state = self.state.lock();
        let waits = !state.given_up && thread != std::thread::current().id();
        !waits && state.running.contains(&thread)
    }
}

/// Whether this thread is in a call of the tool.
pub(crate) fn is_called() -> bool {
    CALLED.get()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// A call of the tool on a thread of its own, which stays in it until it is let go.
    struct Lingering {
        thread: std::thread::JoinHandle<Option<()>>,
        leave: std::sync::mpsc::Sender<()>,
    }

    fn lingering() -> (Arc<Calls>, Lingering) {
        let calls = Arc::<Calls>::default();
        let (entered, has_entered) = std::sync::mpsc::channel();
        let (leave, may_leave) = std::sync::mpsc::channel();
        let called = Arc::clone(&calls);
        let thread = std::thread::spawn(move || {
            called.make(|| {
                entered.send(()).expect("the test waits");
                may_leave.recv().expect("the test lets it go on");
            })
        });
        has_entered.recv().expect("the call begins");
        (calls, Lingering { thread, leave })
    }

    #[test]
    fn a_running_call_is_waited_for_and_none_begins_afterwards() {
        let (calls, call) = lingering();
        std::thread::scope(|scope| {
            let ending = scope.spawn(|| calls.end(Instant::now() + Duration::from_secs(30)));
            call.leave.send(()).expect("the call waits");
            assert!(ending.join().expect("no panic"));
        });
        assert_eq!(call.thread.join().expect("no panic"), Some(()));
        assert_eq!(calls.make(|| ()), None);
    }

    #[test]
    fn a_call_that_was_waited_for_in_vain_is_not_waited_for_again() {
        let (calls, call) = lingering();
        let thread = call.thread.thread().id();
        assert!(!calls.holds(thread), "it may still return");
        assert!(!calls.end(Instant::now()), "it still runs");
        assert!(!calls.end(Instant::now() + Duration::from_secs(3600)), "at once");
        assert!(calls.holds(thread));
        call.leave.send(()).expect("the call waits");
        assert_eq!(call.thread.join().expect("no panic"), Some(()));
        assert!(!calls.holds(thread), "it has returned");
    }

    #[test]
    fn a_call_that_outlasts_the_runtime_returns_to_no_window() {
        let (calls, call) = lingering();
        assert!(!calls.end(Instant::now()), "it still runs");
        calls.abandon();
        call.leave.send(()).expect("the call waits");
        while !calls.end(Instant::now()) {
            std::thread::yield_now();
        }
        for _ in 0..10_000 {
            std::thread::yield_now();
        }
        assert!(!call.thread.is_finished());
    }

    #[test]
    fn a_tool_that_ends_the_process_does_not_wait_for_itself() {
        let calls = Calls::default();
        assert_eq!(calls.make(|| calls.end(Instant::now() + Duration::from_secs(30))), Some(true));
    }
}
