//! The records of one candidate dispatch.

use serde::{Deserialize, Serialize};

use super::{Allow, Argument, ContentHash, Outcome, Reason, Tier, Window, WriteKind};

/// A dispatch's first pass is about to run. Where no dispatch record with this `id` follows, the process ended
/// inside that kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The process.
    pub pid: u32,
    /// The dispatch record's number.
    pub id: u64,
    /// The kernel's demangled signature.
    pub kernel: String,
    /// Ordinal of this kernel's dispatch in the process, from 0.
    pub launch: u64,
    /// Grid size in work-items; null in reports of versions that did not say.
    pub grid: Option<[u32; 3]>,
    /// Work-group size in work-items; null in reports of versions that did not say.
    pub workgroup: Option<[u32; 3]>,
    /// The explicit arguments; null where they could not be read, and in reports of versions that did not say.
    pub arguments: Option<Vec<Argument>>,
}

/// One candidate dispatch, after it completed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    /// The process.
    pub pid: u32,
    /// Number of this record in the process, from 0.
    pub id: u64,
    /// The kernel's demangled signature.
    pub kernel: String,
    /// The mangled name without `.kd`.
    pub symbol: String,
    /// Index into the session's agents.
    pub agent: u32,
    /// The queue's number (`hsa_queue_t.id`).
    pub queue: u64,
    /// Ordinal of this kernel symbol's dispatches in the process, from 0, counted whether selected or not.
    pub launch: u64,
    /// Grid size in work-items.
    pub grid: [u32; 3],
    /// Work-group size in work-items.
    pub workgroup: [u32; 3],
    /// The stretch of the program's code that it was launched in, outer names first, separated by `/`; null outside of any.
    #[serde(default)]
    pub range: Option<String>,
    /// The explicit arguments; null where they could not be read, or nothing was found out about the dispatch.
    pub arguments: Option<Vec<Argument>>,
    /// How it ended.
    pub outcome: Outcome,
    /// Why it was not replayed, or not in full; null only for `replayed`.
    pub reason: Option<Reason>,
    /// Anything that helps to understand outcome and reason, for people.
    pub detail: Option<String>,
    /// The kinds that `--allow` let through for this dispatch.
    pub allowed: Vec<Allow>,
    /// The passes that ran, in order.
    pub passes: Vec<Pass>,
    /// Times over all passes; null where no pass has one.
    pub time_ns: Option<TimeNs>,
    /// When it was replayed; null in reports of versions that did not say.
    pub window: Option<Window>,
    /// The snapshot; null where none was taken.
    pub snapshot: Option<Snapshot>,
    /// All restores together; null where none was needed.
    pub restore: Option<Restore>,
    /// What the first pass wrote; null where memory was not compared.
    pub writes: Option<Vec<Write>>,
    /// Whether all passes left the same bytes; null below two passes or where memory was not compared.
    pub deterministic: Option<bool>,
    /// Where passes differ from the first, at most 64; null where memory was not compared.
    pub divergence: Option<Vec<Divergence>>,
}

impl Dispatch {
    /// The bytes that differ after the first pass, all regions together; null where memory was not compared. A damaged report
    /// may hold any numbers: the sum ends at the largest.
    pub fn changed_bytes(&self) -> Option<u64> {
        let writes = self.writes.as_ref()?;
        Some(writes.iter().fold(0, |sum, write| write.bytes.saturating_add(sum)))
    }
}

/// One run of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pass {
    /// Number of the pass, from 0.
    pub index: u32,
    /// Start and end in the agent's ticks; null where the hardware wrote none.
    pub ticks: Option<[u64; 2]>,
    /// Duration in nanoseconds; null where the agent has no clock.
    pub ns: Option<u64>,
    /// Hash of what had changed after the pass; null where memory was not compared.
    pub hash: Option<ContentHash>,
}

/// Times over the passes of one dispatch, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeNs {
    /// The shortest.
    pub min: u64,
    /// The middle one; of an even number, the mean of the middle two, rounded down.
    pub median: u64,
    /// The longest.
    pub max: u64,
}

impl TimeNs {
    /// The times of these durations; `None` of none.
    pub fn of(durations: impl IntoIterator<Item = u64>) -> Option<Self> {
        let mut sorted: Vec<u64> = durations.into_iter().collect();
        sorted.sort_unstable();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let upper = sorted.len() / 2;
        let lower = (sorted.len() - 1) / 2;
        Some(Self { min, median: u64::midpoint(sorted[lower], sorted[upper]), max })
    }

    /// The times of these passes, as far as they have one.
    pub fn of_passes(passes: &[Pass]) -> Option<Self> {
        Self::of(passes.iter().filter_map(|pass| pass.ns))
    }
}

/// What was kept before the first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Where.
    pub tier: Tier,
    /// Number of regions.
    pub regions: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Time it took, in nanoseconds.
    pub ns: u64,
}

/// What was put back between passes, all passes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restore {
    /// Number of regions written to.
    pub regions: u64,
    /// Bytes copied.
    pub bytes: u64,
    /// Time it took, in nanoseconds.
    pub ns: u64,
    /// Regions left alone because they were gone.
    pub skipped: u64,
    /// Regions that could not be put back.
    pub failed: u64,
}

/// One region that the kernel wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Write {
    /// What it is.
    pub kind: WriteKind,
    /// The variable's name, where known.
    pub name: Option<String>,
    /// Index from 0 of the explicit argument that points into it, or null.
    pub arg: Option<u32>,
    /// Its first address.
    pub base: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Maximal runs of bytes that differ between the snapshot and the state after the first pass, as offset from
    /// `base` and length, ascending. Empty where only a later pass changed the region.
    pub ranges: Vec<[u64; 2]>,
    /// Whether there were more than 4096 runs, so that close ones were merged.
    pub merged: bool,
    /// Number of bytes that differ, exact even where runs were merged.
    pub bytes: u64,
    /// Hash of what the first pass left in `ranges`, without the address; null where they are empty, where the budget has no
    /// room for what the first pass left, and in reports of versions that did not say.
    pub hash: Option<ContentHash>,
    /// The file of `--dump-writes` that holds the bytes before and after; null where there is none.
    pub dump: Option<String>,
}

/// A stretch that one pass left different from the first pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Divergence {
    /// Index into `writes`.
    pub write: u32,
    /// Number of the pass that differs.
    pub pass: u32,
    /// Offset from the region's base.
    pub offset: u64,
    /// Length in bytes.
    pub bytes: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_minimum_median_and_maximum() {
        assert_eq!(TimeNs::of([]), None);
        assert_eq!(TimeNs::of([7]), Some(TimeNs { min: 7, median: 7, max: 7 }));
        assert_eq!(TimeNs::of([9, 1, 5]), Some(TimeNs { min: 1, median: 5, max: 9 }));
        assert_eq!(TimeNs::of([4, 1, 9, 7]), Some(TimeNs { min: 1, median: 5, max: 9 }));
        assert_eq!(TimeNs::of([u64::MAX, u64::MAX]).map(|time| time.median), Some(u64::MAX));
    }
}
