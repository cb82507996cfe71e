//! A ring of packet slots: the application's (which we consume) or a hardware queue's (which we alone produce).

use super::word::{atomic_u16, atomic_u32, atomic_u64, to_usize};
use crate::packet::{INVALID_HEADER, Packet, SLOT_BYTES};
use std::sync::atomic::Ordering;

/// Ring memory: `slots` packets of 64 bytes, a power of two.
#[derive(Debug)]
pub(crate) struct Ring {
    base: u64,
    slots: u64,
}

impl Ring {
    /// # Safety
    /// `base` is 64-byte aligned and starts `slots` packets of mapped, host-writable memory, which outlive the value; others
    /// access a slot by single accesses, as the queueing protocol of the HSA specification has it.
    pub(super) unsafe fn new(base: u64, slots: u64) -> Self {
        Self { base, slots }
    }

    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    fn slot(&self, index: u64) -> u64 {
        self.base + (index & (self.slots - 1)) * SLOT_BYTES
    }

    /// Marks every slot empty. A zeroed slot would be a vendor-specific packet.
    pub(super) fn initialise(&self) {
        for index in 0..self.slots {
            self.invalidate(index);
        }
    }

    /// The packet at `index`, or `None` while its slot is not written.
    pub(crate) fn packet(&self, index: u64) -> Option<Packet> {
        let slot = self.slot(index);
        // SAFETY: new's obligations; the slot lies in the ring and its first two bytes are the header.
        let header = unsafe { atomic_u16(slot) }.load(Ordering::Acquire);
        if header & 0xff == INVALID_HEADER {
            return None;
        }
        let mut words = [0; 8];
        for (word, address) in words.iter_mut().zip((slot..).step_by(8)) {
            // SAFETY: new's obligations; the producer wrote these words before the header and writes none until the slot is
            // given back.
            *word = unsafe { atomic_u64(address) }.load(Ordering::Relaxed);
        }
        Some(Packet { words })
    }

    /// Marks a consumed slot empty.
    pub(crate) fn invalidate(&self, index: u64) {
        // SAFETY: new's obligations; the first two bytes of a slot are the header.
        unsafe { atomic_u16(self.slot(index)) }.store(INVALID_HEADER, Ordering::Release);
    }

    /// What was stored before is in the ring before anything that is stored after. Processors keep that order by themselves,
    /// except in device memory, where a hardware queue's ring may lie: there the host's stores are combined.
    pub(crate) fn store_fence() {
        // SAFETY: the instruction belongs to SSE, which every x86-64 processor has, and touches no memory of its own.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            std::arch::x86_64::_mm_sfence();
        }
    }

    /// Says that a slot will be written soon. A hint without effect on what it holds, and for memory that is not cached none.
    pub(crate) fn prepare(&self, index: u64) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            let slot = std::ptr::with_exposed_provenance::<i8>(to_usize(self.slot(index)));
            // SAFETY: a prefetch accesses nothing and raises no fault, whatever the address.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(slot) };
        }
    }

    /// Writes a packet: its body first, its header last. The processor keeps the two in order in host memory. In device memory it
    /// may not, so that only [`Ring::store_fence`] and an index behind it may publish what is in a hardware ring: a packet processor
    /// looks at no slot beyond the index.
    pub(crate) fn write(&self, index: u64, packet: &Packet) {
        let slot = self.slot(index);
        for (word, address) in packet.words.iter().zip((slot..).step_by(8)).skip(1) {
            // SAFETY: new's obligations; this engine is the ring's only producer and the slot is free.
            unsafe { atomic_u64(address) }.store(*word, Ordering::Relaxed);
        }
        #[allow(clippy::cast_possible_truncation, reason = "the two halves of the first word")]
        let (low, high) = (packet.words[0] as u32, (packet.words[0] >> 32) as u32);
        // SAFETY: as above; the second half of the first word is body.
        unsafe { atomic_u32(slot + 4) }.store(high, Ordering::Relaxed);
        // SAFETY: as above; header and setup are one aligned 32-bit word.
        unsafe { atomic_u32(slot) }.store(low, Ordering::Release);
    }
}
