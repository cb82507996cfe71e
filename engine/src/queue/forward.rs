//! Forwarding: packets go from the application's ring to the hardware ring, unmodified and in index order.
//!
//! A slot is ready when its header says so, whatever the doorbell's value. A consumed slot is marked empty before the read
//! index moves past it, since producers may write to it from then on.

use super::SoftQueue;
use super::candidate::{Candidate, Stage};
use super::dependency::{completes, must_wait};
use super::hardware::Position;
use super::select::{KernelCache, select};
use crate::gate::Phase;
use crate::packet::{Kind, Packet};
use crate::window::Watch;

/// State of a queue's forwarding, under the queue's lock.
#[derive(Debug)]
pub(crate) struct Forwarder {
    /// Index of the next packet to take from the application's ring.
    pub(super) read: u64,
    pub(super) position: Position,
    /// The head is a candidate that waits for the worker, which alone clears this.
    pub(super) parked: bool,
    /// The worker looks at the queue from time to time, since its head waits for room or a signal.
    pub(super) attended: bool,
    /// The dispatch at the head, selected for a window.
    pub(super) candidate: Option<Candidate>,
    pub(super) kernels: KernelCache,
}

/// Why forwarding stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Nothing is ready.
    Idle,
    /// The agent's gate is closed; whoever opens it resumes.
    Gate,
    /// The hardware ring is full.
    Full,
    /// The head waits for a signal that something in software, or the host, has yet to give its value.
    Signal,
    /// The head is a candidate.
    Candidate,
    /// The queue failed or is being destroyed: nothing is forwarded any more.
    Dead,
}

impl SoftQueue {
    /// Forwards what is ready.
    pub(super) fn forward(&self, forwarder: &mut Forwarder) -> Stop {
        let stop = self.forward_ready(forwarder);
        self.hardware().publish(&mut forwarder.position);
        stop
    }

    fn forward_ready(&self, forwarder: &mut Forwarder) -> Stop {
        loop {
            if self.is_dead() {
                return Stop::Dead;
            }
            if forwarder.candidate.is_some() {
                return Stop::Candidate;
            }
            let Some(packet) = self.object().ring().packet(forwarder.read) else {
                return Stop::Idle;
            };
            match self.agent().gate.phase() {
                Phase::Open => {}
                Phase::Draining if matches!(packet.kind(), Kind::BarrierAnd | Kind::BarrierOr) => {}
                Phase::Draining | Phase::Closed => return Stop::Gate,
            }
            if must_wait(&packet, &self.agent().process.promises) {
                return Stop::Signal;
            }
            if !self.hardware().has_space(&mut forwarder.position) {
                return Stop::Full;
            }
            self.consume(forwarder);
            if packet.kind() == Kind::Dispatch {
                forwarder.candidate = select(self.agent(), &mut forwarder.kernels, &packet);
                if forwarder.candidate.is_some() {
                    return Stop::Candidate;
                }
            }
            self.note_completion(&packet);
            self.hardware().write(&mut forwarder.position, &packet);
        }
    }

    /// From now on the packet's completion comes from the hardware.
    fn note_completion(&self, packet: &Packet) {
        if let Some(signal) = completes(packet) {
            self.agent().process.promises.note(signal);
        }
    }

    /// Gives the slot at the head back: its packet is taken over. This comes before the packet can complete, as on hardware.
    fn consume(&self, forwarder: &mut Forwarder) {
        self.object().ring().invalidate(forwarder.read);
        forwarder.read += 1;
        self.object().set_read_index(forwarder.read);
    }

    /// Whether the hardware ring has room for a packet.
    pub(crate) fn has_room(&self, forwarder: &mut Forwarder) -> bool {
        self.hardware().has_space(&mut forwarder.position)
    }

    /// Puts a packet of the engine's own on the hardware ring, which has room.
    pub(crate) fn submit(&self, forwarder: &mut Forwarder, packet: &Packet) {
        self.hardware().write(&mut forwarder.position, packet);
        self.hardware().publish(&mut forwarder.position);
    }

    /// Sends the candidate to the hardware as it is. False: the hardware ring is full, and the candidate stays.
    pub(crate) fn forward_candidate(&self, forwarder: &mut Forwarder) -> bool {
        let Some(packet) = forwarder.candidate().map(|candidate| candidate.packet) else {
            return true;
        };
        if !self.has_room(forwarder) {
            return false;
        }
        self.note_completion(&packet);
        self.submit(forwarder, &packet);
        forwarder.drop_candidate();
        true
    }

    /// The dispatches that wait in software, as far as they are written.
    pub(crate) fn parked_dispatches(&self) -> impl Iterator<Item = Packet> {
        let first = self.object().read_index();
        let ring = self.object().ring();
        (first..first + ring.slots())
            .map_while(|index| ring.packet(index))
            .filter(|packet| packet.kind() == Kind::Dispatch)
    }
}

impl Forwarder {
    /// Notes who goes on after a stop.
    pub(super) fn leave(&mut self, stop: Stop) {
        self.parked = stop == Stop::Candidate;
        self.attended |= matches!(stop, Stop::Full | Stop::Signal);
    }

    pub(crate) fn candidate(&self) -> Option<&Candidate> {
        self.candidate.as_ref()
    }

    pub(crate) fn set_stage(&mut self, stage: Stage) {
        if let Some(candidate) = &mut self.candidate {
            candidate.stage = stage;
        }
    }

    /// After a panic in a window: whatever ran of the candidate, it completes once.
    pub(crate) fn recover_candidate(&mut self) {
        let Some(candidate) = &mut self.candidate else {
            return;
        };
        match candidate.stage {
            Stage::New | Stage::Settled => candidate.stage = Stage::Settled,
            Stage::Submitted | Stage::Watching(_) => {
                // A barrier behind its last pass completes in its place.
                candidate.packet = Packet::drain_barrier(candidate.packet.completion_signal());
                candidate.stage = Stage::Settled;
            }
            Stage::Completed => self.candidate = None,
        }
    }

    /// The candidate has run, is on its way, or went with its queue.
    pub(crate) fn drop_candidate(&mut self) {
        self.candidate = None;
    }

    /// The last pass of a candidate that outlasted its window.
    pub(crate) fn watched(&self) -> Option<&Watch> {
        match &self.candidate.as_ref()?.stage {
            Stage::Watching(watch) => Some(watch),
            _ => None,
        }
    }

    /// Takes it over; the candidate counts as submitted from then on.
    pub(crate) fn take_watched(&mut self) -> Option<Box<Watch>> {
        let stage = &mut self.candidate.as_mut()?.stage;
        match std::mem::replace(stage, Stage::Submitted) {
            Stage::Watching(watch) => Some(watch),
            other => {
                *stage = other;
                None
            }
        }
    }
}
