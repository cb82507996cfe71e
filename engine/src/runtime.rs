//! What the engine needs from the HSA runtime below it.
//!
//! One implementation calls the real ROCr, another is a simulation for tests. Everything that takes the device's time is
//! asynchronous: it is submitted with a completion signal, and the engine polls or waits for that signal. Packets reach a
//! hardware queue through the ring memory, which the engine writes itself; the trait only moves indices and the doorbell.
//!
//! Implementations call the real runtime directly, never its exported (hooked) names, and keep no lock over a call.

use crate::handles::{Agent, Executable, HardwareQueue, Pool, Signal};
use std::time::Duration;

/// A call of the runtime that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed with status {status:#x}")]
pub struct RuntimeError {
    /// Name of the call, as in the HSA headers.
    pub call: &'static str,
    /// Its `hsa_status_t`.
    pub status: u32,
}

/// Result of a runtime call.
pub type RuntimeResult<T> = Result<T, RuntimeError>;

/// One agent, for the report and for the choice of whose memory and queues are handled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFacts {
    /// The agent's handle.
    pub agent: Agent,
    /// Whether it is a GPU (`HSA_DEVICE_TYPE_GPU`).
    pub gpu: bool,
    /// `HSA_AGENT_INFO_NAME`, for example `gfx942`.
    pub name: String,
    /// `HSA_AGENT_INFO_NODE`.
    pub node: u32,
    /// `HSA_AMD_AGENT_INFO_UUID`, empty when the agent has none.
    pub uuid: String,
}

/// One memory pool or region of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFacts {
    /// The pool's (or region's) handle.
    pub pool: Pool,
    /// The agent that lists it.
    pub agent: Agent,
    /// `HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS` (the same bits as `HSA_REGION_INFO_GLOBAL_FLAGS`); zero outside the global segment.
    pub global_flags: u32,
    /// Whether the pool lies in the global segment.
    pub global: bool,
}

/// Who an address belongs to, from `hsa_amd_pointer_info`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PointerFacts {
    /// `hsa_amd_pointer_type_t`: 0 unknown, 1 HSA, 2 locked, 3 graphics, 4 IPC, 5 reserved address, 6 virtual memory.
    pub kind: u32,
    /// First address of the allocation as agents see it (`agentBaseAddress`).
    pub base: u64,
    /// The same address as the host sees it (`hostBaseAddress`), zero when the host does not see it.
    pub host_base: u64,
    /// Bytes of the allocation.
    pub size: u64,
    /// The owner (`agentOwner`).
    pub owner: Agent,
    /// `global_flags`.
    pub global_flags: u32,
}

/// Device memory of one agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Bytes that are free now (`HSA_AMD_AGENT_INFO_MEMORY_AVAIL`).
    pub free: u64,
    /// All bytes (`HSA_AMD_MEMORY_POOL_INFO_SIZE` of the pool that [`Runtime::allocate_device`] takes from).
    pub total: u64,
}

/// One copy: `hsa_amd_memory_async_copy` without dependencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copy {
    /// First destination address.
    pub to: u64,
    /// Agent on whose side the destination lies.
    pub to_agent: Agent,
    /// First source address.
    pub from: u64,
    /// Agent on whose side the source lies.
    pub from_agent: Agent,
    /// Bytes, never zero.
    pub bytes: u64,
}

/// One code object of an executable as the loader placed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedCodeObject {
    /// The agent it was loaded on; `None` for a program-scope object.
    pub agent: Option<Agent>,
    /// `HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE`.
    pub load_base: u64,
    /// `..._LOAD_SIZE`, bytes.
    pub load_size: u64,
    /// `..._LOAD_DELTA`: what is added to an ELF virtual address to get the loaded address.
    pub load_delta: i64,
    /// The ELF image the object was loaded from (copied from memory, or read from the file it names).
    pub image: Vec<u8>,
}

/// The HSA runtime below the engine.
pub trait Runtime: Send + Sync + 'static {
    /// Called first on each thread that the engine starts: keeps the application's signal handlers off it.
    fn enter_thread(&self) {}

    /// Ends the process at once with this exit code, without running the application's exit handlers.
    fn end_process(&self, code: i32);

    /// All agents, in the runtime's order.
    ///
    /// # Errors
    /// When the runtime refuses the walk.
    fn agents(&self) -> RuntimeResult<Vec<AgentFacts>>;

    /// All pools and regions of all agents.
    ///
    /// # Errors
    /// When the runtime refuses the walk.
    fn pools(&self) -> RuntimeResult<Vec<PoolFacts>>;

    /// Path and version of the real library, for the report.
    fn identity(&self) -> (String, String);

    /// Allocates fine-grained host memory (not the kernarg pool) that every GPU can reach, 4096-byte aligned and zeroed.
    ///
    /// # Errors
    /// When no such memory is left.
    fn allocate_host(&self, bytes: u64) -> RuntimeResult<u64>;

    /// Frees memory of [`Runtime::allocate_host`].
    ///
    /// # Errors
    /// When the runtime refuses.
    fn free_host(&self, address: u64) -> RuntimeResult<()>;

    /// Allocates device memory of an agent, coarse-grained and 4096-byte aligned, which no other agent reaches. What it holds
    /// is undefined.
    ///
    /// # Errors
    /// When no such memory is left. Asking for more than [`Runtime::device_memory`] has may cost the application its scratch
    /// memory.
    fn allocate_device(&self, agent: Agent, bytes: u64) -> RuntimeResult<u64>;

    /// Frees memory of [`Runtime::allocate_device`].
    ///
    /// # Errors
    /// When the runtime refuses.
    fn free_device(&self, address: u64) -> RuntimeResult<()>;

    /// How much device memory an agent has.
    ///
    /// # Errors
    /// When the runtime does not say.
    fn device_memory(&self, agent: Agent) -> RuntimeResult<DeviceMemory>;

    /// Host memory that can be had without pushing anything out, bytes; `None` when the system does not say.
    fn available_host_memory(&self) -> Option<u64>;

    /// Creates a signal of the engine's own, one on which a host thread can sleep.
    ///
    /// # Errors
    /// When the runtime has no signal left.
    fn create_signal(&self, initial: i64) -> RuntimeResult<Signal>;

    /// Creates a signal of user kind and without an interrupt event where the runtime offers that
    /// (`HSA_AMD_SIGNAL_AMD_GPU_ONLY`): an application's doorbell, or the completion of a copy that is looked at.
    /// It is never given to [`Runtime::wait_signal_below`].
    ///
    /// # Errors
    /// When the runtime has no signal left.
    fn create_polled_signal(&self, initial: i64) -> RuntimeResult<Signal>;

    /// Destroys a signal of the engine's own.
    ///
    /// # Errors
    /// When the runtime refuses.
    fn destroy_signal(&self, signal: Signal) -> RuntimeResult<()>;

    /// `hsa_signal_load_scacquire`.
    fn load_signal(&self, signal: Signal) -> i64;

    /// `hsa_signal_store_screlease`; also rings a hardware doorbell.
    fn store_signal(&self, signal: Signal, value: i64);

    /// `hsa_signal_subtract_screlease`: how a packet's completion is given to the application's own signal.
    fn subtract_signal(&self, signal: Signal, value: i64);

    /// Sleeps until one of the engine's own signals is below `bound` or the time is over, and gives the value last seen.
    /// Never called for an application's signal.
    fn wait_signal_below(&self, signal: Signal, bound: i64, timeout: Duration) -> i64;

    /// `hsa_queue_load_read_index_scacquire` of a hardware queue.
    fn queue_read_index(&self, queue: HardwareQueue) -> u64;

    /// `hsa_queue_load_write_index_relaxed` of a hardware queue.
    fn queue_write_index(&self, queue: HardwareQueue) -> u64;

    /// `hsa_queue_store_write_index_screlease` of a hardware queue.
    fn store_queue_write_index(&self, queue: HardwareQueue, value: u64);

    /// `hsa_amd_profiling_set_profiler_enabled(queue, 1)`.
    ///
    /// # Errors
    /// When the runtime refuses.
    fn enable_profiling(&self, queue: HardwareQueue) -> RuntimeResult<()>;

    /// `hsa_queue_inactivate`.
    ///
    /// # Errors
    /// When the runtime refuses.
    fn inactivate_queue(&self, queue: HardwareQueue) -> RuntimeResult<()>;

    /// `hsa_queue_destroy`.
    ///
    /// # Errors
    /// When the runtime refuses.
    fn destroy_queue(&self, queue: HardwareQueue) -> RuntimeResult<()>;

    /// `hsa_amd_pointer_info`.
    ///
    /// # Errors
    /// When the runtime refuses; an address it does not know is kind 0, not an error.
    fn pointer_facts(&self, address: u64) -> RuntimeResult<PointerFacts>;

    /// Submits a copy; `completion` is decremented by one when it is done, and goes below zero when it failed.
    ///
    /// # Errors
    /// When the copy was not accepted; `completion` is then untouched.
    fn submit_copy(&self, copy: &Copy, completion: Signal) -> RuntimeResult<()>;

    /// Nanoseconds between two raw ticks of an agent, `None` where they cannot be translated.
    fn ticks_to_ns(&self, agent: Agent, start: u64, end: u64) -> Option<u64>;

    /// The code objects of a frozen executable, through the loader extension table.
    ///
    /// # Errors
    /// When any part of the walk fails: half a list would leave variables out of a snapshot.
    fn loaded_code_objects(&self, executable: Executable) -> RuntimeResult<Vec<LoadedCodeObject>>;
}
