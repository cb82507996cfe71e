//! Mappings of physical memory, and which agent may write to them.
//!
//! A mapping is captured while the agent that owns its physical memory may write to it. Taking that right away is like a free:
//! the region is gone, and a new one stands for the mapping, since nothing can be put back any more.

use super::region::Exclusion;
use super::{Arc, Inventory, Record, Region};
use crate::handles::Agent;
use crate::{Access, Unmapped};
use std::ops::Range;

impl Record {
    fn is_mapping(&self) -> bool {
        self.region.physical().is_some()
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
        drop(records);
        taken.iter().for_each(|record| self.forget(record));
        taken
    }

    /// Afterwards: what is still mapped comes back.
    pub(crate) fn unmapped(&self, taken: &[Record], range: &Range<u64>, outcome: Unmapped) {
        for record in taken {
            match outcome {
                Unmapped::Refused => {
                    record.region.stay();
                    self.records.write().entry(record.region.base).or_insert_with(|| record.clone());
                }
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
        let Some(mut physical) = record.region.physical() else { return };
        physical.offset += part.start - record.region.base;
        let kind = super::RegionKind::Mapping(physical);
        let region = Region::new(kind, part.start, part.end - part.start, record.region.owner);
        let record = Record { region: Arc::new(region), exclusion: record.exclusion() };
        self.records.write().entry(part.start).or_insert(record);
    }

    /// Before an agent loses the right to write to the mappings that begin in a range.
    pub(crate) fn close(&self, range: Range<u64>, agent: Agent) {
        let mut closed = Vec::new();
        let mut records = self.records.write();
        for record in records.range_mut(range).map(|(_, record)| record) {
            if record.is_mapping() && record.region.owner == agent && record.exclusion().is_none() {
                let Region { base, bytes, owner, .. } = *record.region;
                let region = Region::new(record.region.kind.clone(), base, bytes, owner);
                // Until the call has succeeded nobody knows what the agent may do.
                let new = Record { region: Arc::new(region), exclusion: Some(Exclusion::Unknown) };
                closed.push(std::mem::replace(record, new));
            }
        }
        drop(records);
        closed.iter().for_each(|record| record.region.retire());
    }

    /// An agent was given access to the mappings that begin in a range, or it was taken away.
    pub(crate) fn access(&self, range: Range<u64>, access: Access) {
        for record in self.records.write().range_mut(range).map(|(_, record)| record) {
            self.set_access(record, access);
        }
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
        for (base, record) in self.records.write().range_mut(first.region.base..) {
            if *base != next || !record.is_mapping() {
                break;
            }
            next = record.region.end();
            self.set_access(record, Access { agent, writes: true });
        }
    }

    /// Whether physical memory is mapped for the agent otherwise than by this region.
    pub(crate) fn is_mapped_elsewhere(&self, region: &Region) -> bool {
        region.physical().is_some_and(|physical| {
            self.records.read().values().any(|record| {
                record.region.base != region.base
                    && record.exclusion().is_none()
                    && record.region.physical().is_some_and(|other| other.number == physical.number)
            })
        })
    }
}
