//! The runtime's calls.

use super::{Fake, Fault, Operation, RealQueue, copies, value};
use crate::handles::{Agent, Executable, HardwareQueue, Pool, Signal};
use crate::runtime::{
    AgentFacts, Copy, DeviceMemory, LoadedCodeObject, PointerFacts, PoolFacts, Runtime, RuntimeError,
    RuntimeResult,
};
use crate::shared_memory::ticks;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub(crate) const GPU: Agent = Agent(0x6000);
pub(crate) const HOST: Agent = Agent(0x6001);
/// Another GPU, which has no memory and runs nothing.
pub(crate) const PEER: Agent = Agent(0x6002);
pub(crate) const VRAM_POOL: Pool = Pool(0x100);
const HOST_POOL: Pool = Pool(0x101);
pub(crate) const KERNARG_POOL: Pool = Pool(0x102);

impl Fake {
    /// A signal, which lives as long as the test process.
    pub(crate) fn new_signal(&self, initial: i64) -> Signal {
        let mut state = self.state.lock();
        let block = state.machine.allocate_host(64);
        state.signals.insert(block);
        state.ever_signals.insert(block);
        // Kind 1 is AMD_SIGNAL_KIND_USER.
        super::word(block).store(1, Ordering::SeqCst);
        value(Signal(block)).store(initial, Ordering::SeqCst);
        Signal(block)
    }

    fn refused(&self, operation: Operation, call: &'static str) -> RuntimeResult<()> {
        match Self::operate(&mut self.state.lock(), operation) {
            Some(Fault::Refuse) => Err(RuntimeError { call, status: 0x1008 }),
            _ => Ok(()),
        }
    }

    fn check_signal(&self, signal: Signal) {
        let mut state = self.state.lock();
        if !state.signals.contains(&signal.0) {
            state.violations.push(format!("use of a signal that is not live: {signal:x?}"));
        }
    }
}

fn panic_if_told(fault: Option<Fault>) {
    assert!(fault != Some(Fault::Panic), "the test wants this panic");
}

impl Runtime for Fake {
    fn end_process(&self, code: i32) {
        self.state.lock().ended.push(code);
    }

    fn agents(&self) -> RuntimeResult<Vec<AgentFacts>> {
        let facts = |agent, gpu, name: &str, node| AgentFacts {
            agent,
            gpu,
            name: name.to_owned(),
            node,
            uuid: String::new(),
        };
        let peer = self.state.lock().has_peer.then(|| facts(PEER, true, "gfx942", 2));
        let others = [facts(HOST, false, "host", 0), facts(GPU, true, "gfx942", 1)];
        Ok(peer.into_iter().chain(others).collect())
    }

    fn pools(&self) -> RuntimeResult<Vec<PoolFacts>> {
        let facts = |pool, agent, global_flags| PoolFacts { pool, agent, global_flags, global: true };
        Ok(vec![facts(VRAM_POOL, GPU, 4), facts(HOST_POOL, HOST, 2), facts(KERNARG_POOL, HOST, 3)])
    }

    fn identity(&self) -> (String, String) {
        ("fake".to_owned(), String::new())
    }

    fn allocate_host(&self, bytes: u64) -> RuntimeResult<u64> {
        self.refused(Operation::AllocateHost, "hsa_amd_memory_pool_allocate")?;
        let mut state = self.state.lock();
        self.pause_here(&mut state, Operation::AllocateHost);
        Ok(state.machine.allocate_host(bytes))
    }

    fn free_host(&self, address: u64) -> RuntimeResult<()> {
        let mut state = self.state.lock();
        if state.machine.host.remove(&address).is_none() {
            state.violations.push(format!("free of host memory that is not allocated: {address:#x}"));
        }
        Ok(())
    }

    fn create_signal(&self, initial: i64) -> RuntimeResult<Signal> {
        self.refused(Operation::CreateSignal, "hsa_signal_create")?;
        Ok(self.new_signal(initial))
    }

    fn create_polled_signal(&self, initial: i64) -> RuntimeResult<Signal> {
        self.create_signal(initial)
    }

    fn allocate_device(&self, agent: Agent, bytes: u64) -> RuntimeResult<u64> {
        assert_eq!(agent, GPU);
        self.refused(Operation::AllocateDevice, "hsa_amd_memory_pool_allocate")?;
        let mut state = self.state.lock();
        if bytes > state.device_memory.free {
            state.violations.push(format!("{bytes} bytes of device memory asked for, more than are free"));
        }
        state.device_memory.free -= bytes.min(state.device_memory.free);
        let address = state.machine.allocate(bytes);
        state.arenas.insert(address, bytes);
        Ok(address)
    }

    fn free_device(&self, address: u64) -> RuntimeResult<()> {
        let mut state = self.state.lock();
        match state.arenas.remove(&address) {
            Some(bytes) => {
                state.device_memory.free += bytes;
                state.machine.free(address);
            }
            None => {
                state.violations.push(format!("free of device memory that is not the engine's: {address:#x}"))
            }
        }
        Ok(())
    }

    fn device_memory(&self, agent: Agent) -> RuntimeResult<DeviceMemory> {
        assert_eq!(agent, GPU);
        Ok(self.state.lock().device_memory)
    }

    fn available_host_memory(&self) -> Option<u64> {
        Some(self.state.lock().host_memory)
    }

    fn destroy_signal(&self, signal: Signal) -> RuntimeResult<()> {
        self.check_signal(signal);
        self.state.lock().signals.remove(&signal.0);
        Ok(())
    }

    fn load_signal(&self, signal: Signal) -> i64 {
        value(signal).load(Ordering::SeqCst)
    }

    fn store_signal(&self, signal: Signal, new: i64) {
        self.check_signal(signal);
        let state = self.state.lock();
        value(signal).store(new, Ordering::SeqCst);
        drop(state);
        self.changed.notify_all();
    }

    fn subtract_signal(&self, signal: Signal, amount: i64) {
        self.check_signal(signal);
        let mut state = self.state.lock();
        state.ticks_when_subtracted.insert(signal.0, ticks(signal));
        value(signal).fetch_sub(amount, Ordering::SeqCst);
        drop(state);
        self.changed.notify_all();
    }

    fn wait_signal_below(&self, signal: Signal, bound: i64, timeout: Duration) -> i64 {
        self.check_signal(signal);
        let deadline = Instant::now() + timeout;
        let mut state = self.state.lock();
        loop {
            let now = value(signal).load(Ordering::SeqCst);
            if now < bound || Instant::now() >= deadline {
                return now;
            }
            self.changed.wait_until(&mut state, deadline);
        }
    }

    fn queue_read_index(&self, queue: HardwareQueue) -> u64 {
        let mut state = self.state.lock();
        Self::operate(&mut state, Operation::ReadIndex);
        self.pause_here(&mut state, Operation::ReadIndex);
        if !state.machine.host.contains_key(&queue.0) {
            state.violations.push("the read index of a queue that is destroyed".to_owned());
        }
        drop(state);
        RealQueue::read_index(queue.0).load(Ordering::SeqCst)
    }

    fn queue_write_index(&self, queue: HardwareQueue) -> u64 {
        RealQueue::write_index(queue.0).load(Ordering::SeqCst)
    }

    fn store_queue_write_index(&self, queue: HardwareQueue, new: u64) {
        RealQueue::write_index(queue.0).store(new, Ordering::SeqCst);
    }

    fn enable_profiling(&self, queue: HardwareQueue) -> RuntimeResult<()> {
        self.state.lock().profiled.insert(queue.0);
        Ok(())
    }

    fn inactivate_queue(&self, _: HardwareQueue) -> RuntimeResult<()> {
        Ok(())
    }

    fn destroy_queue(&self, queue: HardwareQueue) -> RuntimeResult<()> {
        self.free_host(queue.0)?;
        self.changed.notify_all();
        Ok(())
    }

    fn pointer_facts(&self, address: u64) -> RuntimeResult<PointerFacts> {
        let mut state = self.state.lock();
        let fault = Self::operate(&mut state, Operation::PointerFacts);
        panic_if_told(fault);
        self.pause_here(&mut state, Operation::PointerFacts);
        let unknown =
            PointerFacts { kind: 0, base: 0, host_base: 0, size: 0, owner: Agent(0), global_flags: 0 };
        if let Some(&size) = state.machine.host.get(&address) {
            let facts =
                PointerFacts { kind: 2, base: address, host_base: address, size, owner: HOST, ..unknown };
            return Ok(facts);
        }
        Ok(state.machine.allocation(address).map_or(unknown, |(base, size)| PointerFacts {
            kind: 1,
            base,
            size,
            owner: GPU,
            global_flags: 4,
            ..unknown
        }))
    }

    fn submit_copy(&self, copy: &Copy, completion: Signal) -> RuntimeResult<()> {
        self.check_signal(completion);
        let mut state = self.state.lock();
        let operation = copies::operation(&state, copy);
        let fault = Self::operate(&mut state, operation);
        self.pause_here(&mut state, operation);
        panic_if_told(fault);
        if fault == Some(Fault::Refuse) {
            return Err(RuntimeError { call: "hsa_amd_memory_async_copy", status: 0x1000 });
        }
        state.copies.push(*copy, completion, fault);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    fn ticks_to_ns(&self, _: Agent, start: u64, end: u64) -> Option<u64> {
        Some((end - start) * 10)
    }

    fn loaded_code_objects(&self, executable: Executable) -> RuntimeResult<Vec<LoadedCodeObject>> {
        self.refused(Operation::LoadedCodeObjects, "hsa_ven_amd_loader_query_executables")?;
        Ok(self.state.lock().executables.get(&executable).cloned().unwrap_or_default())
    }
}
