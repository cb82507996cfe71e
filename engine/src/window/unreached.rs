//! What passes left in captured memory that no pointer of the kernel leads to, and what of it somebody else must have written.

use super::inspect::Inspection;
use crate::compare::{ChangedRanges, WrittenBytes};
use crate::sync::Arc;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the passes left in memory that the kernel does not reach.
#[derive(Debug)]
pub(super) struct Unreached {
    passes: Vec<Pass>,
    /// Bytes of host memory in use, and the most that may be.
    kept: u64,
    room: u64,
    /// More was left than there is room for.
    full: bool,
}

#[derive(Debug)]
struct Pass {
    /// Changed ranges and what was left there, by region.
    left: BTreeMap<usize, (ChangedRanges, Arc<WrittenBytes>)>,
    reached_hash: u128,
}

/// Bytes that somebody else wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) region: usize,
    pub(super) offsets: Range<u64>,
    /// The last pass after which they were there.
    pub(super) pass: usize,
}

impl Unreached {
    /// Nothing yet, and at most this many bytes of host memory ever.
    pub(super) fn new(room: u64) -> Self {
        Self { passes: Vec::new(), kept: 0, room, full: false }
    }

    /// Most bytes that looking at one pass may take: all passes together have as many once more.
    pub(super) fn room(&self) -> u64 {
        self.room / 2
    }

    /// Room for all that the first pass changed, to put it back if a restore fails.
    pub(super) fn room_of_all(&self) -> u64 {
        self.room
    }

    /// So much of it is taken.
    pub(super) fn take(&mut self, bytes: u64) {
        self.room = self.room.saturating_sub(bytes);
    }

    /// Takes over what a pass left.
    pub(super) fn note(&mut self, seen: &mut Inspection) {
        self.full |= seen.full;
        let mut left = BTreeMap::new();
        for (region, bytes) in std::mem::take(&mut seen.unreached) {
            let changes = seen.changes[region].clone();
            // A kernel that gets there by a pointer it computes leaves the same each time.
            let before = self.passes.first().and_then(|first| first.left.get(&region));
            let same = before.filter(|(_, before)| before.pieces().eq(bytes.pieces()));
            let mut size = size_of_val(&changes.ranges[..]) as u64;
            let bytes = if let Some((_, before)) = same {
                Arc::clone(before)
            } else {
                size += bytes.size() as u64;
                Arc::new(bytes)
            };
            self.kept += size;
            left.insert(region, (changes, bytes));
        }
        if self.kept > self.room() {
            // It is the last pass, which memory still holds: where it changed something is enough.
            self.full = true;
            left.values_mut().for_each(|(_, bytes)| *bytes = Arc::default());
        }
        self.passes.push(Pass { left, reached_hash: seen.reached_hash });
    }

    /// Whether the passes left more than there is room for: no further one may run.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// The pass that was compared last.
    pub(super) fn last(&self) -> Option<usize> {
        self.passes.len().checked_sub(1)
    }

    /// What a pass left in a region.
    pub(super) fn left(&self, write: &Write) -> Option<&WrittenBytes> {
        self.passes[write.pass].left.get(&write.region).map(|(_, left)| &**left)
    }

    /// Hashes of the passes without the regions that the kernel does not reach.
    pub(super) fn reached_hashes(&self) -> impl Iterator<Item = u128> {
        self.passes.iter().map(|pass| pass.reached_hash)
    }

    /// What the only pass that was compared left: nothing shows whether somebody else wrote it.
    pub(super) fn undecided(&self) -> Vec<Write> {
        let [only] = &self.passes[..] else { return Vec::new() };
        let ranges = only.left.iter().flat_map(|(&region, (changes, _))| {
            changes.ranges.iter().map(move |offsets| Write { region, offsets: offsets.clone(), pass: 0 })
        });
        ranges.collect()
    }

    /// What somebody else wrote, as far as the passes show.
    pub(super) fn writes(&self) -> Vec<Write> {
        let regions: BTreeSet<usize> =
            self.passes.iter().flat_map(|pass| pass.left.keys().copied()).collect();
        let mut writes = Vec::new();
        for region in regions {
            let ranges: Vec<&[Range<u64>]> = self
                .passes
                .iter()
                .map(|pass| pass.left.get(&region).map_or(&[][..], |(changes, _)| &changes.ranges[..]))
                .collect();
            writes.extend(unequal(&ranges).into_iter().map(|(offsets, pass)| Write {
                region,
                offsets,
                pass,
            }));
        }
        writes
    }
}

/// Ranges less others; both ascending and without overlap.
pub(super) fn without<'a>(
    ranges: &[Range<u64>],
    taken: impl Iterator<Item = &'a Range<u64>>,
) -> Vec<Range<u64>> {
    let mut taken = taken.peekable();
    let mut rest = Vec::new();
    for range in ranges {
        let mut start = range.start;
        while let Some(hole) = taken.peek().filter(|hole| hole.start < range.end) {
            if start < hole.start {
                rest.push(start..hole.start);
            }
            start = start.max(hole.end);
            if hole.end > range.end {
                break;
            }
            taken.next();
        }
        if start < range.end {
            rest.push(start..range.end);
        }
    }
    rest
}

/// Offsets that lie in the ranges of some passes but not of all, each with the last pass that has them.
fn unequal(passes: &[&[Range<u64>]]) -> Vec<(Range<u64>, usize)> {
    let cuts: BTreeSet<u64> =
        passes.iter().flat_map(|ranges| ranges.iter().flat_map(|range| [range.start, range.end])).collect();
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let mut found: Vec<(Range<u64>, usize)> = Vec::new();
    for pair in cuts.windows(2) {
        let covers = |ranges: &[Range<u64>]| {
            let behind = ranges.partition_point(|range| range.start <= pair[0]);
            behind > 0 && ranges[behind - 1].end > pair[0]
        };
        let having: Vec<usize> =
            passes.iter().enumerate().filter(|(_, ranges)| covers(ranges)).map(|(pass, _)| pass).collect();
        match having.last() {
            Some(&last) if having.len() < passes.len() => match found.last_mut() {
                Some((range, pass)) if range.end == pair[0] && *pass == last => range.end = pair[1],
                _ => found.push((pair[0]..pair[1], last)),
            },
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ascending(cuts: &BTreeSet<u64>) -> Vec<Range<u64>> {
        let cuts: Vec<u64> = cuts.iter().copied().collect();
        cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
    }

    proptest! {
        #[test]
        fn what_is_left_of_ranges_is_what_the_others_do_not_hold(
            cuts in prop::collection::btree_set(0_u64..60, 0..16),
            holes in prop::collection::btree_set(0_u64..60, 0..16),
        ) {
            let (ranges, holes) = (ascending(&cuts), ascending(&holes));
            let rest = without(&ranges, holes.iter());
            let holds = |ranges: &[Range<u64>], offset| ranges.iter().any(|range| range.contains(&offset));
            for offset in 0..60 {
                prop_assert_eq!(holds(&rest, offset), holds(&ranges, offset) && !holds(&holes, offset));
            }
            prop_assert!(rest.iter().all(|range| range.start < range.end));
        }
    }

    #[test]
    fn offsets_that_not_every_pass_has_are_found_with_the_last_that_has_them() {
        let passes: [&[Range<u64>]; 3] = [&[0..4, 10..20], &[10..11, 11..20], &[10..12, 14..20, 30..31]];
        assert_eq!(unequal(&passes), [(0..4, 0), (12..14, 1), (30..31, 2)]);
        assert_eq!(unequal(&passes[..1]), []);
    }
}
