//! A tool that uses the runtime in its callbacks.

use super::rig::{COUNT, Rig};
use crate::agent::AgentState;
use crate::fence::{self, FencedCopy};
use crate::handles::{Agent, Signal};
use crate::process::Process;
use crate::runtime::Runtime;
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
        fence::submit_or_defer(process, copy, submit, Vec::new).expect("accepted");
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
fn a_callback_that_does_not_return_holds_the_end_up_for_the_timeout_only() {
    // A program may shut the runtime down long before it exits.
    let exit = |engine: &Engine| {
        engine.process_exits();
        engine.process_exits();
    };
    let ends: [(bool, bool); 4] = [(true, false), (true, true), (false, false), (false, true)];
    for (exits, shuts_down) in ends {
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
                if exits {
                    exit(engine);
                }
                if shuts_down {
                    engine.stop();
                } else {
                    engine.stop_at_exit();
                }
                ended.send(()).expect("the test waits");
            });
            let in_time = has_ended.recv_timeout(Duration::from_secs(20));
            leave.send(()).expect("the callback waits");
            in_time.expect("the process never ends");
        });
        if !shuts_down {
            queue.wait(done);
            assert_eq!(rig.u32(data), 1);
        }
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
        let hour = Instant::now() + Duration::from_secs(3600);
        assert!(agents.iter().all(|agent| !agent.stop(hour)), "it cannot wait for its own end");
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

/// Allocates memory in a pass, which fails while the window keeps the agent's memory.
#[derive(Clone, Default)]
struct Allocator {
    engine: Arc<OnceLock<&'static Engine>>,
    gave_back: Arc<Mutex<Vec<bool>>>,
}

impl std::fmt::Debug for Allocator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Allocator")
    }
}

impl Tool for Allocator {
    fn configure(&self, _: &Dispatch, _: Agent, passes: NonZeroU16) -> Choice {
        Choice::Passes(passes, Arc::new(self.clone()))
    }
}

impl Listener for Allocator {
    fn pass_enter(&self, _: u32) {
        let gave_back = self.engine.get().expect("set before the first dispatch").give_back_memory(true);
        self.gave_back.lock().expect("one user").push(gave_back);
    }

    fn pass_exit(&self, _: &Pass) {}

    fn goes_on(&self) -> bool {
        true
    }

    fn closed(&self, _: &Dispatch, _: bool) {}
}

#[test]
fn an_allocation_that_failed_in_a_callback_does_not_wait_for_its_own_window() {
    let allocator = Allocator::default();
    let tool = Some(Box::new(allocator.clone()) as Box<dyn Tool>);
    let options = [("CHECK", "0"), ("TIMEOUT", "3600")];
    // The tool keeps it for ever.
    let rig: &'static Rig =
        Box::leak(Box::new(Rig::attached(&options, Attachments { tool, ..Attachments::default() })));
    assert!(allocator.engine.set(&rig.engine).is_ok());
    let data = rig.allocate(64);
    rig.queue(16).run(COUNT, &[data]);
    assert_eq!(*allocator.gave_back.lock().expect("one user"), [false; 3]);
    assert!(rig.engine.hidden_memory(crate::fake::GPU) > 0, "the window had some of the agent's memory");
    rig.engine.stop();
    rig.fake.stop();
}

/// Copies at the beginning of each pass, and does not wait for the copy.
#[derive(Clone)]
struct Hasty {
    world: Arc<OnceLock<World>>,
    copied: Arc<OnceLock<Signal>>,
    begun: mpsc::Sender<()>,
}

impl std::fmt::Debug for Hasty {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hasty")
    }
}

impl Tool for Hasty {
    fn configure(&self, _: &Dispatch, _: Agent, passes: NonZeroU16) -> Choice {
        Choice::Passes(passes, Arc::new(self.clone()))
    }
}

impl Listener for Hasty {
    fn pass_enter(&self, pass: u32) {
        if pass == 0 {
            let (process, agents) = self.world.get().expect("set before the first dispatch");
            let (agents, dependencies) = (agents.clone(), Vec::new());
            let copy = FencedCopy {
                agents,
                dependencies,
                completion: *self.copied.get().expect("set too"),
                order: 0,
            };
            fence::submit_or_defer(process, copy, || Ok(()), Vec::new).expect("accepted");
            self.begun.send(()).expect("the test waits");
        }
    }

    fn pass_exit(&self, _: &Pass) {}

    fn goes_on(&self) -> bool {
        true
    }

    fn closed(&self, _: &Dispatch, _: bool) {}
}

#[test]
fn a_copy_that_a_callback_leaves_under_way_is_waited_for() {
    let (begun, has_begun) = mpsc::channel();
    let world = Arc::<OnceLock<World>>::default();
    // The signal is made by the runtime that the rig makes.
    let copied = Arc::<OnceLock<Signal>>::default();
    let tool = Hasty { world: Arc::clone(&world), copied: Arc::clone(&copied), begun };
    let rig = Rig::with_tool(tool);
    assert!(world.set((Arc::clone(&rig.engine.process), rig.engine.agents.clone())).is_ok());
    let signal = rig.fake.new_signal(1);
    assert!(copied.set(signal).is_ok());
    let data = rig.allocate(64);
    let early = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&early);
    rig.fake.kernel(rig.kernel(COUNT), move |machine, _| {
        machine.add_u32(data, 1);
        count.fetch_add(usize::from(crate::shared_memory::signal_value(signal) != 0), Ordering::SeqCst);
    });
    let queue = rig.queue(16);
    let done = queue.dispatch(COUNT, &[data]);
    has_begun.recv().expect("the first pass begins");
    for _ in 0..10_000 {
        std::thread::yield_now();
    }
    rig.fake.store_signal(signal, 0);
    queue.wait(done);
    assert_eq!((rig.u32(data), early.load(Ordering::SeqCst)), (1, 0), "a pass ran beside the copy");
    assert_eq!(rig.finish().0[0].passes.len(), 3);
}
