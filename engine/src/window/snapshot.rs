//! Copies of all memory of the agent that a kernel can write and the application owns.

use super::decide::Arguments;
use super::{Refusal, Window};
use crate::copy::{Copied, Direction, Mover};
use crate::handles::Agent;
use crate::inventory::{Exclusion, Region};
use crate::queue::SoftQueue;
use crate::runtime::Runtime;
use crate::shared_memory::HostBlock;
use crate::store::{HostStore, Plan, Store};
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use hsa_replay_contract::record::Snapshot;
use std::time::{Duration, Instant};

/// What the windows of one agent keep from one to the next.
pub(crate) struct Workspace {
    pub(super) store: Box<dyn Store>,
    /// Where kernel arguments in device memory are read to.
    pub(super) arguments: Option<HostBlock>,
    /// Where memory is read to for comparison.
    pub(super) scratch: Option<HostBlock>,
}

impl Workspace {
    pub(crate) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { store: Box::new(HostStore::new(runtime)), arguments: None, scratch: None }
    }

    /// Gives all memory back.
    pub(crate) fn clear(&mut self, runtime: Arc<dyn Runtime>) {
        *self = Self::new(runtime);
    }
}

/// All that the passes need.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) arguments: Arguments,
    /// Which regions the kernel can reach, as far as pointers tell.
    pub(super) reached: Vec<bool>,
}

impl Window<'_> {
    /// Takes the snapshot; the agent is quiet and the gate closed.
    pub(super) fn snapshot(&mut self, arguments: Arguments) -> Result<Ready, Refusal> {
        let start = Instant::now();
        let plan = Plan::new(self.regions()?);
        self.refuse_untracked(&arguments.pointers, &plan.regions)?;
        self.check_budget(plan.captured())?;
        let mut workspace = self.agent.workspace.lock();
        workspace.store.reserve(&plan).map_err(|error| {
            Refusal::with(Reason::SnapshotIncomplete, format!("no room for {} bytes: {error}", plan.bytes))
        })?;
        let mover = Mover::new(self.process, self.agent.agent, Direction::ToHost, self.deadline)
            .given_up_with(self.queue);
        let copied = workspace.store.save(&plan, &mover);
        if copied.contains(&Copied::Stuck) {
            workspace.store.abandon();
        }
        if copied.contains(&Copied::GivenUp) {
            let dead = self.queue.is_dead();
            return Err(Refusal::new(if dead { Reason::QueueError } else { Reason::ShuttingDown }));
        }
        for (piece, copied) in plan.pieces.iter().zip(copied) {
            if matches!(copied, Copied::Failed | Copied::Stuck) {
                let base = plan.regions[piece.region].base;
                let why = if copied == Copied::Stuck { "did not end in time" } else { "failed" };
                let detail = format!("the copy of {} bytes at {:#x} {why}", piece.bytes, base + piece.offset);
                return Err(Refusal::with(Reason::SnapshotIncomplete, detail));
            }
        }
        self.record.snapshot = Some(Snapshot {
            tier: workspace.store.tier(),
            regions: plan.regions.len() as u64,
            bytes: plan.captured(),
            ns: nanoseconds(start.elapsed()),
        });
        let reached = self.follow(&arguments, &plan, &*workspace.store)?;
        Ok(Ready { plan, arguments, reached })
    }

    /// What is captured: allocations and writable segments of loaded code, by address and without overlap.
    fn regions(&self) -> Result<Vec<Arc<Region>>, Refusal> {
        for queue in self.agent.queues() {
            self.mark_parked_kernargs(&queue);
        }
        let agent = self.agent.agent;
        let mut regions = self.process.inventory.trackable(agent);
        let runtime = &*self.process.runtime;
        regions.retain(|region| confirm(runtime, agent, region));
        let modules = self.process.code.regions(agent);
        regions.extend(modules.map_err(|problem| Refusal::with(Reason::EnumerationFailed, problem))?);
        regions.sort_by_key(|region| (region.base, std::cmp::Reverse(region.bytes)));
        let mut end = 0;
        for region in &regions {
            if region.base < end && region.end() > end {
                let detail = format!("two owners for the memory at {:#x}", region.base);
                return Err(Refusal::with(Reason::SnapshotIncomplete, detail));
            }
            end = end.max(region.end());
        }
        let mut end = 0;
        regions.retain(|region| {
            let inside = region.base < end;
            end = end.max(region.end());
            !inside
        });
        Ok(regions)
    }

    /// Packets that wait in software have live arguments too.
    pub(super) fn mark_parked_kernargs(&self, queue: &SoftQueue) {
        queue.for_each_new_parked(|packet| {
            self.process.inventory.mark_kernarg(packet.kernarg_address());
        });
    }

    /// Refuses before anything waits for the window: what is captured now, and the modules, are more than the budget.
    pub(super) fn refuse_over_budget(&self, modules: &[Arc<Region>]) -> Result<(), Refusal> {
        let captured = self.process.inventory.trackable(self.agent.agent);
        self.check_budget(captured.iter().chain(modules).map(|region| region.bytes).sum())
    }

    fn check_budget(&self, bytes: u64) -> Result<(), Refusal> {
        let budget = match self.process.settings.budget {
            Some(budget) => budget,
            // What the store holds already is not available any more, but it is ours.
            None => available_memory()
                .map_or(u64::MAX, |available| available / 2 + self.agent.workspace.lock().store.reserved()),
        };
        if bytes > budget {
            return Err(Refusal::with(Reason::OverBudget, format!("{bytes} bytes of {budget}")));
        }
        Ok(())
    }
}

/// Asks the runtime once whether an allocation is what its call said.
fn confirm(runtime: &dyn Runtime, agent: Agent, region: &Region) -> bool {
    // Mappings are reported differently from release to release: for them the calls are what counts.
    if region.physical().is_some() {
        return true;
    }
    region.confirmed(|| {
        let facts = runtime.pointer_facts(region.base);
        let agrees = facts.is_ok_and(|facts| {
            const HSA: u32 = 1;
            facts.kind == HSA && facts.owner == agent && facts.base + facts.size >= region.end()
        });
        if !agrees && !region.is_gone() {
            tracing::warn!(
                "the runtime does not confirm the allocation at {:#x}; it is left out",
                region.base
            );
            region.exclude(Exclusion::Unknown);
        }
        agrees
    })
}

/// `MemAvailable` of `/proc/meminfo`, bytes.
pub(super) fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
