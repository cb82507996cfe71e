//! One agent: its gate, its queues and the worker that runs its windows.

use crate::endless::InFlight;
use crate::fence::CopyFence;
use crate::gate::{Gate, Phase};
use crate::handles::Agent;
use crate::process::Process;
use crate::queue::SoftQueue;
use crate::store::{Hidden, Tiers};
use crate::sync::{Arc, AtomicBool, Condvar, Mutex, Ordering};
use crate::window::Workspace;
use hsa_replay_contract::progress::Slot;
use std::collections::VecDeque;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// State of one GPU agent.
pub(crate) struct AgentState {
    pub(crate) process: Arc<Process>,
    pub(crate) agent: Agent,
    /// Its number in the report's session.
    pub(crate) index: u32,
    pub(crate) gate: Gate,
    pub(crate) fence: CopyFence,
    /// Kernels in flight that need not end by themselves.
    pub(crate) endless: InFlight,
    /// A kernel ran that may put packets into queues itself.
    enqueues: AtomicBool,
    /// Where the agent's windows are shown, from the first one on.
    progress: OnceLock<Option<Slot>>,
    /// What windows keep from one to the next; the worker's alone.
    pub(crate) workspace: Mutex<Workspace>,
    /// How much of the agent's memory is the engine's.
    pub(crate) hidden: Hidden,
    queues: Mutex<Vec<Arc<SoftQueue>>>,
    /// Held from the look for a hardware queue's software queue until a new one is listed.
    pub(crate) wrapping: Mutex<()>,
    work: Mutex<Work>,
    wake: Condvar,
    /// The worker has ended.
    ended: Condvar,
}

#[derive(Default)]
struct Work {
    /// Queues whose head waits for the worker, each once.
    queues: VecDeque<Arc<SoftQueue>>,
    /// Something other than a queue needs the worker.
    look: bool,
    stop: bool,
    worker: Option<std::thread::JoinHandle<()>>,
    /// The worker has nothing more to do.
    ended: bool,
}

/// Tells of the worker's end.
struct End<'a>(&'a AgentState);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.work.lock().ended = true;
        self.0.ended.notify_all();
    }
}

/// What the worker does next.
pub(crate) enum Task {
    /// Looks at this queue.
    Queue(Arc<SoftQueue>),
    /// Looks again at the queues and copies that wait for something.
    Poll,
    /// Ends.
    Stop,
}

impl AgentState {
    pub(crate) fn new(process: Arc<Process>, agent: Agent, index: u32) -> Self {
        let hidden = Hidden::default();
        let workspace = Mutex::new(Self::new_workspace(&process, agent, &hidden));
        Self {
            process,
            agent,
            index,
            gate: Gate::default(),
            fence: CopyFence::default(),
            endless: InFlight::default(),
            enqueues: AtomicBool::new(false),
            progress: OnceLock::new(),
            workspace,
            hidden,
            queues: Mutex::default(),
            wrapping: Mutex::default(),
            work: Mutex::default(),
            wake: Condvar::new(),
            ended: Condvar::new(),
        }
    }

    fn new_workspace(process: &Process, agent: Agent, hidden: &Hidden) -> Workspace {
        let spill = process.attachments.spill.clone();
        Workspace::new(Tiers::new(&process.runtime, agent, spill, hidden.clone()))
    }

    /// Gives all memory back that windows keep.
    pub(crate) fn clear_workspace(&self) {
        *self.workspace.lock() = Self::new_workspace(&self.process, self.agent, &self.hidden);
    }

    /// Gives the agent's own memory back, if windows have any of it; waits at most until the deadline for one that is open.
    pub(crate) fn give_back_memory(&self, deadline: Option<Instant>) -> bool {
        let workspace = match deadline {
            Some(deadline) => self.workspace.try_lock_until(deadline),
            None => self.workspace.try_lock(),
        };
        workspace.is_some_and(|mut workspace| workspace.give_back())
    }

    /// Where the agent's windows are shown, if anybody looks.
    pub(crate) fn progress(&self) -> Option<&Slot> {
        let page = self.process.attachments.progress?;
        self.progress.get_or_init(|| page.claim()).as_ref()
    }

    /// The live queues of the agent.
    pub(crate) fn queues(&self) -> Vec<Arc<SoftQueue>> {
        self.queues.lock().clone()
    }

    /// The live queue in front of this hardware queue.
    pub(crate) fn queue_of(&self, real: crate::handles::HardwareQueue) -> Option<Arc<SoftQueue>> {
        let queues = self.queues.lock();
        queues.iter().find(|queue| queue.hardware().queue() == real && !queue.is_dead()).cloned()
    }

    /// Takes in a new queue, and starts the worker with the first one.
    pub(crate) fn add(self: &Arc<Self>, queue: Arc<SoftQueue>) -> std::io::Result<()> {
        let mut work = self.work.lock();
        if work.worker.is_none() {
            let agent = Arc::clone(self);
            let name = format!("hsa-replay-{}", self.index);
            work.worker = Some(std::thread::Builder::new().name(name).spawn(move || {
                // However it ends.
                let _end = End(&agent);
                crate::worker::run(&agent);
            })?);
        }
        drop(work);
        self.queues.lock().push(queue);
        Ok(())
    }

    /// Forgets a queue that is being destroyed.
    pub(crate) fn remove(&self, queue: &SoftQueue) -> Option<Arc<SoftQueue>> {
        self.work.lock().queues.retain(|other| !std::ptr::eq(&**other, queue));
        let mut queues = self.queues.lock();
        let at = queues.iter().position(|other| std::ptr::eq(&**other, queue))?;
        Some(queues.swap_remove(at))
    }

    /// Keeps a queue from going, unless it is gone from the list.
    pub(crate) fn keep(&self, queue: &SoftQueue) -> Option<Arc<SoftQueue>> {
        self.queues.lock().iter().find(|other| std::ptr::eq(&***other, queue)).cloned()
    }

    /// Asks the worker to look at a queue.
    pub(crate) fn hand_over(&self, queue: &SoftQueue) {
        if let Some(queue) = self.keep(queue) {
            self.enqueue(queue);
        }
    }

    /// Asks the worker to look at all queues, since the gate was opened.
    pub(crate) fn hand_over_all(&self) {
        for queue in self.queues() {
            self.enqueue(queue);
        }
    }

    /// Whether there is a worker: without a queue no window ever opens.
    pub(crate) fn has_worker(&self) -> bool {
        self.work.lock().worker.is_some()
    }

    /// From now on the worker looks for packets that nobody on the host rings for.
    pub(crate) fn expect_unheard_packets(&self) {
        if !self.enqueues.load(Ordering::Relaxed) && !self.enqueues.swap(true, Ordering::Relaxed) {
            self.wake();
        }
    }

    /// Whether there may be packets that nobody on the host rings for.
    pub(crate) fn expects_unheard_packets(&self) -> bool {
        self.enqueues.load(Ordering::Relaxed)
    }

    /// Makes the worker look around.
    pub(crate) fn wake(&self) {
        let mut work = self.work.lock();
        work.look = true;
        drop(work);
        self.wake.notify_one();
    }

    fn enqueue(&self, queue: Arc<SoftQueue>) {
        let mut work = self.work.lock();
        if !work.queues.iter().any(|other| Arc::ptr_eq(other, &queue)) {
            work.queues.push_back(queue);
        }
        drop(work);
        self.wake.notify_one();
    }

    /// The worker's next task; with `poll`, at the latest after that time.
    pub(crate) fn next_task(&self, poll: Option<Duration>) -> Task {
        let mut work = self.work.lock();
        loop {
            if let Some(queue) = work.queues.pop_front() {
                return Task::Queue(queue);
            }
            if work.stop {
                return Task::Stop;
            }
            if std::mem::take(&mut work.look) {
                return Task::Poll;
            }
            match poll {
                None => self.wake.wait(&mut work),
                Some(Duration::ZERO) => {
                    drop(work);
                    std::thread::yield_now();
                    return Task::Poll;
                }
                Some(time) => {
                    if self.wake.wait_for(&mut work, time).timed_out() && work.queues.is_empty() && !work.stop
                    {
                        return Task::Poll;
                    }
                }
            }
        }
    }

    /// Narrows the gate. When this succeeds, no other queue's forwarder is still at work in the wider phase; `own` is the queue whose
    /// lock the caller holds. The error is a queue whose forwarder has not returned by the deadline.
    pub(crate) fn narrow_gate(
        &self,
        phase: Phase,
        own: &SoftQueue,
        deadline: Instant,
    ) -> Result<(), Arc<SoftQueue>> {
        self.gate.set(phase);
        for queue in self.queues() {
            if std::ptr::eq(&*queue, own) {
                continue;
            }
            let Some(forwarder) = queue.lock_until(deadline) else {
                return Err(queue);
            };
            drop(forwarder);
            queue.catch_up();
        }
        Ok(())
    }

    /// Opens the gate; what it held back goes on.
    pub(crate) fn open_gate(&self) {
        if self.gate.phase() != Phase::Open {
            self.gate.set(Phase::Open);
            self.fence.gate_opened();
            self.hand_over_all();
        }
    }

    /// Lets the worker finish what it was given and waits for its end. False: it is in a call of the tool that has not returned by
    /// the deadline or that is not waited for any more, and is left there with all that it uses.
    pub(crate) fn stop(&self, deadline: Instant) -> bool {
        let mut work = self.work.lock();
        work.stop = true;
        self.wake.notify_all();
        let Some(worker) = work.worker.take() else {
            return true;
        };
        let thread = worker.thread().id();
        while !work.ended && !self.process.tool_calls.holds(thread) {
            if self.ended.wait_until(&mut work, deadline).timed_out() {
                break;
            }
        }
        let ended = work.ended;
        drop(work);
        if !ended {
            // From here on no call begins, so a worker that is in none soon ends.
            self.process.tool_calls.end(deadline);
            if self.process.tool_calls.holds(thread) {
                return false;
            }
        }
        if worker.join().is_err() {
            tracing::error!("the worker of agent {} ended by a panic", self.index);
        }
        true
    }

    /// Lets go of the queues that the application has not destroyed.
    pub(crate) fn release_queues(&self) -> Vec<Arc<SoftQueue>> {
        std::mem::take(&mut *self.queues.lock())
    }
}
