//! Memory as one agent sees it, while nothing can be unmapped.

use core::cell::Cell;

use model_gpu_isa::Cache as _;
use parking_lot::RwLockReadGuard;

use super::cache::Cache;
use super::map::{Access, Fault, RangeMap};
use crate::shared::{Span, Word};

/// A locked view of the map. Keep it for one packet or one slice of a wave, not longer: whoever frees memory waits.
#[derive(Debug)]
pub struct View<'m> {
    map: RwLockReadGuard<'m, RangeMap>,
    agents: u64,
    /// The range that was used last: accesses cluster.
    last: Cell<usize>,
    /// The agent's cache, if the machine has any.
    cache: Option<&'m Cache>,
}

impl<'m> View<'m> {
    pub(super) fn new(map: RwLockReadGuard<'m, RangeMap>, agents: u64, cache: Option<&'m Cache>) -> Self {
        Self { map, agents, last: Cell::new(usize::MAX), cache }
    }

    /// The agent's cache, if the machine has any. Loads and stores of the view itself go past it, as a copy engine's.
    #[must_use]
    pub(crate) fn cache(&self) -> Option<&Cache> {
        self.cache
    }

    /// Whether waves reach `address`, which is mapped, by the cache.
    #[must_use]
    pub(crate) fn is_cached(&self, address: u64) -> bool {
        self.cache.is_some() && self.range(address, Access::Read).is_ok_and(super::map::Range::is_cacheable)
    }

    /// A release of system scope: what the agent's waves stored so far is in memory when this returns.
    pub(crate) fn write_back(&self) {
        if let Some(cache) = self.cache {
            cache.write_back();
        }
    }

    /// Loads a word as a wave would.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub(crate) fn load_as_wave(&self, address: u64) -> Result<u32, Fault> {
        let span = self.span(address, 4, Access::Read)?;
        match self.cache {
            Some(cache) if self.is_cached(address) => Ok(cache.load_word(span)),
            _ => Ok(span.load(0)),
        }
    }

    /// Stores a word to memory and over what the agent's waves stored there.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub(crate) fn store_through(&self, address: u64, value: u32) -> Result<(), Fault> {
        let span = self.span(address, 4, Access::Write)?;
        match self.cache {
            Some(cache) if self.is_cached(address) => cache.store_word_through(span, value),
            _ => span.store(0, value),
        }
        Ok(())
    }

    /// Changes whenever a mapping does.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.map.generation()
    }

    fn range(&self, address: u64, access: Access) -> Result<&super::Range, Fault> {
        let last = self.last.get();
        let hit = self.map.get(last).is_some_and(|r| address >= r.start && address < r.end());
        let index = if hit { Some(last) } else { self.map.index_of(address) };
        self.last.set(index.unwrap_or(usize::MAX));
        self.map.check(index, address, self.agents, access)
    }

    /// The mapped range around `address`: its first device address, its length and the host address of its start.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub fn extent(&self, address: u64, access: Access) -> Result<(u64, u64, *mut u8), Fault> {
        let range = self.range(address, access)?;
        Ok((range.start, range.bytes, range.host))
    }

    /// The host memory of `bytes` bytes at `address`, or as many of them as lie in one mapping; never empty.
    ///
    /// # Errors
    /// The fault that the device would raise at `address`.
    pub fn piece(&self, address: u64, bytes: u64, access: Access) -> Result<Span<'_>, Fault> {
        let range = self.range(address, access)?;
        let skip = address - range.start;
        let len = bytes.min(range.bytes - skip);
        let at = range.host.wrapping_add(usize::try_from(skip).unwrap_or(usize::MAX));
        // SAFETY: a range's host memory stays mapped as long as the range is in the map, and the map is locked for the
        // life of this view, which the span cannot outlive; `check` allowed the access.
        Ok(unsafe { Span::new(at, usize::try_from(len).unwrap_or(usize::MAX)) })
    }

    /// The host memory of exactly `bytes` bytes at `address`, all in one mapping.
    ///
    /// # Errors
    /// The fault that the device would raise at the first address that is not mapped.
    pub fn span(&self, address: u64, bytes: u64, access: Access) -> Result<Span<'_>, Fault> {
        let span = self.piece(address, bytes, access)?;
        let len = u64::try_from(span.len()).unwrap_or(u64::MAX);
        if len < bytes {
            let next = self.map.check(None, address + len, self.agents, access);
            return Err(next.expect_err("no range was looked up"));
        }
        Ok(span)
    }

    /// Loads one word.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub fn load<T: Word>(&self, address: u64) -> Result<T, Fault> {
        Ok(self.span(address, T::BYTES as u64, Access::Read)?.load(0))
    }

    /// Stores one word.
    ///
    /// # Errors
    /// The fault that the device would raise.
    pub fn store<T: Word>(&self, address: u64, value: T) -> Result<(), Fault> {
        self.span(address, T::BYTES as u64, Access::Write)?.store(0, value);
        Ok(())
    }

    /// Reads bytes, across mappings if need be.
    ///
    /// # Errors
    /// The fault that the device would raise; what lies before the faulting address was read.
    pub fn read(&self, mut address: u64, mut to: &mut [u8]) -> Result<(), Fault> {
        while !to.is_empty() {
            let span = self.piece(address, to.len() as u64, Access::Read)?;
            let (now, rest) = to.split_at_mut(span.len());
            span.copy_out(now);
            address += now.len() as u64;
            to = rest;
        }
        Ok(())
    }

    /// Writes bytes, across mappings if need be.
    ///
    /// # Errors
    /// The fault that the device would raise; what lies before the faulting address was written.
    pub fn write(&self, mut address: u64, mut from: &[u8]) -> Result<(), Fault> {
        while !from.is_empty() {
            let span = self.piece(address, from.len() as u64, Access::Write)?;
            let (now, rest) = from.split_at(span.len());
            span.copy_in(now);
            address += now.len() as u64;
            from = rest;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Memory, Reason, Request, Rights};
    use super::*;

    const AT: u64 = 0x7000_0000_0000;

    fn request(address: u64, bytes: u64) -> Request {
        let rights = Rights { writable: true, executable: false, public: false, coherent: false };
        Request { agent: 0, kind: Kind::Vram, address, bytes, user: 0, rights }
    }

    #[test]
    fn bytes_cross_adjacent_mappings_and_stop_at_the_end() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        for address in [AT, AT + 4096] {
            let buffer = memory.allocate(&request(address, 4096)).expect("vram");
            memory.map(buffer.id, 1).expect("free");
        }
        let view = memory.view(0);
        view.write(AT + 4090, &[7; 12]).expect("mapped");
        let mut back = [0; 12];
        view.read(AT + 4090, &mut back).expect("mapped");
        assert_eq!(back, [7; 12]);
        let fault = view.write(AT + 8190, &[1; 4]).expect_err("beyond");
        assert_eq!((fault.address, fault.reason), (AT + 8192, Reason::NotPresent));
        let fault = view.span(AT + 4092, 8, Access::Read).map(|_| ()).expect_err("two mappings");
        assert_eq!(fault.address, AT + 4096);
    }

    #[test]
    fn memory_is_reachable_only_while_mapped_for_the_agent() {
        let memory = Memory::new(2, 1 << 20).expect("memory");
        let buffer = memory.allocate(&request(AT, 4096)).expect("vram");
        assert!(memory.view(0).load::<u32>(AT).is_err());
        memory.map(buffer.id, 0b01).expect("free");
        assert_eq!(memory.view(0).load::<u32>(AT), Ok(0));
        assert!(memory.view(1).load::<u32>(AT).is_err());
        memory.map(buffer.id, 0b10).expect("more agents");
        memory.view(1).store(AT, 5u32).expect("mapped");
        memory.unmap(buffer.id, 0b11).expect("mapped");
        assert!(memory.view(1).load::<u32>(AT).is_err());
        memory.map(buffer.id, 0b01).expect("again");
        assert_eq!(memory.view(0).load::<u32>(AT), Ok(5));
        memory.free(buffer.id).expect("allocated");
        assert!(memory.view(0).load::<u32>(AT).is_err());
    }

    #[test]
    fn memory_that_would_end_beyond_the_address_space_is_refused() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        assert!(memory.allocate(&request(u64::MAX - 100, 1)).is_err(), "a page does not fit");
    }

    #[test]
    fn vram_is_counted_until_the_last_user_is_gone() {
        let memory = Memory::new(1, 8192).expect("memory");
        let buffer = memory.allocate(&request(0, 8192)).expect("fits");
        assert_eq!(memory.available(0), 0);
        assert!(memory.allocate(&request(0, 1)).is_err());
        memory.map_part(&buffer, 4096, AT, 4096, buffer.rights, 1).expect("inside");
        memory.free(buffer.id).expect("allocated");
        assert_eq!(memory.available(0), 0);
        drop(buffer);
        assert_eq!(memory.available(0), 8192);
        assert!(memory.allocate(&request(0, 8192)).is_ok());
    }

    #[test]
    fn registered_memory_stays_when_its_pages_are_no_longer_shared() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        let mut block = vec![0u8; 4096];
        let base = block.as_mut_ptr().expose_provenance() as u64;
        let request = Request { kind: Kind::User, user: base, ..request(AT, 4096) };
        let buffer = memory.allocate(&request).expect("exists");
        memory.map(buffer.id, 1).expect("free");
        memory.share(base, 4096, 1, true).expect("exists");
        memory.share(base, 4096, 0, true).expect("shared");
        assert!(memory.view(0).load::<u8>(base).is_err());
        assert!(memory.view(0).load::<u8>(AT).is_ok());
    }

    #[test]
    fn shared_host_memory_fills_the_gaps_and_goes_with_the_pages() {
        let memory = Memory::new(1, 1 << 20).expect("memory");
        let mut block = vec![0u8; 3 * 4096];
        let base = block.as_mut_ptr().expose_provenance() as u64;
        let buffer = memory.allocate(&request(base + 4096, 4096)).expect("vram");
        memory.map(buffer.id, 1).expect("free");
        memory.share(base, 3 * 4096, 1, true).expect("exists");
        memory.view(0).write(base, &[9; 3 * 4096]).expect("mapped");
        assert_eq!((block[0], block[4095], block[2 * 4096]), (9, 9, 9));
        assert_eq!(block[4096], 0, "the middle is device memory");
        memory.host_unmapped(base, 4096);
        assert!(memory.view(0).load::<u8>(base).is_err());
        assert!(memory.view(0).load::<u8>(base + 4096).is_ok());
        memory.share(base, 3 * 4096, 0, true).expect("nothing is asked for");
        assert!(memory.view(0).load::<u8>(base + 2 * 4096).is_err());
    }
}
