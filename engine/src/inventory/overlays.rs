//! Ranges that may overlap each other: shared virtual memory, whose attributes are set again and again for parts of it, and
//! locked host memory.
//!
//! They are few, and asked for only where no allocation lies.

use super::Record;
use super::region::Exclusion;
use std::ops::Range;

/// The ranges, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Overlays {
    records: Vec<Record>,
}

impl Overlays {
    /// Takes in a range. Shared virtual memory inside one that is known adds nothing, and swallows what it covers.
    pub(super) fn add(&mut self, record: Record) {
        if record.exclusion() == Some(Exclusion::Managed) {
            let covers = |one: &Record, other: &Record| {
                one.exclusion() == Some(Exclusion::Managed)
                    && one.region.base <= other.region.base
                    && other.region.end() <= one.region.end()
            };
            if self.records.iter().any(|known| covers(known, &record)) {
                return;
            }
            self.records.retain(|known| !covers(&record, known) || known.exclusion() != record.exclusion());
        }
        self.records.push(record);
    }

    /// Memory was unlocked once.
    pub(super) fn unlock(&mut self, address: u64) {
        let is_meant =
            |record: &Record| record.region.base == address && record.exclusion() == Some(Exclusion::Locked);
        if let Some(at) = self.records.iter().rposition(is_meant) {
            self.records.remove(at);
        }
    }

    /// Forgets shared virtual memory that begins or ends in a range, which now belongs to an allocation.
    pub(super) fn end_within(&mut self, range: &Range<u64>) {
        self.records.retain(|record| {
            record.exclusion() != Some(Exclusion::Managed)
                || record.region.end() <= range.start
                || range.end <= record.region.base
        });
    }

    pub(super) fn find(&self, address: u64) -> Option<Record> {
        self.records.iter().rev().find(|record| record.region.contains(address)).cloned()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.records.iter()
    }
}

impl super::Inventory {
    /// After `hsa_amd_memory_unlock`.
    pub(crate) fn unlock(&self, address: u64) {
        self.overlays.write().unlock(address);
    }
}

#[cfg(test)]
mod tests {
    use super::super::region::{Region, RegionKind};
    use super::*;
    use crate::handles::Agent;
    use crate::sync::Arc;

    fn record(base: u64, bytes: u64, exclusion: Exclusion) -> Record {
        let region = Region::new(RegionKind::Allocation, base, bytes, Agent(0));
        Record { region: Arc::new(region), exclusion: Some(exclusion) }
    }

    #[test]
    fn nested_and_overlapping_ranges_are_each_found() {
        let mut overlays = Overlays::default();
        overlays.add(record(0x1000, 0x4000, Exclusion::Managed));
        overlays.add(record(0x2000, 0x100, Exclusion::Managed));
        overlays.add(record(0x4800, 0x1000, Exclusion::Managed));
        assert_eq!(overlays.records.len(), 2, "the inner one adds nothing");
        for address in [0x1000, 0x2080, 0x20ff, 0x2100, 0x4fff, 0x57ff] {
            assert!(overlays.find(address).is_some(), "{address:#x}");
        }
        assert!(overlays.find(0x5800).is_none());
        overlays.add(record(0x800, 0x6000, Exclusion::Managed));
        assert_eq!(overlays.records.len(), 1, "the outer one swallows both");
    }

    #[test]
    fn memory_locked_twice_stays_until_it_is_unlocked_twice() {
        let mut overlays = Overlays::default();
        overlays.add(record(0x1000, 0x100, Exclusion::Locked));
        overlays.add(record(0x1000, 0x200, Exclusion::Locked));
        overlays.unlock(0x1000);
        assert!(overlays.find(0x1080).is_some());
        overlays.unlock(0x1080);
        overlays.unlock(0x1000);
        assert!(overlays.find(0x1080).is_none());
    }

    #[test]
    fn shared_virtual_memory_ends_where_an_allocation_begins() {
        let mut overlays = Overlays::default();
        overlays.add(record(0x1000, 0x1000, Exclusion::Managed));
        overlays.add(record(0x3000, 0x1000, Exclusion::Managed));
        overlays.end_within(&(0x2000..0x3001));
        assert!(overlays.find(0x1800).is_some() && overlays.find(0x3800).is_none());
    }
}
