//! A tool that uses the runtime in its callbacks.

use super::rig::{COUNT, Rig};
use crate::agent::AgentState;
use crate::fence::{self, FencedCopy};
use crate::handles::{Agent, Signal};
use crate::process::Process;
use crate::tool::{Choice, Listener, Tool};
use crate::{Attachments, Engine};
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

#[test]
fn a_callback_that_does_not_return_holds_the_end_of_the_process_up_for_the_timeout_only() {
    let ends: [fn(&Engine); 2] = [Engine::stop_at_exit, Engine::stop];
    for end in ends {
        let (entered, has_entered) = mpsc::channel();
        let (leave, may_leave) = mpsc::channel();
        let gate = Arc::new(Mutex::new((entered, may_leave)));
        let tool = Some(Box::new(Lingerer { calls: Arc::default(), gate }) as Box<dyn Tool>);
        let attachments = Attachments { tool, ..Attachments::default() };
        let rig = Rig::attached(&[("TIMEOUT", "1")], attachments);
        let data = rig.allocate(64);
        let queue = rig.queue(16);
        let done = queue.dispatch(COUNT, &[data]);
        has_entered.recv().expect("the first pass ends");
        std::thread::scope(|scope| {
            let (ended, has_ended) = mpsc::channel();
            let engine = &rig.engine;
            scope.spawn(move || {
                engine.process_exits();
                engine.process_exits();
                end(engine);
                ended.send(()).expect("the test waits");
            });
            let in_time = has_ended.recv_timeout(Duration::from_secs(20));
            leave.send(()).expect("the callback waits");
            in_time.expect("the process never ends");
        });
        queue.wait(done);
        assert_eq!(rig.u32(data), 1);
        rig.fake.stop();
    }
}

/// Ends the process in the first callback.
#[derive(Clone, Default)]
struct Ender {
    world: Arc<OnceLock<Vec<Arc<AgentState>>>>,
}

impl std::fmt::Debug for Ender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ender")
    }
}

impl Tool for Ender {
    fn configure(&self, _: &Dispatch, _: Agent, passes: NonZeroU16) -> Choice {
        let agents = self.world.get().expect("set before the first dispatch");
        let process = &agents[0].process;
        process.begin_exit();
        assert!(process.tool_calls.end(Instant::now() + Duration::from_secs(3600)));
        assert!(agents.iter().all(|agent| !agent.stop()), "it cannot wait for its own end");
        Choice::Passes(passes, Arc::new(Copier::default()))
    }
}

#[test]
fn a_tool_that_ends_the_process_in_a_callback_does_not_wait_for_its_own_thread() {
    let ender = Ender::default();
    let rig = Rig::with_tool(ender.clone());
    assert!(ender.world.set(rig.engine.agents.clone()).is_ok());
    let data = rig.allocate(64);
    let queue = rig.queue(16);
    queue.run(COUNT, &[data]);
    assert_eq!((rig.u32(data), rig.engine.process.disarmed()), (1, None));
    rig.fake.stop();
}
