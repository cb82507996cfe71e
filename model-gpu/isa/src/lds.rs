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
}
