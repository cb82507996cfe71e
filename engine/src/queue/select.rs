//! Which dispatches are candidates: the kernel filter, then the launch window.
//!
//! Every dispatch passes here once, in forwarding order, so the ordinals that people give to `--launch-skip` and read in
//! `launch` are counted here. The common case is a look into the queue's own table of kernels, without a lock.

use super::candidate::{Candidate, Stage};
use crate::addresses::AddressMap;
use crate::agent::AgentState;
use crate::control::Requests;
use crate::endless::Endless;
use crate::kernels::Kernel;
use crate::packet::Packet;
use crate::sync::{Arc, Ordering};
use std::ops::Range;

/// What a queue remembers of kernels and kernarg memory, so that its next dispatch needs no lock.
#[derive(Debug, Default)]
pub(crate) struct KernelCache {
    kernels_epoch: u64,
    kernels: AddressMap<Arc<Kernel>>,
    kernarg_epoch: u64,
    kernarg: Range<u64>,
}

/// What becomes of a dispatch.
pub(super) enum Selection {
    /// It goes on; whether it need not end by itself.
    Forward(Option<Endless>),
    /// A window decides.
    Candidate(Candidate),
}

/// Counts a dispatch and says whether it is a candidate.
pub(super) fn select(
    agent: &AgentState,
    cache: &mut KernelCache,
    packet: &Packet,
    requests: Option<Arc<Requests>>,
) -> Selection {
    let process = &agent.process;
    note_kernarg(agent, cache, packet.kernarg_address());
    let kernel = cache.kernel(agent, packet.kernel_object());
    if kernel.enqueues {
        agent.expect_unheard_packets();
    }
    let launch = kernel.launches.fetch_add(1, Ordering::Relaxed);
    let taken = requests.as_ref().map_or(kernel.matches, |requests| {
        !requests.paused
            && requests.kernels.as_ref().map_or(kernel.matches, |filter| filter.matches(&kernel.name))
    });
    let selected = taken && {
        let ordinal = process.matching.fetch_add(1, Ordering::Relaxed);
        process.settings.launches.selects(ordinal)
    };
    if !selected {
        return Selection::Forward(kernel.endless);
    }
    let kernel = Arc::clone(kernel);
    let id = process.report.next_id();
    Selection::Candidate(Candidate { packet: *packet, kernel, id, launch, requests, stage: Stage::New })
}

/// Whatever memory a packet takes its arguments from is never captured again.
fn note_kernarg(agent: &AgentState, cache: &mut KernelCache, address: u64) {
    let inventory = &agent.process.inventory;
    let epoch = inventory.kernarg_epoch();
    // A kernel without arguments.
    if address == 0 || (epoch == cache.kernarg_epoch && cache.kernarg.contains(&address)) {
        return;
    }
    cache.kernarg_epoch = epoch;
    cache.kernarg = inventory.mark_kernarg(address).unwrap_or_default();
}

/// The kernel of a packet that has not been counted.
pub(super) fn kernel_of(agent: &AgentState, packet: &Packet) -> Arc<Kernel> {
    let object = packet.kernel_object();
    agent.process.kernels.find(object, || agent.process.code.kernel(object))
}

impl KernelCache {
    fn kernel(&mut self, agent: &AgentState, object: u64) -> &Arc<Kernel> {
        let table = &agent.process.kernels;
        let epoch = table.epoch();
        if epoch != self.kernels_epoch {
            self.kernels.clear();
            self.kernels_epoch = epoch;
        }
        self.kernels.entry(object).or_insert_with(|| table.find(object, || agent.process.code.kernel(object)))
    }
}
