//! A runtime and an agent made of host threads, for tests of the engine.
//!
//! The agent is honest where the engine could cheat: device memory has addresses that the host cannot touch, packets are
//! taken from the ring memory as the hardware does, copies run on a thread of their own, and every misuse (a slot published
//! before it was written, a copy outside of live memory, a signal used after its end) is kept as a violation, which fails
//! the test. It can be told to fail or to hold the n-th operation of a kind.
#![allow(unsafe_code, reason = "plays the hardware, which reads and writes raw memory")]
#![allow(clippy::cast_possible_truncation, clippy::unwrap_used, reason = "test code on a 64-bit host")]

mod copies;
mod memory;
mod queue;
mod runtime;

pub(crate) use memory::{Machine, argument};
use queue::KERNEL_ARGUMENTS;
pub(crate) use queue::RealQueue;
pub(crate) use runtime::{GPU, HOST, KERNARG_POOL, PEER, VRAM_POOL};

use crate::handles::{Executable, Signal};
use crate::runtime::{DeviceMemory, LoadedCodeObject};
use parking_lot::{Condvar, Mutex};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A kind of operation that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Operation {
    CopyToHost,
    CopyToDevice,
    AllocateHost,
    AllocateDevice,
    CreateSignal,
    LoadedCodeObjects,
    PointerFacts,
    ReadIndex,
}

/// What happens to an operation instead of its success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The call fails.
    Refuse,
    /// The call panics.
    Panic,
    /// The call succeeds and the completion signal says later that it failed (copies only).
    FailLate,
    /// It does not end before [`Fake::release`].
    Hold,
}

/// Something that happened on the agent, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// A kernel ran.
    Dispatch { queue: u64, kernel: u64, header: u16 },
    /// A barrier completed.
    Barrier { queue: u64 },
    /// A copy ended.
    Copied { operation: Operation, device: u64, bytes: u64 },
}

type Kernel = Arc<dyn Fn(&mut Machine, &[u64; 8]) + Send + Sync>;

#[derive(Default)]
pub(crate) struct State {
    pub(super) machine: Machine,
    pub(super) kernels: HashMap<u64, Kernel>,
    /// Kernels that do not end before they are released.
    pub(super) held: HashSet<u64>,
    pub(super) executables: HashMap<Executable, Vec<LoadedCodeObject>>,
    pub(super) events: Vec<Event>,
    pub(super) violations: Vec<String>,
    /// The codes with which the process was ended.
    pub(super) ended: Vec<i32>,
    pub(super) copies: copies::Copies,
    /// The n-th call of a kind that does not return before it is resumed, and whether it has been reached.
    pause: Option<(Operation, u64, bool)>,
    faults: Vec<(Operation, u64, Fault)>,
    counts: HashMap<Operation, u64>,
    /// Device memory that no copy can write to.
    pub(super) broken: Vec<Range<u64>>,
    /// Queues of which packets have their times written.
    pub(super) profiled: HashSet<u64>,
    /// No copy reaches over the end of an allocation.
    pub(super) keeps_apart: bool,
    pub(super) signals: HashSet<u64>,
    /// With those that are destroyed.
    pub(super) ever_signals: HashSet<u64>,
    /// The ticks that signals had when the engine last subtracted from them.
    pub(super) ticks_when_subtracted: HashMap<u64, [u64; 2]>,
    pub(super) stop: bool,
    /// Ticks of the agent's clock.
    pub(super) clock: u64,
    /// What the agent says of its memory; allocations of the engine's count.
    pub(super) device_memory: DeviceMemory,
    /// Device memory that the engine has allocated, and its sizes.
    pub(super) arenas: HashMap<u64, u64>,
    /// Available host memory.
    pub(super) host_memory: u64,
    /// Whether another GPU is listed, before the one that works.
    pub(super) has_peer: bool,
}

/// The runtime and its agent.
pub(crate) struct Fake {
    pub(super) state: Mutex<State>,
    pub(super) changed: Condvar,
}

impl Fake {
    pub(crate) fn new() -> Arc<Self> {
        let fake = Arc::new(Self {
            state: Mutex::new(State {
                clock: 1000,
                device_memory: DeviceMemory { free: 8 << 30, total: 8 << 30 },
                host_memory: 16 << 30,
                ..State::default()
            }),
            changed: Condvar::new(),
        });
        copies::start(&fake);
        fake
    }

    /// Lists another GPU before the one that works; engines that start from now on know it.
    pub(crate) fn add_peer(&self) {
        self.state.lock().has_peer = true;
    }

    /// Sets what a kernel object does: memory and the packet's eight words.
    pub(crate) fn kernel(&self, object: u64, body: impl Fn(&mut Machine, &[u64; 8]) + Send + Sync + 'static) {
        self.state.lock().kernels.insert(object, Arc::new(body));
    }

    /// Makes code objects known to the loader.
    pub(crate) fn load(&self, executable: Executable, loaded: LoadedCodeObject) {
        self.state.lock().executables.entry(executable).or_default().push(loaded);
    }

    pub(crate) fn store_word(&self, address: u64, new: u64) {
        word(address).store(new, Ordering::SeqCst);
    }

    pub(crate) fn load_word(&self, address: u64) -> u64 {
        word(address).load(Ordering::SeqCst)
    }

    /// From now on a kernel does not end before it is released.
    pub(crate) fn hold_kernel(&self, object: u64) {
        self.state.lock().held.insert(object);
    }

    /// Lets everything go on that is held.
    pub(crate) fn release(&self) {
        let mut state = self.state.lock();
        state.held.clear();
        state.copies.release();
        drop(state);
        self.changed.notify_all();
    }

    /// Makes the n-th operation of a kind from now on (from 0) fail.
    pub(crate) fn fault(&self, operation: Operation, nth: u64, fault: Fault) {
        let mut state = self.state.lock();
        let done = state.counts.get(&operation).copied().unwrap_or(0);
        state.faults.push((operation, done + nth, fault));
    }

    /// Makes every copy to this device memory fail.
    pub(crate) fn break_memory(&self, broken: Range<u64>) {
        self.state.lock().broken.push(broken);
    }

    /// Makes every copy fail that reaches over the end of an allocation.
    pub(crate) fn keep_apart(&self) {
        self.state.lock().keeps_apart = true;
    }

    /// Makes the n-th call of a kind from now on (from 0) wait, on its thread, for [`Fake::resume`].
    pub(crate) fn pause(&self, operation: Operation, nth: u64) {
        let mut state = self.state.lock();
        let done = state.counts.get(&operation).copied().unwrap_or(0);
        state.pause = Some((operation, done + nth, false));
    }

    /// Waits until a thread is in the call that is to pause.
    pub(crate) fn wait_for_pause(&self) {
        self.wait_for("a paused call", |state| state.pause.is_some_and(|(_, _, reached)| reached));
    }

    pub(crate) fn resume(&self) {
        self.state.lock().pause = None;
        self.changed.notify_all();
    }

    /// Waits here if this call, which was counted already, is to pause.
    pub(super) fn pause_here(&self, state: &mut parking_lot::MutexGuard<'_, State>, operation: Operation) {
        let now = state.counts.get(&operation).copied().unwrap_or(0) - 1;
        if let Some((kind, nth, reached)) = &mut state.pause
            && (*kind, *nth) == (operation, now)
        {
            *reached = true;
            self.changed.notify_all();
            while state.pause.is_some() && !state.stop {
                self.changed.wait(state);
            }
        }
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        self.state.lock().events.clone()
    }

    /// Live signals.
    pub(crate) fn signals(&self) -> usize {
        self.state.lock().signals.len()
    }

    /// The ticks that were in a signal when the engine last subtracted from it.
    pub(crate) fn ticks_when_subtracted(&self, signal: Signal) -> Option<[u64; 2]> {
        self.state.lock().ticks_when_subtracted.get(&signal.0).copied()
    }

    /// Live blocks of host memory, signals left out.
    pub(crate) fn host_blocks(&self) -> usize {
        let state = self.state.lock();
        state.machine.host.keys().filter(|block| !state.ever_signals.contains(block)).count()
    }

    /// Operations of a kind so far.
    pub(crate) fn count(&self, operation: Operation) -> u64 {
        self.state.lock().counts.get(&operation).copied().unwrap_or(0)
    }

    /// Sets how much device memory the agent says it has.
    pub(crate) fn set_device_memory(&self, free: u64, total: u64) {
        self.state.lock().device_memory = DeviceMemory { free, total };
    }

    /// Sets how much host memory is available.
    pub(crate) fn set_host_memory(&self, bytes: u64) {
        self.state.lock().host_memory = bytes;
    }

    /// Device memory that is the engine's.
    pub(crate) fn arena_bytes(&self) -> u64 {
        self.state.lock().arenas.values().sum()
    }

    /// Waits until the engine has none of the agent's memory.
    pub(crate) fn wait_for_no_arena(&self) {
        self.wait_for("the end of an arena", |state| state.arenas.is_empty());
    }

    /// Waits until no copy is left to do.
    pub(crate) fn wait_for_copies(&self) {
        self.wait_for("the last copy", |state| state.copies.is_empty());
    }

    /// Undoes the destruction of a hardware queue that has more owners.
    pub(crate) fn revive(&self, queue: RealQueue) {
        self.state.lock().machine.host.insert(queue.object, 4096);
    }

    /// Works on device memory.
    pub(crate) fn machine<R>(&self, work: impl FnOnce(&mut Machine) -> R) -> R {
        work(&mut self.state.lock().machine)
    }

    /// Waits until a condition of the state holds; a test that waits for ever fails.
    pub(crate) fn wait_for(&self, what: &str, mut holds: impl FnMut(&mut State) -> bool) {
        let give_up = Instant::now() + Duration::from_secs(30);
        let mut state = self.state.lock();
        while !holds(&mut state) {
            assert!(Instant::now() < give_up, "waited too long for {what}; events: {:?}", state.events);
            self.changed.wait_for(&mut state, Duration::from_millis(1));
        }
    }

    /// Waits until an operation of a kind has begun.
    pub(crate) fn wait_for_operation(&self, operation: Operation) {
        self.wait_for("an operation", |state| state.counts.contains_key(&operation));
    }

    /// Waits until a block of host memory, as a hardware queue's, is freed.
    pub(crate) fn wait_for_end_of(&self, block: u64) {
        self.wait_for("the end of a block", |state| !state.machine.host.contains_key(&block));
    }

    pub(crate) fn is_host_block(&self, block: u64) -> bool {
        self.state.lock().machine.host.contains_key(&block)
    }

    /// Waits until a kernel is on the hardware and held there.
    pub(crate) fn wait_for_held(&self, object: u64) {
        self.wait_for("a held kernel", |state| state.machine.running.contains(&object));
    }

    /// Waits until a signal is below one.
    pub(crate) fn wait_for_signal(&self, signal: Signal) {
        self.wait_for("a signal", |_| value(signal).load(Ordering::SeqCst) < 1);
    }

    /// Counts an operation and gives its fault.
    pub(super) fn operate(state: &mut State, operation: Operation) -> Option<Fault> {
        let count = state.counts.entry(operation).or_default();
        let now = *count;
        *count += 1;
        let at = state.faults.iter().position(|(kind, nth, _)| (*kind, *nth) == (operation, now))?;
        Some(state.faults.swap_remove(at).2)
    }

    /// The codes with which the process was ended since the last call; the simulation goes on.
    pub(crate) fn take_ended(&self) -> Vec<i32> {
        std::mem::take(&mut self.state.lock().ended)
    }

    /// Fails the test for every misuse seen.
    pub(crate) fn check(&self) {
        let state = self.state.lock();
        assert!(state.violations.is_empty(), "violations: {:#?}", state.violations);
        assert!(state.ended.is_empty(), "the process was ended with {:?}", state.ended);
    }

    /// Ends the threads.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.release();
    }
}

/// The value word of a signal.
pub(super) fn value<'a>(signal: Signal) -> &'a AtomicI64 {
    // SAFETY: signals of the fake are amd_signal_t blocks that are never freed; the value is at offset 8.
    unsafe { AtomicI64::from_ptr(std::ptr::with_exposed_provenance_mut(signal.0 as usize + 8)) }
}

/// Any aligned word of memory that is mapped in the host.
pub(super) fn word<'a>(address: u64) -> &'a AtomicU64 {
    // SAFETY: callers name blocks of the fake, which are never freed, at multiples of eight.
    unsafe { AtomicU64::from_ptr(std::ptr::with_exposed_provenance_mut(address as usize)) }
}
