//! The entry points that the hooks call.

use crate::handles::{Agent, Executable, HardwareQueue, Pool, Signal};
use crate::runtime::{Runtime, RuntimeError, RuntimeResult};
use std::sync::Arc;

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
    /// `hsa_amd_vmem_map` of a handle made from this pool (`None`: an imported handle).
    VirtualMemory {
        /// The pool of `hsa_amd_vmem_handle_create`.
        pool: Option<Pool>,
    },
    /// `hsa_amd_ipc_memory_attach`.
    IpcImport,
    /// `hsa_amd_interop_map_buffer`.
    Interop,
    /// A range given to `hsa_amd_svm_attributes_set`.
    Managed,
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

/// How memory was opened to others who may write it while a window is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// `hsa_amd_ipc_memory_create`, `hsa_amd_portable_export_dmabuf` and the other exports out of the process.
    Exported,
    /// `hsa_amd_agents_allow_access` or `hsa_amd_vmem_set_access` for this agent; harmless unless it is another GPU.
    OpenedTo(Agent),
}

/// The record that left the inventory for a free now under way; hand it back to [`Engine::memory_freed`].
#[derive(Debug)]
#[must_use = "the result of the free must be reported with Engine::memory_freed"]
pub struct Freeing {
    /// Address passed to the free.
    pub address: u64,
}

/// Why the engine could not start; the process then runs as if not armed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The agents or pools could not be listed.
    #[error("cannot list the agents and memory pools: {0}; replay is off")]
    Enumeration(#[from] RuntimeError),
}

/// The replay engine of one process, from the first `hsa_init` to the last `hsa_shut_down`.
pub struct Engine {
    runtime: Arc<dyn Runtime>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

/// Life.
impl Engine {
    /// Starts the engine once the runtime is initialised: after the first `hsa_init` of an armed process returned success.
    ///
    /// # Errors
    /// When agents and pools cannot be listed. The caller logs the error and stays disarmed.
    pub fn start(runtime: Arc<dyn Runtime>) -> Result<Self, StartError> {
        Ok(Self { runtime })
    }

    /// The process has begun to exit (an `atexit` handler, or `hsa_shut_down` about to reach zero): no new window opens,
    /// an open one ends after the running pass, forwarding goes on.
    pub fn begin_exit(&self) {}

    /// Something was done behind our back that makes windows unsafe (a queue made by a call we do not know, or a queue that
    /// could not be wrapped): no window opens any more, every further candidate is declined. `why` is logged once.
    pub fn disarm(&self, why: &str) {
        let _ = why;
    }

    /// Just before the last `hsa_shut_down`: stops the workers and gives back the engine's own signals and memory, then
    /// writes the summary. Every later call does nothing and recognises nothing. Not to be called on the event thread.
    pub fn stop(&self) {}
}

/// Memory.
impl Engine {
    /// After a successful allocation, mapping or import, before the application sees the address.
    pub fn memory_allocated(&self, allocation: &Allocation) {
        let _ = allocation;
    }

    /// Before the real free, unmap or detach. The record leaves the inventory at once; this waits at most for the chunk of
    /// that very memory which is being copied now.
    pub fn memory_freeing(&self, address: u64) -> Freeing {
        Freeing { address }
    }

    /// After it: if the real call failed, the range stays excluded from then on.
    pub fn memory_freed(&self, freeing: Freeing, succeeded: bool) {
        let _ = (freeing, succeeded);
    }

    /// After memory was opened to someone else. The address may lie inside an allocation.
    pub fn memory_shared(&self, address: u64, sharing: Sharing) {
        let _ = (address, sharing);
    }
}

/// Executables.
impl Engine {
    /// After `hsa_executable_freeze` succeeded: kernels and module variables become known.
    pub fn executable_frozen(&self, executable: Executable) {
        let _ = executable;
    }

    /// Before `hsa_executable_destroy`: its memory is no longer captured or restored once this returns.
    pub fn executable_destroying(&self, executable: Executable) {
        let _ = executable;
    }

    /// `hsa_executable_agent_global_variable_define` and its siblings: this address is the application's, not the loader's.
    pub fn variable_defined(&self, executable: Executable, address: u64) {
        let _ = (executable, address);
    }
}

/// Queues. A queue is named by the address of the object the application holds (`hsa_queue_t *`).
impl Engine {
    /// After the real queue was created for the application: makes the software queue and gives the address of the object
    /// to return in its place. `cooperative` is `HSA_QUEUE_TYPE_COOPERATIVE`. A hardware queue that is wrapped already (ROCr
    /// hands out its cooperative queue many times) gives the same object again, counted.
    ///
    /// # Errors
    /// When memory or signals for it cannot be had. The caller logs it and returns the real queue: its dispatches are
    /// then out of our sight, and every window on that agent is declined.
    pub fn wrap_queue(&self, agent: Agent, real: HardwareQueue, cooperative: bool) -> RuntimeResult<u64> {
        let _ = (agent, real, cooperative, &self.runtime);
        Err(RuntimeError { call: "wrap_queue", status: 0x1000 })
    }

    /// The real queue behind an object, or `None` when the object is not one of ours. For calls that act on the real queue:
    /// priority, CU mask, profiling, scratch limit, information.
    #[must_use]
    pub fn hardware_queue(&self, object: u64) -> Option<HardwareQueue> {
        let _ = object;
        None
    }

    /// `hsa_queue_load_read_index_*`: slots the application may use again. `None`: not ours.
    #[must_use]
    pub fn load_read_index(&self, object: u64) -> Option<u64> {
        let _ = object;
        None
    }

    /// `hsa_queue_load_write_index_*`. `None`: not ours.
    #[must_use]
    pub fn load_write_index(&self, object: u64) -> Option<u64> {
        let _ = object;
        None
    }

    /// `hsa_queue_store_write_index_*`; false: not ours.
    #[must_use]
    pub fn store_write_index(&self, object: u64, value: u64) -> bool {
        let _ = (object, value);
        false
    }

    /// `hsa_queue_add_write_index_*`, gives the former value. `None`: not ours.
    #[must_use]
    pub fn add_write_index(&self, object: u64, value: u64) -> Option<u64> {
        let _ = (object, value);
        None
    }

    /// `hsa_queue_cas_write_index_*`, gives the former value. `None`: not ours.
    #[must_use]
    pub fn cas_write_index(&self, object: u64, expected: u64, value: u64) -> Option<u64> {
        let _ = (object, expected, value);
        None
    }

    /// Every plain store to a signal (`hsa_signal_store_*`, `hsa_signal_silent_store_*`): if it is the doorbell of one of our
    /// queues, stores the value, forwards what is ready and gives true; otherwise the caller forwards the call.
    #[must_use]
    pub fn store_doorbell(&self, signal: Signal, value: i64) -> bool {
        let _ = (signal, value);
        false
    }

    /// After any other write to a signal (exchange, compare-and-swap, add, subtract, and, or, xor) has been done by the real
    /// runtime: forwards what is ready if it is the doorbell of one of our queues.
    pub fn doorbell_changed(&self, signal: Signal) {
        let _ = signal;
    }

    /// In the error callback of a real queue, before the application's own callback is called with our object: parked packets
    /// stay where they are and no window touches the queue any more. Each queue's callback is passed on at most once.
    pub fn queue_failed(&self, object: u64) {
        let _ = object;
    }

    /// `hsa_queue_inactivate`. `None`: not ours, forward the call; otherwise the result to return.
    #[must_use]
    pub fn inactivate_queue(&self, object: u64) -> Option<RuntimeResult<()>> {
        let _ = object;
        None
    }

    /// `hsa_queue_destroy`: drops parked packets, ends a window of this queue without restoring, destroys the real queue.
    /// `None`: not ours, forward the call; otherwise the result to return.
    #[must_use]
    pub fn destroy_queue(&self, object: u64) -> Option<RuntimeResult<()>> {
        let _ = object;
        None
    }
}
