//! One software queue.
//!
//! Any thread may ring the doorbell. One of them at a time forwards, under the queue's lock, which the others only try to
//! take (see [`HandOver`]), so that a doorbell rung from inside the real doorbell's call (by a tool below us) returns at once.

use super::barrier::Stuck;
use super::forward::{Forwarder, Stop};
use super::hand_over::HandOver;
use super::hardware::HardwareRing;
use super::select::KernelCache;
use crate::agent::AgentState;
use crate::control::Requests;
use crate::handles::HardwareQueue;
use crate::runtime::RuntimeResult;
use crate::shared_memory::{HardwareFacts, QueueObject};
use crate::signals::Completion;
use crate::sync::{Arc, AtomicBool, AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};
use std::collections::VecDeque;
use std::time::Instant;

/// A queue of the application, in front of a hardware queue.
pub(crate) struct SoftQueue {
    object: QueueObject,
    hardware: HardwareRing,
    agent: Arc<AgentState>,
    cooperative: bool,
    forwarder: HandOver<Forwarder>,
    /// Requests of the program, each with the index of the first packet that it holds for, ascending.
    requests: Mutex<VecDeque<(u64, Arc<Requests>)>>,
    /// The runtime reported an error, or the application inactivated or destroys the queue.
    dead: AtomicBool,
    /// Held while a completion is given to the application: none is once the queue is dead.
    completing: Mutex<()>,
    /// The application has destroyed it, and the worker is to destroy the real one.
    doomed: AtomicBool,
    pub(super) stuck: Mutex<Option<Stuck>>,
    /// A barrier behind everything that was forwarded when a drain ended without having waited for it.
    pub(super) left: Mutex<Option<Completion>>,
    /// Parked packets below this index have been shown.
    pub(super) seen: AtomicU64,
    /// How often the application was given this queue and has not destroyed it.
    owners: AtomicUsize,
}

impl std::fmt::Debug for SoftQueue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SoftQueue")
            .field("object", &self.object)
            .field("hardware", &self.hardware)
            .finish_non_exhaustive()
    }
}

impl SoftQueue {
    /// Puts a software queue in front of a hardware queue of the agent.
    pub(crate) fn new(
        agent: &Arc<AgentState>,
        real: HardwareQueue,
        cooperative: bool,
    ) -> RuntimeResult<Arc<Self>> {
        let runtime = &agent.process.runtime;
        let facts = HardwareFacts::of(real)?;
        // Ticks are only written with profiling on.
        runtime.enable_profiling(real)?;
        let hardware = HardwareRing::new(Arc::clone(runtime), real, facts);
        let object = QueueObject::new(runtime, real, hardware.slots())?;
        let forwarder = Forwarder {
            read: object.read_index(),
            position: hardware.position(),
            parked: false,
            attended: false,
            candidate: None,
            kernels: KernelCache::default(),
            requests: None,
        };
        let queue = Arc::new(Self {
            object,
            hardware,
            agent: Arc::clone(agent),
            cooperative,
            forwarder: HandOver::new(forwarder),
            requests: Mutex::default(),
            dead: AtomicBool::new(false),
            completing: Mutex::new(()),
            doomed: AtomicBool::new(false),
            stuck: Mutex::new(None),
            left: Mutex::new(None),
            seen: AtomicU64::new(0),
            owners: AtomicUsize::new(1),
        });
        queue.object.link(&queue);
        Ok(queue)
    }

    pub(crate) fn object(&self) -> &QueueObject {
        &self.object
    }

    pub(crate) fn hardware(&self) -> &HardwareRing {
        &self.hardware
    }

    pub(crate) fn agent(&self) -> &Arc<AgentState> {
        &self.agent
    }

    /// Whether it was created for cooperative launches.
    pub(crate) fn is_cooperative(&self) -> bool {
        self.cooperative
    }

    /// The application was given this queue once more.
    pub(crate) fn add_owner(&self) {
        self.owners.fetch_add(1, Ordering::Relaxed);
    }

    /// The application destroyed it; true when that was the last time.
    pub(crate) fn remove_owner(&self) -> bool {
        self.owners.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The program asked for something: it holds for the packets whose slots it has not reserved yet.
    pub(crate) fn note_requests(&self, requests: &Arc<Requests>) {
        let mut noted = self.requests.lock();
        let index = self.object.write_index().load(Ordering::Acquire);
        noted.retain(|(earlier, _)| *earlier < index);
        noted.push_back((index, Arc::clone(requests)));
    }

    /// The requests that hold for the packet of an index; indices are asked for in order.
    pub(super) fn requests_at(&self, forwarder: &mut Forwarder, index: u64) -> Option<Arc<Requests>> {
        if !self.agent.process.control.is_used() {
            return None;
        }
        let mut noted = self.requests.lock();
        while noted.front().is_some_and(|(first, _)| *first <= index) {
            forwarder.requests = noted.pop_front().map(|(_, requests)| requests);
        }
        forwarder.requests.clone()
    }

    /// Whether nothing is forwarded any more.
    pub(crate) fn is_dead(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }

    /// Stops forwarding for good; a window of this queue ends at its next look. No completion is given to the application once
    /// this returns.
    pub(crate) fn kill(&self) {
        let _completing = self.completing.lock();
        self.dead.store(true, Ordering::Release);
    }

    /// After a failure, once it is dead: whoever looks for the packet that failed, as HIP does before it aborts, finds what is on
    /// the hardware queue, as without us. Nothing is taken from our ring any more.
    pub(crate) fn show_hardware(&self) {
        let write = self.object.write_index().load(Ordering::Acquire);
        let mut pending = self.hardware.pending();
        // Barriers of the engine's own may be more than the program has ever written.
        pending.truncate(usize::try_from(write).unwrap_or(usize::MAX));
        let read = write - pending.len() as u64;
        for (index, packet) in (read..).zip(&pending) {
            match packet {
                Some(packet) => self.object.ring().write(index, packet),
                None => self.object.ring().invalidate(index),
            }
        }
        self.object.set_read_index(read);
    }

    /// Gives a completion to the application, unless the queue is dead: its signals may be gone then.
    pub(crate) fn unless_dead(&self, complete: impl FnOnce()) {
        let _completing = self.completing.lock();
        if !self.is_dead() {
            complete();
        }
    }

    /// The worker is to destroy the real queue once nothing is at work on it.
    pub(crate) fn doom(&self) {
        self.doomed.store(true, Ordering::Release);
    }

    pub(crate) fn is_doomed(&self) -> bool {
        self.doomed.load(Ordering::Acquire)
    }

    /// The doorbell was rung: forwards what is ready, or leaves it to the thread that is at it.
    pub(crate) fn rung(&self) {
        let forward = |forwarder: &mut Forwarder| {
            !forwarder.parked && {
                let stop = self.forward(forwarder);
                let attended = forwarder.attended;
                forwarder.leave(stop);
                forwarder.parked || (forwarder.attended && !attended)
            }
        };
        self.forwarder.ask(forward, || self.agent.hand_over(self));
    }

    /// Takes the queue's lock for the worker, which may hold it for a window. Application threads never wait for it; they
    /// hold it themselves only while they forward.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Forwarder> {
        self.forwarder.lock()
    }

    /// The same, for at most until `deadline`: a tool below may keep a forwarder inside the real doorbell.
    pub(crate) fn lock_until(&self, deadline: Instant) -> Option<MutexGuard<'_, Forwarder>> {
        self.forwarder.state().try_lock_until(deadline)
    }

    /// Forwards on the worker, which holds the lock. Whatever was rung meanwhile is seen too: the note is taken first.
    pub(crate) fn forward_on_worker(&self, forwarder: &mut Forwarder) -> Stop {
        self.forwarder.drop_note();
        forwarder.parked = false;
        forwarder.attended = false;
        let stop = self.forward(forwarder);
        forwarder.leave(stop);
        stop
    }

    /// After another thread held the lock: forwards for whoever rang meanwhile and left it at that.
    pub(crate) fn catch_up(&self) {
        if self.was_rung() {
            self.rung();
        }
    }

    /// Whether a doorbell was rung while the worker held the lock; asked after letting it go. The caller has the queue looked at.
    pub(crate) fn was_rung(&self) -> bool {
        self.forwarder.take_note()
    }
}
