//! Mappings of physical memory, and which agent may write to them.
//!
//! A mapping is captured while the agent that owns its physical memory may write to it. Taking that right away is like a free:
//! the region is gone, and a new one stands for the mapping, since nothing can be put back any more. So is an unmapping, until it is
//! known to have succeeded.

use super::region::Exclusion;
use super::{Arc, Inventory, Record, Region};
use crate::handles::Agent;
use crate::{Access, Unmapped};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A mapping that a call under way takes away, or takes its agent's right to write.
#[derive(Debug)]
pub(crate) struct Closed {
    before: Record,
    /// What stands for it until the call has ended, and afterwards if it is still there.
    after: Arc<Region>,
}

impl Closed {
    /// Whether it is still being copied or put back.
    pub(crate) fn is_being_copied(&self) -> bool {
        self.before.region.is_being_copied()
    }

    /// What a window has left there is put back first: the memory may stay, by another mapping or since the call is refused.
    fn wait(&self, may_wait: bool) {
        if may_wait {
            self.before.region.retire_unpinned();
        } else {
            self.before.region.leave_at_once();
        }
    }

    pub(crate) fn before(&self) -> &Arc<Region> {
        &self.before.region
    }
}

impl Record {
    fn is_mapping(&self) -> bool {
        self.region.physical().is_some()
    }

    /// Another region stands for it during a call.
    fn close(&mut self, stands: Region) -> Closed {
        let after = Arc::new(stands);
        // Until the call has succeeded nobody knows what the agent may do.
        let new = Self { region: Arc::clone(&after), exclusion: Some(Exclusion::Unknown) };
        Closed { before: std::mem::replace(self, new), after }
    }
}

impl Inventory {
    /// Before the mappings that a range touches are taken away: no window captures them or puts them back any more. Until the call
    /// has ended nobody knows whether they stay, so a window that has them does not go on.
    pub(crate) fn unmap(&self, range: &Range<u64>, may_wait: bool) -> Vec<Closed> {
        let mut taken = Vec::new();
        let mut records = self.records.write();
        for (base, record) in records.iter_mut() {
            if record.is_mapping() && *base < range.end && range.start < record.region.end() {
                let stands = record.region.successor(record.region.base..record.region.end());
                // Nothing is copied there meanwhile.
                stands.retire_at_once();
                taken.push(record.close(stands));
            }
        }
        drop(records);
        for closed in &taken {
            closed.wait(may_wait);
            self.forget_kernarg(&closed.before);
        }
        taken
    }

    /// Afterwards: what is still mapped comes back.
    pub(crate) fn unmapped(&self, taken: &[Closed], range: &Range<u64>, outcome: Unmapped) {
        for Closed { before, after } in taken {
            let mut records = self.records.write();
            if records.get(&after.base).is_some_and(|record| Arc::ptr_eq(&record.region, after)) {
                records.remove(&after.base);
            }
            drop(records);
            let whole = after.base..after.end();
            match outcome {
                // The region does not come back: a window that has it went on without it, and must not take it up again.
                Unmapped::Refused => self.keep(before, after, whole),
                Unmapped::Failed => self.put_back_excluded(before),
                Unmapped::Done => {
                    for part in [whole.start..range.start, range.end..whole.end] {
                        self.keep(before, after, part);
                    }
                }
            }
        }
    }

    /// Puts a part of a mapping back.
    fn keep(&self, before: &Record, after: &Region, part: Range<u64>) {
        if part.is_empty() {
            return;
        }
        let start = part.start;
        // What was found out meanwhile holds.
        let record = Record { region: Arc::new(after.successor(part)), exclusion: before.exclusion };
        self.records.write().entry(start).or_insert(record);
    }

    /// Before an agent loses the right to write to the mappings that begin in a range.
    pub(crate) fn close(&self, range: Range<u64>, agent: Agent, may_wait: bool) -> Vec<Closed> {
        let mut closed = Vec::new();
        let mut records = self.records.write();
        for record in records.range_mut(range).map(|(_, record)| record) {
            // Also one that was found out to be excluded, or that the program has left out since: an open window may hold it.
            if record.is_mapping() && record.region.owner == agent && record.exclusion.is_none() {
                let stands = record.region.successor(record.region.base..record.region.end());
                closed.push(record.close(stands));
            }
        }
        drop(records);
        closed.iter().for_each(|closed| closed.wait(may_wait));
        closed
    }

    /// The call that was to take the right away has changed nothing.
    pub(crate) fn reopen(&self, closed: &[Closed]) {
        let mut records = self.records.write();
        for Closed { before, after } in closed {
            // The region before does not come back: a window that has it went on without it, and must not take it up again.
            if let Some(record) = records.get_mut(&after.base)
                && Arc::ptr_eq(&record.region, after)
            {
                record.exclusion = before.exclusion;
            }
        }
    }

    /// An agent was given access to the mappings that begin in a range, or it was taken away. As [`Inventory::open`].
    pub(crate) fn access(&self, range: Range<u64>, access: Access) -> Option<Range<u64>> {
        let mut records = self.records.write();
        let mut opened = None;
        for record in records.range_mut(range).map(|(_, record)| record) {
            opened = self.set_access(record, access).or(opened);
        }
        share_exclusions(&records);
        opened
    }

    /// Gives where a window may be at the memory, if others may write it now.
    fn set_access(&self, record: &mut Record, Access { agent, writes }: Access) -> Option<Range<u64>> {
        if !record.is_mapping() {
            return None;
        }
        if agent != record.region.owner {
            if writes && self.classifier.is_gpu(agent) {
                record.region.exclude(Exclusion::SharedOut);
                return Some(record.reach());
            }
        } else if let Some(Exclusion::NoAccess | Exclusion::Unknown) | None = record.exclusion {
            record.exclusion = (!writes).then_some(Exclusion::NoAccess);
        }
        None
    }

    /// An agent may write to the allocation at an address, or to a row of adjoining mappings from there on. Gives where a window
    /// may be at that memory, if the agent is another one than its own.
    pub(crate) fn open(&self, address: u64, agent: Agent) -> Option<Range<u64>> {
        let first = self.find(address)?;
        if !first.is_mapping() {
            let others = self.classifier.is_gpu(agent) && agent != first.region.owner;
            return others.then(|| {
                self.exclude(&first.region, Exclusion::SharedOut);
                first.reach()
            });
        }
        let (mut next, mut opened) = (first.region.base, None);
        let mut records = self.records.write();
        for (base, record) in records.range_mut(first.region.base..) {
            if *base != next || !record.is_mapping() {
                break;
            }
            next = record.region.end();
            opened = self.set_access(record, Access { agent, writes: true }).or(opened);
        }
        share_exclusions(&records);
        opened
    }

    /// Excludes memory for good, at all addresses at which it is mapped.
    pub(super) fn exclude(&self, region: &Region, exclusion: Exclusion) {
        let records = self.records.read();
        if region.exclusion().is_some() {
            // Whoever found that out has shared it, or has the lock.
            return;
        }
        drop(records);
        let records = self.records.write();
        region.exclude(exclusion);
        if region.physical().is_some() {
            share_exclusions(&records);
        }
    }

    /// The mappings by which kernels of an agent reach the agent's own memory, also those that no window captures because another
    /// mapping stands for them, or because the agent may only read there.
    pub(crate) fn mappings(&self, agent: Agent) -> Vec<Arc<Region>> {
        let records = self.records.read();
        let mappings = records.values().filter(|record| record.is_mapping() && record.region.owner == agent);
        mappings.map(|record| Arc::clone(&record.region)).collect()
    }

    /// What is known of the physical memory that new memory is a mapping of.
    pub(super) fn inherit_exclusion(&self, new: &Region) {
        if new.physical().is_some() {
            let records = self.records.read();
            let others = records.values().filter(|record| record.region.shares_physical(new));
            if let Some(exclusion) = others.filter_map(|record| record.region.exclusion()).next() {
                new.exclude(exclusion);
            }
        }
    }

    /// Whether the physical memory of a region is mapped otherwise than by this region.
    pub(crate) fn stays_mapped(&self, region: &Region) -> bool {
        region.physical().is_some_and(|_| {
            let records = self.records.read();
            records
                .values()
                .any(|other| !std::ptr::eq(&*other.region, region) && other.region.shares_physical(region))
        })
    }
}

/// What excludes physical memory at one address does so at all of them: it is the same memory.
fn share_exclusions(records: &BTreeMap<u64, Record>) {
    let excluded: HashMap<u64, Exclusion> = records
        .values()
        .filter_map(|record| Some((record.region.physical()?.number, record.region.exclusion()?)))
        .collect();
    if excluded.is_empty() {
        return;
    }
    for Record { region, .. } in records.values() {
        if let Some(&exclusion) = region.physical().and_then(|physical| excluded.get(&physical.number)) {
            region.exclude(exclusion);
        }
    }
}
