//! A wave's way to memory: translation with a small cache of spans for the duration of one run.

use super::host;
use crate::{Access, AddressSpace, Cache, FaultReason, MemoryFault, Span};

/// Cached spans for each kind of access.
const WAYS: usize = 4;

#[derive(Clone, Copy)]
struct Cached {
    start: u64,
    /// One past the last byte.
    end: u64,
    host: *mut u8,
}

impl Cached {
    const EMPTY: Cached = Cached { start: 1, end: 0, host: std::ptr::null_mut() };

    /// Host address of `size` bytes at `address`, when they lie in the span.
    #[inline(always)]
    fn find(&self, address: u64, size: u64) -> Option<*mut u8> {
        let inside = address >= self.start && address < self.end && self.end - address >= size;
        if !inside {
            return None;
        }
        let offset = usize::try_from(address - self.start).ok()?;
        // The offset is below the span's length, so the pointer stays in the host range that the span promises.
        Some(self.host.wrapping_add(offset))
    }
}

/// Where an atomic operation is done.
enum Target<'a> {
    Memory(*mut u8),
    Cache(&'a dyn Cache, *mut u8),
}

/// Access to the address space for one run of a wave.
pub(crate) struct MemoryPort<'a> {
    space: &'a dyn AddressSpace,
    spans: [[Cached; WAYS]; 4],
    next: usize,
    /// The instruction in execution has system scope.
    pub(crate) system_scope: bool,
}

impl<'a> MemoryPort<'a> {
    pub(crate) fn new(space: &'a dyn AddressSpace) -> Self {
        Self { space, spans: [[Cached::EMPTY; WAYS]; 4], next: 0, system_scope: false }
    }

    /// Host address of `size` bytes at `address`; none when they are not contiguous on the host, or behind a cache.
    #[inline(always)]
    fn locate(&mut self, address: u64, size: u64, access: Access) -> Result<Option<*mut u8>, MemoryFault> {
        for cached in &self.spans[access as usize] {
            if let Some(host) = cached.find(address, size) {
                return Ok(Some(host));
            }
        }
        self.translate(address, size, access)
    }

    #[cold]
    fn translate(&mut self, address: u64, size: u64, access: Access) -> Result<Option<*mut u8>, MemoryFault> {
        let Span { start, length, host, cached } = self.space.translate(address, access)?;
        if cached {
            return Ok(None);
        }
        let cached = Cached { start, end: start.saturating_add(length), host };
        self.spans[access as usize][self.next] = cached;
        self.next = (self.next + 1) % WAYS;
        Ok(cached.find(address, size))
    }

    /// The cache that `size` bytes at `address` are behind, and their host address; none when they are not, or not all.
    #[cold]
    fn behind_cache(
        &self,
        address: u64,
        size: u64,
        access: Access,
    ) -> Result<Option<(&'a dyn Cache, *mut u8)>, MemoryFault> {
        let Some(cache) = self.space.cache() else { return Ok(None) };
        let Span { start, length, host, cached } = self.space.translate(address, access)?;
        let span = Cached { start, end: start.saturating_add(length), host };
        Ok(span.find(address, size).filter(|_| cached).map(|at| (cache, at)))
    }

    /// A load that found no host address.
    #[cold]
    fn load_cached<const N: usize>(
        &self,
        address: u64,
        access: Access,
    ) -> Result<Option<[u8; N]>, MemoryFault> {
        let Some((cache, at)) = self.behind_cache(address, N as u64, access)? else { return Ok(None) };
        let mut bytes = [0; N];
        // SAFETY: the bytes lie in a cached span, whose promise lasts until this run ends.
        unsafe { cache.load(at, &mut bytes) };
        Ok(Some(bytes))
    }

    /// A store that found no host address; false if it is not behind a cache.
    #[cold]
    fn store_cached(&self, address: u64, bytes: &[u8]) -> Result<bool, MemoryFault> {
        let Some((cache, at)) = self.behind_cache(address, bytes.len() as u64, Access::Write)? else {
            return Ok(false);
        };
        // SAFETY: the bytes lie in a cached span that permits writes, whose promise lasts until this run ends.
        unsafe { cache.store(at, bytes, self.system_scope) };
        Ok(true)
    }

    /// Writes what the cache holds, if there is one, to memory.
    pub(crate) fn write_back(&self) {
        if let Some(cache) = self.space.cache() {
            cache.write_back();
        }
    }

    /// An instruction word.
    pub(crate) fn fetch(&mut self, address: u64) -> Result<u32, MemoryFault> {
        self.load32_as(address, Access::Execute)
    }

    #[inline(always)]
    pub(crate) fn load8(&mut self, address: u64) -> Result<u8, MemoryFault> {
        match self.locate(address, 1, Access::Read)? {
            // SAFETY: the span promises a readable byte until this run ends.
            Some(at) => Ok(unsafe { host::load8(at) }),
            None => match self.load_cached(address, Access::Read)? {
                Some([byte]) => Ok(byte),
                None => Err(MemoryFault { address, access: Access::Read, reason: FaultReason::Unmapped }),
            },
        }
    }

    #[inline(always)]
    pub(crate) fn load16(&mut self, address: u64) -> Result<u16, MemoryFault> {
        if let Some(at) = self.locate(address, 2, Access::Read)? {
            // SAFETY: the span promises two readable bytes until this run ends.
            return Ok(unsafe { host::load16(at) });
        }
        if let Some(bytes) = self.load_cached(address, Access::Read)? {
            return Ok(u16::from_le_bytes(bytes));
        }
        Ok(u16::from_le_bytes([self.load8(address)?, self.load8(address.wrapping_add(1))?]))
    }

    #[inline(always)]
    pub(crate) fn load32(&mut self, address: u64) -> Result<u32, MemoryFault> {
        self.load32_as(address, Access::Read)
    }

    /// Two dwords at once where they are aligned and contiguous, so that nobody sees half of the value; else one by one.
    #[inline(always)]
    pub(crate) fn load64(&mut self, address: u64) -> Result<u64, MemoryFault> {
        match self.locate(address, 8, Access::Read)? {
            // SAFETY: the span promises eight readable bytes until this run ends.
            Some(at) if at.addr().is_multiple_of(8) => return Ok(unsafe { host::load64(at) }),
            Some(_) => {}
            None => {
                if let Some(bytes) = self.load_cached(address, Access::Read)? {
                    return Ok(u64::from_le_bytes(bytes));
                }
            }
        }
        let low = self.load32(address)?;
        Ok(u64::from(low) | u64::from(self.load32(address.wrapping_add(4))?) << 32)
    }

    #[inline(always)]
    fn load32_as(&mut self, address: u64, access: Access) -> Result<u32, MemoryFault> {
        if let Some(at) = self.locate(address, 4, access)? {
            // SAFETY: the span promises four readable bytes until this run ends.
            return Ok(unsafe { host::load32(at) });
        }
        if let Some(bytes) = self.load_cached(address, access)? {
            return Ok(u32::from_le_bytes(bytes));
        }
        let mut bytes = [0; 4];
        for (n, byte) in (0u64..).zip(&mut bytes) {
            *byte = self.load8(address.wrapping_add(n))?;
        }
        Ok(u32::from_le_bytes(bytes))
    }

    #[inline(always)]
    pub(crate) fn store8(&mut self, address: u64, value: u8) -> Result<(), MemoryFault> {
        match self.locate(address, 1, Access::Write)? {
            // SAFETY: the span promises a writable byte until this run ends.
            Some(at) => unsafe { host::store8(at, value) },
            None if self.store_cached(address, &[value])? => {}
            None => {
                return Err(MemoryFault { address, access: Access::Write, reason: FaultReason::Unmapped });
            }
        }
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn store16(&mut self, address: u64, value: u16) -> Result<(), MemoryFault> {
        if let Some(at) = self.locate(address, 2, Access::Write)? {
            // SAFETY: the span promises two writable bytes until this run ends.
            unsafe { host::store16(at, value) };
            return Ok(());
        }
        self.store_bytes(address, &value.to_le_bytes())
    }

    #[inline(always)]
    pub(crate) fn store32(&mut self, address: u64, value: u32) -> Result<(), MemoryFault> {
        if let Some(at) = self.locate(address, 4, Access::Write)? {
            // SAFETY: the span promises four writable bytes until this run ends.
            unsafe { host::store32(at, value) };
            return Ok(());
        }
        self.store_bytes(address, &value.to_le_bytes())
    }

    /// As [`Self::load64`].
    #[inline(always)]
    pub(crate) fn store64(&mut self, address: u64, value: u64) -> Result<(), MemoryFault> {
        match self.locate(address, 8, Access::Write)? {
            Some(at) if at.addr().is_multiple_of(8) => {
                // SAFETY: the span promises eight writable bytes until this run ends.
                unsafe { host::store64(at, value) };
                return Ok(());
            }
            None if self.store_cached(address, &value.to_le_bytes())? => return Ok(()),
            _ => {}
        }
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        self.store32(address, u32::from_le_bytes([a, b, c, d]))?;
        self.store32(address.wrapping_add(4), u32::from_le_bytes([e, f, g, h]))
    }

    /// An access that crosses spans or goes by the cache. Every byte is checked before the first is written.
    #[cold]
    fn store_bytes(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        if self.store_cached(address, bytes)? {
            return Ok(());
        }
        for (n, _) in (0u64..).zip(bytes) {
            self.locate(address.wrapping_add(n), 1, Access::Write)?;
        }
        for (n, byte) in (0u64..).zip(bytes) {
            self.store8(address.wrapping_add(n), *byte)?;
        }
        Ok(())
    }

    /// Where an atomic operation goes.
    fn atomic(&mut self, address: u64, size: u64) -> Result<Target<'a>, MemoryFault> {
        let misaligned = MemoryFault { address, access: Access::Atomic, reason: FaultReason::Misaligned };
        if !address.is_multiple_of(size) {
            return Err(misaligned);
        }
        let target = match self.locate(address, size, Access::Atomic)? {
            Some(at) => Target::Memory(at),
            None => {
                let (cache, at) = self.behind_cache(address, size, Access::Atomic)?.ok_or(misaligned)?;
                Target::Cache(cache, at)
            }
        };
        let (Target::Memory(at) | Target::Cache(_, at)) = target;
        if (at.addr() as u64).is_multiple_of(size) { Ok(target) } else { Err(misaligned) }
    }

    /// Replaces 32 bits by `f` of them in one step; gives the old value.
    #[allow(clippy::cast_possible_truncation, reason = "values of 32 bits pass through 64")]
    pub(crate) fn modify32(&mut self, address: u64, f: impl Fn(u32) -> u32) -> Result<u32, MemoryFault> {
        Ok(match self.atomic(address, 4)? {
            // SAFETY: the span promises four writable bytes until this run ends; `atomic` checked the alignment.
            Target::Memory(at) => unsafe { host::modify32(at, f) },
            // SAFETY: as above, of a cached span.
            Target::Cache(cache, at) => unsafe {
                cache.modify(at, 4, self.system_scope, &|old| u64::from(f(old as u32))) as u32
            },
        })
    }

    /// As [`Self::modify32`], of 64 bits.
    pub(crate) fn modify64(&mut self, address: u64, f: impl Fn(u64) -> u64) -> Result<u64, MemoryFault> {
        Ok(match self.atomic(address, 8)? {
            // SAFETY: the span promises eight writable bytes until this run ends; `atomic` checked the alignment.
            Target::Memory(at) => unsafe { host::modify64(at, f) },
            // SAFETY: as above, of a cached span.
            Target::Cache(cache, at) => unsafe { cache.modify(at, 8, self.system_scope, &f) },
        })
    }
}
