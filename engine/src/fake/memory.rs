//! Memory of the agent, and host memory as devices reach it.

use std::alloc::Layout;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where device memory begins: addresses that no host process has mapped.
const DEVICE: u64 = 0x0010_0000_0000_0000;

/// All memory.
#[derive(Default)]
pub(crate) struct Machine {
    device: BTreeMap<u64, Vec<u8>>,
    pub(super) host: HashMap<u64, u64>,
    used: u64,
    /// Kernels that are on the hardware now.
    pub(super) running: HashSet<u64>,
}

impl Machine {
    /// Allocates device memory at a new address.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let address = DEVICE + self.used;
        self.used += bytes.next_multiple_of(4096) + 4096;
        self.allocate_at(address, bytes);
        address
    }

    /// Allocates device memory at an address that is free.
    pub(crate) fn allocate_at(&mut self, address: u64, bytes: u64) {
        let before = self.device.insert(address, vec![0; bytes as usize]);
        assert!(before.is_none(), "address {address:#x} is in use");
    }

    pub(crate) fn free(&mut self, address: u64) {
        self.device.remove(&address).expect("device memory is allocated");
    }

    /// Allocation of a device address.
    pub(super) fn allocation(&self, address: u64) -> Option<(u64, u64)> {
        let (&base, bytes) = self.device.range(..=address).next_back()?;
        (address < base + bytes.len() as u64).then_some((base, bytes.len() as u64))
    }

    /// Device memory of a range that lies in one allocation.
    pub(crate) fn slice(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        let (base, _) = self.allocation(address)?;
        let from = (address - base) as usize;
        self.device.get_mut(&base)?.get_mut(from..from + bytes as usize)
    }

    /// The parts of a range that lie in allocations: where, and how many bytes. `None` if it leaves mapped memory, which is
    /// whole pages.
    pub(super) fn parts(&self, address: u64, bytes: u64) -> Option<Vec<(u64, u64)>> {
        let (mut at, end) = (address, address + bytes);
        let mut parts = Vec::new();
        while at < end {
            match self.allocation(at) {
                Some((base, size)) => {
                    let part = (base + size).min(end) - at;
                    parts.push((at, part));
                    at += part;
                }
                None => {
                    let (&base, memory) = self.device.range(..at).next_back()?;
                    let page_end = (base + memory.len() as u64).next_multiple_of(4096);
                    let next = self.device.range(at..).next().map_or(u64::MAX, |(&next, _)| next);
                    let to = page_end.min(next).min(end);
                    if to <= at {
                        return None;
                    }
                    at = to;
                }
            }
        }
        Some(parts)
    }

    /// What a device reads from a range: whatever lies between allocations is zero here.
    pub(super) fn gather(&mut self, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let mut all = vec![0; bytes as usize];
        for (at, part) in self.parts(address, bytes)? {
            let from = (at - address) as usize;
            all[from..from + part as usize].copy_from_slice(self.slice(at, part)?);
        }
        Some(all)
    }

    /// What a device writes to a range.
    pub(super) fn scatter(&mut self, address: u64, bytes: &[u8]) -> Option<()> {
        for (at, part) in self.parts(address, bytes.len() as u64)? {
            let from = (at - address) as usize;
            self.slice(at, part)?.copy_from_slice(&bytes[from..from + part as usize]);
        }
        Some(())
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) {
        self.slice(address, bytes.len() as u64).expect("live device memory").copy_from_slice(bytes);
    }

    pub(crate) fn read(&mut self, address: u64, bytes: u64) -> Vec<u8> {
        self.slice(address, bytes).expect("live device memory").to_vec()
    }

    pub(crate) fn read_u32(&mut self, address: u64) -> u32 {
        u32::from_le_bytes(self.read(address, 4).try_into().unwrap())
    }

    /// Adds to a 32-bit word, as an in-place kernel does.
    pub(crate) fn add_u32(&mut self, address: u64, value: u32) {
        let sum = self.read_u32(address).wrapping_add(value);
        self.write(address, &sum.to_le_bytes());
    }

    /// Host memory that stays until the process ends, so that a late access is a wrong value and no crash.
    pub(super) fn allocate_host(&mut self, bytes: u64) -> u64 {
        let layout = Layout::from_size_align(bytes.max(1) as usize, 4096).unwrap();
        // SAFETY: the layout is not empty.
        let address = unsafe { std::alloc::alloc_zeroed(layout) }.expose_provenance() as u64;
        self.host.insert(address, bytes);
        address
    }
}

/// The n-th 64-bit word of a dispatch's arguments, which lie in host memory.
pub(crate) fn argument(words: &[u64; 8], index: u64) -> u64 {
    super::word(words[super::KERNEL_ARGUMENTS] + index * 8).load(std::sync::atomic::Ordering::SeqCst)
}
