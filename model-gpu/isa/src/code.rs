//! Decoded code, kept by device address.

/// The decoded instructions of one worker thread.
///
/// Code is decoded once for each address. What is decoded may go stale when code is written or memory is remapped, as
/// the hardware's instruction cache does; [`CodeCache::invalidate`] is what the hardware's invalidation is.
/// After it, each block is compared with memory before its next use and decoded again when it differs, so calling it
/// for every dispatch is cheap. Call it whenever the hardware would invalidate its instruction cache (the acquire of a
/// dispatch packet) and whenever a mapping changes.
#[derive(Debug, Default)]
pub struct CodeCache {
    epoch: u64,
}

impl CodeCache {
    /// An empty cache.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes every decoded block be compared with memory before its next use.
    pub fn invalidate(&mut self) {
        self.epoch += 1;
    }
}
