//! The device as a front end sees it: agents, memory, events and queues.

use std::io;
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock};

use crate::counters::Counters;
use crate::dispatch::Pool;
use crate::events::{Events, MemoryException};
use crate::faults::{Action, FaultPlan, Kind, Misbehaviour, Phase};
use crate::memory::{Buffer, Fault, Memory, Request, View};
use crate::notices::Notices;
use crate::queues::{Doorbells, Queue, Spec, Worker, doorbells};
use crate::signal::EMPTY_MAILBOX;
use crate::{Refusal, Target, guard, say};

/// Most agents in one machine: an agent is one bit of a mapping's mask.
pub const AGENT_LIMIT: usize = 16;

/// How a machine is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Instruction set of every agent.
    pub target: Target,
    /// Number of agents, 1 to [`AGENT_LIMIT`].
    pub agents: usize,
    /// VRAM of each agent, in bytes.
    pub vram_bytes: u64,
    /// The driver's number of each agent, for fault reports.
    pub gpu_ids: Vec<u32>,
    /// Compute units of each agent: bounds the work-groups in flight.
    pub compute_units: u32,
    /// Threads that execute work-groups beside the queues' own.
    pub helpers: usize,
    /// What shall misbehave.
    pub faults: Arc<FaultPlan>,
    /// Decides the order in which work that may overlap is done.
    pub seed: u64,
    /// Stores of waves to ordinary VRAM stay in a write-back cache of their agent until a release of system scope.
    pub caches: bool,
}

/// A machine with its agents. Queues run on threads of their own from their creation on.
#[derive(Debug)]
pub struct Machine {
    /// How the machine was made.
    pub config: Config,
    /// All memory.
    pub memory: Memory,
    /// All events.
    pub events: Events,
    /// Who reads the driver's notes.
    pub notices: Notices,
    /// What has been done so far.
    pub counters: Counters,
    pub(crate) pool: Pool,
    doorbells: Doorbells,
    queues: RwLock<Vec<Arc<Queue>>>,
    workers: Mutex<Vec<Worker>>,
    /// Where signal events have their mailboxes, once the program told.
    event_page: Mutex<Option<u64>>,
    this: Weak<Machine>,
}

impl Machine {
    /// Makes a machine.
    ///
    /// # Errors
    /// The system refuses memory, or the configuration makes no sense.
    pub fn new(config: Config) -> io::Result<Arc<Self>> {
        if config.agents == 0 || config.agents > AGENT_LIMIT || config.gpu_ids.len() != config.agents {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        guard::install();
        let memory = Memory::new(config.agents, config.vram_bytes)?;
        let memory = if config.caches { memory.with_caches() } else { memory };
        let doorbells = Doorbells::new(config.agents);
        Ok(Arc::new_cyclic(|this| Self {
            pool: Pool::new(config.helpers),
            config,
            memory,
            events: Events::default(),
            notices: Notices::default(),
            counters: Counters::default(),
            doorbells,
            queues: RwLock::default(),
            workers: Mutex::default(),
            event_page: Mutex::new(None),
            this: this.clone(),
        }))
    }

    /// The machine itself, for threads that must not keep it alive.
    pub(crate) fn handle(&self) -> Weak<Self> {
        self.this.clone()
    }

    /// Makes a queue and starts it. Answers its number and the file offset of its doorbell.
    ///
    /// # Errors
    /// A malformed ring, or no doorbell left.
    pub fn create_queue(self: &Arc<Self>, spec: Spec) -> Result<(u32, u64), Refusal> {
        if self.fails(Kind::Queue, 0) {
            return Err(Refusal::NoSlot);
        }
        let queue = Arc::new(Queue::new(self, spec, &self.doorbells)?);
        let answer = (queue.id, self.memory.doorbell_offset(queue.spec.agent) + u64::from(queue.slot) * 8);
        self.queues.write().push(queue.clone());
        self.doorbells.watch(self);
        let worker = Worker::start(self.clone(), queue.clone()).map_err(|_| {
            let _ = self.remove_queue(queue.id);
            Refusal::NoSlot
        })?;
        self.workers.lock().push(worker);
        Ok(answer)
    }

    /// The queue with this number.
    #[must_use]
    pub fn queue(&self, id: u32) -> Option<Arc<Queue>> {
        self.queues.read().iter().find(|q| q.id == id).cloned()
    }

    /// All queues.
    #[must_use]
    pub fn queues(&self) -> Vec<Arc<Queue>> {
        self.queues.read().clone()
    }

    /// Stops a queue, whatever it is doing, and takes it away.
    ///
    /// # Errors
    /// There is no such queue.
    pub fn destroy_queue(&self, id: u32) -> Result<(), Refusal> {
        let queue = self.queue(id).ok_or(Refusal::NotFound)?;
        queue.stop();
        let worker = {
            let mut workers = self.workers.lock();
            workers.iter().position(|w| w.queue_id() == id).map(|at| workers.swap_remove(at))
        };
        if let Some(worker) = worker {
            worker.join();
        }
        self.remove_queue(id)
    }

    /// Takes a queue off the list and gives its doorbell back. Of several callers, one does.
    fn remove_queue(&self, id: u32) -> Result<(), Refusal> {
        let mut queues = self.queues.write();
        let at = queues.iter().position(|q| q.id == id).ok_or(Refusal::NotFound)?;
        let queue = queues.remove(at);
        drop(queues);
        self.doorbells.release(queue.spec.agent, queue.slot);
        Ok(())
    }

    /// How the fault plan wants the next operation of a kind to misbehave.
    pub(crate) fn misbehaviour(&self, kind: Kind, bytes: u64) -> Option<Misbehaviour> {
        self.config.faults.next(kind, bytes)
    }

    /// Whether the fault plan fails the next operation of a kind; has waited already if it is to be slow.
    fn fails(&self, kind: Kind, bytes: u64) -> bool {
        self.misbehaviour(kind, bytes).and_then(|m| m.now(Phase::Start)) == Some(Action::Fail)
    }

    /// Allocates memory, unless the fault plan is against it.
    ///
    /// # Errors
    /// As [`Memory::allocate`].
    pub fn allocate(&self, request: &Request) -> Result<Arc<Buffer>, Refusal> {
        if self.fails(Kind::Allocate, request.bytes) {
            Err(Refusal::NoMemory)
        } else {
            self.memory.allocate(request)
        }
    }

    /// Maps memory, unless the fault plan is against it.
    ///
    /// # Errors
    /// As [`Memory::map`].
    pub fn map(&self, id: u64, agents: u64) -> Result<(), Refusal> {
        if self.fails(Kind::Map, 0) { Err(Refusal::NoMemory) } else { self.memory.map(id, agents) }
    }

    /// Looks at all doorbells now, for whoever is about to wait for what they start.
    pub fn look_at_doorbells(&self) {
        for queue in self.queues.read().iter() {
            doorbells::look(self, queue);
        }
    }

    /// Whether work of a queue with a higher priority on the same agent waits to start.
    pub(crate) fn has_more_urgent(&self, than: &Queue) -> bool {
        self.queues.read().iter().any(|queue| queue.goes_before(than))
    }

    /// Lets queues that wait for a signal look again.
    pub fn nudge(&self) {
        for queue in self.queues.read().iter() {
            queue.nudge();
        }
    }

    /// A wave or packet of `agent` touched memory that it may not: the program's memory events are told, and the
    /// agent's queues stop, as the driver evicts them.
    pub fn raise_memory_fault(&self, agent: usize, fault: Fault, what: &str) {
        self.counters.faults.add(1);
        say!("memory fault on agent {agent}: {fault}, in {what}");
        for queue in self.queues.read().iter().filter(|q| q.spec.agent == agent) {
            queue.fail();
        }
        self.notices.memory_fault(agent);
        self.events.raise_memory_fault(MemoryException { gpu_id: self.config.gpu_ids[agent], fault });
    }

    /// An engine of `agent` met something that makes silicon hang.
    pub fn raise_hang(&self, agent: usize) {
        self.notices.hang(agent);
        self.events.raise_hang(self.config.gpu_ids[agent]);
    }

    /// The program's page of event mailboxes lies at this device address.
    pub fn set_event_page(&self, address: u64) {
        let view = self.memory.view(0);
        for slot in 0..u64::from(crate::events::SIGNAL_EVENT_LIMIT) {
            if view.store(address.wrapping_add(slot * 8), EMPTY_MAILBOX).is_err() {
                return;
            }
        }
        drop(view);
        *self.event_page.lock() = Some(address);
    }

    /// A wave sent an interrupt with the low `bits` bits of an event's number: sets the events that match and whose
    /// mailbox was written. `view` is the memory as the wave's agent sees it.
    pub fn interrupt(&self, view: &View<'_>, partial: u32, bits: u32) {
        let mask = if bits >= 32 { u32::MAX } else { (1 << bits) - 1 };
        let page = *self.event_page.lock();
        for id in (1..crate::events::SIGNAL_EVENT_LIMIT).filter(|id| id & mask == partial & mask) {
            if let Some(page) = page {
                let slot = page.wrapping_add(u64::from(id) * 8);
                if view.load::<u64>(slot).unwrap_or(EMPTY_MAILBOX) == EMPTY_MAILBOX {
                    continue;
                }
                let _ = view.store(slot, EMPTY_MAILBOX);
            }
            // Numbers that no event has are no error: only a few of the low bits travel with the interrupt.
            let _ = self.events.set(id);
        }
    }

    /// Stops every queue and the helpers.
    pub fn shut_down(&self) {
        for queue in self.queues() {
            // The queue was listed just now; somebody else may have destroyed it since.
            let _ = self.destroy_queue(queue.id);
        }
        self.doorbells.stop();
        self.pool.stop();
    }
}
