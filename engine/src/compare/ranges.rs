//! A bounded list of changed ranges.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Most ranges listed for one region; more are merged by closing the smallest gaps between them.
pub const MAX_RANGES: usize = 4096;

/// Which bytes of a region changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedRanges {
    /// Offsets from the region's base: ascending, not empty, never touching each other.
    pub ranges: Vec<Range<u64>>,
    /// Whether gaps were closed, so that ranges also cover bytes that did not change.
    pub merged: bool,
    /// Bytes in runs that changed, without the closed gaps.
    pub bytes: u64,
}

/// Gathers ascending runs in constant memory. Since a gap's size never changes, keeping the largest gaps seen so far gives
/// the same list as sorting all gaps at the end; of equal gaps the first ones stay.
#[derive(Debug)]
pub(super) struct RangeCollector {
    limit: usize,
    /// From the start of the first run to the end of the last one.
    span: Option<Range<u64>>,
    /// The gaps that stay open; the top is the first to be closed.
    gaps: BinaryHeap<Reverse<Gap>>,
    /// Once the list is full: gaps up to this length are closed at sight.
    closed_up_to: u64,
    merged: bool,
    bytes: u64,
}

/// Ordered by length, then the earlier one is greater.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Gap {
    length: u64,
    start: Reverse<u64>,
}

impl RangeCollector {
    /// `limit` is the most ranges to list, at least 1.
    pub(super) fn new(limit: usize) -> Self {
        let closed_up_to = if limit > 1 { 0 } else { u64::MAX };
        Self {
            limit: limit.max(1),
            span: None,
            gaps: BinaryHeap::new(),
            closed_up_to,
            merged: false,
            bytes: 0,
        }
    }

    /// Adds a run that starts at or behind the end of the last one.
    pub(super) fn add(&mut self, start: u64, end: u64) {
        self.bytes += end - start;
        let Some(span) = &mut self.span else {
            self.span = Some(start..end);
            return;
        };
        let gap = Gap { length: start - span.end, start: Reverse(span.end) };
        span.end = end;
        if gap.length > self.closed_up_to {
            self.open_gap(gap);
        } else {
            self.merged |= gap.length > 0;
        }
    }

    fn open_gap(&mut self, gap: Gap) {
        self.gaps.push(Reverse(gap));
        if self.gaps.len() == self.limit {
            // It is longer than the smallest, which therefore makes room for it.
            self.gaps.pop();
            self.merged = true;
        }
        if self.gaps.len() + 1 == self.limit {
            self.closed_up_to = self.gaps.peek().map_or(u64::MAX, |smallest| smallest.0.length);
        }
    }

    pub(super) fn finish(self) -> ChangedRanges {
        let Some(span) = self.span else {
            return ChangedRanges::default();
        };
        let mut gaps: Vec<Range<u64>> =
            self.gaps.into_iter().map(|Reverse(gap)| gap.start.0..gap.start.0 + gap.length).collect();
        gaps.sort_by_key(|gap| gap.start);
        let mut ranges = Vec::with_capacity(gaps.len() + 1);
        let mut start = span.start;
        for gap in gaps {
            ranges.push(start..gap.start);
            start = gap.end;
        }
        ranges.push(start..span.end);
        ChangedRanges { ranges, merged: self.merged, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(limit: usize, runs: &[Range<u64>]) -> ChangedRanges {
        let mut collector = RangeCollector::new(limit);
        for run in runs {
            collector.add(run.start, run.end);
        }
        collector.finish()
    }

    #[test]
    fn nothing_changed_is_an_empty_list() {
        assert_eq!(collect(4, &[]), ChangedRanges::default());
    }

    #[test]
    fn touching_runs_are_one_range() {
        let changes = collect(4, &[0..4, 4..8, 9..10]);
        assert_eq!(changes.ranges, [0..8, 9..10]);
        assert!(!changes.merged);
    }

    #[test]
    fn exactly_the_limit_is_not_merged() {
        let changes = collect(2, &[0..1, 5..6]);
        assert_eq!(changes.ranges, [0..1, 5..6]);
        assert!(!changes.merged);
    }

    #[test]
    fn the_smallest_gaps_are_closed_first() {
        let changes = collect(2, &[0..1, 3..4, 10..11, 12..13]);
        assert_eq!(changes.ranges, [0..4, 10..13]);
        assert!(changes.merged);
        assert_eq!(changes.bytes, 4);
    }

    #[test]
    fn of_equal_gaps_the_first_stay_open() {
        assert_eq!(collect(2, &[0..1, 2..3, 4..5]).ranges, [0..1, 2..5]);
    }

    #[test]
    fn a_limit_of_one_gives_the_whole_span() {
        let ranges = collect(1, &[3..4, 100..101]).ranges;
        assert_eq!((ranges.len(), &ranges[0]), (1, &(3..101)));
    }
}
