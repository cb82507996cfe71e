//! Mappings of physical memory, and which agent may write to them.
//!
//! A mapping is captured while the agent that owns its physical memory may write to it. Taking that right away is like a free:
//! the region is gone, and a new one stands for the mapping, since nothing can be put back any more.

use super::region::Exclusion;
use super::{Arc, Inventory, Record, Region};
use crate::handles::Agent;
use crate::{Access, Unmapped};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

/// A mapping whose agent is about to lose the right to write there.
#[derive(Debug)]
pub(crate) struct Closed {
    before: Record,
    /// What stands for it from now on.
    after: Arc<Region>,
}

impl Record {
    fn is_mapping(&self) -> bool {
        self.region.physical().is_some()
    }

    fn physical_number(&self) -> Option<u64> {
        self.region.physical().map(|physical| physical.number)
    }
}

impl Inventory {
    /// Takes out the mappings that a range touches.
    pub(crate) fn unmap(&self, range: &Range<u64>) -> Vec<Record> {
        let mut records = self.records.write();
        let touched: Vec<u64> = records
            .iter()
            .filter(|(_, record)| record.is_mapping())
            .filter(|(base, record)| **base < range.end && range.start < record.region.end())
            .map(|(base, _)| *base)
            .collect();
        let taken: Vec<Record> = touched.iter().filter_map(|base| records.remove(base)).collect();
        let going: HashSet<u64> = taken.iter().filter_map(Record::physical_number).collect();
        let stays: HashSet<u64> = records
            .values()
            .filter_map(Record::physical_number)
            .filter(|number| going.contains(number))
            .collect();
        drop(records);
        for record in &taken {
            // What a window has left in memory that stays is put back first: there is no other way to it.
            if record.physical_number().is_some_and(|number| stays.contains(&number)) {
                record.region.retire_unpinned();
            }
            self.forget(record);
        }
        taken
    }

    /// Afterwards: what is still mapped comes back.
    pub(crate) fn unmapped(&self, taken: &[Record], range: &Range<u64>, outcome: Unmapped) {
        for record in taken {
            match outcome {
                // The region does not come back: a window that has it went on without it, and must not take it up again.
                Unmapped::Refused => self.keep(record, record.region.base..record.region.end()),
                Unmapped::Failed => self.put_back_excluded(record),
                Unmapped::Done => {
                    for part in [record.region.base..range.start, range.end..record.region.end()] {
                        self.keep(record, part);
                    }
                }
            }
        }
    }

    /// Puts a part of a mapping back.
    fn keep(&self, record: &Record, part: Range<u64>) {
        if part.is_empty() {
            return;
        }
        let start = part.start;
        let region = record.region.successor(part);
        let record = Record { region: Arc::new(region), exclusion: record.exclusion };
        self.records.write().entry(start).or_insert(record);
    }

    /// Before an agent loses the right to write to the mappings that begin in a range.
    pub(crate) fn close(&self, range: Range<u64>, agent: Agent) -> Vec<Closed> {
        let mut closed = Vec::new();
        let mut records = self.records.write();
        for record in records.range_mut(range).map(|(_, record)| record) {
            // Also one that was found out to be excluded, or that the program has left out since: an open window may hold it.
            if record.is_mapping() && record.region.owner == agent && record.exclusion.is_none() {
                let region = Arc::new(record.region.successor(record.region.base..record.region.end()));
                // Until the call has succeeded nobody knows what the agent may do.
                let new = Record { region: Arc::clone(&region), exclusion: Some(Exclusion::Unknown) };
                closed.push(Closed { before: std::mem::replace(record, new), after: region });
            }
        }
        drop(records);
        closed.iter().for_each(|closed| closed.before.region.retire_unpinned());
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

    /// An agent was given access to the mappings that begin in a range, or it was taken away.
    pub(crate) fn access(&self, range: Range<u64>, access: Access) {
        let mut records = self.records.write();
        for record in records.range_mut(range).map(|(_, record)| record) {
            self.set_access(record, access);
        }
        share_exclusions(&records);
    }

    fn set_access(&self, record: &mut Record, Access { agent, writes }: Access) {
        if !record.is_mapping() {
            return;
        }
        if agent != record.region.owner {
            if writes && self.classifier.is_gpu(agent) {
                record.region.exclude(Exclusion::SharedOut);
            }
        } else if let Some(Exclusion::NoAccess | Exclusion::Unknown) | None = record.exclusion {
            record.exclusion = (!writes).then_some(Exclusion::NoAccess);
        }
    }

    /// An agent may write to the allocation at an address, or to a row of adjoining mappings from there on.
    pub(crate) fn open(&self, address: u64, agent: Agent) {
        let Some(first) = self.find(address) else {
            return;
        };
        if !first.is_mapping() {
            if self.classifier.is_gpu(agent) && agent != first.region.owner {
                first.region.exclude(Exclusion::SharedOut);
            }
            return;
        }
        let mut next = first.region.base;
        let mut records = self.records.write();
        for (base, record) in records.range_mut(first.region.base..) {
            if *base != next || !record.is_mapping() {
                break;
            }
            next = record.region.end();
            self.set_access(record, Access { agent, writes: true });
        }
        share_exclusions(&records);
    }

    /// Excludes memory for good, at all addresses at which it is mapped.
    pub(super) fn exclude(&self, region: &Region, exclusion: Exclusion) {
        region.exclude(exclusion);
        if region.physical().is_some() {
            share_exclusions(&self.records.read());
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
