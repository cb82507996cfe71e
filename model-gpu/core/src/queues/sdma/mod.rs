//! The copy engine: executes SDMA packets in ring order.
//!
//! Indices count bytes. The doorbell's value is the write index.

mod copy;
mod packet;
#[cfg(test)]
mod tests;

use core::sync::atomic::{Ordering, fence};

use packet::{Opcode, Packet};
use parking_lot::MutexGuard;

use super::worker::Processor as Process;
use super::{Queue, Step};
use crate::counters::EngineCounters;
use crate::faults::{Action, Kind, Misbehaviour, Phase};
use crate::memory::{Access, Fault, View};
use crate::{Machine, clock, guard, say, trace};

/// Executes the packets of one queue.
#[derive(Debug)]
pub(super) struct Processor<'m> {
    machine: &'m Machine,
    queue: &'m Queue,
    /// Byte index of the next packet.
    next: u64,
}

/// Why a packet was not completed.
#[derive(Debug)]
enum Trouble {
    /// It waits for memory to change.
    Wait,
    /// The queue goes away.
    Stopped,
    /// It touched memory that it may not.
    Fault(Fault),
    /// The engine does not know it.
    Unknown(String),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl<'m> Processor<'m> {
    pub(super) fn new(machine: &'m Machine, queue: &'m Queue) -> Self {
        let next = machine.memory.view(queue.spec.agent).load(queue.spec.read_pointer).unwrap_or(0);
        Self { machine, queue, next }
    }

    fn view(&self) -> View<'m> {
        self.machine.memory.view(self.queue.spec.agent)
    }

    /// Executes the next packet; `start` is the queue's lock, which only a packet that may take long gives back before its end.
    fn try_step(&mut self, limit: u64, start: MutexGuard<'_, ()>) -> Result<(), Trouble> {
        // Pairs with the program's release before it rang: the packet and its source data are visible.
        fence(Ordering::SeqCst);
        let packet = Packet::fetch(&self.view(), &self.queue.spec, self.next, limit)?;
        trace!("sdma queue {}: {packet}", self.queue.id);
        let start = Some(start).filter(|_| !packet.opcode.takes_long());
        self.execute(&packet)?;
        if let Some(host) = guard::missed() {
            return Err(self.machine.memory.lost(host).into());
        }
        fence(Ordering::SeqCst);
        self.next += packet.bytes();
        self.machine.counters.sdma_packets.add(1);
        self.count(|engine| engine.packets += 1);
        self.view().store(self.queue.spec.read_pointer, self.next)?;
        drop(start);
        Ok(())
    }

    fn execute(&self, packet: &Packet) -> Result<(), Trouble> {
        let view = || self.view();
        match packet.opcode {
            Opcode::Nop | Opcode::CacheControl => {}
            Opcode::CopyLinear => {
                let bytes = u64::from(packet.word(1) & 0x3fff_ffff) + 1;
                let (from, to) = (packet.address(3), packet.address(5));
                let misbehaviour = self.machine.misbehaviour(Kind::Copy, bytes);
                self.misbehave(misbehaviour, Phase::Start)?;
                let half = bytes.div_ceil(2);
                for (done, bytes) in [(0, half), (half, bytes - half)] {
                    let (to, from) = (to.wrapping_add(done), from.wrapping_add(done));
                    copy::chunks(to, from, bytes, |to, from, bytes| {
                        if self.queue.shall_stop() {
                            return Err(Trouble::Stopped);
                        }
                        Ok(copy::piecewise(&view(), to, from, bytes)?)
                    })?;
                    if done == 0 {
                        self.misbehave(misbehaviour, Phase::Middle)?;
                    }
                }
                self.count_copied(bytes);
                self.misbehave(misbehaviour, Phase::End)?;
            }
            Opcode::CopyRect => {
                let misbehaviour = self.machine.misbehaviour(Kind::Copy, 0);
                // A rectangle is moved as one piece: its middle is its start.
                self.misbehave(misbehaviour, Phase::Start)?;
                self.misbehave(misbehaviour, Phase::Middle)?;
                let bytes = copy::rect(&view(), &copy::Rect::decode(packet))?;
                self.count_copied(bytes);
                self.misbehave(misbehaviour, Phase::End)?;
            }
            Opcode::Write => {
                let bytes: Vec<u8> = packet.words()[4..].iter().flat_map(|w| w.to_le_bytes()).collect();
                view().write(packet.address(1), &bytes)?;
            }
            Opcode::Fence => view().store(packet.address(1), packet.word(3))?,
            Opcode::Trap => {
                // The number of an event that the program destroyed meanwhile wakes nobody.
                let _ = self.machine.events.set(packet.word(1) & 0x0fff_ffff);
                self.machine.nudge();
            }
            Opcode::Poll => poll(&view(), packet)?,
            Opcode::Atomic => atomic(&view(), packet)?,
            Opcode::Fill => {
                let unit = packet.word(0) >> 30;
                if unit != 2 {
                    return Err(Trouble::Unknown(format!("constant fill in units of 2^{unit} bytes")));
                }
                let bytes = (u64::from(packet.word(4) & 0x3fff_ffff) | 3) + 1;
                copy::fill(&view(), packet.address(1), packet.word(3), bytes)?;
                self.machine.counters.sdma_filled.add(bytes);
                self.count(|engine| engine.filled += bytes);
            }
            Opcode::Timestamp => view().store(packet.address(1), clock::ticks())?,
        }
        Ok(())
    }
}

impl Processor<'_> {
    fn count(&self, change: impl FnOnce(&mut EngineCounters)) {
        self.machine.counters.engine(self.queue.spec.agent, self.queue.spec.engine, change);
    }

    fn count_copied(&self, bytes: u64) {
        self.machine.counters.sdma_copied.add(bytes);
        self.count(|engine| engine.copied += bytes);
    }

    /// Lets a copy misbehave as the fault plan wants, if it wants so in this phase.
    fn misbehave(&self, misbehaviour: Option<Misbehaviour>, phase: Phase) -> Result<(), Trouble> {
        match misbehaviour.and_then(|m| m.now(phase)) {
            Some(Action::Fail) => Err(Trouble::Unknown("the fault plan fails this copy".to_owned())),
            Some(Action::Stall) => {
                self.queue.stall();
                Err(Trouble::Wait)
            }
            _ => Ok(()),
        }
    }
}

/// POLL_REGMEM: waits until a word of memory meets a condition.
fn poll(view: &View<'_>, packet: &Packet) -> Result<(), Trouble> {
    let function = packet.word(0) >> 28 & 7;
    if packet.word(0) >> 31 == 0 {
        // Without memory, the only use is a flush of the host's path to memory, which is coherent here.
        return if function == 0 { Ok(()) } else { Err(Trouble::Unknown("poll of a register".to_owned())) };
    }
    let value = view.load::<u32>(packet.address(1))? & packet.word(4);
    let reference = packet.word(3);
    let met = match function {
        0 => true,
        1 => value < reference,
        2 => value <= reference,
        3 => value == reference,
        4 => value != reference,
        5 => value >= reference,
        6 => value > reference,
        other => return Err(Trouble::Unknown(format!("poll with unknown function {other}"))),
    };
    if met { Ok(()) } else { Err(Trouble::Wait) }
}

/// ATOMIC: the operations that runtimes use on signals. Numbers are those of the texture cache's atomics.
fn atomic(view: &View<'_>, packet: &Packet) -> Result<(), Trouble> {
    let address = packet.address(1);
    let unaligned = || Trouble::Unknown(format!("atomic at unaligned address {address:#x}"));
    match packet.word(0) >> 25 {
        47 => {
            let word = view.span(address, 8, Access::Write)?.atomic_u64(0).ok_or_else(unaligned)?;
            word.fetch_add(packet.address(3), Ordering::SeqCst);
        }
        15 => {
            let word = view.span(address, 4, Access::Write)?.atomic_u32(0).ok_or_else(unaligned)?;
            word.fetch_add(packet.word(3), Ordering::SeqCst);
        }
        other => return Err(Trouble::Unknown(format!("atomic with unknown operation {other}"))),
    }
    Ok(())
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
        let limit = self.queue.limit();
        if self.next >= limit {
            return Step::Idle;
        }
        match self.try_step(limit, start) {
            Ok(()) => Step::Done,
            Err(Trouble::Wait) => Step::Waiting,
            Err(Trouble::Stopped) => Step::Halted,
            Err(Trouble::Fault(fault)) => {
                self.machine.raise_memory_fault(self.queue.spec.agent, fault, "a copy engine's packet");
                Step::Halted
            }
            Err(Trouble::Unknown(text)) => {
                self.machine.counters.queue_errors.add(1);
                say!("sdma queue {}: at byte {:#x}: {text}", self.queue.id, self.next);
                self.queue.fail();
                self.machine.raise_hang(self.queue.spec.agent);
                Step::Halted
            }
        }
    }
}
