//! Forwarding: packets go from the application's ring to the hardware ring, unmodified and in index order.
//!
//! A slot is ready when its header says so, whatever the doorbell's value. A consumed slot is marked empty before the read
//! index moves past it, since producers may write to it from then on.

use super::SoftQueue;
use super::candidate::{Candidate, Stage};
use super::dependency::{completes, is_barrier, must_wait};
use super::hardware::Position;
use super::select::{KernelCache, Selection, kernel_of, select};
use crate::control::Requests;
use crate::endless::{End, Endless};
use crate::gate::Phase;
use crate::packet::{Kind, Packet};
use crate::sync::{Arc, Ordering};
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
    /// The program's requests that hold for the packet taken last.
    pub(super) requests: Option<Arc<Requests>>,
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
                Phase::Draining if is_barrier(&packet) => {}
                Phase::Draining | Phase::Closed => return Stop::Gate,
            }
            if must_wait(&packet, &self.agent().process.promises) {
                return Stop::Signal;
            }
            if !self.hardware().has_space(&mut forwarder.position) {
                return Stop::Full;
            }
            self.consume(forwarder);
            let mut endless = None;
            if packet.kind() == Kind::Dispatch {
                let requests = self.requests_at(forwarder, forwarder.read - 1);
                match select(self.agent(), &mut forwarder.kernels, &packet, requests) {
                    Selection::Forward(kind) => endless = kind,
                    Selection::Candidate(candidate) => {
                        forwarder.candidate = Some(candidate);
                        return Stop::Candidate;
                    }
                }
            }
            self.launch(forwarder, packet, endless);
        }
    }

    /// Writes a packet of the application to the hardware ring, which has room. From now on its completion comes from there.
    /// The end of a kernel that need not end by itself must be seen, so it gets a signal if it has none.
    fn launch(&self, forwarder: &mut Forwarder, mut packet: Packet, endless: Option<Endless>) {
        let process = &self.agent().process;
        let signal = completes(&packet);
        if let Some(signal) = signal {
            process.promises.note(signal);
        }
        match (endless, signal) {
            (None, _) => {}
            (Some(kind), Some(signal)) => {
                self.agent().endless.add(kind, End::Application(signal), &process.promises);
            }
            (Some(kind), None) => {
                if let Ok(mut completion) = process.signals.take() {
                    packet = packet.with_completion(completion.signal());
                    completion.submitted();
                    self.agent().endless.add(kind, End::Own(completion), &process.promises);
                }
            }
        }
        self.hardware().write(&mut forwarder.position, &packet);
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
        let Some(candidate) = forwarder.candidate() else {
            return true;
        };
        let (packet, endless) = (candidate.packet, candidate.kernel.endless);
        if !self.has_room(forwarder) {
            return false;
        }
        self.launch(forwarder, packet, endless);
        self.hardware().publish(&mut forwarder.position);
        forwarder.drop_candidate();
        true
    }

    /// A kernel among the next ones that wait in software which need not end by itself.
    pub(crate) fn parked_endless(&self) -> Option<Endless> {
        /// Looking at all of a long queue for each of its candidates would cost more than the timeout it may save.
        const LOOK_AHEAD: usize = 64;
        self.parked(self.object().read_index())
            .take(LOOK_AHEAD)
            .filter(|(_, packet)| packet.kind() == Kind::Dispatch)
            .find_map(|(_, packet)| kernel_of(self.agent(), &packet).endless)
    }

    /// Shows each dispatch that waits in software once, as far as they are written.
    pub(crate) fn for_each_new_parked(&self, mut show: impl FnMut(&Packet)) {
        let first = self.seen.load(Ordering::Relaxed).max(self.object().read_index());
        let mut next = first;
        for (index, packet) in self.parked(first) {
            next = index + 1;
            if packet.kind() == Kind::Dispatch {
                show(&packet);
            }
        }
        self.seen.store(next, Ordering::Relaxed);
    }

    /// The written packets from an index on.
    fn parked(&self, first: u64) -> impl Iterator<Item = (u64, Packet)> {
        let ring = self.object().ring();
        let end = self.object().read_index() + ring.slots();
        (first..end).map_while(|index| Some((index, ring.packet(index)?)))
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
            Stage::Submitted | Stage::Restoring | Stage::Watching(_) => {
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
