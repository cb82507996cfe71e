//! Writes of others into captured memory while a window is open: the CPU through the BAR, a peer, a NIC.
//!
//! Nothing holds them back, and a restore undoes them. They are found afterwards: bytes of a region that no pointer of the
//! kernel leads to (see [`reach`](super::reach)) and that differ from the snapshot after one pass but not after another were
//! written by somebody else. Their last value is put back at the end, the record says so, and the verdict on the kernel leaves
//! them out. In memory that the kernel can reach such a write looks like the kernel's own.

use super::Window;
use super::finish::{Cut, say};
use super::inspect::Inspection;
use super::passes::Evidence;
use super::snapshot::Workspace;
use crate::compare::{ChangedRanges, WrittenBytes};
use crate::copy::{Direction, Mover};
use crate::inventory::Region;
use crate::store::Plan;
use hsa_replay_contract::Reason;
use hsa_replay_contract::record::ContentHash;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Instant;

/// What the passes left in memory that the kernel does not reach.
#[derive(Debug, Default)]
pub(super) struct Unreached {
    passes: Vec<Pass>,
}

#[derive(Debug)]
struct Pass {
    /// Changed ranges and what was left there, by region.
    left: BTreeMap<usize, (ChangedRanges, WrittenBytes)>,
    reached_hash: u128,
}

/// Bytes that somebody else wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Write {
    region: usize,
    offsets: Range<u64>,
    /// The last pass after which they were there.
    pass: usize,
}

impl Unreached {
    /// Takes in what a pass left.
    pub(super) fn note(&mut self, seen: &Inspection) {
        let changed = seen.unreached.iter().map(|(&region, left)| {
            let changes = seen.changes[region].clone();
            (region, (changes, left.clone()))
        });
        self.passes.push(Pass { left: changed.collect(), reached_hash: seen.reached_hash });
    }

    fn writes(&self) -> Vec<Write> {
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

    /// Whether the passes agree on what is not among these writes.
    fn agree(&self, writes: &[Write]) -> bool {
        let Some((first, later)) = self.passes.split_first() else {
            return true;
        };
        let own = first.left.iter().map(|(&region, (changes, left))| {
            let foreign = writes.iter().filter(|write| write.region == region);
            (region, left, without(&changes.ranges, foreign.map(|write| &write.offsets)))
        });
        let own: Vec<(usize, &WrittenBytes, Vec<Range<u64>>)> = own.collect();
        later.iter().all(|pass| {
            pass.reached_hash == first.reached_hash
                && own.iter().all(|(region, left, ranges)| {
                    let now = pass.left.get(region).map(|(_, now)| now);
                    ranges.iter().all(|range| same(left, now, range))
                })
        })
    }
}

/// The parts of a region that lie in ascending ranges of addresses, as offsets.
fn offsets_in(region: &Region, ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let common = ranges.iter().map(|range| range.start.max(region.base)..range.end.min(region.end()));
    let common = common.filter(|common| common.start < common.end);
    common.map(|common| common.start - region.base..common.end - region.base).collect()
}

/// Ranges less others; both ascending and without overlap.
fn without<'a>(ranges: &[Range<u64>], taken: impl Iterator<Item = &'a Range<u64>>) -> Vec<Range<u64>> {
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

/// Whether two passes left the same in a range.
fn same(first: &WrittenBytes, now: Option<&WrittenBytes>, range: &Range<u64>) -> bool {
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    first.split(range.start, length).all(|(part, bytes)| match now {
        None => bytes.is_none(),
        Some(now) => now
            .split(range.start + part.start as u64, part.len())
            .all(|(piece, now)| now == bytes.map(|bytes| &bytes[piece])),
    })
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

impl Window<'_> {
    /// Puts back what others wrote and a restore has undone, and takes it out of the evidence. The last pass that was compared
    /// is the last that ran, and memory is as it left it. Gives how the window ends when that failed: the others' data is lost.
    pub(super) fn keep_foreign(
        &mut self,
        plan: &Plan,
        workspace: &mut Workspace,
        evidence: &mut Evidence,
    ) -> Option<Cut> {
        let writes = evidence.unreached.writes();
        if writes.is_empty() {
            return None;
        }
        let deadline = Instant::now() + self.process.settings.timeout;
        let mover = Mover::new(self.process, self.agent.agent, Direction::ToDevice, deadline);
        let last = evidence.unreached.passes.len() - 1;
        let undone: Vec<&Write> = writes.iter().filter(|write| write.pass != last).collect();
        // Somebody who copied there since then was later than that pass.
        let later = self.intruded();
        let mut kept = undone.is_empty() || later.is_some();
        let ranges = undone.iter().map(|write| {
            let base = plan.regions[write.region].base;
            base + write.offsets.start..base + write.offsets.end
        });
        self.agent.fence.intrusions.go_on_writing(ranges.collect());
        for write in undone {
            let (region, passes) = (&plan.regions[write.region], &evidence.unreached.passes);
            let Some((_, left)) = passes[write.pass].left.get(&write.region) else {
                continue;
            };
            let copied = offsets_in(region, later.as_deref().unwrap_or_default());
            for range in without(std::slice::from_ref(&write.offsets), copied.iter()) {
                let length = usize::try_from(range.end - range.start).unwrap_or(0);
                for (part, bytes) in left.split(range.start, length) {
                    let offset = range.start + part.start as u64;
                    // Where gaps were closed in a long list, what did not change stays.
                    let Some(bytes) = bytes else { continue };
                    kept &= super::repair::put(&mover, region, offset, bytes, &mut workspace.scratch);
                }
            }
        }
        let lost = self.end_writing(plan, workspace);
        let bytes: u64 = writes.iter().map(|write| write.offsets.end - write.offsets.start).sum();
        let at = plan.regions[writes[0].region].base + writes[0].offsets.start;
        let became = if kept { "their last value was kept" } else { "they could not all be put back" };
        let said = format!("others wrote {bytes} bytes during the window, the first at {at:#x}; {became}");
        self.leave_out(&writes, evidence);
        if !kept {
            return Some(Cut { tainted: true, ..Cut::new(Reason::ForeignWrite, said) });
        }
        if lost.is_some() {
            return lost;
        }
        say(&mut self.record, format!("{}: {said}", Reason::ForeignWrite.name()));
        None
    }

    /// The verdict on the kernel is about what it wrote.
    fn leave_out(&mut self, writes: &[Write], evidence: &mut Evidence) {
        evidence.equal = evidence.unreached.agree(writes);
        for (pass, seen) in self.record.passes.iter_mut().zip(&evidence.unreached.passes) {
            pass.hash = Some(ContentHash(seen.reached_hash));
        }
        let overlaps = |region: usize, range: &Range<u64>| {
            writes.iter().any(|write| {
                write.region == region && write.offsets.start < range.end && range.start < write.offsets.end
            })
        };
        evidence.divergences.retain(|entry| {
            !overlaps(entry.region, &(entry.offset..entry.offset.saturating_add(entry.bytes)))
        });
        if let Some(first) = &mut evidence.first {
            for (region, changes) in first.changes.iter_mut().enumerate() {
                let listed = changes.ranges.len();
                changes.ranges.retain(|range| !overlaps(region, range));
                if changes.ranges.len() < listed {
                    changes.bytes = changes.ranges.iter().map(|range| range.end - range.start).sum();
                }
            }
        }
    }
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
    fn passes_left_the_same_where_their_bytes_are_equal_or_neither_has_any() {
        let written = |offset, bytes: &[u8]| {
            let mut written = WrittenBytes::new();
            written.push(offset, bytes);
            written
        };
        let first = written(2, &[1, 2, 3]);
        assert!(same(&first, Some(&written(1, &[9, 1, 2, 3, 4])), &(2..5)));
        assert!(same(&first, Some(&first), &(0..10)));
        assert!(same(&first, None, &(5..10)));
        for other in [written(2, &[1, 2, 4]), written(2, &[1, 2]), written(2, &[1, 2, 3, 0])] {
            assert!(!same(&first, Some(&other), &(0..6)));
        }
        assert!(!same(&first, None, &(0..3)));
    }

    #[test]
    fn offsets_that_not_every_pass_has_are_found_with_the_last_that_has_them() {
        let passes: [&[Range<u64>]; 3] = [&[0..4, 10..20], &[10..11, 11..20], &[10..12, 14..20, 30..31]];
        assert_eq!(unequal(&passes), [(0..4, 0), (12..14, 1), (30..31, 2)]);
        assert_eq!(unequal(&passes[..1]), []);
    }
}
