//! The queue object that the application holds: the real object's page with a ring, a doorbell and indices of our own.
//!
//! ROCr finds its own object through a pointer behind `amd_queue_v2_t`, so the whole page is copied: functions that are not
//! ours to answer still reach the real queue. The page is fine-grained host memory that GPUs see, since kernels receive its
//! address (hidden queue pointer) and read the apertures there. A second page, behind it, leads to the engine's own state.

use super::block::HostBlock;
use super::ring::Ring;
use super::signal;
use super::word::{atomic_u64, to_usize};
use crate::handles::{HardwareQueue, Signal};
use crate::packet::SLOT_BYTES;
use crate::queue::SoftQueue;
use crate::runtime::{Runtime, RuntimeError, RuntimeResult};
use crate::sync::Arc;
use hsa_sys::{amd_queue_v2_t, hsa_queue_t};
use std::mem::{ManuallyDrop, offset_of};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of the object: the copied page and the page with the link.
const OBJECT_BYTES: u64 = 2 * PAGE;
const PAGE: u64 = 4096;
const LINK: u64 = PAGE;
/// `amd_queue_v2_t` and the pointer to ROCr's object behind it must lie in the page.
const REAL_BYTES: u64 = size_of::<amd_queue_v2_t>() as u64 + 8;

const BASE_ADDRESS: usize = offset_of!(hsa_queue_t, base_address);
const DOORBELL: usize = offset_of!(hsa_queue_t, doorbell_signal);
const SIZE: usize = offset_of!(hsa_queue_t, size);
const ID: usize = offset_of!(hsa_queue_t, id);
const WRITE_INDEX: usize = offset_of!(amd_queue_v2_t, write_dispatch_id);
const READ_INDEX: usize = offset_of!(amd_queue_v2_t, read_dispatch_id);

fn field<'a>(object: u64, offset: usize) -> &'a AtomicU64 {
    // SAFETY: a queue handle is the address of a live, mapped amd_queue_t; the fields used are eight bytes wide and naturally
    // aligned, and concurrent accesses to them are single ones by the queueing protocol.
    unsafe { atomic_u64(object + offset as u64) }
}

/// What a hardware queue's object says of it.
#[derive(Debug)]
pub(crate) struct HardwareFacts {
    /// Its ring, of which this engine is the only producer.
    pub(crate) ring: Ring,
    /// Its doorbell.
    pub(crate) doorbell: Signal,
    /// `hsa_queue_t::id`.
    pub(crate) id: u64,
}

impl HardwareFacts {
    pub(crate) fn of(queue: HardwareQueue) -> RuntimeResult<Self> {
        // The size is the low half of its word (little endian).
        let slots = field(queue.0, SIZE).load(Ordering::Relaxed) & 0xffff_ffff;
        let base = field(queue.0, BASE_ADDRESS).load(Ordering::Relaxed);
        if !slots.is_power_of_two() || base == 0 || base % SLOT_BYTES != 0 {
            return Err(RuntimeError {
                call: "reading the queue object of hsa_queue_create",
                status: hsa_sys::HSA_STATUS_ERROR_INVALID_QUEUE,
            });
        }
        // SAFETY: the runtime's object describes its own ring, which lives as long as the queue; alignment and a power of two
        // are checked above.
        let ring = unsafe { Ring::new(base, slots) };
        let doorbell = Signal(field(queue.0, DOORBELL).load(Ordering::Relaxed));
        Ok(Self { ring, doorbell, id: field(queue.0, ID).load(Ordering::Relaxed) })
    }
}

/// Our queue object, its ring and its doorbell. Dropping it gives all three back.
#[derive(Debug)]
pub(crate) struct QueueObject {
    memory: ManuallyDrop<HostBlock>,
    ring: Ring,
    doorbell: Signal,
}

impl QueueObject {
    /// Makes the object for a hardware queue with `slots` packets. It leads nowhere until [`QueueObject::link`].
    pub(crate) fn new(runtime: &Arc<dyn Runtime>, real: HardwareQueue, slots: u64) -> RuntimeResult<Self> {
        let copied = PAGE - real.0 % PAGE;
        if copied < REAL_BYTES {
            return Err(RuntimeError {
                call: "copying the queue object of hsa_queue_create",
                status: hsa_sys::HSA_STATUS_ERROR_INVALID_QUEUE,
            });
        }
        let memory = HostBlock::new(runtime, OBJECT_BYTES + slots * SLOT_BYTES)?;
        let doorbell = runtime.create_polled_signal(0)?;
        let object = memory.address();
        for offset in (0..copied).step_by(8) {
            let offset = to_usize(offset);
            field(object, offset).store(field(real.0, offset).load(Ordering::Relaxed), Ordering::Relaxed);
        }
        // SAFETY: the block is page aligned, holds `slots` packets behind the object and lives as long as the value.
        let ring = unsafe { Ring::new(object + OBJECT_BYTES, slots) };
        ring.initialise();
        field(object, BASE_ADDRESS).store(object + OBJECT_BYTES, Ordering::Relaxed);
        field(object, DOORBELL).store(doorbell.0, Ordering::Relaxed);
        let start = runtime.queue_write_index(real);
        field(object, WRITE_INDEX).store(start, Ordering::Relaxed);
        field(object, READ_INDEX).store(start, Ordering::Relaxed);
        Ok(Self { memory: ManuallyDrop::new(memory), ring, doorbell })
    }

    /// Makes object and doorbell lead to `owner`, which holds this object.
    pub(crate) fn link(&self, owner: &Arc<SoftQueue>) {
        let owner = Arc::as_ptr(owner).expose_provenance() as u64;
        field(self.address(), to_usize(LINK)).store(owner, Ordering::Release);
        signal::link(self.doorbell, self.address());
    }

    /// The address that the application holds.
    pub(crate) fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Where it lies, with its ring.
    pub(crate) fn range(&self) -> Range<u64> {
        self.address()..self.address() + self.memory.bytes()
    }

    pub(crate) fn ring(&self) -> &Ring {
        &self.ring
    }

    /// Stores the doorbell's value.
    pub(crate) fn set_doorbell(&self, value: i64) {
        signal::set_value(self.doorbell, value);
    }

    pub(crate) fn read_index(&self) -> u64 {
        field(self.address(), READ_INDEX).load(Ordering::Acquire)
    }

    pub(crate) fn set_read_index(&self, value: u64) {
        field(self.address(), READ_INDEX).store(value, Ordering::Release);
    }

    /// The application's write index, which it also moves by the runtime's functions.
    pub(crate) fn write_index(&self) -> &AtomicU64 {
        field(self.address(), WRITE_INDEX)
    }

    /// The owner of the queue whose doorbell this signal is. A few loads, no lock.
    ///
    /// The application must not use a doorbell of a queue that it is destroying; that is the HSA specification's rule, and
    /// what keeps the reference valid.
    pub(crate) fn owner_of_doorbell<'a>(doorbell: Signal) -> Option<&'a SoftQueue> {
        let object = signal::linked_object(doorbell)?;
        let owner = field(object, to_usize(LINK)).load(Ordering::Acquire);
        let owner = std::ptr::with_exposed_provenance::<SoftQueue>(to_usize(owner));
        // SAFETY: the link was stored by `link` from the Arc of the owner, which holds this object and so takes the link away
        // when it goes; the caller's queue is alive by the rule above.
        Some(unsafe { &*owner })
    }

    /// The owner of an object that the application names, or `None` when the queue is not ours.
    pub(crate) fn owner<'a>(object: u64) -> Option<&'a SoftQueue> {
        if object == 0 {
            return None;
        }
        let doorbell = Signal(field(object, DOORBELL).load(Ordering::Relaxed));
        (signal::linked_object(doorbell)? == object).then(|| Self::owner_of_doorbell(doorbell))?
    }
}

impl Drop for QueueObject {
    fn drop(&mut self) {
        signal::unlink(self.doorbell);
        if let Err(error) = self.memory.runtime().destroy_signal(self.doorbell) {
            tracing::warn!("a queue's doorbell signal stays: {error}");
        }
        // SAFETY: dropped once, here, and not used afterwards.
        unsafe { ManuallyDrop::drop(&mut self.memory) };
    }
}
