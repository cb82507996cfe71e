//! The live memory of the application and what a window may do with it.
//!
//! The map's lock is held for a look or a change only, never for a copy or a window. A free takes the record out before the
//! real call, so that the address can be given out again at any time without confusion.

mod classify;
mod in_use;
mod mappings;
mod overlays;
mod records;
mod region;

pub(crate) use classify::Classifier;
pub(crate) use mappings::Closed;
pub(crate) use region::{Asked, Exclusion, Held, Physical, Pin, Region, RegionKind};

use crate::handles::Agent;
use crate::sync::{Arc, AtomicBool, AtomicU64, Ordering, RwLock};
use crate::{Allocation, Source};
use overlays::Overlays;
use records::Records;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

/// All allocations that the hooks have seen and that live.
#[derive(Debug)]
pub(crate) struct Inventory {
    classifier: Classifier,
    records: Records,
    overlays: RwLock<Overlays>,
    /// Changes when memory that may hold kernel arguments goes away.
    kernarg_epoch: AtomicU64,
    /// Packets took their arguments from device memory that nothing had marked as memory for arguments.
    unmarked_arguments: AtomicBool,
}

/// One allocation.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) region: Arc<Region>,
    exclusion: Option<Exclusion>,
}

impl Record {
    /// Why it is not captured, if so.
    pub(crate) fn exclusion(&self) -> Option<Exclusion> {
        let found = self.region.exclusion();
        let by_kind = match self.exclusion {
            // Others may write where its own agent may not.
            Some(Exclusion::NoAccess) => found.or(self.exclusion),
            kind => kind.or(found),
        };
        match self.region.asked() {
            Some(Asked::Exclude) => by_kind.or(Some(Exclusion::Program)),
            // The program answers for it that nobody else writes there during a window.
            Some(Asked::Include) if self.exclusion == Some(Exclusion::FineGrained) => self.region.exclusion(),
            _ => by_kind,
        }
    }

    /// The addresses by which a window may be at this memory: that of a mapping may be captured by another one.
    fn reach(&self) -> Range<u64> {
        if self.region.physical().is_some() { 0..u64::MAX } else { self.region.base..self.region.end() }
    }

    /// Whether an agent's kernels may write there although no window of the agent puts it back.
    pub(crate) fn is_unrestored(&self, agent: Agent) -> bool {
        match self.exclusion() {
            // The program answers for what it leaves out.
            Some(Exclusion::Program) => false,
            Some(Exclusion::NoAccess) | None => self.region.owner != agent,
            Some(_) => true,
        }
    }
}

impl Inventory {
    pub(crate) fn new(classifier: Classifier) -> Self {
        Self {
            classifier,
            records: Records::default(),
            overlays: RwLock::default(),
            kernarg_epoch: AtomicU64::new(1),
            unmarked_arguments: AtomicBool::new(false),
        }
    }

    /// Takes in new memory. A record that is still there for the address is of memory that went unseen.
    pub(crate) fn add(&self, allocation: &Allocation) {
        if allocation.address == 0 {
            return;
        }
        let (owner, exclusion) = self.classifier.classify(allocation);
        let kind = match allocation.source {
            Source::VirtualMemory { physical: number, offset, .. } => {
                RegionKind::Mapping(Physical { number, offset })
            }
            _ => RegionKind::Allocation,
        };
        let region = Region::new(kind, allocation.address, allocation.bytes, owner);
        let record = Record { region: Arc::new(region), exclusion };
        if matches!(allocation.source, Source::Managed | Source::Locked) {
            self.overlays.write().add(record);
            return;
        }
        // The runtime hands out no address that is still in use: ranges there of which nobody tells the end are over.
        self.overlays.write().end_within(&(allocation.address..record.region.end()));
        self.inherit_exclusion(&record.region);
        let before = self.records.write().insert(allocation.address, record);
        if let Some(before) = before {
            self.forget(&before);
        }
    }

    /// Takes the record of an allocation out and waits for the chunk of it that is being copied, if it may.
    pub(crate) fn remove(&self, address: u64, may_wait: bool) -> Option<Record> {
        // What is not there is no change.
        let known = self.records.read().contains_key(&address);
        let record = known.then(|| self.records.write().remove(&address))??;
        if may_wait {
            self.forget(&record);
        } else {
            record.region.retire_at_once();
            self.forget_kernarg(&record);
        }
        Some(record)
    }

    fn forget(&self, record: &Record) {
        record.region.retire();
        self.forget_kernarg(record);
    }

    fn forget_kernarg(&self, record: &Record) {
        // Any record may have been remembered as kernarg memory; only excluded ones are.
        if record.exclusion().is_some() {
            self.kernarg_epoch.fetch_add(1, Ordering::AcqRel);
        }
    }

    /// Puts a range back that could not be freed: it is there, but nothing is known of it any more.
    pub(crate) fn put_back_excluded(&self, record: &Record) {
        let Region { base, bytes, owner, .. } = *record.region;
        let region = Region::new(RegionKind::Allocation, base, bytes, owner);
        let record = Record { region: Arc::new(region), exclusion: Some(Exclusion::FailedFree) };
        self.records.write().entry(base).or_insert(record);
    }

    /// Memory was exported to others. Gives where a window may be at it.
    pub(crate) fn export(&self, address: u64) -> Option<Range<u64>> {
        let record = self.find(address)?;
        self.exclude(&record.region, Exclusion::SharedOut);
        Some(record.reach())
    }

    /// The program asks for the allocation at an address to be captured or left out. `None`: no allocation is known there;
    /// false: its kind is never captured.
    pub(crate) fn ask(&self, address: u64, asked: Asked) -> Option<bool> {
        let record = self.find(address)?;
        let records = self.records.write();
        record.region.ask(asked);
        drop(records);
        Some(asked == Asked::Exclude || record.exclusion().is_none())
    }

    pub(crate) fn is_gpu(&self, agent: Agent) -> bool {
        self.classifier.is_gpu(agent)
    }

    /// The allocation that an address lies in.
    pub(crate) fn find(&self, address: u64) -> Option<Record> {
        let records = self.records.read();
        let found = records.range(..=address).next_back().map(|(_, record)| record);
        match found.filter(|record| record.region.contains(address)) {
            Some(record) => Some(record.clone()),
            None => self.overlays.read().find(address),
        }
    }

    /// What is known and not put back by a window of the agent although its kernels may write it, by address.
    pub(crate) fn unrestored(&self, agent: Agent) -> Vec<Record> {
        let records = self.records.read();
        let overlays = self.overlays.read();
        let is_outside = |record: &&Record| record.is_unrestored(agent);
        records.values().chain(overlays.iter()).filter(is_outside).cloned().collect()
    }

    /// What the program leaves out, except by one of several mappings of the same memory.
    pub(crate) fn left_out(&self) -> Vec<Arc<Region>> {
        let records = self.records.read();
        let is_left_out = |record: &&Record| record.exclusion() == Some(Exclusion::Program);
        let captured = |region: &Region| {
            records.values().any(|other| other.exclusion().is_none() && other.region.shares_physical(region))
        };
        let left_out = records.values().filter(is_left_out).map(|record| &record.region);
        left_out.filter(|region| region.physical().is_none() || !captured(region)).cloned().collect()
    }

    /// Changes when an answer of [`Inventory::mark_kernarg`] may have become wrong.
    pub(crate) fn kernarg_epoch(&self) -> u64 {
        self.kernarg_epoch.load(Ordering::Acquire)
    }

    /// A packet takes its arguments from this address: the allocation is excluded for good. Gives its range.
    pub(crate) fn mark_kernarg(&self, address: u64) -> Option<Range<u64>> {
        let record = self.find(address)?;
        if record.exclusion().is_none() {
            self.unmarked_arguments.store(true, Ordering::Release);
        }
        self.exclude(&record.region, Exclusion::Kernarg);
        Some(record.region.base..record.region.end())
    }

    /// Whether the language runtime keeps arguments in memory that looks like any other until a packet takes its arguments there.
    pub(crate) fn has_unmarked_arguments(&self) -> bool {
        self.unmarked_arguments.load(Ordering::Acquire)
    }

    /// Changes whenever [`Inventory::trackable`] may: an answer from after a number was read holds while it is the same.
    pub(crate) fn version(&self) -> u64 {
        self.records.version()
    }

    /// The allocations of an agent that a window captures, by address. Of mappings of the same physical memory only the first.
    pub(crate) fn trackable(&self, agent: Agent) -> Vec<Arc<Region>> {
        captured(&self.records.read(), agent).map(Arc::clone).collect()
    }

    /// Bytes of [`Inventory::trackable`].
    pub(crate) fn trackable_bytes(&self, agent: Agent) -> u64 {
        captured(&self.records.read(), agent).map(|region| region.bytes).sum()
    }
}

/// What a window of an agent captures.
fn captured(records: &BTreeMap<u64, Record>, agent: Agent) -> impl Iterator<Item = &Arc<Region>> {
    let mut mapped = HashSet::new();
    records
        .values()
        .filter(move |record| record.region.owner == agent && record.region.bytes > 0)
        .filter(|record| record.exclusion().is_none())
        .map(|record| &record.region)
        .filter(move |region| {
            region.physical().is_none_or(|physical| mapped.insert((physical, region.bytes)))
        })
}

#[cfg(test)]
mod tests;
