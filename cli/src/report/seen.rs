//! Which dispatch records have been seen, by their number and what tells a record from another one of the same number.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use hsa_replay_contract::Dispatch;

/// Numbers that lie together, those with the same upper bytes: numbers of one process are nearly without gaps.
const TOGETHER: usize = 1 << u8::BITS;

/// The most groups that are kept, of a kilobyte each. What a damaged report has beyond is not remembered.
const MOST: usize = 16_384;

/// The most further records of numbers that are there already.
const MOST_OTHERS: usize = 1 << 20;

/// A set of records.
#[derive(Debug, Default)]
pub struct Seen {
    /// For each number a mark of its first record; 0 where there is none.
    first: HashMap<u64, Box<[u32; TOGETHER]>>,
    /// The other records of those numbers.
    others: HashMap<(u64, u32), ()>,
}

impl Seen {
    /// Adds a record; false if the same one was there already. One whose window is not known is never the same.
    pub fn insert(&mut self, dispatch: &Dispatch) -> bool {
        let Some(window) = &dispatch.window else { return true };
        let mut hasher = DefaultHasher::new();
        (window.start_unix_ns, &dispatch.symbol).hash(&mut hasher);
        // The upper half, and never 0.
        let mark = u32::try_from(hasher.finish() >> 32).unwrap_or(0).max(1);
        self.insert_marked(dispatch.id, mark)
    }

    fn insert_marked(&mut self, number: u64, mark: u32) -> bool {
        let [place, ..] = number.to_le_bytes();
        let (group, place) = (number >> u8::BITS, usize::from(place));
        if self.first.len() >= MOST && !self.first.contains_key(&group) {
            return true;
        }
        let first = &mut self.first.entry(group).or_insert_with(|| Box::new([0; TOGETHER]))[place];
        match *first {
            0 => *first = mark,
            there if there == mark => return false,
            _ if self.others.contains_key(&(number, mark)) => return false,
            _ if self.others.len() < MOST_OTHERS => drop(self.others.insert((number, mark), ())),
            _ => {}
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_record_is_new_once_in_any_order() {
        let mut seen = Seen::default();
        for number in [5, 3, 4, 0, 1, 7, 6, 2, 1000, u64::MAX] {
            assert!(seen.insert_marked(number, 7), "{number}");
            assert!(!seen.insert_marked(number, 7), "{number}");
        }
        assert!(seen.insert_marked(3, 8) && !seen.insert_marked(3, 8) && !seen.insert_marked(3, 7));
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..100_000 {
            seen.insert_marked(number << u8::BITS, 1);
        }
        assert_eq!(seen.first.len(), MOST);
        assert!(!seen.insert_marked(0, 1) && seen.insert_marked(99_999 << u8::BITS, 1));
    }
}
