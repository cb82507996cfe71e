//! The real HSA runtime as the engine calls it: never through our own exports, so that no hook sees the engine's calls.

mod agents;
mod call;
mod code;
mod host_memory;
mod memory;
mod queues;
mod signals;

use std::mem::MaybeUninit;
use std::time::Duration;

use hsa_replay_engine::handles::{Agent, Executable, HardwareQueue, Pool, Signal};
use hsa_replay_engine::runtime::{
    AgentFacts, Copy, DeviceMemory, LoadedCodeObject, PointerFacts, PoolFacts, Runtime, RuntimeError,
    RuntimeResult,
};
use hsa_sys::{HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_agent_t, hsa_amd_memory_pool_t};

use code::Loader;

/// The initialised runtime, with what it is asked for again and again.
#[derive(Debug)]
pub struct RealRuntime {
    gpus: Vec<hsa_agent_t>,
    /// Fine-grained host memory that is not kept for kernel arguments.
    host_pool: hsa_amd_memory_pool_t,
    /// Coarse-grained memory of each GPU.
    device_pools: Vec<(Agent, hsa_amd_memory_pool_t)>,
    /// Ticks of the system clock a second: the unit of timeouts and of translated ticks.
    tick_frequency: u64,
    loader: Loader,
}

impl RealRuntime {
    /// Asks the runtime, which has to be initialised.
    ///
    /// # Errors
    /// When it refuses a call without which nothing can be replayed.
    pub fn new() -> RuntimeResult<Self> {
        let agents = agents::all()?;
        let gpus = agents
            .iter()
            .filter(|facts| facts.gpu)
            .map(|facts| hsa_agent_t { handle: facts.agent.0 })
            .collect();
        Ok(Self {
            gpus,
            host_pool: memory::host_pool(&agents)?,
            device_pools: memory::device_pools(&agents)?,
            tick_frequency: agents::tick_frequency()?,
            loader: Loader::new()?,
        })
    }

    fn device_pool(&self, agent: Agent) -> RuntimeResult<hsa_amd_memory_pool_t> {
        let pool = self.device_pools.iter().find(|(known, _)| *known == agent).map(|(_, pool)| *pool);
        pool.ok_or(RuntimeError {
            call: "looking for a coarse-grained pool of the agent",
            status: HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        })
    }
}

impl Runtime for RealRuntime {
    /// Blocks signals on the thread, so that the application's handlers run on its own threads as ever. Those that a
    /// thread raises itself stay open: some applications manage memory by handling faults.
    fn enter_thread(&self) {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is filled before it is used; the mask is that of this thread of ours alone.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for own in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
                libc::sigdelset(all.as_mut_ptr(), own);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        }
    }

    fn end_process(&self, code: i32) {
        // SAFETY: ends the process without running anything of it.
        unsafe { libc::_exit(code) }
    }

    fn agents(&self) -> RuntimeResult<Vec<AgentFacts>> {
        agents::all()
    }

    fn pools(&self) -> RuntimeResult<Vec<PoolFacts>> {
        memory::pools(&agents::all()?)
    }

    fn identity(&self) -> (String, String) {
        agents::identity()
    }

    fn allocate_host(&self, bytes: u64) -> RuntimeResult<u64> {
        memory::allocate_host(self.host_pool, &self.gpus, bytes)
    }

    fn free_host(&self, address: u64) -> RuntimeResult<()> {
        memory::free(address)
    }

    fn allocate_device(&self, agent: Agent, bytes: u64) -> RuntimeResult<u64> {
        memory::allocate_device(self.device_pool(agent)?, bytes)
    }

    fn free_device(&self, address: u64) -> RuntimeResult<()> {
        memory::free(address)
    }

    fn device_memory(&self, agent: Agent) -> RuntimeResult<DeviceMemory> {
        memory::device_memory(agent, self.device_pool(agent)?)
    }

    fn available_host_memory(&self) -> Option<u64> {
        host_memory::available()
    }

    fn create_signal(&self, initial: i64) -> RuntimeResult<Signal> {
        signals::create(initial)
    }

    fn create_polled_signal(&self, initial: i64) -> RuntimeResult<Signal> {
        signals::create_polled(initial)
    }

    fn destroy_signal(&self, signal: Signal) -> RuntimeResult<()> {
        signals::destroy(signal)
    }

    fn load_signal(&self, signal: Signal) -> i64 {
        signals::load(signal)
    }

    fn store_signal(&self, signal: Signal, value: i64) {
        signals::store(signal, value);
    }

    fn subtract_signal(&self, signal: Signal, value: i64) {
        signals::subtract(signal, value);
    }

    fn wait_signal_below(&self, signal: Signal, bound: i64, timeout: Duration) -> i64 {
        signals::wait_below(signal, bound, timeout, self.tick_frequency)
    }

    fn queue_read_index(&self, queue: HardwareQueue) -> u64 {
        queues::read_index(queue)
    }

    fn queue_write_index(&self, queue: HardwareQueue) -> u64 {
        queues::write_index(queue)
    }

    fn store_queue_write_index(&self, queue: HardwareQueue, value: u64) {
        queues::store_write_index(queue, value);
    }

    fn enable_profiling(&self, queue: HardwareQueue) -> RuntimeResult<()> {
        queues::enable_profiling(queue)
    }

    fn inactivate_queue(&self, queue: HardwareQueue) -> RuntimeResult<()> {
        queues::inactivate(queue)
    }

    fn destroy_queue(&self, queue: HardwareQueue) -> RuntimeResult<()> {
        queues::destroy(queue)
    }

    fn pointer_facts(&self, address: u64) -> RuntimeResult<PointerFacts> {
        memory::pointer_facts(address)
    }

    fn submit_copy(&self, copy: &Copy, completion: Signal) -> RuntimeResult<()> {
        memory::submit_copy(copy, completion)
    }

    fn ticks_to_ns(&self, agent: Agent, start: u64, end: u64) -> Option<u64> {
        agents::ticks_to_ns(agent, start, end, self.tick_frequency)
    }

    fn loaded_code_objects(&self, executable: Executable) -> RuntimeResult<Vec<LoadedCodeObject>> {
        self.loader.loaded_code_objects(executable)
    }
}

/// A pool's handle as the engine names it.
fn pool_of(handle: u64) -> Pool {
    Pool(handle)
}
