//! The window's own writes to memory, beside copies that could not wait for it (see [`crate::intrusion`]).

use super::Window;
use super::finish::Cut;
use super::inspect::reserve_scratch;
use super::repair::put;
use super::snapshot::Workspace;
use crate::copy::Mover;
use crate::intrusion::{Kept, Written};
use crate::inventory::{Pin, Region};
use crate::store::Plan;
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use std::ops::Range;
use std::time::Instant;

pub(super) const INTRUDED: &str = "a thread that may not wait copied memory during the window";

impl Window<'_> {
    /// Keeps the rights to mapped memory, and physical memory that has two addresses at this one, until it is put back.
    pub(super) fn pin(plan: &Plan) -> Vec<Pin> {
        plan.regions.iter().filter(|region| region.physical().is_some()).filter_map(Region::pin).collect()
    }

    /// Memory is about to be put back. Not after somebody has copied meanwhile: that would be undone.
    pub(super) fn begin_writing(&self, plan: &Plan) -> Option<Cut> {
        let others = self.other_addresses(plan);
        let ranges = plan.regions.iter().chain(&others).map(|region| region.base..region.end()).collect();
        let intrusions = &self.agent.fence.intrusions;
        if !intrusions.begin_writing(ranges) {
            return Some(Cut::new(Reason::CopyInFlight, INTRUDED));
        }
        // Whoever opens memory to others from here on waits for the end.
        let detail = self.excluded_since(plan)?;
        intrusions.give_up();
        Some(Cut::new(Reason::UntrackedMemory, detail))
    }

    /// The window's copies have ended: writes again what others copied meanwhile. Gives how the window ends when that is lost.
    pub(super) fn end_writing(&self, plan: &Plan, workspace: &mut Workspace) -> Option<Cut> {
        let deadline = Instant::now() + self.process.settings.timeout;
        let mut lost = None;
        loop {
            match self.agent.fence.intrusions.end_writing(deadline) {
                Written::Nothing => return lost,
                Written::Lost => {
                    return lost.or_else(|| Some(lost_copy("what it copied may have been undone")));
                }
                Written::Opened => {
                    let what = "memory was opened to others while it was put back, by a thread that may not wait: what they wrote \
                                may have been undone";
                    return lost
                        .or_else(|| Some(Cut { tainted: true, ..Cut::new(Reason::ForeignWrite, what) }));
                }
                Written::Again(copies) => {
                    let written = copies.iter().all(|kept| self.write_again(plan, workspace, kept, deadline));
                    if !written {
                        lost.get_or_insert_with(|| lost_copy("what it copied could not be written again"));
                    }
                }
            }
        }
    }

    fn write_again(&self, plan: &Plan, workspace: &mut Workspace, kept: &Kept, deadline: Instant) -> bool {
        if reserve_scratch(self.agent, plan, &mut workspace.scratch).is_err() {
            return false;
        }
        let mover = Mover::new(self.process, self.agent.agent, deadline);
        let range = kept.address..kept.address.saturating_add(kept.bytes.len() as u64);
        self.captured_at(plan, &range).into_iter().all(|(region, at, within)| {
            put(&mover, &plan.regions[region], at, &kept.bytes[within], &mut workspace.scratch)
        })
    }

    /// What is captured of a range of addresses: the region, the offset in it, and which bytes of the range. The range may lie at
    /// another address of the memory, at which the agent may not write.
    fn captured_at(&self, plan: &Plan, range: &Range<u64>) -> Vec<(usize, u64, Range<usize>)> {
        let common = |region: &Region| {
            let common = region.base.max(range.start)..region.end().min(range.end);
            (!common.is_empty()).then_some(common)
        };
        let bytes = |start, length| offset(range.start, start)..offset(range.start, start + length);
        let mut found = Vec::new();
        for (number, region) in plan.regions.iter().enumerate() {
            if let Some(common) = common(region) {
                let length = common.end - common.start;
                found.push((number, common.start - region.base, bytes(common.start, length)));
            }
        }
        for alias in self.other_addresses(plan) {
            let (Some(common), Some(physical)) = (common(&alias), alias.physical()) else { continue };
            let from = physical.offset + (common.start - alias.base);
            let to = from + (common.end - common.start);
            for (number, region) in plan.regions.iter().enumerate() {
                let Some(own) = region.physical().filter(|own| own.number == physical.number) else {
                    continue;
                };
                let (start, end) = (from.max(own.offset), to.min(own.offset + region.bytes));
                if start < end {
                    let first = common.start + (start - from);
                    found.push((number, start - own.offset, bytes(first, end - start)));
                }
            }
        }
        found
    }

    /// Where else captured memory is mapped.
    fn other_addresses(&self, plan: &Plan) -> Vec<Arc<Region>> {
        if plan.regions.iter().all(|region| region.physical().is_none()) {
            return Vec::new();
        }
        let mut mappings = self.process.inventory.mappings(self.agent.agent);
        // Regions are in order of their addresses, and a pool may consist of ten thousands of mappings.
        mappings.retain(|mapping| {
            plan.regions.binary_search_by_key(&mapping.base, |region| region.base).is_err()
        });
        mappings
    }

    /// Where others copied during the window, ascending and without overlap; `None` if that is not known of all.
    pub(super) fn intruded(&self) -> Option<Vec<Range<u64>>> {
        let mut ranges = self.agent.fence.intrusions.ranges()?;
        ranges.sort_by_key(|range| range.start);
        let mut joined: Vec<Range<u64>> = Vec::new();
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Some(joined)
    }
}

fn offset(from: u64, to: u64) -> usize {
    usize::try_from(to - from).unwrap_or(usize::MAX)
}

fn lost_copy(what: &str) -> Cut {
    Cut { tainted: true, ..Cut::new(Reason::CopyInFlight, format!("{INTRUDED}, and {what}")) }
}
