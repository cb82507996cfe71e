//! The fingerprint of what one pass changed.

use std::fmt;

use xxhash_rust::xxh3::Xxh3;

/// Hash of all that changed in a pass, over all regions in the order in which they are compared.
///
/// For each maximal sequence of changed blocks (see [`BLOCK`](super::BLOCK)) it takes in the address, the bytes, then the
/// length: numbers as little-endian 64-bit words, the length last since it is known only at the end of a sequence that
/// spans chunks. That is the report's hash of ranges, over ranges rounded out to blocks.
/// Two passes that ran from one snapshot have equal hashes exactly when they left equal bytes.
pub struct PassHash {
    all: Box<Xxh3>,
    /// The same without the regions that are set apart, once there are any.
    rest: Option<Box<Xxh3>>,
    apart: bool,
}

impl PassHash {
    /// The hash of a pass that has changed nothing so far.
    pub fn new() -> Self {
        Self { all: Box::new(Xxh3::new()), rest: None, apart: false }
    }

    /// Whether what comes from here on belongs to a region that [`PassHash::rest`] leaves out. Asked between regions only.
    pub fn set_apart(&mut self, apart: bool) {
        if apart && self.rest.is_none() {
            self.rest = Some(self.all.clone());
        }
        self.apart = apart;
    }

    /// The hash without the regions that were set apart.
    pub fn rest(&self) -> u128 {
        self.rest.as_ref().unwrap_or(&self.all).digest128()
    }

    /// The 128-bit xxh3 of what was taken in.
    pub fn value(&self) -> u128 {
        self.all.digest128()
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.all.update(bytes);
        if let Some(rest) = self.rest.as_mut().filter(|_| !self.apart) {
            rest.update(bytes);
        }
    }

    pub(super) fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_the_hash_of_what_was_not_set_apart() {
        let mut mixed = PassHash::new();
        let mut plain = PassHash::new();
        mixed.word(1);
        plain.word(1);
        assert_eq!(mixed.rest(), mixed.value());
        mixed.set_apart(true);
        mixed.bytes(&[2, 3]);
        mixed.set_apart(false);
        mixed.word(4);
        plain.word(4);
        assert_eq!((mixed.rest(), plain.rest()), (plain.value(), plain.value()));
        assert_ne!(mixed.value(), plain.value());
    }
}
