//! What the device can reach: address ranges, sorted, each with the host memory behind it and who may use it.

use std::sync::Arc;

use super::buffer::{Buffer, Kind};

/// What an access wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Load.
    Read,
    /// Store or atomic.
    Write,
    /// Instruction fetch.
    Execute,
}

/// Why an access failed: the members of the driver's `kfd_memory_exception_failure`, and what it has no member for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing is mapped there for this agent.
    NotPresent,
    /// A store to read-only memory.
    ReadOnly,
    /// An instruction fetch from memory without execute permission.
    NoExecute,
    /// An atomic whose address is not a multiple of its size. The driver is told that nothing is there.
    Misaligned,
}

/// A failed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{access:?} of {address:#x}: {reason:?}")]
pub struct Fault {
    /// First address that could not be reached.
    pub address: u64,
    /// What was tried.
    pub access: Access,
    /// Why it failed.
    pub reason: Reason,
}

/// Who keeps the memory behind a range alive.
#[derive(Clone, Debug)]
pub enum Owner {
    /// An allocation of the device or of registered host memory.
    Buffer(Arc<Buffer>),
    /// Host memory shared by address (the driver's SVM ranges).
    Shared,
}

/// One mapped range.
#[derive(Clone, Debug)]
pub struct Range {
    /// First device address.
    pub start: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// Host address of `start`.
    pub host: *mut u8,
    /// Bit `i` is set if agent `i` may use the range.
    pub agents: u64,
    /// Stores are allowed.
    pub writable: bool,
    /// Instruction fetch is allowed.
    pub executable: bool,
    /// What the range belongs to.
    pub owner: Owner,
}

// SAFETY: `host` is an address only; accesses go through `Span`, which tolerates concurrent writers.
unsafe impl Send for Range {}
// SAFETY: as for `Send`.
unsafe impl Sync for Range {}

impl Range {
    /// One past the last address.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + self.bytes
    }

    /// Whether the host program may unmap any of `[start, end)` of its own memory under this range.
    #[must_use]
    pub fn lies_in_program_memory(&self, start: u64, end: u64) -> bool {
        let own = match &self.owner {
            Owner::Buffer(buffer) => buffer.kind == Kind::User,
            Owner::Shared => true,
        };
        let host = self.host as u64;
        own && host < end && host + self.bytes > start
    }

    /// Whether stores of waves may stay in a cache: ordinary VRAM of this process's devices.
    #[must_use]
    pub fn is_cacheable(&self) -> bool {
        match &self.owner {
            Owner::Buffer(buffer) => {
                buffer.kind == Kind::Vram && !buffer.rights.coherent && buffer.foreign.is_none()
            }
            Owner::Shared => false,
        }
    }

    /// The device address of a host address inside the range.
    #[must_use]
    pub fn device_address(&self, host: u64) -> Option<u64> {
        let offset = host.checked_sub(self.host as u64)?;
        (offset < self.bytes).then_some(self.start + offset)
    }

    fn owned_by(&self, id: u64) -> bool {
        matches!(&self.owner, Owner::Buffer(buffer) if buffer.id == id)
    }
}

/// The ranges, sorted by address, never overlapping.
#[derive(Debug, Default)]
pub struct RangeMap {
    ranges: Vec<Range>,
    generation: u64,
}

impl RangeMap {
    /// Changes whenever a mapping does.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Notes a change.
    pub(super) fn touch(&mut self) {
        self.generation += 1;
    }

    /// Index of the range that holds `address`.
    #[must_use]
    pub fn index_of(&self, address: u64) -> Option<usize> {
        let after = self.ranges.partition_point(|r| r.start <= address);
        let index = after.checked_sub(1)?;
        (address < self.ranges[index].end()).then_some(index)
    }

    /// The range at `index`, which came from [`Self::index_of`] on this same map.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Range> {
        self.ranges.get(index)
    }

    /// All ranges in order.
    pub fn iter(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter()
    }

    /// Adds a range. Refused, with the range in the way, if it would overlap one.
    ///
    /// # Errors
    /// Start and length of the range that overlaps.
    pub fn insert(&mut self, range: Range) -> Result<(), (u64, u64)> {
        let at = self.ranges.partition_point(|r| r.start < range.start);
        let before = at.checked_sub(1).and_then(|i| self.ranges.get(i)).filter(|r| r.end() > range.start);
        let after = self.ranges.get(at).filter(|r| r.start < range.end());
        if let Some(other) = before.or(after) {
            return Err((other.start, other.bytes));
        }
        self.ranges.insert(at, range);
        Ok(())
    }

    /// Adds agents to the range of buffer `id` at `start`; false if there is none.
    pub fn add_agents(&mut self, id: u64, start: u64, agents: u64) -> bool {
        let found = self.ranges.iter_mut().find(|r| r.start == start && r.owned_by(id));
        found.map(|r| r.agents |= agents).is_some()
    }

    /// Takes agents off the range of buffer `id` at `start`, and the range away when none is left; false if
    /// there is no such range.
    pub fn remove_agents(&mut self, id: u64, start: u64, agents: u64) -> bool {
        let Some(at) = self.ranges.iter().position(|r| r.start == start && r.owned_by(id)) else {
            return false;
        };
        self.ranges[at].agents &= !agents;
        if self.ranges[at].agents == 0 {
            self.ranges.remove(at);
        }
        true
    }

    /// Takes away every range of buffer `id`.
    pub fn remove_buffer(&mut self, id: u64) {
        self.ranges.retain(|r| !r.owned_by(id));
    }

    /// Takes away exactly the range `[start, start + bytes)` of buffer `id`; false if there is none.
    pub fn remove_exact(&mut self, id: u64, start: u64, bytes: u64) -> bool {
        let before = self.ranges.len();
        self.ranges.retain(|r| !(r.start == start && r.bytes == bytes && r.owned_by(id)));
        self.ranges.len() != before
    }

    /// Cuts the program's pages `[start, start + bytes)` out of the ranges that lie in its memory: it unmapped them.
    /// Answers whether anything was there.
    pub fn cut_host(&mut self, start: u64, bytes: u64) -> bool {
        self.cut(start, start.saturating_add(bytes), |_| true)
    }

    /// As [`Self::cut_host`], out of memory shared by address alone: registered memory stays.
    pub fn cut_shared(&mut self, start: u64, bytes: u64) -> bool {
        self.cut(start, start.saturating_add(bytes), |range| matches!(range.owner, Owner::Shared))
    }

    fn cut(&mut self, start: u64, end: u64, concerns: impl Fn(&Range) -> bool) -> bool {
        let concerns = |range: &Range| concerns(range) && range.lies_in_program_memory(start, end);
        if !self.ranges.iter().any(&concerns) {
            return false;
        }
        let mut kept = Vec::with_capacity(self.ranges.len() + 1);
        for range in self.ranges.drain(..) {
            if !concerns(&range) {
                kept.push(range);
                continue;
            }
            let host = range.host as u64;
            if host < start {
                kept.push(Range { bytes: start - host, ..range.clone() });
            }
            if host + range.bytes > end {
                let skip = end - host;
                let host = range.host.wrapping_add(usize::try_from(skip).unwrap_or(usize::MAX));
                kept.push(Range { start: range.start + skip, bytes: range.bytes - skip, host, ..range });
            }
        }
        self.ranges = kept;
        true
    }

    /// Finds where `address` lies for `agents`' access.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub fn check(
        &self,
        index: Option<usize>,
        address: u64,
        agents: u64,
        access: Access,
    ) -> Result<&Range, Fault> {
        let fault = |reason| Fault { address, access, reason };
        let range = index.and_then(|i| self.ranges.get(i)).ok_or(fault(Reason::NotPresent))?;
        if range.agents & agents == 0 {
            return Err(fault(Reason::NotPresent));
        }
        match access {
            Access::Write if !range.writable => Err(fault(Reason::ReadOnly)),
            Access::Execute if !range.executable => Err(fault(Reason::NoExecute)),
            _ => Ok(range),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: u64, bytes: u64) -> Range {
        let host = core::ptr::without_provenance_mut(usize::try_from(start).expect("small"));
        Range { start, bytes, host, agents: 1, writable: true, executable: false, owner: Owner::Shared }
    }

    #[test]
    fn addresses_are_found_only_inside_ranges() {
        let mut map = RangeMap::default();
        map.insert(range(0x3000, 0x1000)).expect("free");
        map.insert(range(0x1000, 0x1000)).expect("free");
        assert_eq!(map.index_of(0xfff), None);
        assert_eq!(map.index_of(0x1000), Some(0));
        assert_eq!(map.index_of(0x1fff), Some(0));
        assert_eq!(map.index_of(0x2000), None);
        assert_eq!(map.index_of(0x3fff), Some(1));
        assert_eq!(map.index_of(0x4000), None);
    }

    #[test]
    fn overlapping_ranges_are_refused() {
        let mut map = RangeMap::default();
        map.insert(range(0x2000, 0x2000)).expect("free");
        assert_eq!(map.insert(range(0x1000, 0x1001)), Err((0x2000, 0x2000)));
        assert_eq!(map.insert(range(0x3fff, 0x10)), Err((0x2000, 0x2000)));
        map.insert(range(0x4000, 0x10)).expect("adjacent");
        map.insert(range(0x1000, 0x1000)).expect("adjacent");
    }

    #[test]
    fn unmapped_host_pages_are_cut_out_of_the_middle() {
        let mut map = RangeMap::default();
        map.insert(range(0x1000, 0x4000)).expect("free");
        assert!(map.cut_host(0x2000, 0x1000));
        let left: Vec<_> = map.iter().map(|r| (r.start, r.bytes, r.host as u64)).collect();
        assert_eq!(left, [(0x1000, 0x1000, 0x1000), (0x3000, 0x2000, 0x3000)]);
        assert!(!map.cut_host(0x2000, 0x1000));
    }

    #[test]
    fn other_agents_and_missing_rights_fault_with_their_reason() {
        let mut map = RangeMap::default();
        map.insert(Range { writable: false, ..range(0x1000, 0x1000) }).expect("free");
        let index = map.index_of(0x1008);
        let reason = |agents, access| map.check(index, 0x1008, agents, access).map_err(|f| f.reason).err();
        assert_eq!(reason(1, Access::Read), None);
        assert_eq!(reason(2, Access::Read), Some(Reason::NotPresent));
        assert_eq!(reason(1, Access::Write), Some(Reason::ReadOnly));
        assert_eq!(reason(1, Access::Execute), Some(Reason::NoExecute));
    }
}
