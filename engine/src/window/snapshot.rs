//! Copies of all memory of the agent that a kernel can write and the application owns.

use super::decide::Arguments;
use super::listed::Listed;
use super::{Refusal, Window};
use crate::copy::Mover;
use crate::handles::Agent;
use crate::inventory::{Exclusion, Inventory, Region};
use crate::queue::SoftQueue;
use crate::runtime::Runtime;
use crate::shared_memory::HostBlock;
use crate::store::{Layout, NoRoom, Plan, Tiers, Trouble};
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use hsa_replay_contract::record::Snapshot;
use std::time::{Duration, Instant};

/// What the windows of one agent keep from one to the next.
pub(crate) struct Workspace {
    pub(super) tiers: Tiers,
    /// Where kernel arguments in device memory are read to.
    pub(super) arguments: Option<HostBlock>,
    /// Where memory is read to for comparison.
    pub(super) scratch: Option<HostBlock>,
    /// What is captured.
    listed: Listed,
}

impl Workspace {
    pub(crate) fn new(tiers: Tiers) -> Self {
        Self { tiers, arguments: None, scratch: None, listed: Listed::default() }
    }

    /// A window has ended: gives back what the application may need before the next one.
    pub(crate) fn rest(&mut self, inventory: &Inventory) {
        self.tiers.rest();
        self.listed.rest(inventory);
    }

    /// Gives the agent's memory back to the application; whether there was any.
    pub(crate) fn give_back(&mut self) -> bool {
        self.tiers.give_back()
    }
}

/// All that the passes need.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) plan: Plan,
    pub(super) arguments: Arguments,
    /// Which regions the kernel can reach, as far as pointers tell.
    pub(super) reached: Vec<bool>,
    /// It can reach memory that the program leaves out.
    pub(super) left_out: bool,
}

impl Window<'_> {
    /// Takes the snapshot; the agent is quiet and the gate closed.
    pub(super) fn snapshot(&mut self, arguments: Arguments) -> Result<Ready, Refusal> {
        let start = Instant::now();
        let mut workspace = self.agent.workspace.lock();
        let mover = Mover::new(self.process, self.agent.agent, self.deadline).given_up_with(self.queue);
        let mut plan = loop {
            let plan = Plan::of(self.layout(&mut workspace.listed)?);
            self.refuse_untracked(&arguments.pointers, &plan.regions)?;
            let Workspace { tiers, listed, .. } = &mut *workspace;
            self.check_budget(tiers, plan.captured())?;
            let settings = &self.process.settings;
            tiers.choose(plan.bytes, settings.budget, settings.check).map_err(refuse_for_room)?;
            match tiers.store().save(&plan, &mover) {
                Ok(()) => break plan,
                // Each time without what is gone.
                Err(Trouble::Changed) => listed.forget(),
                Err(trouble) => {
                    if matches!(trouble, Trouble::Stuck(_)) {
                        tiers.store().abandon();
                    }
                    return Err(self.refuse_for(trouble));
                }
            }
        };
        self.record.snapshot = Some(Snapshot {
            tier: workspace.tiers.store().tier(),
            regions: plan.regions.len() as u64,
            bytes: plan.captured(),
            ns: nanoseconds(start.elapsed()),
        });
        let reach = self.follow(&arguments, &plan, workspace.tiers.store(), &mover)?;
        plan.write_exactly_unless(&reach.regions);
        Ok(Ready { plan, arguments, reached: reach.regions, left_out: reach.left_out })
    }

    /// A snapshot that is not there or cannot be looked at, before the first pass.
    pub(super) fn refuse_for(&self, trouble: Trouble) -> Refusal {
        match trouble {
            Trouble::GivenUp if self.queue.is_dead() => Refusal::new(Reason::QueueError),
            Trouble::GivenUp => Refusal::new(Reason::ShuttingDown),
            Trouble::Changed => Refusal::with(Reason::SnapshotIncomplete, "memory was freed meanwhile"),
            Trouble::Stuck(what) | Trouble::Failed(what) => Refusal::with(Reason::SnapshotIncomplete, what),
        }
    }

    /// Where what is captured lies, as in the last window if it is the same.
    fn layout(&self, listed: &mut Listed) -> Result<Arc<Layout>, Refusal> {
        for queue in self.agent.queues() {
            self.mark_parked_kernargs(&queue);
        }
        // Before anything is listed: what changes meanwhile makes the list old.
        let version = self.process.inventory.version();
        let modules = self.process.code.regions(self.agent.agent);
        let modules = modules.map_err(|problem| Refusal::with(Reason::EnumerationFailed, problem))?;
        if let Some(layout) = listed.get(version, &modules) {
            return Ok(Arc::clone(layout));
        }
        let layout = Arc::new(Layout::new(self.regions(&modules)?));
        listed.put(version, modules, &layout);
        Ok(layout)
    }

    /// What is captured: allocations and writable segments of loaded code, by address and without overlap.
    fn regions(&self, modules: &[Arc<Region>]) -> Result<Vec<Arc<Region>>, Refusal> {
        let agent = self.agent.agent;
        let mut regions = self.process.inventory.trackable(agent);
        let runtime = &*self.process.runtime;
        regions.retain(|region| confirm(runtime, agent, region));
        regions.extend(modules.iter().cloned());
        regions.sort_by_key(|region| (region.base, std::cmp::Reverse(region.bytes)));
        let (mut end, mut owned_twice) = (0, None);
        regions.retain(|region| {
            let inside = region.base < end;
            if inside && region.end() > end {
                owned_twice.get_or_insert(region.base);
            }
            end = end.max(region.end());
            !inside
        });
        match owned_twice {
            Some(base) => {
                let detail = format!("two owners for the memory at {base:#x}");
                Err(Refusal::with(Reason::SnapshotIncomplete, detail))
            }
            None => Ok(regions),
        }
    }

    /// Packets that wait in software have live arguments too.
    pub(super) fn mark_parked_kernargs(&self, queue: &SoftQueue) {
        queue.for_each_new_parked(|packet| {
            self.process.inventory.mark_kernarg(packet.kernarg_address());
        });
    }

    /// Refuses before anything waits for the window: what is captured now, and the modules, are more than the budget.
    pub(super) fn refuse_over_budget(&self, modules: &[Arc<Region>]) -> Result<(), Refusal> {
        let workspace = self.agent.workspace.lock();
        let captured = match workspace.listed.get(self.process.inventory.version(), modules) {
            Some(layout) => layout.captured(),
            None => {
                let of_modules: u64 = modules.iter().map(|region| region.bytes).sum();
                self.process.inventory.trackable_bytes(self.agent.agent) + of_modules
            }
        };
        self.check_budget(&workspace.tiers, captured)
    }

    fn check_budget(&self, tiers: &Tiers, bytes: u64) -> Result<(), Refusal> {
        tiers.check(bytes, self.process.settings.budget).map_err(refuse_for_room)
    }
}

fn refuse_for_room(room: NoRoom) -> Refusal {
    match room {
        NoRoom::OverBudget(detail) => Refusal::with(Reason::OverBudget, detail),
        NoRoom::Failed(detail) => Refusal::with(Reason::SnapshotIncomplete, detail),
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

pub(super) fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
