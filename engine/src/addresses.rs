//! Tables by address: kernel objects and signals.
//!
//! Whoever can choose an address can do worse than fill one bucket, so the hash need not withstand anybody: one multiplication
//! spreads addresses that differ in any bits over the high half, which is folded into the low one.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A table by address.
pub(crate) type AddressMap<V> = HashMap<u64, V, BuildHasherDefault<AddressHasher>>;

/// Hash of one address.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn write_u64(&mut self, address: u64) {
        /// The fraction of the golden ratio, odd.
        const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
        let product = (self.0 ^ address).wrapping_mul(SPREAD);
        self.0 = product ^ (product >> 32);
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    #[test]
    fn signals_in_a_row_and_code_objects_far_apart_fall_into_different_buckets() {
        let hasher = BuildHasherDefault::<AddressHasher>::default();
        for step in [64_u64, 4096, 1 << 21, 1 << 32] {
            let buckets: HashSet<u64> =
                (1..=256).map(|n| hasher.hash_one(0x7f00_0000_0000 + n * step) % 1024).collect();
            assert!(buckets.len() > 128, "{} buckets of 1024 at steps of {step:#x}", buckets.len());
        }
    }
}
