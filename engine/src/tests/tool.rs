//! A tool that uses the runtime in its callbacks.

use super::rig::{COUNT, Rig};
use crate::agent::AgentState;
use crate::fence::{self, FencedCopy};
use crate::handles::{Agent, Signal};
use crate::process::Process;
use crate::tool::{Choice, Listener, Tool};
use hsa_replay_contract::record::Pass;
use hsa_replay_contract::{Dispatch, Outcome};
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::{Duration, Instant};

type World = (Arc<Process>, Vec<Arc<AgentState>>);

/// Copies in every callback, by both kinds of call.
#[derive(Clone, Default)]
struct Copier {
    world: Arc<OnceLock<World>>,
    submitted: Arc<AtomicUsize>,
}

impl std::fmt::Debug for Copier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Copier")
    }
}

impl Copier {
    fn copy(&self) {
        let (process, agents) = self.world.get().expect("set before the first dispatch");
        drop(fence::begin_sync(agents.clone(), None, Some(Instant::now() + Duration::from_secs(3600))));
        let copy =
            FencedCopy { agents: agents.clone(), dependencies: Vec::new(), completion: Signal(0), order: 0 };
        let submitted = Arc::clone(&self.submitted);
        let submit = move || {
            submitted.fetch_add(1, Ordering::SeqCst);
            Ok(())
        };
        let before = self.submitted.load(Ordering::SeqCst);
        fence::submit_or_defer(process, copy, submit).expect("accepted");
        assert_eq!(
            self.submitted.load(Ordering::SeqCst),
            before + 1,
            "a tool that waits for its copy waits for ever"
        );
    }
}

impl Tool for Copier {
    fn configure(&self, _: &Dispatch, _: Agent, passes: NonZeroU16) -> Choice {
        self.copy();
        Choice::Passes(passes, Arc::new(self.clone()))
    }
}

impl Listener for Copier {
    fn pass_enter(&self, _: u32) {
        self.copy();
    }

    fn pass_exit(&self, _: &Pass) {
        self.copy();
    }

    fn goes_on(&self) -> bool {
        self.copy();
        true
    }

    fn closed(&self, _: &Dispatch, _: bool) {
        self.copy();
    }
}

#[test]
fn copies_of_a_tool_wait_for_no_window_and_end_none() {
    let copier = Copier::default();
    let rig = Rig::with_tool(copier.clone());
    let world = (Arc::clone(&rig.engine.process), rig.engine.agents.clone());
    assert!(copier.world.set(world).is_ok());
    let data = rig.allocate(64);
    rig.queue(16).run(COUNT, &[data]);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.detail, record.passes.len()), (Outcome::Replayed, None, 3));
    assert_eq!(copier.submitted.load(Ordering::SeqCst), 1 + 3 + 3 + 2 + 1);
}

/// Counts its calls, and stays in the end of the first pass until it is let go.
#[derive(Clone, Debug)]
struct Lingerer {
    calls: Arc<AtomicUsize>,
    gate: Arc<Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>>,
}

impl Tool for Lingerer {
    fn configure(&self, _: &Dispatch, _: Agent, passes: NonZeroU16) -> Choice {
        Choice::Passes(passes, Arc::new(self.clone()))
    }
}

impl Listener for Lingerer {
    fn pass_enter(&self, _: u32) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }

    fn pass_exit(&self, _: &Pass) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().expect("one user");
        gate.0.send(()).expect("the test waits");
        gate.1.recv().expect("the test lets it go on");
    }

    fn goes_on(&self) -> bool {
        self.calls.fetch_add(1, Ordering::SeqCst);
        true
    }

    fn closed(&self, _: &Dispatch, _: bool) {
        self.calls.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_tool_that_is_in_a_callback_at_exit_is_waited_for_and_not_called_again() {
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel();
    let calls = Arc::new(AtomicUsize::new(0));
    let gate = Arc::new(Mutex::new((entered, may_leave)));
    let rig = Rig::with_tool(Lingerer { calls: Arc::clone(&calls), gate });
    let data = rig.allocate(64);
    let queue = rig.queue(16);
    let done = queue.dispatch(COUNT, &[data]);
    has_entered.recv().expect("the first pass ends");
    let at_exit = std::thread::scope(|scope| {
        let exiting = scope.spawn(|| {
            rig.engine.process_exits();
            calls.load(Ordering::SeqCst)
        });
        while !rig.engine.process.is_exiting() {
            std::thread::yield_now();
        }
        leave.send(()).expect("the callback waits");
        exiting.join().expect("no panic")
    });
    queue.wait(done);
    assert_eq!(rig.u32(data), 1);
    let record = rig.finish().0.remove(0);
    assert_eq!(record.passes.len(), 1, "the window ends after the running pass");
    assert_eq!(calls.load(Ordering::SeqCst), at_exit, "a call began after the exit");
}
