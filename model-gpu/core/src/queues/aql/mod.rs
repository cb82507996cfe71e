//! The packet processor of AQL queues: executes architected and vendor packets in ring order.
//!
//! Packets start in order and only up to the rung doorbell. Each packet ends before the next one starts, which is one
//! of the orders that packets without a barrier bit may take.

mod amd_queue;
mod barrier;
mod packet;
mod pm4;
mod scratch;
#[cfg(test)]
mod tests;

use core::sync::atomic::{Ordering, fence};

pub use amd_queue::AmdQueue;
pub use packet::Dispatch;
use packet::{Header, PacketType, VendorFormat};
use scratch::{Grant, ScratchKeeper};

use super::worker::Processor as Process;
use super::{Queue, QueueError, Step};
use crate::dispatch::{self, Failure, Launch};
use crate::faults::{Action, Kind};
use crate::memory::{Fault, View};
use crate::signal::Signal;
use crate::{Machine, clock, say, trace};

/// Bytes of a packet.
const PACKET: u64 = 64;

/// Executes the packets of one queue.
#[derive(Debug)]
pub(super) struct Processor<'m> {
    machine: &'m Machine,
    queue: &'m Queue,
    amd: AmdQueue,
    scratch: ScratchKeeper,
    /// Index of the next packet.
    next: u64,
    /// When the next packet was first looked at, in ticks.
    began: Option<u64>,
}

/// Why a packet was not completed.
#[derive(Debug)]
enum Trouble {
    /// It waits for somebody.
    Wait,
    /// The queue goes away or has failed meanwhile.
    Stopped,
    /// It touched memory that it may not; where.
    Fault(Fault, String),
    /// The queue tells the program and stops.
    Error(QueueError, String),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault, "a packet".to_owned())
    }
}

impl<'m> Processor<'m> {
    pub(super) fn new(machine: &'m Machine, queue: &'m Queue) -> Self {
        let amd = AmdQueue::of(queue);
        let view = machine.memory.view(queue.spec.agent);
        // A queue whose own structure is out of reach faults at its first packet.
        let next = view.load(queue.spec.read_pointer).unwrap_or(0);
        let _ = amd.announce_capabilities(&view);
        Self { machine, queue, amd, scratch: ScratchKeeper::default(), next, began: None }
    }

    fn view(&self) -> View<'m> {
        self.machine.memory.view(self.queue.spec.agent)
    }

    fn try_step(&mut self) -> Result<(), Trouble> {
        let slot = self.next % (self.queue.spec.ring_bytes / PACKET);
        let address = self.queue.spec.ring + slot * PACKET;
        let header = Header(self.view().load(address)?);
        if header.packet_type() == PacketType::Invalid {
            return Err(Trouble::Wait);
        }
        // The acquire fence of the packet, and more: everything its producer wrote is visible.
        fence(Ordering::SeqCst);
        let began = *self.began.get_or_insert_with(clock::ticks);
        let signal = self.execute(header, address)?;
        self.retire(address, signal, began)?;
        Ok(())
    }

    /// Executes a packet to its end; answers the signal to complete.
    fn execute(&mut self, header: Header, address: u64) -> Result<Signal, Trouble> {
        let counters = &self.machine.counters;
        let view = self.view();
        let (signal, count) = match header.packet_type() {
            PacketType::Invalid => return Err(Trouble::Wait),
            PacketType::KernelDispatch => {
                drop(view);
                (self.dispatch(address)?, &counters.dispatches)
            }
            PacketType::BarrierAnd => (barrier::and(&view, address)?, &counters.barrier_and),
            PacketType::BarrierOr => (barrier::or(&view, address)?, &counters.barrier_or),
            PacketType::Vendor => match packet::vendor_format(&view, address)? {
                VendorFormat::Pm4 => (pm4::execute(&view, address)?, &counters.pm4),
                VendorFormat::BarrierValue => (barrier::value(&view, address)?, &counters.barrier_value),
                VendorFormat::Unknown(format) => {
                    let text = format!("vendor packet with unknown format {format}");
                    return Err(Trouble::Error(QueueError::VendorUnsupported, text));
                }
            },
            PacketType::AgentDispatch => {
                let text = "agent dispatch packet on a kernel queue".to_owned();
                return Err(Trouble::Error(QueueError::PacketUnsupported, text));
            }
            PacketType::Unknown(kind) => {
                let text = format!("packet of unknown type {kind} (header {:#06x})", header.0);
                return Err(Trouble::Error(QueueError::PacketUnsupported, text));
            }
        };
        count.add(1);
        Ok(signal)
    }

    /// Gives the slot back and completes the packet's signal.
    fn retire(&mut self, address: u64, signal: Signal, began: u64) -> Result<(), Fault> {
        let view = self.view();
        // The release fence of the packet, and more.
        fence(Ordering::SeqCst);
        let ticks = self.amd.profiling(&view)?.then(|| (began, clock::ticks()));
        view.store(address, PacketType::INVALID_HEADER)?;
        trace!("queue {}: packet {} done, signal {:#x}", self.queue.id, self.next, signal.0);
        self.next += 1;
        self.began = None;
        view.store(self.queue.spec.read_pointer, self.next)?;
        signal.complete(&view, &self.machine.events, ticks)?;
        drop(view);
        if !signal.is_null() {
            self.machine.nudge();
        }
        Ok(())
    }

    fn dispatch(&mut self, address: u64) -> Result<Signal, Trouble> {
        let start = self.queue.starting();
        if !self.queue.may_start() {
            return Err(Trouble::Wait);
        }
        let view = self.view();
        let packet = Dispatch::read(&view, address)?;
        let grant = self.scratch.acquire(&view, &self.amd, &self.machine.events, &packet, self.next)?;
        let Grant::Ready(scratch) = grant else { return Err(Trouble::Wait) };
        drop(view);
        drop(start);
        trace!("queue {}: packet {} dispatches {:#x}", self.queue.id, self.next, packet.kernel_object);
        let launch = Launch {
            agent: self.queue.spec.agent,
            packet,
            packet_address: address,
            queue: self.amd,
            dispatch_id: self.next,
            scratch,
        };
        match self.machine.misbehaves(Kind::Dispatch, 0) {
            Some(Action::Fail) => {
                return Err(Trouble::Error(
                    QueueError::WaveAbort,
                    "the fault plan fails this dispatch".to_owned(),
                ));
            }
            Some(Action::Stall) => {
                self.queue.stall();
                return Err(Trouble::Wait);
            }
            _ => {}
        }
        dispatch::execute(self.machine, self.queue, &launch).map_err(|failure| match failure {
            Failure::Stopped => Trouble::Stopped,
            Failure::Fault(fault, place) => Trouble::Fault(fault, place),
            Failure::Queue(error, text) => Trouble::Error(error, text),
        })?;
        self.scratch.after(&self.view(), &self.amd, &self.machine.events)?;
        Ok(packet.completion_signal)
    }

    /// Tells the program that the queue failed, and stops it.
    fn raise(&self, error: QueueError, text: &str) {
        self.machine.counters.queue_errors.add(1);
        say!("queue {}: packet {}: {text}", self.queue.id, self.next);
        self.queue.fail();
        let view = self.view();
        if self.amd.raise(&view, &self.machine.events, error).is_err() {
            say!(
                "queue {}: the error cannot be reported: the queue's structures are not mapped",
                self.queue.id
            );
        }
        drop(view);
        self.machine.nudge();
    }
}

impl Process for Processor<'_> {
    fn step(&mut self) -> Step {
        if !self.queue.may_start() {
            return Step::Halted;
        }
        if self.next >= self.queue.limit() {
            return if self.queue.may_owe_a_ring() { Step::Waiting } else { Step::Idle };
        }
        match self.try_step() {
            Ok(()) => Step::Done,
            Err(Trouble::Wait) => Step::Waiting,
            Err(Trouble::Stopped) => Step::Halted,
            Err(Trouble::Fault(fault, place)) => {
                self.machine.raise_memory_fault(self.queue.spec.agent, fault, &place);
                Step::Halted
            }
            Err(Trouble::Error(error, text)) => {
                self.raise(error, &text);
                Step::Halted
            }
        }
    }
}
