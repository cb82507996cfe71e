//! Memory goes back to what the snapshot holds.

use super::Window;
use super::evidence::Evidence;
use super::finish::Cut;
use super::inspect::Inspection;
use super::snapshot::{Workspace, nanoseconds};
use crate::copy::Mover;
use crate::store::{GAP, Plan};
use hsa_replay_contract::record::{Restore, Stage as Stretch};
use std::ops::Range;
use std::time::Instant;

/// Spans are rounded out to cache lines.
const GRAIN: u64 = 64;

impl Window<'_> {
    /// Puts memory back. On failure memory is made one complete pass again, if that is possible.
    pub(super) fn restore(
        &mut self,
        plan: &Plan,
        inspection: Option<&Inspection>,
        workspace: &mut Workspace,
        evidence: &Evidence,
    ) -> Option<Cut> {
        let start = Instant::now();
        // A restore that has begun is finished, whatever the time; only a copy that hangs ends it.
        let deadline = start + self.process.settings.timeout;
        let mover = Mover::new(self.process, self.agent.agent, deadline);
        let spans = spans(plan, inspection);
        let mut back = workspace.tiers.store().write_back(plan, &spans, &mover);
        if !back.failed.is_empty() && !back.stuck {
            let again = workspace.tiers.store().write_back(plan, &back.failed, &mover);
            back.bytes += again.bytes;
            back.failed = again.failed;
            back.stuck = again.stuck;
        }
        let mut regions: Vec<usize> = spans.iter().map(|(region, _)| *region).collect();
        regions.dedup();
        let totals =
            self.record.restore.get_or_insert(Restore { regions: 0, bytes: 0, ns: 0, skipped: 0, failed: 0 });
        totals.regions += (regions.len() - back.gone.len().min(regions.len())) as u64;
        totals.bytes += back.bytes;
        totals.ns += nanoseconds(start.elapsed());
        let after = self.record.passes.last().map(|pass| pass.index);
        self.timeline.note(Stretch::Restore, after, start);
        if totals.skipped == 0 && !back.gone.is_empty() {
            tracing::warn!(
                "{} regions were freed while {} was replayed; they are not put back",
                back.gone.len(),
                self.record.kernel
            );
        }
        totals.skipped += back.gone.len() as u64;
        totals.failed += back.failed.len() as u64;
        if back.failed.is_empty() {
            return None;
        }
        let mut cut = super::repair::repair(self, plan, inspection, workspace, evidence, &back.failed);
        if back.stuck {
            // It may still read from the store and write to memory, whatever was put there now.
            workspace.tiers.store().abandon();
            cut.tainted = true;
            cut.detail = format!("a copy did not end in time; {}", cut.detail);
            self.process.disarm("a copy that puts memory back did not end in time");
        }
        Some(cut)
    }
}

/// What has to be written back: all of it without an inspection, otherwise what differs. What lies between is written with it where
/// that saves a copy, but only in memory that the kernel reaches: elsewhere others may have written there since.
fn spans(plan: &Plan, inspection: Option<&Inspection>) -> Vec<(usize, Range<u64>)> {
    let regions = plan.regions.iter().enumerate();
    match inspection {
        None => regions.map(|(at, region)| (at, 0..region.bytes)).collect(),
        Some(inspection) => regions
            .flat_map(|(at, region)| {
                let ranges = &inspection.changes[at].ranges;
                let spans = if plan.is_exact(at) { ranges.clone() } else { joined(ranges, region.bytes) };
                spans.into_iter().map(move |span| (at, span))
            })
            .collect(),
    }
}

/// Joins neighbouring ranges of a region of `bytes` bytes.
fn joined(ranges: &[Range<u64>], bytes: u64) -> Vec<Range<u64>> {
    let mut spans: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let start = range.start - range.start % GRAIN;
        let end = range.end.next_multiple_of(GRAIN).min(bytes);
        match spans.last_mut() {
            Some(last) if start <= last.end.saturating_add(GAP) => last.end = end,
            _ => spans.push(start..end),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ascending(cuts: &std::collections::BTreeSet<u64>) -> Vec<Range<u64>> {
        let cuts: Vec<u64> = cuts.iter().copied().collect();
        cuts.chunks_exact(2).map(|pair| pair[0]..pair[1]).collect()
    }

    proptest! {
        #[test]
        fn every_changed_byte_is_written_back_once_and_nothing_outside_the_region(
            cuts in prop::collection::btree_set(0_u64..100_000, 0..40),
        ) {
            let ranges = ascending(&cuts);
            let bytes = 100_000;
            let spans = joined(&ranges, bytes);
            for range in &ranges {
                let covering = spans.iter().filter(|span| span.start <= range.start && range.end <= span.end);
                prop_assert_eq!(covering.count(), 1);
            }
            for pair in spans.windows(2) {
                prop_assert!(pair[0].end + GAP < pair[1].start);
            }
            prop_assert!(spans.iter().all(|span| span.start < span.end && span.end <= bytes));
        }
    }

    #[test]
    fn far_apart_ranges_stay_apart() {
        assert_eq!(joined(&[0..1, 10_000..10_001], 20_000), [0..64, 9_984..10_048]);
        assert_eq!(joined(&[0..1, 100..101], 110).first(), Some(&(0..110)));
    }
}
