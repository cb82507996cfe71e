//! The fingerprint of what one pass changed.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// Hash of all that changed in a pass, over all regions in the order in which they are compared.
///
/// For each maximal sequence of changed blocks (see [`BLOCK`](super::BLOCK)) it takes in the address, the bytes, then the
/// length: numbers as little-endian 64-bit words, the length last since it is known only at the end of a sequence that
/// spans chunks. That is the report's hash of ranges, over ranges rounded out to blocks.
/// Two passes that ran from one snapshot have equal hashes exactly when they left equal bytes.
pub struct PassHash(Box<Xxh3>);

impl PassHash {
    /// The hash of a pass that has changed nothing so far.
    pub fn new() -> Self {
        Self(Box::new(Xxh3::new()))
    }

    /// The 128-bit xxh3 of what was taken in.
    pub fn value(&self) -> u128 {
        self.0.digest128()
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(super) fn word(&mut self, word: u64) {
        self.0.update(&word.to_le_bytes());
    }
}

impl Default for PassHash {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PassHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PassHash({:032x})", self.value())
    }
}
