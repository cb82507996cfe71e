//! The packet processor of AQL queues: executes architected and vendor packets in ring order.
//!
//! Packets start in order and only up to the rung doorbell. Dispatches without a barrier bit run beside the dispatch before
//! them, in an order that the machine's seed decides; every other packet ends before the next one starts.

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
use parking_lot::MutexGuard;
use scratch::{Grant, ScratchKeeper};

use super::worker::Processor as Process;
use super::{Queue, QueueError, Step};
use crate::dispatch::{self, Failure, Launch, Order, Part};
use crate::faults::{Action, Kind, Misbehaviour, Phase};
use crate::memory::{Fault, View};
use crate::signal::Signal;
use crate::{Machine, clock, guard, say, trace};

/// Bytes of a packet.
const PACKET: u64 = 64;

/// Most dispatches that run side by side on one queue.
const MOST_TOGETHER: u64 = 4;

/// Ticks for which a dispatch lets more urgent queues of its agent go first: 2 ms. They may wait for it, so not for ever.
const PATIENCE: u64 = 200_000;

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
    order: Order,
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

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Stopped => Self::Stopped,
            Failure::Fault(fault, place) => Self::Fault(fault, place),
            Failure::Queue(error, text) => Self::Error(error, text),
        }
    }
}

impl<'m> Processor<'m> {
    pub(super) fn new(machine: &'m Machine, queue: &'m Queue) -> Self {
        let amd = AmdQueue::of(queue);
        let view = machine.memory.view(queue.spec.agent);
        // A queue whose own structure is out of reach faults at its first packet.
        let next = view.load(queue.spec.read_pointer).unwrap_or(0);
        let _ = amd.announce_capabilities(&view);
        let order = Order::new(machine.config.seed, queue.id);
        Self { machine, queue, amd, scratch: ScratchKeeper::default(), next, began: None, order }
    }

    fn view(&self) -> View<'m> {
        self.machine.memory.view(self.queue.spec.agent)
    }

    /// Executes the next packet; `start` is the queue's lock, which a dispatch gives back once it runs and every other packet
    /// at its end.
    fn try_step(&mut self, start: MutexGuard<'_, ()>) -> Result<(), Trouble> {
        let address = self.address(self.next);
        let header = Header(self.view().load(address)?);
        if header.packet_type() == PacketType::Invalid {
            return Err(Trouble::Wait);
        }
        // The acquire fence of the packet, and more: everything its producer wrote is visible.
        fence(Ordering::SeqCst);
        let began = *self.began.get_or_insert_with(clock::ticks);
        let start = &mut Some(start);
        let signal = self.execute(header, address, began, start)?;
        if let Some(host) = guard::missed() {
            return Err(self.machine.memory.lost(host).into());
        }
        let Some(signal) = signal else { return Ok(()) };
        self.release(header);
        self.free()?;
        self.complete(signal, began)?;
        Ok(())
    }

    /// The release fence at a packet's end.
    fn release(&self, header: Header) {
        if header.releases_to_system() {
            self.view().write_back();
        }
    }

    /// Device address of packet `index`.
    fn address(&self, index: u64) -> u64 {
        self.queue.spec.ring + index % (self.queue.spec.ring_bytes / PACKET) * PACKET
    }

    /// Executes a packet to its end; answers the signal to complete, or nothing if that was done already.
    fn execute(
        &mut self,
        header: Header,
        address: u64,
        began: u64,
        start: &mut Option<MutexGuard<'_, ()>>,
    ) -> Result<Option<Signal>, Trouble> {
        let counters = &self.machine.counters;
        let view = self.view();
        let (signal, count) = match header.packet_type() {
            PacketType::Invalid => return Err(Trouble::Wait),
            PacketType::KernelDispatch => {
                drop(view);
                match self.dispatch(address, began, start)? {
                    Some(signal) => (signal, &counters.dispatches),
                    None => return Ok(None),
                }
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
        Ok(Some(signal))
    }

    /// Gives the next packet's slot back.
    fn free(&mut self) -> Result<(), Fault> {
        let view = self.view();
        view.store(self.address(self.next), PacketType::INVALID_HEADER)?;
        self.next += 1;
        self.began = None;
        view.store(self.queue.spec.read_pointer, self.next)
    }

    /// Completes a packet's signal.
    fn complete(&self, signal: Signal, began: u64) -> Result<(), Fault> {
        let view = self.view();
        // The release fence of the packet, and more.
        fence(Ordering::SeqCst);
        let ticks = self.amd.profiling(&view)?.then(|| (began, clock::ticks()));
        trace!("queue {}: packet done before {}, signal {:#x}", self.queue.id, self.next, signal.0);
        signal.complete(&view, &self.machine.events, ticks)?;
        drop(view);
        if !signal.is_null() {
            self.machine.nudge();
        }
        Ok(())
    }

    fn dispatch(
        &mut self,
        address: u64,
        began: u64,
        start: &mut Option<MutexGuard<'_, ()>>,
    ) -> Result<Option<Signal>, Trouble> {
        if clock::ticks().saturating_sub(began) < PATIENCE && self.machine.has_more_urgent(self.queue) {
            return Err(Trouble::Wait);
        }
        let view = self.view();
        let packet = Dispatch::read(&view, address)?;
        let grant = self.scratch.acquire(&view, &self.amd, &self.machine.events, &packet, self.next)?;
        let Grant::Ready(scratch) = grant else { return Err(Trouble::Wait) };
        trace!("queue {}: packet {} dispatches {:#x}", self.queue.id, self.next, packet.kernel_object);
        let launch = self.launch(self.next, packet, scratch);
        debug_assert_eq!(launch.packet_address, address);
        let followers = self.followers(&view);
        drop(view);
        *start = None;
        let together = !followers.is_empty();
        if together {
            self.dispatch_together(&[vec![launch], followers].concat(), began)?;
        } else {
            self.dispatch_alone(&launch)?;
        }
        self.scratch.after(&self.view(), &self.amd, &self.machine.events)?;
        Ok((!together).then_some(packet.completion_signal))
    }

    fn launch(&self, index: u64, packet: Dispatch, scratch: Option<dispatch::Scratch>) -> Launch {
        Launch {
            agent: self.queue.spec.agent,
            packet,
            packet_address: self.address(index),
            queue: self.amd,
            dispatch_id: index,
            scratch,
        }
    }

    /// Dispatches behind the next packet that may run beside it: rung, without a barrier bit and without private memory,
    /// which a queue has only once. None while the fault plan counts dispatches.
    fn followers(&self, view: &View<'_>) -> Vec<Launch> {
        if self.machine.config.faults.concerns(Kind::Dispatch) {
            return Vec::new();
        }
        let slots = self.queue.spec.ring_bytes / PACKET;
        let end = self.queue.limit().min(self.next + MOST_TOGETHER.min(slots));
        let follower = |index| {
            let at = self.address(index);
            let header = Header(view.load(at).ok()?);
            if header.packet_type() != PacketType::KernelDispatch || header.barrier() {
                return None;
            }
            fence(Ordering::SeqCst);
            let packet = Dispatch::read(view, at).ok()?;
            (packet.private_bytes == 0).then(|| self.launch(index, packet, None))
        };
        (self.next + 1..end).map_while(follower).collect()
    }

    fn dispatch_alone(&self, launch: &Launch) -> Result<(), Trouble> {
        let misbehaviour = self.machine.misbehaviour(Kind::Dispatch, 0);
        let execute = |part| dispatch::execute(self.machine, self.queue, launch, part);
        self.misbehave(misbehaviour, Phase::Start)?;
        if misbehaviour.is_some_and(|m| m.phase == Phase::Middle) {
            execute(Part::First)?;
            self.misbehave(misbehaviour, Phase::Middle)?;
            execute(Part::Rest)?;
        } else {
            execute(Part::All)?;
        }
        self.misbehave(misbehaviour, Phase::End)
    }

    /// Lets a dispatch misbehave as the fault plan wants, if it wants so in this phase.
    fn misbehave(&self, misbehaviour: Option<Misbehaviour>, phase: Phase) -> Result<(), Trouble> {
        match misbehaviour.and_then(|m| m.now(phase)) {
            Some(Action::Fail) => {
                let text = "the fault plan fails this dispatch".to_owned();
                Err(Trouble::Error(QueueError::WaveAbort, text))
            }
            Some(Action::Stall) => {
                self.queue.stall();
                Err(Trouble::Wait)
            }
            _ => Ok(()),
        }
    }

    /// Executes the next packets, all of them dispatches, side by side; each completes at its own end.
    fn dispatch_together(&mut self, launches: &[Launch], began: u64) -> Result<(), Trouble> {
        let first = self.next;
        let mut order = core::mem::take(&mut self.order);
        let mut done = vec![false; launches.len()];
        let (machine, queue) = (self.machine, self.queue);
        let result = dispatch::execute_together(machine, queue, launches, &mut order, |index| {
            self.release(Header(self.view().load(launches[index].packet_address)?));
            done[index] = true;
            while usize::try_from(self.next - first).ok().and_then(|at| done.get(at)) == Some(&true) {
                self.free()?;
            }
            machine.counters.dispatches.add(1);
            self.complete(launches[index].packet.completion_signal, began)
        });
        self.order = order;
        Ok(result?)
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
    fn next(&self) -> u64 {
        self.next
    }

    fn step(&mut self) -> Step {
        let start = self.queue.starting();
        if !self.queue.may_start() {
            return Step::Halted;
        }
        if self.next >= self.queue.limit() {
            return if self.queue.may_owe_a_ring() { Step::Waiting } else { Step::Idle };
        }
        match self.try_step(start) {
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
