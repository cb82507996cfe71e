//! The search for pointers through one snapshot: from what is reached to what its words lead to.

use super::untracked::{describe, describe_record};
use crate::copy::Mover;
use crate::inventory::{Exclusion, Record, Region};
use crate::store::{Plan, Store, Trouble};
use crate::sync::Arc;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::time::Instant;

/// Words that are looked at together before any is looked at alone.
const BLOCK: usize = 512;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// To a region of the plan.
    Captured(usize),
    /// To memory that is not put back.
    Unrestored(&'static str),
    /// To memory that is not put back because the program answers for it.
    LeftOut,
}

/// All that a word can lead to, by address.
#[derive(Debug, Default)]
pub(super) struct Targets {
    ranges: Vec<(Range<u64>, Target)>,
    /// Largest end of a range up to each one, since host ranges may overlap.
    ends: Vec<u64>,
}

/// What first led to a region.
#[derive(Clone, Copy, Debug)]
pub(super) enum Root {
    Argument(u32),
    /// A hidden argument, by what it leads to.
    Hidden(&'static str),
    Module,
}

/// The search through one snapshot.
pub(super) struct Search<'a> {
    plan: &'a Plan,
    pub(super) targets: Targets,
    /// Regions that are mappings of the same physical memory, by its number.
    siblings: HashMap<u64, Vec<usize>>,
    /// What led to each region, once something did.
    pub(super) roots: Vec<Option<Root>>,
    /// Regions that are still to be looked through.
    next: BTreeSet<usize>,
    /// The first word found that leads out of captured memory.
    pub(super) found: Option<Found>,
    /// The first word found that leads to memory which the program leaves out.
    pub(super) left_out: Option<Found>,
    /// How much was looked through.
    pub(super) bytes: u64,
}

/// A word that leads out of captured memory.
pub(super) struct Found {
    pub(super) root: Root,
    /// Device address of the word.
    pub(super) at: u64,
    pub(super) address: u64,
    pub(super) what: &'static str,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        outside: &[Record],
        mappings: &[Arc<Region>],
        others: impl Iterator<Item = (Range<u64>, Target)>,
    ) -> Self {
        let mut siblings: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, region) in plan.regions.iter().enumerate() {
            if let Some(physical) = region.physical() {
                siblings.entry(physical.number).or_default().push(at);
            }
        }
        // Memory that is mapped twice is captured by one of its addresses and reached by any.
        let aliases = mappings.iter().filter_map(|region| {
            let captured = siblings.get(&region.physical()?.number)?;
            Some((range(region), Target::Captured(*captured.first()?)))
        });
        let captured =
            plan.regions.iter().enumerate().map(|(at, region)| (range(region), Target::Captured(at)));
        let unrestored =
            outside.iter().map(|record| (range(&record.region), Target::Unrestored(describe_record(record))));
        Self {
            plan,
            targets: Targets::new(captured.chain(aliases).chain(unrestored).chain(others).collect()),
            siblings,
            roots: vec![None; plan.regions.len()],
            next: BTreeSet::new(),
            found: None,
            left_out: None,
            bytes: 0,
        }
    }

    /// Something leads to a region.
    pub(super) fn reach(&mut self, region: usize, root: Root) {
        if self.roots[region].is_some() {
            return;
        }
        let physical = self.plan.regions[region].physical();
        let same = physical.and_then(|physical| self.siblings.get(&physical.number));
        for &at in same.map_or(&[region][..], Vec::as_slice) {
            self.roots[at] = Some(root);
            self.next.insert(at);
        }
    }

    /// Follows everything that was reached. False: there is no time for all of it.
    pub(super) fn run(
        &mut self,
        store: &mut dyn Store,
        mover: &Mover<'_>,
        deadline: Instant,
    ) -> Result<bool, Trouble> {
        // Upwards and again from the start: saved bytes are cheapest in the order of the pieces.
        let mut above = 0;
        while let Some(at) = self.next.range(above..).next().or_else(|| self.next.first()).copied() {
            self.next.remove(&at);
            above = at;
            let (region, Some(root)) = (&self.plan.regions[at], self.roots[at]) else { continue };
            if region.is_gone() {
                continue;
            }
            for number in self.plan.pieces_of(at) {
                if Instant::now() >= deadline {
                    return Ok(false);
                }
                let piece = &self.plan.pieces[number];
                self.bytes += piece.bytes;
                self.words(region.base + piece.offset, store.bytes(self.plan, number, mover)?, root);
            }
        }
        Ok(true)
    }

    /// Looks at each aligned word of memory that lies at an address.
    pub(super) fn words(&mut self, address: u64, bytes: &[u8], root: Root) {
        let skipped = usize::try_from(address.next_multiple_of(8) - address).unwrap_or(0);
        let (words, _) = bytes.get(skipped..).unwrap_or_default().as_chunks::<8>();
        let span = self.targets.high_words();
        for (block, words) in words.chunks(BLOCK).enumerate() {
            if !any_in(words, &span) {
                continue;
            }
            for (at, word) in words.iter().enumerate() {
                let word = u64::from_le_bytes(*word);
                let found = |what| {
                    let at = address + (skipped + (block * BLOCK + at) * 8) as u64;
                    Found { root, at, address: word, what }
                };
                match self.targets.find(word) {
                    Some(Target::Captured(region)) => self.reach(region, root),
                    Some(Target::Unrestored(what)) => {
                        self.found.get_or_insert_with(|| found(what));
                    }
                    Some(Target::LeftOut) => {
                        self.left_out.get_or_insert_with(|| found(describe(Exclusion::Program)));
                    }
                    None => {}
                }
            }
        }
    }
}

pub(super) fn range(region: &Region) -> Range<u64> {
    region.base..region.end()
}

impl Targets {
    fn new(mut ranges: Vec<(Range<u64>, Target)>) -> Self {
        ranges.sort_by_key(|(range, _)| range.start);
        let ends = ranges
            .iter()
            .scan(0, |end, (range, _)| {
                *end = range.end.max(*end);
                Some(*end)
            })
            .collect();
        Self { ranges, ends }
    }

    /// Where an address leads. Memory that is not put back counts before captured memory.
    pub(super) fn find(&self, address: u64) -> Option<Target> {
        let mut at = self.ranges.partition_point(|(range, _)| range.start <= address);
        let mut found = None;
        while at > 0 && self.ends[at - 1] > address {
            at -= 1;
            let (range, target) = &self.ranges[at];
            if range.contains(&address) {
                found = Some(*target);
                if matches!(target, Target::Unrestored(_)) {
                    break;
                }
            }
        }
        found
    }

    /// The upper halves of all addresses that lead somewhere.
    fn high_words(&self) -> Range<u32> {
        let high = |address: u64| u32::try_from(address >> 32).unwrap_or(u32::MAX);
        let start = self.ranges.first().map_or(0, |(range, _)| high(range.start));
        let end = self.ends.last().map_or(0, |&end| high(end.saturating_sub(1)));
        start..end.saturating_add(1)
    }
}

/// Whether the upper half of any word lies in a range. Without a branch a word, so that the compiler makes vectors of it.
fn any_in(words: &[[u8; 8]], span: &Range<u32>) -> bool {
    let length = span.end - span.start;
    let mut any = 0_u32;
    for word in words {
        let high = u32::from_le_bytes([word[4], word[5], word[6], word[7]]);
        any |= u32::from(high.wrapping_sub(span.start) < length);
    }
    any != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_is_found_in_the_range_that_holds_it_and_unrestored_ones_first(
            starts in prop::collection::vec((0_u64..2000, 1_u64..200, any::<bool>()), 1..20),
            address in 0_u64..2300,
        ) {
            let ranges: Vec<_> = starts.iter().enumerate().map(|(at, &(start, bytes, captured))| {
                let target = if captured { Target::Captured(at) } else { Target::Unrestored("host memory") };
                (start..start + bytes, target)
            }).collect();
            let found = Targets::new(ranges.clone()).find(address);
            let holding: Vec<Target> =
                ranges.iter().filter(|(range, _)| range.contains(&address)).map(|(_, target)| *target).collect();
            let unrestored = holding.contains(&Target::Unrestored("host memory"));
            prop_assert_eq!(found.is_some(), !holding.is_empty());
            prop_assert_eq!(found == Some(Target::Unrestored("host memory")), unrestored);
            prop_assert!(found.is_none_or(|found| holding.contains(&found)));
        }

        #[test]
        fn no_block_with_an_address_is_passed_over(
            words in prop::collection::vec(any::<u64>(), 0..100),
            start in 0_u64..1 << 46,
            bytes in 1_u64..1 << 40,
        ) {
            let targets = Targets::new(vec![(start..start + bytes, Target::Captured(0))]);
            let words: Vec<[u8; 8]> = words.iter().map(|word| (word >> 16).to_le_bytes()).collect();
            let holds = words.iter().any(|word| targets.find(u64::from_le_bytes(*word)).is_some());
            prop_assert!(!holds || any_in(&words, &targets.high_words()));
        }
    }
}
