//! The hash of what a pass left changed: xxh3-128 over address, bytes and length of each range. Of one region, offsets from its
//! base stand for addresses, so that the hashes of two runs can be compared.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use xxhash_rust::xxh3::Xxh3;

/// The hash of a pass, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ContentHash(pub u128);

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for ContentHash {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ContentHash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let digits = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        digits
            .then(|| u128::from_str_radix(&text, 16).ok())
            .flatten()
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom("a hash is 32 hexadecimal digits"))
    }
}

/// Hashes changed ranges as they are found, in ascending order of address.
///
/// Each range enters as its address or offset (8 bytes, little endian), its bytes, then its length (8 bytes, little endian).
/// Pieces that touch are one range, so that the result does not depend on how memory was cut into chunks.
#[derive(Clone)]
pub struct RangeHasher {
    state: Xxh3,
    open: Option<OpenRange>,
}

#[derive(Clone, Copy)]
struct OpenRange {
    start: u64,
    end: u64,
}

impl RangeHasher {
    /// A hasher that has seen no range.
    pub fn new() -> Self {
        Self { state: Xxh3::new(), open: None }
    }

    /// Adds `bytes`, the changed bytes from `address` on.
    pub fn update(&mut self, address: u64, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let start = match self.open {
            Some(range) if range.end == address => range.start,
            _ => {
                self.close();
                self.state.update(&address.to_le_bytes());
                address
            }
        };
        self.state.update(bytes);
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        self.open = Some(OpenRange { start, end: address.saturating_add(length) });
    }

    /// The hash of all ranges.
    pub fn finish(mut self) -> ContentHash {
        self.close();
        ContentHash(self.state.digest128())
    }

    fn close(&mut self) {
        if let Some(range) = self.open.take() {
            self.state.update(&(range.end - range.start).to_le_bytes());
        }
    }
}

impl Default for RangeHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for RangeHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeHasher")
            .field("digest", &ContentHash(self.state.digest128()))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(pieces: &[(u64, &[u8])]) -> ContentHash {
        let mut hasher = RangeHasher::new();
        for (address, bytes) in pieces {
            hasher.update(*address, bytes);
        }
        hasher.finish()
    }

    #[test]
    fn the_hash_is_the_documented_one() {
        let mut plain = Vec::new();
        plain.extend(0x1000_u64.to_le_bytes());
        plain.extend(b"abcd");
        plain.extend(4_u64.to_le_bytes());
        assert_eq!(hash(&[(0x1000, b"abcd")]).0, xxhash_rust::xxh3::xxh3_128(&plain));
    }

    #[test]
    fn chunking_does_not_matter_but_address_bytes_and_gaps_do() {
        let whole = hash(&[(0x1000, b"abcd")]);
        assert_eq!(hash(&[(0x1000, b"ab"), (0x1002, b""), (0x1002, b"cd")]), whole);
        assert_ne!(hash(&[(0x1001, b"abcd")]), whole);
        assert_ne!(hash(&[(0x1000, b"abce")]), whole);
        assert_ne!(hash(&[(0x1000, b"ab"), (0x1003, b"cd")]), whole);
    }

    #[test]
    fn the_text_form_keeps_leading_zeros_and_round_trips() {
        let hash = ContentHash(0xab);
        assert_eq!(hash.to_string(), "000000000000000000000000000000ab");
        let json = serde_json::to_string(&hash).expect("serialises");
        assert_eq!(serde_json::from_str::<ContentHash>(&json).expect("parses"), hash);
        for bad in ["\"ab\"", "\"+00000000000000000000000000000ab\"", "5"] {
            assert!(serde_json::from_str::<ContentHash>(bad).is_err(), "{bad}");
        }
    }
}
