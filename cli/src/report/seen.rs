//! Which numbers of records have been seen, as the few stretches that numbers which count up leave.

use std::collections::BTreeMap;

/// Stretches that are kept. Records of one process come nearly in order; where a damaged report has more, what is above is
/// not remembered.
const MOST: usize = 4096;

/// A set of numbers: the first of each stretch, and the one behind its last.
#[derive(Debug, Default)]
pub struct Seen(BTreeMap<u64, u64>);

impl Seen {
    /// Adds a number; false if it was there already.
    pub fn insert(&mut self, number: u64) -> bool {
        let Some(behind) = number.checked_add(1) else { return true };
        let before = self.0.range_mut(..=number).next_back();
        let joined = match before {
            Some((_, end)) if number < *end => return false,
            Some((start, end)) if *end == number => {
                *end = behind;
                Some(*start)
            }
            _ => None,
        };
        let start = joined.unwrap_or(number);
        if let Some(end) = self.0.remove(&behind) {
            self.0.insert(start, end);
        } else if joined.is_none() && self.0.len() < MOST {
            self.0.insert(start, behind);
        }
        true
    }

    /// Whether a number was added.
    pub fn contains(&self, number: u64) -> bool {
        self.0.range(..=number).next_back().is_some_and(|(_, end)| number < *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_new_once_in_any_order() {
        let mut seen = Seen::default();
        for number in [5, 3, 4, 0, 1, 7, 6, 2, u64::MAX] {
            assert!(!seen.contains(number));
            assert!(seen.insert(number), "{number}");
        }
        for number in 0..8 {
            assert!(seen.contains(number) && !seen.insert(number), "{number}");
        }
        assert_eq!(seen.0.len(), 1, "numbers without a gap are one stretch");
    }

    #[test]
    fn memory_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..100_000 {
            seen.insert(number * 2);
        }
        assert_eq!(seen.0.len(), MOST);
        assert!(!seen.insert(0) && seen.insert(99_999));
    }
}
