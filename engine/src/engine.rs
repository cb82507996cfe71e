//! The entry points that the hooks call.

use crate::agent::AgentState;
use crate::fence::{self, FencedCopy, SyncCopy};
use crate::handles::{Agent, Executable, HardwareQueue, Pool, Signal};
use crate::inventory::{Classifier, Closed, Inventory, Record, Region};
use crate::process::Process;
use crate::queue::SoftQueue;
use crate::report::Report;
use crate::runtime::{AgentFacts, Runtime, RuntimeError, RuntimeResult};
use crate::shared_memory::QueueObject;
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::tool::{self, Tool};
use crate::window;
use hsa_replay_contract::Settings;
use hsa_replay_contract::progress::Page;
use hsa_replay_contract::record;
use hsa_replay_contract::report::Writer;
use std::ops::Range;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Where an application got memory from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// `hsa_amd_memory_pool_allocate`, with its `flags` argument.
    Pool {
        /// The pool named in the call.
        pool: Pool,
        /// `flags`: `HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG` and its siblings.
        flags: u32,
    },
    /// `hsa_memory_allocate`.
    Region {
        /// The region named in the call.
        region: Pool,
    },
    /// `hsa_amd_vmem_map`. An agent can use the mapping once it is given access, see [`Engine::memory_access`].
    VirtualMemory {
        /// The pool of `hsa_amd_vmem_handle_create`; `None` for an imported handle.
        pool: Option<Pool>,
        /// What the handle stands for: a number that is never given again, whatever becomes of the handle.
        physical: u64,
        /// Offset in it, as the call names it.
        offset: u64,
    },
    /// `hsa_amd_ipc_memory_attach`.
    IpcImport,
    /// `hsa_amd_interop_map_buffer`.
    Interop,
    /// A range given to `hsa_amd_svm_attributes_set`: it may overlap others, and nothing tells when it ends.
    Managed,
    /// Host memory given to `hsa_amd_memory_lock`, at the address that agents use. It may overlap others.
    Locked,
}

/// Memory that a call has just handed to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// First address.
    pub address: u64,
    /// Bytes asked for.
    pub bytes: u64,
    /// The call.
    pub source: Source,
}

/// An asynchronous copy as its call names it.
#[derive(Clone, Copy, Debug)]
pub struct AsyncCopy<'a> {
    /// The agents named in the call; a transfer that names none names the owners of its addresses.
    pub agents: &'a [Agent],
    /// `dep_signals`.
    pub dependencies: &'a [Signal],
    /// `completion_signal`.
    pub completion: Signal,
    /// Bytes; a copy of nothing is passed through.
    pub bytes: u64,
    /// Copies of equal order reach the runtime in the order of their calls: one number for each engine and direction, since
    /// a copy engine takes its copies in order and applications rely on it.
    pub order: u64,
}

/// What an agent may do with a range of mappings from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The agent.
    pub agent: Agent,
    /// Whether it may write there.
    pub writes: bool,
}

/// How an unmapping ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmapped {
    /// The range is not mapped any more.
    Done,
    /// The call found its arguments wrong and changed nothing.
    Refused,
    /// It failed in between.
    Failed,
}

/// The mappings that an unmapping now under way takes away; hand them back to [`Engine::memory_unmapped`].
#[derive(Debug)]
#[must_use = "the result of the call must be reported with Engine::memory_unmapped"]
pub struct Unmapping {
    taken: Vec<Closed>,
    range: Range<u64>,
}

impl Unmapping {
    /// Whether the memory is still being copied or put back: the real call has to wait, see [`Engine::unmap_later`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.taken.iter().any(Closed::is_being_copied)
    }
}

/// The record that left the inventory for a free now under way; hand it back to [`Engine::memory_freed`].
#[derive(Debug)]
#[must_use = "the result of the free must be reported with Engine::memory_freed"]
pub struct Freeing {
    record: Option<Record>,
}

impl Freeing {
    /// Whether the memory is still being copied: the real call has to wait, see [`Engine::free_later`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.region.is_being_copied())
    }
}

/// The mappings whose agent loses the right to write there by a call now under way.
#[derive(Debug)]
pub struct Closing {
    closed: Vec<Closed>,
}

impl Closing {
    /// Whether the memory is still being copied or put back: the real call has to wait, see [`Engine::close_later`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.closed.iter().any(Closed::is_being_copied)
    }
}

/// The memory of an executable that is about to be destroyed.
#[derive(Debug)]
pub struct Destroying {
    regions: Vec<Arc<Region>>,
}

impl Destroying {
    /// Whether it is still being copied: the real call has to wait, see [`Engine::destroy_later`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.regions.iter().any(|region| region.is_being_copied())
    }
}

/// What may go with an engine.
#[derive(Debug, Default)]
pub struct Attachments {
    /// The page on which `run` reads what the engine is at.
    pub progress: Option<Page>,
    /// The user's tool.
    pub tool: Option<Box<dyn Tool>>,
    /// The folder for snapshots that fit nowhere else; without one they are never on disk.
    pub spill: Option<PathBuf>,
}

/// Why the engine could not start; the process then runs as if not armed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The agents or pools could not be listed.
    #[error("cannot list the agents and memory pools: {0}; replay is off")]
    Enumeration(#[from] RuntimeError),
    /// Copies need a host agent to name.
    #[error("the runtime lists no host agent; replay is off")]
    NoHost,
}

/// The replay engine of one process, from the first `hsa_init` to the last `hsa_shut_down`.
pub struct Engine {
    pub(crate) process: Arc<Process>,
    pub(crate) agents: Vec<Arc<AgentState>>,
    /// The end has begun; until `stopped` the hooks work as before.
    stopping: AtomicBool,
    stopped: AtomicBool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("agents", &self.agents.len()).finish_non_exhaustive()
    }
}

/// Life.
impl Engine {
    /// Starts the engine once the runtime is initialised: after the first `hsa_init` of an armed process returned success.
    /// Writes the session record to the report.
    ///
    /// # Errors
    /// When agents and pools cannot be listed. The caller logs the error and stays disarmed.
    pub fn start(
        runtime: Arc<dyn Runtime>,
        mut settings: Settings,
        report: Writer,
        attachments: Attachments,
    ) -> Result<Self, StartError> {
        let facts = runtime.agents()?;
        let host = facts.iter().find(|facts| !facts.gpu).ok_or(StartError::NoHost)?.agent;
        let gpus: Vec<&AgentFacts> = facts.iter().filter(|facts| facts.gpu).collect();
        let classifier = Classifier::new(runtime.pools()?, gpus.iter().map(|facts| facts.agent));
        let report = Report::new(report, std::process::id());
        let (path, version) = runtime.identity();
        let real = record::Runtime { path: known(path), version: known(version) };
        let listed = (0..).zip(&gpus).map(|(index, facts)| record::Agent {
            index,
            name: facts.name.clone(),
            node: Some(facts.node),
            uuid: known(facts.uuid.clone()),
        });
        report.session(real, listed.collect(), &settings);
        // The program may change its folder.
        if let Some(folder) = &mut settings.dump_writes
            && let Ok(absolute) = std::path::absolute(&*folder)
        {
            *folder = absolute;
        }
        let handles: Vec<Agent> = gpus.iter().map(|facts| facts.agent).collect();
        let inventory = Inventory::new(classifier);
        let process = Arc::new(Process::new(runtime, settings, report, inventory, host, attachments));
        let agents = (0..)
            .zip(handles)
            .map(|(index, agent)| Arc::new(AgentState::new(Arc::clone(&process), agent, index)))
            .collect();
        Ok(Self { process, agents, stopping: AtomicBool::new(false), stopped: AtomicBool::new(false) })
    }

    /// An earlier engine of this process has stopped and the runtime was initialised again: numbers of records and launches go
    /// on from there. Called before the first queue is made.
    pub fn continue_from(&self, earlier: &Self) {
        let earlier_launches = earlier.process.kernels.all_launches();
        self.process.report.continue_from(&earlier.process.report, earlier_launches);
        self.process.kernels.continue_from(&earlier.process.kernels);
        self.process.matching.store(earlier.process.matching.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The runtime is about to be shut down for good: no new window opens, an open one ends after the running pass, forwarding
    /// goes on.
    pub fn begin_exit(&self) {
        self.process.begin_exit();
    }

    /// The process has begun to exit (an `atexit` handler): the same, and the tool is not called any more, since its static objects
    /// are destroyed soon. Waits for calls that run, at most for the time of a window.
    pub fn process_exits(&self) {
        self.process.begin_exit();
        if !self.process.tool_calls.end(Instant::now() + self.process.settings.timeout) {
            tracing::error!("the process ends although a callback of the tool has not returned");
        }
    }

    /// Something was done behind our back that makes windows unsafe (a queue made by a call we do not know, or a queue that
    /// could not be wrapped): no window opens any more, every further candidate is declined. `why` is logged once.
    pub fn disarm(&self, why: &str) {
        self.process.disarm(why);
    }

    /// Just before the last `hsa_shut_down`: stops the workers and gives back the engine's own signals and memory, then
    /// writes the summary. A callback of the tool that does not return is waited for at most for the time of a window; its worker
    /// is left there for good, with all that it uses. Every later call does nothing and recognises nothing. Not to be called on the event thread.
    pub fn stop(&self) {
        if !self.end() {
            // What a window works with goes with the runtime.
            self.process.tool_calls.abandon();
            return;
        }
        for agent in &self.agents {
            drop(agent.release_queues());
            agent.clear_workspace();
        }
        self.process.signals.clear();
    }

    /// The same at the end of a process that never shut the runtime down: threads that were left running may be in a queue,
    /// so all memory and signals stay.
    pub fn stop_at_exit(&self) {
        self.end();
    }

    /// Stops the workers and writes the summary. False: there is nothing to give back, since that has been done or a worker is left
    /// that still uses it.
    fn end(&self) -> bool {
        self.process.begin_exit();
        if self.stopping.swap(true, Ordering::SeqCst) {
            return false;
        }
        self.process.begin_stop();
        let deadline = Instant::now() + self.process.settings.timeout;
        let left = self.agents.iter().filter(|agent| !agent.stop(deadline)).count();
        if left > 0 {
            tracing::error!("replay ends although a callback of the tool has not returned");
        }
        // Not before: a free waits for the copies of a window, and a queue is not destroyed under one.
        self.stopped.store(true, Ordering::SeqCst);
        self.agents.iter().for_each(|agent| agent.fence.flush_all(&self.process));
        self.process.end_report();
        left == 0
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

fn known(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Memory.
impl Engine {
    /// After a successful allocation, mapping or import, before the application sees the address.
    pub fn memory_allocated(&self, allocation: &Allocation) {
        if !self.is_stopped() {
            self.process.inventory.add(allocation);
        }
    }

    /// Before the real free or detach. The record leaves the inventory at once; a thread that `may_wait` waits at most for the
    /// chunks of that very memory which are being copied now. After the result of a thread that may not (the runtime's event
    /// thread), see [`Freeing::is_late`].
    pub fn memory_freeing(&self, address: u64, may_wait: bool) -> Freeing {
        let stopped = self.is_stopped();
        let record = if stopped { None } else { self.process.inventory.remove(address, may_wait) };
        Freeing { record }
    }

    /// After it: if the real call failed, the range stays excluded from then on.
    pub fn memory_freed(&self, freeing: Freeing, succeeded: bool) {
        if let Some(record) = freeing.record
            && !succeeded
        {
            self.process.inventory.put_back_excluded(&record);
        }
    }

    /// Instead of it, for a free that [`Freeing::is_late`]: `free` makes the real call when the memory is not being copied any
    /// more, on a thread of the engine's or on this one, and says whether it has succeeded.
    pub fn free_later(&self, freeing: Freeing, free: impl FnOnce() -> bool + Send + 'static) {
        let process = Arc::clone(&self.process);
        let Some(record) = freeing.record else {
            free();
            return;
        };
        let region = Arc::clone(&record.region);
        Region::when_not_copied([&region], move || {
            if !free() {
                tracing::warn!("memory at {:#x} could not be freed after a copy of it", record.region.base);
                process.inventory.put_back_excluded(&record);
            }
        });
    }

    /// Before `hsa_amd_vmem_unmap`: as for a free, for all mappings that the range touches, except that a thread that `may_wait`
    /// also waits until they are put back as a whole: if the call is refused they are as if it had not been made. For one that may
    /// not, see [`Unmapping::is_late`].
    pub fn memory_unmapping(&self, address: u64, bytes: u64, may_wait: bool) -> Unmapping {
        let range = address..address.saturating_add(bytes);
        let taken =
            if self.is_stopped() { Vec::new() } else { self.process.inventory.unmap(&range, may_wait) };
        Unmapping { taken, range }
    }

    /// After it. What was mapped outside the range stays.
    pub fn memory_unmapped(&self, unmapping: &Unmapping, outcome: Unmapped) {
        if !self.is_stopped() {
            self.process.inventory.unmapped(&unmapping.taken, &unmapping.range, outcome);
        }
    }

    /// Instead of it, for an unmapping that [`Unmapping::is_late`]: `unmap` makes the real call when nobody is at the memory any more,
    /// on a thread of the engine's or on this one, and says how it ended.
    pub fn unmap_later(&self, unmapping: Unmapping, unmap: impl FnOnce() -> Unmapped + Send + 'static) {
        let process = Arc::clone(&self.process);
        let regions: Vec<Arc<Region>> = unmapping.taken.iter().map(Closed::before).cloned().collect();
        Region::when_not_copied(&regions, move || {
            let outcome = unmap();
            process.inventory.unmapped(&unmapping.taken, &unmapping.range, outcome);
        });
    }

    /// Before a call that takes an agent's right to write to the mappings that begin in a range: they are not captured or put
    /// back any more once this returns. [`Engine::memory_access`] follows when the call has succeeded,
    /// [`Engine::memory_not_closed`] when it has changed nothing. For a thread that may not wait, see [`Closing::is_late`].
    pub fn memory_closing(&self, address: u64, bytes: u64, agent: Agent, may_wait: bool) -> Closing {
        let range = address..address.saturating_add(bytes);
        let inventory = &self.process.inventory;
        let closed = if self.is_stopped() { Vec::new() } else { inventory.close(range, agent, may_wait) };
        Closing { closed }
    }

    /// For closings one of which [`Closing::is_late`]: `call` makes the real call, and tells of its end, when nobody is at the memory
    /// any more, on a thread of the engine's or on this one.
    pub fn close_later(&self, closings: Vec<Closing>, call: impl FnOnce(&[Closing]) + Send + 'static) {
        let closed = closings.iter().flat_map(|closing| &closing.closed);
        let regions: Vec<Arc<Region>> = closed.map(Closed::before).cloned().collect();
        Region::when_not_copied(&regions, move || call(&closings));
    }

    /// The call was refused: the agent may do what it could before.
    pub fn memory_not_closed(&self, closing: &Closing) {
        self.process.inventory.reopen(&closing.closed);
    }

    /// After `hsa_amd_vmem_set_access`, which acts on the mappings that begin in the range.
    pub fn memory_access(&self, address: u64, bytes: u64, access: Access) {
        if !self.is_stopped() {
            self.process.inventory.access(address..address.saturating_add(bytes), access);
        }
    }

    /// After `hsa_amd_agents_allow_access`: the agent may write to the allocation that holds the address. For a mapping it may
    /// write to those behind it too, as long as they adjoin.
    pub fn memory_opened(&self, address: u64, agent: Agent) {
        if !self.is_stopped() {
            self.process.inventory.open(address, agent);
        }
    }

    /// After `hsa_amd_memory_unlock` of memory that was [`Source::Locked`].
    pub fn memory_unlocked(&self, address: u64) {
        if !self.is_stopped() {
            self.process.inventory.unlock(address);
        }
    }

    /// After an allocation of device memory that failed: gives back what windows keep of it, and says whether the call is worth
    /// another try. A thread that `may_wait` waits for open windows, at most for the time of one; a callback of the tool does not,
    /// since its own window is one of them.
    pub fn give_back_memory(&self, may_wait: bool) -> bool {
        let may_wait = may_wait && !tool::is_called();
        let deadline = may_wait.then(|| Instant::now() + self.process.settings.timeout);
        let give_back =
            |agent: &Arc<AgentState>| agent.hidden.bytes() > 0 && agent.give_back_memory(deadline);
        self.agents.iter().filter(|agent| give_back(agent)).count() > 0
    }

    /// Bytes of an agent's memory that windows keep: an application that asks how much is free is told as if they were.
    pub fn hidden_memory(&self, agent: Agent) -> u64 {
        self.agents.iter().find(|known| known.agent == agent).map_or(0, |known| known.hidden.bytes())
    }

    /// After `hsa_amd_ipc_memory_create`, `hsa_amd_portable_export_dmabuf` and the other exports out of the process: others may
    /// write the memory while a window is open. The address may lie inside an allocation.
    pub fn memory_exported(&self, address: u64) {
        if !self.is_stopped() {
            self.process.inventory.export(address);
        }
    }
}

/// Executables.
impl Engine {
    /// After `hsa_executable_freeze` succeeded: kernels and module variables become known.
    pub fn executable_frozen(&self, executable: Executable) {
        if !self.is_stopped() {
            self.process.code.freeze(&*self.process.runtime, executable);
            self.process.kernels.renew();
        }
    }

    /// After `hsa_executable_agent_global_variable_define` and its sibling for the whole program: a variable of the executable is
    /// memory at this address.
    pub fn variable_defined(&self, executable: Executable, address: u64) {
        if !self.is_stopped() {
            self.process.code.define(executable, address);
        }
    }

    /// Before `hsa_executable_destroy`: its memory is no longer captured or restored once this returns. A thread that `may_wait`
    /// waits for the chunks of it that are being copied; for one that may not, see [`Destroying::is_late`].
    pub fn executable_destroying(&self, executable: Executable, may_wait: bool) -> Destroying {
        if self.is_stopped() {
            return Destroying { regions: Vec::new() };
        }
        let regions = self.process.code.destroy(executable);
        for region in &regions {
            if may_wait {
                region.retire();
            } else {
                region.retire_at_once();
            }
        }
        self.process.kernels.renew();
        Destroying { regions }
    }

    /// For an executable whose destruction [`Destroying::is_late`]: `destroy` makes the real call when its memory is not being copied
    /// any more, on a thread of the engine's or on this one.
    pub fn destroy_later(&self, destroying: &Destroying, destroy: impl FnOnce() + Send + 'static) {
        Region::when_not_copied(&destroying.regions, destroy);
    }
}

/// Copies. Hooks pass every call that writes or reads device memory without a packet: `hsa_amd_memory_async_copy` and its
/// siblings, `hsa_memory_copy`, `hsa_amd_memory_fill`, image and file transfers.
impl Engine {
    /// An asynchronous copy. `submit` makes the real call, with the application's own arguments; it runs now, or later on a
    /// thread of the engine's when the copy has to wait, in which case the result is success. It owns what it needs: the
    /// application may reuse its array of dependencies at once.
    ///
    /// # Errors
    /// What `submit` gives when it runs at once.
    pub fn async_copy(
        &self,
        copy: &AsyncCopy<'_>,
        submit: impl FnOnce() -> RuntimeResult<()> + Send + 'static,
    ) -> RuntimeResult<()> {
        // A copy of nothing never touches its signal.
        if copy.bytes == 0 || self.is_stopped() {
            return submit();
        }
        let fenced = FencedCopy {
            agents: self.fenced(copy.agents),
            dependencies: copy.dependencies.to_vec(),
            completion: copy.completion,
            order: copy.order,
        };
        fence::submit_or_defer(&self.process, fenced, submit)
    }

    /// A synchronous copy or fill to a range (`None`: nobody knows where), which lasts until the result is dropped. While a window
    /// is open on one of the agents (`None`: on any) a thread that `may_wait` waits for its end, at most for the time of a
    /// window; the runtime's event thread may not, and is asked for its bytes instead (see [`SyncCopy::wants_bytes`]).
    pub fn sync_copy(&self, agents: Option<&[Agent]>, to: Option<Range<u64>>, may_wait: bool) -> SyncCopy {
        let agents = match agents {
            _ if self.is_stopped() => Vec::new(),
            Some(agents) => self.fenced(agents),
            None => self.agents.clone(),
        };
        let deadline = may_wait.then(|| Instant::now() + self.process.settings.timeout);
        fence::begin_sync(agents, to, deadline)
    }

    /// The GPUs among the agents, each once.
    fn fenced(&self, agents: &[Agent]) -> Vec<Arc<AgentState>> {
        self.agents.iter().filter(|agent| agents.contains(&agent.agent)).cloned().collect()
    }
}

/// Queues. A queue is named by the address of the object the application holds (`hsa_queue_t *`).
impl Engine {
    /// After the real queue was created for the application: makes the software queue and gives the address of the object
    /// to return in its place. `cooperative` is `HSA_QUEUE_TYPE_COOPERATIVE`. A hardware queue that is wrapped already (ROCr
    /// hands out its cooperative queue many times) gives the same object again, counted. A queue of an agent that is no GPU
    /// is given back as it is.
    ///
    /// # Errors
    /// When memory or signals for it cannot be had. The caller logs it, calls [`Engine::disarm`] and returns the real queue:
    /// its dispatches are out of our sight.
    pub fn wrap_queue(&self, agent: Agent, real: HardwareQueue, cooperative: bool) -> RuntimeResult<u64> {
        let Some(agent) = self.agents.iter().find(|known| known.agent == agent) else {
            return Ok(real.0);
        };
        if self.is_stopped() {
            return Ok(real.0);
        }
        let _wrapping = agent.wrapping.lock();
        if let Some(queue) = agent.queue_of(real) {
            queue.add_owner();
            return Ok(queue.object().address());
        }
        let queue = SoftQueue::new(agent, real, cooperative)?;
        let object = queue.object().address();
        let added = Arc::clone(&queue);
        agent.add(queue).map_err(|error| {
            tracing::error!("no thread for the worker of agent {}: {error}", agent.index);
            RuntimeError { call: "starting the worker", status: hsa_sys::HSA_STATUS_ERROR_OUT_OF_RESOURCES }
        })?;
        self.introduce(&added);
        Ok(object)
    }

    fn queue(&self, object: u64) -> Option<&SoftQueue> {
        if self.is_stopped() { None } else { QueueObject::owner(object) }
    }

    fn queue_of_doorbell(&self, signal: Signal) -> Option<&SoftQueue> {
        if self.is_stopped() { None } else { QueueObject::owner_of_doorbell(signal) }
    }

    /// The real queue behind an object, or `None` when the object is not one of ours. For calls that act on the real queue:
    /// priority, CU mask, profiling, scratch limit, information.
    #[must_use]
    pub fn hardware_queue(&self, object: u64) -> Option<HardwareQueue> {
        self.queue(object).map(|queue| queue.hardware().queue())
    }

    /// `hsa_queue_load_read_index_*`: slots the application may use again. `None`: not ours.
    #[must_use]
    pub fn load_read_index(&self, object: u64) -> Option<u64> {
        self.queue(object).map(|queue| queue.object().read_index())
    }

    /// `hsa_queue_load_write_index_*`. `None`: not ours.
    #[must_use]
    pub fn load_write_index(&self, object: u64) -> Option<u64> {
        self.queue(object).map(|queue| queue.object().write_index().load(Ordering::Acquire))
    }

    /// `hsa_queue_store_write_index_*`; false: not ours.
    #[must_use]
    pub fn store_write_index(&self, object: u64, value: u64) -> bool {
        let queue = self.queue(object);
        if let Some(queue) = queue {
            queue.object().write_index().store(value, Ordering::Release);
        }
        queue.is_some()
    }

    /// `hsa_queue_add_write_index_*`, gives the former value. `None`: not ours.
    #[must_use]
    pub fn add_write_index(&self, object: u64, value: u64) -> Option<u64> {
        self.queue(object).map(|queue| queue.object().write_index().fetch_add(value, Ordering::AcqRel))
    }

    /// `hsa_queue_cas_write_index_*`, gives the former value. `None`: not ours.
    #[must_use]
    pub fn cas_write_index(&self, object: u64, expected: u64, value: u64) -> Option<u64> {
        let index = self.queue(object)?.object().write_index();
        let former = index.compare_exchange(expected, value, Ordering::AcqRel, Ordering::Acquire);
        Some(former.unwrap_or_else(|former| former))
    }

    /// Every plain store to a signal (`hsa_signal_store_*`, `hsa_signal_silent_store_*`): if it is the doorbell of one of our
    /// queues, stores the value, forwards what is ready and gives true; otherwise the caller forwards the call.
    #[must_use]
    pub fn store_doorbell(&self, signal: Signal, value: i64) -> bool {
        let queue = self.queue_of_doorbell(signal);
        match queue {
            Some(queue) => {
                queue.object().set_doorbell(value);
                queue.rung();
            }
            None => self.signal_written(signal),
        }
        queue.is_some()
    }

    /// Before any other write to a signal (exchange, compare-and-swap, add, subtract, and, or, xor): the object of the queue
    /// whose doorbell it is, for [`Engine::queue_rung`] after the write. The signal itself may be gone by then, since the
    /// write may be what its owner waits for.
    #[must_use]
    pub fn signal_changing(&self, signal: Signal) -> Option<u64> {
        let queue = self.queue_of_doorbell(signal);
        if queue.is_none() {
            self.signal_written(signal);
        }
        queue.map(|queue| queue.object().address())
    }

    /// After such a write of a doorbell: forwards what is ready.
    pub fn queue_rung(&self, object: u64) {
        if let Some(queue) = self.queue(object) {
            queue.rung();
        }
    }

    /// `hsa_signal_destroy`, before the real call: its address may be another signal's soon.
    pub fn signal_destroying(&self, signal: Signal) {
        self.signal_written(signal);
    }

    /// What the hardware was to do to the signal is over, as far as the application is concerned.
    fn signal_written(&self, signal: Signal) {
        if !signal.is_none() && !self.is_stopped() {
            self.process.promises.forget(signal);
        }
    }

    /// In the error callback of a real queue, before the application's own callback is called with our object: no window touches the
    /// queue any more, nothing is forwarded, and the object shows what is on the hardware queue.
    pub fn queue_failed(&self, object: u64) {
        if let Some(queue) = self.queue(object) {
            queue.kill();
            queue.show_hardware();
        }
    }

    /// `hsa_queue_inactivate`: nothing of the queue completes after the return, and nobody is waited for. `None`: not ours,
    /// forward the call; otherwise the result to return.
    #[must_use]
    pub fn inactivate_queue(&self, object: u64) -> Option<RuntimeResult<()>> {
        let queue = self.queue(object)?;
        queue.kill();
        // The worker writes the record of what was at its head.
        queue.agent().hand_over(queue);
        Some(self.process.runtime.inactivate_queue(queue.hardware().queue()))
    }

    /// `hsa_queue_destroy`: drops parked packets, ends a window of this queue without restoring, destroys the real queue. A
    /// thread that `may_wait` waits a moment for whoever is at work on the queue. If that takes longer, or the thread may not
    /// wait (the runtime's event thread), the real queue stops at once and the worker destroys it when its copies are done:
    /// nothing of it runs or completes after the return in either case. `None`: not ours, forward the call; otherwise the
    /// result to return.
    #[must_use]
    pub fn destroy_queue(&self, object: u64, may_wait: bool) -> Option<RuntimeResult<()>> {
        /// Longer than a forwarder is in a doorbell, or a window needs to notice.
        const MOMENT: Duration = Duration::from_millis(50);
        let queue = self.queue(object)?;
        let agent = Arc::clone(queue.agent());
        let real = queue.hardware().queue();
        {
            // The runtime may hand out the same hardware queue again meanwhile, see `wrap_queue`.
            let _wrapping = agent.wrapping.lock();
            if !queue.remove_owner() {
                return Some(self.process.runtime.destroy_queue(real));
            }
            queue.kill();
        }
        let moment = if may_wait { MOMENT } else { Duration::ZERO };
        let Some(mut forwarder) = queue.lock_until(Instant::now() + moment) else {
            return Some(self.bury(queue));
        };
        window::close(queue, &mut forwarder);
        drop(forwarder);
        let ours = agent.remove(queue);
        let result = self.process.runtime.destroy_queue(real);
        drop(ours);
        Some(result)
    }

    /// Leaves the end of a destroyed queue to the worker.
    fn bury(&self, queue: &SoftQueue) -> RuntimeResult<()> {
        // A pass must not run on into memory that the application frees now. A cooperative queue may be somebody else's too.
        let stopped = if queue.is_cooperative() {
            Ok(())
        } else {
            self.process.runtime.inactivate_queue(queue.hardware().queue())
        };
        queue.doom();
        queue.agent().hand_over(queue);
        stopped
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}
