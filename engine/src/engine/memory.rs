//! What the hooks of memory calls tell: allocations, mappings, sharing and their ends.

use super::Engine;
use crate::agent::AgentState;
use crate::handles::{Agent, Pool};
use crate::inventory::{Closed, Record, Region};
use crate::sync::Arc;
use crate::tool;
use std::ops::Range;
use std::time::Instant;

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

    /// After `hsa_amd_vmem_set_access`, which acts on the mappings that begin in the range. As [`Engine::memory_exported`] where
    /// another agent may write there now.
    pub fn memory_access(&self, address: u64, bytes: u64, access: Access, may_wait: bool) {
        if !self.is_stopped() {
            let range = address..address.saturating_add(bytes);
            self.opened(self.process.inventory.access(range, access), may_wait);
        }
    }

    /// After `hsa_amd_agents_allow_access`: the agent may write to the allocation that holds the address. For a mapping it may
    /// write to those behind it too, as long as they adjoin. As [`Engine::memory_exported`] if it is another agent than the memory's.
    pub fn memory_opened(&self, address: u64, agent: Agent, may_wait: bool) {
        if !self.is_stopped() {
            self.opened(self.process.inventory.open(address, agent), may_wait);
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
    /// write the memory while a window is open, as soon as the application has the result. The address may lie inside an allocation.
    /// A thread that `may_wait` waits for a window that is putting the memory back just now; beside one that may not, the window says
    /// that it may have undone what others wrote.
    pub fn memory_exported(&self, address: u64, may_wait: bool) {
        if !self.is_stopped() {
            self.opened(self.process.inventory.export(address), may_wait);
        }
    }

    /// Others may write this memory now, and no window begins to put it back any more.
    fn opened(&self, range: Option<Range<u64>>, may_wait: bool) {
        // A callback of the tool runs between the steps of a window.
        let may_wait = may_wait && !tool::is_called();
        if let Some(range) = range {
            self.agents.iter().for_each(|agent| agent.fence.intrusions.open(&range, may_wait));
        }
    }
}
