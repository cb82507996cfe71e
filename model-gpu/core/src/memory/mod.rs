//! The device's memory: allocations, the map of device addresses, and checked access.
//!
//! Device addresses equal the program's. Every access of a packet processor or a wave goes through a [`View`], which
//! holds the map's read lock: freeing, unmapping and the program's own `munmap` take the write side, so memory never
//! disappears under an access. Waves run in short slices, a view for each.

mod backing;
mod buffer;
mod cache;
mod foreign;
mod map;
mod program;
mod view;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::{Mutex, RwLock, RwLockWriteGuard};

pub use backing::{Backing, identity};
pub use buffer::{Buffer, Kind, Rights};
pub use foreign::{FOREIGN_OFFSETS, Foreign};
pub use map::{Access, Fault, Owner, Range, RangeMap, Reason};
pub use view::View;

use crate::Refusal;
use buffer::Lease;
use cache::Cache;

/// The page size of host and device.
pub const PAGE: u64 = 4096;

/// Alignment of large allocations in the file, so that the kernel may use huge pages.
const LARGE: u64 = 2 << 20;

/// Bytes of an agent's doorbell page: 1024 doorbells of 8 bytes.
pub const DOORBELL_BYTES: u64 = 8192;

/// Alignment of the doorbell pages' offsets: the driver's offsets say in their upper half whose page it is, and the runtimes of
/// ROCm 5 take the lower half of the first queue's for the place in the page.
const DOORBELL_ALIGNMENT: u64 = 1 << 32;

/// How much of an agent's VRAM is taken.
#[derive(Debug)]
pub struct Vram {
    total: u64,
    used: AtomicU64,
}

impl Vram {
    fn take(&self, bytes: u64) -> bool {
        let fits = |used: u64| used.checked_add(bytes).filter(|sum| *sum <= self.total);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A request for an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// The agent that shall own the memory.
    pub agent: usize,
    /// What it shall be made of.
    pub kind: Kind,
    /// Device address for a later `map`; zero for none.
    pub address: u64,
    /// Length in bytes, not zero.
    pub bytes: u64,
    /// The program's address of the memory, for [`Kind::User`].
    pub user: u64,
    /// What the device and the program may do.
    pub rights: Rights,
}

/// All memory of all agents.
#[derive(Debug)]
pub struct Memory {
    backing: Arc<Backing>,
    vram: Vec<Arc<Vram>>,
    /// File offset of each agent's doorbell page.
    doorbells: Vec<u64>,
    /// File offset of each agent's register page.
    registers: Vec<u64>,
    buffers: Mutex<HashMap<u64, Arc<Buffer>>>,
    next_id: AtomicU64,
    /// Memory of other processes' devices, by the offset at which this program maps it.
    adopted: Mutex<Vec<Weak<Buffer>>>,
    map: RwLock<RangeMap>,
    /// The cache of each agent; empty without caches.
    caches: Vec<Cache>,
}

impl Memory {
    /// Memory for `agents` agents with `vram_bytes` bytes each.
    ///
    /// # Errors
    /// What the kernel answers when it refuses the memory file.
    pub fn new(agents: usize, vram_bytes: u64) -> io::Result<Self> {
        let backing = Arc::new(Backing::new()?);
        let out_of_space = || io::Error::from(io::ErrorKind::OutOfMemory);
        let pages = |bytes, align| {
            (0..agents)
                .map(|_| backing.carve(bytes, align).or_else(|| backing.carve(bytes, bytes)))
                .collect::<Option<Vec<_>>>()
                .ok_or_else(out_of_space)
        };
        let doorbells = pages(DOORBELL_BYTES, DOORBELL_ALIGNMENT)?;
        let registers = pages(PAGE, PAGE)?;
        let vram =
            (0..agents).map(|_| Arc::new(Vram { total: vram_bytes, used: AtomicU64::new(0) })).collect();
        Ok(Self {
            backing,
            vram,
            doorbells,
            registers,
            buffers: Mutex::default(),
            next_id: AtomicU64::new(1),
            adopted: Mutex::default(),
            map: RwLock::default(),
            caches: Vec::new(),
        })
    }

    /// Gives each agent a write-back cache.
    #[must_use]
    pub fn with_caches(mut self) -> Self {
        self.caches = self.vram.iter().map(|_| Cache::new()).collect();
        self
    }

    /// Takes what any agent's waves stored to `buffer` out of the caches, to memory: its mappings change, and the driver
    /// flushes then.
    fn flush(&self, buffer: &Buffer) {
        for cache in &self.caches {
            cache.write_back_range(buffer.host, buffer.bytes);
        }
    }

    /// The memory file.
    #[must_use]
    pub fn backing(&self) -> &Backing {
        &self.backing
    }

    /// File offset of `agent`'s doorbell page.
    #[must_use]
    pub fn doorbell_offset(&self, agent: usize) -> u64 {
        self.doorbells[agent]
    }

    /// VRAM of `agent` that is not taken, in bytes.
    #[must_use]
    pub fn available(&self, agent: usize) -> u64 {
        let vram = &self.vram[agent];
        vram.total - vram.used.load(Ordering::Relaxed)
    }

    /// Allocates. Fresh memory reads as zero.
    ///
    /// # Errors
    /// No VRAM left, no room in the file, program memory that does not exist, or a request that makes no sense.
    pub fn allocate(&self, request: &Request) -> Result<Arc<Buffer>, Refusal> {
        let Request { agent, kind, address, bytes, user, rights } = *request;
        let bytes = bytes.checked_next_multiple_of(PAGE).ok_or(Refusal::Invalid)?;
        if bytes == 0 || agent >= self.vram.len() || address.checked_add(bytes).is_none() {
            return Err(Refusal::Invalid);
        }
        let mut lease = None;
        let (offset, host) = match kind {
            Kind::Vram | Kind::Gtt => {
                let vram = (kind == Kind::Vram).then(|| self.vram[agent].clone());
                if let Some(vram) = &vram
                    && !vram.take(bytes)
                {
                    return Err(Refusal::NoMemory);
                }
                let align = if bytes >= LARGE { LARGE } else { PAGE };
                let Some(offset) = self.backing.carve(bytes, align) else {
                    if let Some(vram) = vram {
                        vram.give_back(bytes);
                    }
                    return Err(Refusal::NoMemory);
                };
                lease = Some(Lease { backing: self.backing.clone(), offset, bytes, vram });
                (Some(offset), self.backing.host(offset))
            }
            Kind::User => {
                let end = user.checked_add(bytes).filter(|_| user != 0).ok_or(Refusal::Invalid)?;
                let access = if rights.writable { program::Access::Write } else { program::Access::Read };
                if !program::is_mapped(user, end, Some(access)).map_err(|_| Refusal::NoMemory)? {
                    return Err(Refusal::NotMapped);
                }
                let user = usize::try_from(user).map_err(|_| Refusal::Invalid)?;
                (None, core::ptr::with_exposed_provenance_mut(user))
            }
            Kind::Doorbell => {
                if bytes > DOORBELL_BYTES {
                    return Err(Refusal::Invalid);
                }
                let offset = self.doorbells[agent];
                (Some(offset), self.backing.host(offset))
            }
            Kind::Mmio => {
                if bytes > PAGE {
                    return Err(Refusal::Invalid);
                }
                let offset = self.registers[agent];
                (Some(offset), self.backing.host(offset))
            }
        };
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let buffer = Arc::new(Buffer {
            id,
            agent,
            kind,
            address,
            bytes,
            rights,
            offset,
            host,
            metadata: Arc::default(),
            foreign: None,
            lease,
            source: None,
        });
        self.buffers.lock().insert(id, buffer.clone());
        Ok(buffer)
    }

    /// The allocation with this handle.
    #[must_use]
    pub fn buffer(&self, id: u64) -> Option<Arc<Buffer>> {
        self.buffers.lock().get(&id).cloned()
    }

    /// The allocation that holds byte `offset` of the memory file.
    #[must_use]
    pub fn buffer_at_offset(&self, offset: u64) -> Option<Arc<Buffer>> {
        let holds =
            |b: &&Arc<Buffer>| b.offset.is_some_and(|start| start <= offset && offset - start < b.bytes);
        let own = self.buffers.lock().values().find(holds).cloned();
        own.or_else(|| self.adopted.lock().iter().filter_map(Weak::upgrade).find(|b| holds(&b)))
    }

    /// Memory of another process's device as a buffer of this one: `file` is that device's memory file, `offset` where
    /// the memory lies in it; `hold` is kept open as long as the buffer lives, which keeps the other side from giving
    /// the memory back.
    ///
    /// # Errors
    /// The agent does not exist here, or the memory cannot be mapped.
    pub fn adopt(
        &self,
        request: &Request,
        file: OwnedFd,
        offset: u64,
        hold: OwnedFd,
    ) -> Result<Arc<Buffer>, Refusal> {
        let Request { agent, kind, bytes, rights, .. } = *request;
        if agent >= self.vram.len()
            || bytes == 0
            || !bytes.is_multiple_of(PAGE)
            || !offset.is_multiple_of(PAGE)
        {
            return Err(Refusal::Invalid);
        }
        let foreign = Arc::new(Foreign::map(file, offset, bytes, hold).map_err(|_| Refusal::NoMemory)?);
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut adopted = self.adopted.lock();
        adopted.retain(|b| b.strong_count() > 0);
        let taken = adopted.iter().filter_map(Weak::upgrade).filter_map(|b| Some(b.offset? + b.bytes)).max();
        let at = taken.unwrap_or(FOREIGN_OFFSETS).next_multiple_of(LARGE);
        let buffer = Arc::new(Buffer {
            id,
            agent,
            kind,
            address: 0,
            bytes,
            rights,
            offset: Some(at),
            host: foreign.host(),
            metadata: Arc::default(),
            foreign: Some(foreign),
            lease: None,
            source: None,
        });
        adopted.push(Arc::downgrade(&buffer));
        Ok(buffer)
    }

    /// Frees a handle: its mappings go now, its memory when the last import is gone too.
    ///
    /// # Errors
    /// There is no such handle.
    pub fn free(&self, id: u64) -> Result<(), Refusal> {
        let buffer = self.buffers.lock().remove(&id).ok_or(Refusal::NotFound)?;
        let mut map = self.map_mut();
        map.remove_buffer(id);
        self.flush(&buffer);
        drop(map);
        drop(buffer);
        Ok(())
    }

    /// A new handle for a buffer that came by another way, with an address of its own.
    ///
    /// # Errors
    /// The address does not leave room for the buffer.
    pub fn import(&self, buffer: &Arc<Buffer>, address: u64) -> Result<u64, Refusal> {
        address.checked_add(buffer.bytes).ok_or(Refusal::Invalid)?;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let Buffer { agent, kind, bytes, rights, offset, host, .. } = **buffer;
        let (foreign, source) = (buffer.foreign.clone(), Some(buffer.clone()));
        let metadata = buffer.metadata.clone();
        let handle = Buffer {
            id,
            agent,
            kind,
            address,
            bytes,
            rights,
            offset,
            host,
            metadata,
            foreign,
            lease: None,
            source,
        };
        self.buffers.lock().insert(id, Arc::new(handle));
        Ok(id)
    }

    /// Maps an allocation at its own address for the agents whose bits are set.
    ///
    /// # Errors
    /// No such handle, no address, or other memory is mapped there.
    pub fn map(&self, id: u64, agents: u64) -> Result<(), Refusal> {
        let buffer = self.buffer(id).ok_or(Refusal::NotFound)?;
        if buffer.address == 0 {
            return Err(Refusal::Invalid);
        }
        let mut map = self.map_mut();
        if map.add_agents(id, buffer.address, agents) {
            return Ok(());
        }
        let (address, bytes) = (buffer.address, buffer.bytes);
        Self::insert(&mut map, &buffer, 0, address, bytes, buffer.rights, agents)
    }

    /// Unmaps an allocation from the agents whose bits are set.
    ///
    /// # Errors
    /// No such handle.
    pub fn unmap(&self, id: u64, agents: u64) -> Result<(), Refusal> {
        let buffer = self.buffer(id).ok_or(Refusal::NotFound)?;
        let mut map = self.map_mut();
        map.remove_agents(id, buffer.address, agents);
        self.flush(&buffer);
        Ok(())
    }

    /// Maps `bytes` bytes of `buffer` from `offset` on at `address`: one more range over the same memory.
    ///
    /// # Errors
    /// The part lies outside the buffer, or other memory is mapped there.
    pub fn map_part(
        &self,
        buffer: &Arc<Buffer>,
        offset: u64,
        address: u64,
        bytes: u64,
        rights: Rights,
        agents: u64,
    ) -> Result<(), Refusal> {
        let inside = offset.checked_add(bytes).is_some_and(|end| end <= buffer.bytes);
        if !inside || bytes == 0 || address.checked_add(bytes).is_none() {
            return Err(Refusal::Invalid);
        }
        let mut map = self.map_mut();
        if map
            .index_of(address)
            .and_then(|i| map.get(i))
            .is_some_and(|r| r.start == address && r.bytes == bytes)
            && map.add_agents(buffer.id, address, agents)
        {
            return Ok(());
        }
        Self::insert(&mut map, buffer, offset, address, bytes, rights, agents)
    }

    /// Takes away what `map_part` made.
    ///
    /// # Errors
    /// There is no such range.
    pub fn unmap_part(&self, buffer: &Buffer, address: u64, bytes: u64) -> Result<(), Refusal> {
        let mut map = self.map_mut();
        let found = map.remove_exact(buffer.id, address, bytes);
        self.flush(buffer);
        if found { Ok(()) } else { Err(Refusal::NotFound) }
    }

    fn insert(
        map: &mut RangeMap,
        buffer: &Arc<Buffer>,
        offset: u64,
        start: u64,
        bytes: u64,
        rights: Rights,
        agents: u64,
    ) -> Result<(), Refusal> {
        let host = buffer.host.wrapping_add(usize::try_from(offset).map_err(|_| Refusal::Invalid)?);
        let Rights { writable, executable, .. } = rights;
        let owner = Owner::Buffer(buffer.clone());
        map.insert(Range { start, bytes, host, agents, writable, executable, owner }).map_err(|(at, len)| {
            crate::say!("cannot map {bytes:#x} bytes at {start:#x}: {len:#x} bytes are mapped at {at:#x}");
            Refusal::Busy
        })
    }

    /// Lets `agents` reach the program's memory `[start, start + bytes)` by its own address, where nothing else is
    /// mapped yet; with no agents, takes that away.
    ///
    /// # Errors
    /// The program has no memory in a part of the range.
    pub fn share(&self, start: u64, bytes: u64, agents: u64, writable: bool) -> Result<(), Refusal> {
        let end = start.checked_add(bytes).ok_or(Refusal::Invalid)?;
        if agents != 0 && !program::is_mapped(start, end, None).map_err(|_| Refusal::NoMemory)? {
            return Err(Refusal::NotMapped);
        }
        let mut map = self.map_mut();
        let shared = |r: &&Range| matches!(r.owner, Owner::Shared) && r.start < end && r.end() > start;
        let old: Vec<_> = map.iter().filter(shared).map(|r| (r.start.max(start), r.end().min(end))).collect();
        for (from, to) in old {
            map.cut_shared(from, to - from);
        }
        if agents == 0 {
            return Ok(());
        }
        let mut at = start;
        while at < end {
            let next = map.iter().find(|r| r.end() > at).map_or((end, end), |r| (r.start, r.end()));
            let stop = next.0.min(end);
            if stop > at {
                let host = core::ptr::with_exposed_provenance_mut(usize::try_from(at).unwrap_or(usize::MAX));
                let range = Range {
                    start: at,
                    bytes: stop - at,
                    host,
                    agents,
                    writable,
                    executable: true,
                    owner: Owner::Shared,
                };
                // The gap was measured under this same lock, so nothing is in the way.
                let _ = map.insert(range);
            }
            at = stop.max(next.1);
        }
        Ok(())
    }

    /// The program unmapped or replaced `[start, start + bytes)`: registered host pages there are gone.
    pub fn host_unmapped(&self, start: u64, bytes: u64) {
        // Most of the program's unmaps have nothing to do with the device: look before excluding the waves.
        let end = start.saturating_add(bytes);
        if self.map.read().iter().any(|r| r.lies_in_program_memory(start, end)) {
            self.map_mut().cut_host(start, bytes);
        }
    }

    /// An access to the host address `host` failed because the page is gone: takes it off the map, and answers the fault
    /// that the device raises.
    pub(crate) fn lost(&self, host: u64) -> Fault {
        let device = self.map.read().iter().find_map(|range| range.device_address(host));
        self.map_mut().cut_host(host & !(PAGE - 1), PAGE);
        Fault { address: device.unwrap_or(host), access: Access::Read, reason: Reason::NotPresent }
    }

    /// The map, for a change; its new generation makes the waves look at their code again.
    fn map_mut(&self) -> RwLockWriteGuard<'_, RangeMap> {
        let mut map = self.map.write();
        map.touch();
        map
    }

    /// Memory as `agent` sees it, for a short while: nothing is unmapped while the view exists.
    #[must_use]
    pub fn view(&self, agent: usize) -> View<'_> {
        View::new(self.map.read(), 1 << agent, self.caches.get(agent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_half_of_a_doorbells_offset_is_its_place_in_the_page() {
        let memory = Memory::new(3, 1 << 20).expect("a memory file");
        let pages = [0, 1, 2].map(|agent| memory.doorbell_offset(agent));
        assert_eq!(pages.map(|page| page & 0xffff_ffff), [0; 3]);
        assert!(pages[0] < pages[1] && pages[1] < pages[2]);
    }
}
