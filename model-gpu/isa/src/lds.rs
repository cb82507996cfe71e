//! Local data share: the memory of one work-group.
//!
//! All waves of a work-group run on one thread, so LDS is plain memory behind `&mut`. As on the hardware, a load
//! beyond the allocation gives zero and a store beyond it is dropped.

/// The local data share of one work-group.
#[derive(Debug, Clone)]
pub struct Lds {
    bytes: Vec<u8>,
}

impl Lds {
    /// LDS of `size` bytes, zeroed.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { bytes: vec![0; size] }
    }

    /// Bytes allocated.
    #[must_use]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// The bytes, for inspection.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, for initialisation.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The bytes at `offset`, zero where they are beyond the allocation.
    fn load<const N: usize>(&self, offset: u32) -> [u8; N] {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        match start.checked_add(N).and_then(|end| self.bytes.get(start..end)) {
            Some(bytes) => bytes.try_into().unwrap_or([0; N]),
            None => [0; N],
        }
    }

    /// Writes the bytes at `offset`, or none when they are beyond the allocation.
    fn store<const N: usize>(&mut self, offset: u32, value: [u8; N]) {
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        if let Some(bytes) = start.checked_add(N).and_then(|end| self.bytes.get_mut(start..end)) {
            bytes.copy_from_slice(&value);
        }
    }

    #[inline(always)]
    pub(crate) fn load8(&self, offset: u32) -> u8 {
        u8::from_le_bytes(self.load(offset))
    }

    #[inline(always)]
    pub(crate) fn load16(&self, offset: u32) -> u16 {
        u16::from_le_bytes(self.load(offset))
    }

    #[inline(always)]
    pub(crate) fn load32(&self, offset: u32) -> u32 {
        u32::from_le_bytes(self.load(offset))
    }

    #[inline(always)]
    pub(crate) fn load64(&self, offset: u32) -> u64 {
        u64::from_le_bytes(self.load(offset))
    }

    #[inline(always)]
    pub(crate) fn store8(&mut self, offset: u32, value: u8) {
        self.store(offset, value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn store16(&mut self, offset: u32, value: u16) {
        self.store(offset, value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn store32(&mut self, offset: u32, value: u32) {
        self.store(offset, value.to_le_bytes());
    }

    #[inline(always)]
    pub(crate) fn store64(&mut self, offset: u32, value: u64) {
        self.store(offset, value.to_le_bytes());
    }
}
