//! What the hooks of queues and of their doorbells ask.

use super::Engine;
use crate::handles::{Agent, HardwareQueue, Signal};
use crate::promises::SignalWrite;
use crate::queue::SoftQueue;
use crate::runtime::{RuntimeError, RuntimeResult};
use crate::shared_memory::QueueObject;
use crate::sync::{Arc, Ordering};
use crate::window;
use std::time::{Duration, Instant};

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
            None => self.write(signal, SignalWrite::Set(value), || ()),
        }
        queue.is_some()
    }

    /// Any other write to a signal (exchange, compare-and-swap, add, subtract, and, or, xor), which `make` does. If it is the doorbell
    /// of one of our queues, forwards what is ready then. The signal itself may be gone by then, since the write may be what its owner
    /// waits for.
    pub fn write_signal<R>(&self, signal: Signal, write: SignalWrite, make: impl FnOnce() -> R) -> R {
        let Some(queue) = self.queue_of_doorbell(signal) else {
            return self.write(signal, write, make);
        };
        let object = queue.object().address();
        let result = make();
        if let Some(queue) = self.queue(object) {
            queue.rung();
        }
        result
    }

    fn write<R>(&self, signal: Signal, write: SignalWrite, make: impl FnOnce() -> R) -> R {
        if signal.is_none() || self.is_stopped() {
            return make();
        }
        self.process.promises.write(signal, write, make)
    }

    /// `hsa_signal_destroy`, before the real call: its address may be another signal's soon.
    pub fn signal_destroying(&self, signal: Signal) {
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
        // Once doomed, the worker may destroy it at any time.
        let kept = queue.agent().keep(queue);
        queue.doom();
        if let Some(queue) = kept {
            queue.agent().hand_over(&queue);
        }
        stopped
    }
}
