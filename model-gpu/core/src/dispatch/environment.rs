//! What waves ask of the device around them: clocks and messages.

use model_gpu_isa::{Environment, Gws, MemoryFault, Span};

use crate::memory::{self, View};
use crate::queues::Queue;
use crate::{Machine, clock};

/// Ticks of the core clock for each tick of the constant clock: 2.1 GHz against 100 MHz.
const CORE_TICKS: u64 = 21;

/// `s_sendmsg` number of an interrupt.
const INTERRUPT: u16 = 1;

/// Number of the message that gives a wave's vector registers back early.
const DEALLOCATE_VGPRS: u16 = 3;

/// Bits of an event's number that travel with an interrupt.
const EVENT_BITS: u32 = 12;

/// The device around one dispatch's waves.
#[derive(Debug)]
pub(super) struct Surroundings<'m> {
    pub(super) machine: &'m Machine,
    /// The dispatch's queue.
    pub(super) queue: &'m Queue,
    /// The view that the waves run under. A thread must not make another meanwhile: it would wait for whoever waits to
    /// change the map, and that one for this view.
    pub(super) view: &'m View<'m>,
}

impl Environment for Surroundings<'_> {
    fn gws(&self) -> Option<&Gws> {
        Some(&self.queue.gws)
    }

    fn core_clock(&self) -> u64 {
        clock::ticks() * CORE_TICKS
    }

    fn real_time(&self) -> u64 {
        clock::ticks()
    }

    fn send_message(&self, message: u16, m0: u32) -> Result<(), String> {
        match message & 0xf {
            INTERRUPT => {
                // Device libraries send eight bits of the number, newer ones all of them.
                let bits = if m0 < 256 { 8 } else { EVENT_BITS };
                self.machine.interrupt(self.view, m0, bits);
                self.machine.nudge();
                Ok(())
            }
            DEALLOCATE_VGPRS => Ok(()),
            other => Err(format!("unknown message {other}")),
        }
    }
}

fn access(access: model_gpu_isa::Access) -> memory::Access {
    match access {
        model_gpu_isa::Access::Read => memory::Access::Read,
        model_gpu_isa::Access::Write | model_gpu_isa::Access::Atomic => memory::Access::Write,
        model_gpu_isa::Access::Execute => memory::Access::Execute,
    }
}

/// The device's fault for an interpreter's.
pub(super) fn fault(fault: &MemoryFault) -> memory::Fault {
    let access = access(fault.access);
    let reason = match (fault.reason, access) {
        (model_gpu_isa::FaultReason::Permission, memory::Access::Execute) => memory::Reason::NoExecute,
        (model_gpu_isa::FaultReason::Permission, _) => memory::Reason::ReadOnly,
        (model_gpu_isa::FaultReason::Misaligned, _) => memory::Reason::Misaligned,
        _ => memory::Reason::NotPresent,
    };
    memory::Fault { address: fault.address, access, reason }
}

// SAFETY: a view holds the map's read lock, so every range in it stays mapped while the view lives; the caller keeps
// the view for the whole run of a wave. Ranges that the map calls writable are.
unsafe impl model_gpu_isa::AddressSpace for View<'_> {
    fn translate(&self, address: u64, wanted: model_gpu_isa::Access) -> Result<Span, MemoryFault> {
        match self.extent(address, access(wanted)) {
            Ok((start, length, host)) => {
                let cached = self.is_cached(address);
                Ok(Span { start, length, host, cached })
            }
            Err(fault) => {
                let reason = match fault.reason {
                    memory::Reason::NotPresent => model_gpu_isa::FaultReason::Unmapped,
                    memory::Reason::Misaligned => model_gpu_isa::FaultReason::Misaligned,
                    memory::Reason::ReadOnly | memory::Reason::NoExecute => {
                        model_gpu_isa::FaultReason::Permission
                    }
                };
                Err(MemoryFault { address: fault.address, access: wanted, reason })
            }
        }
    }

    fn cache(&self) -> Option<&dyn model_gpu_isa::Cache> {
        let cache = View::cache(self)?;
        Some(cache)
    }
}

#[cfg(test)]
mod tests {
    use model_gpu_isa::{Access, FaultReason, MemoryFault};

    use super::{fault, memory};

    #[test]
    fn a_fault_keeps_the_reason_that_the_interpreter_gave() {
        for (access, reason, expected) in [
            (Access::Read, FaultReason::Unmapped, memory::Reason::NotPresent),
            (Access::Write, FaultReason::Permission, memory::Reason::ReadOnly),
            (Access::Execute, FaultReason::Permission, memory::Reason::NoExecute),
            (Access::Atomic, FaultReason::Misaligned, memory::Reason::Misaligned),
        ] {
            assert_eq!(fault(&MemoryFault { address: 1, access, reason }).reason, expected);
        }
    }
}
