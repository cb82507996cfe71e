//! What a kernel wrote, as the report lists it.

use super::evidence::Evidence;
use super::snapshot::Ready;
use crate::compare::{ChangedRanges, share};
use crate::inventory::RegionKind;
use hsa_replay_contract::record::{ContentHash, Divergence, MAX_DIVERGENCES, RangeHasher, Write, WriteKind};
use hsa_replay_contract::{Allow, Dispatch};
use std::collections::BTreeSet;
use std::ops::Range;

/// The listing of one window.
pub(super) struct Writes<'a> {
    ready: &'a Ready,
    evidence: &'a Evidence,
}

/// An entry of the record's list and where it lies.
pub(super) struct Listed {
    /// Index of its region in the plan.
    pub(super) region: usize,
    /// Offset of its first byte in the region.
    pub(super) start: u64,
    pub(super) write: Write,
}

/// A part of a region that is listed on its own: an allocation, a variable, or what lies between variables.
struct Part {
    kind: WriteKind,
    name: Option<String>,
    /// Offsets in the region.
    offsets: Range<u64>,
}

impl<'a> Writes<'a> {
    pub(super) fn new(ready: &'a Ready, evidence: &'a Evidence) -> Self {
        Self { ready, evidence }
    }

    /// Fills in what is known; without a comparison that is nothing.
    pub(super) fn fill(&self, record: &mut Dispatch) {
        let Some(first) = &self.evidence.first else {
            return;
        };
        let compared = record.passes.iter().filter(|pass| pass.hash.is_some()).count();
        let compared = (compared > 1 && !self.evidence.incomparable).then_some(self.evidence.equal);
        // Passes that agree on captured memory may differ in the memory that is not, as the user or the program wants: no verdict. Nor is there
        // one where some bytes are presumed to be somebody else's.
        let partial = self.ready.left_out || record.allowed.contains(&Allow::Untracked);
        record.deterministic = compared.filter(|&equal| !(self.evidence.foreign || equal && partial));
        let diverging: BTreeSet<usize> =
            self.evidence.divergences.entries().iter().map(|entry| entry.region).collect();
        let mut writes = Vec::new();
        let mut divergence = Vec::new();
        for region in 0..self.ready.plan.regions.len() {
            let changed = &first.changes[region];
            if changed.bytes == 0 && !diverging.contains(&region) {
                continue;
            }
            for part in self.parts(region) {
                let ranges: Vec<[u64; 2]> =
                    changed.ranges.iter().filter_map(|range| within(range, &part.offsets)).collect();
                let number = u32::try_from(writes.len()).unwrap_or(u32::MAX);
                let before = divergence.len();
                self.diverging(region, &part, number, &mut divergence);
                if ranges.is_empty() && divergence.len() == before {
                    continue;
                }
                let hash = self.left_in(region, part.offsets.start, &ranges);
                writes.push(Write { hash, ..self.write(region, part, ranges, changed) });
            }
        }
        divergence.sort_by_key(|entry| (entry.pass, entry.write, entry.offset));
        share(&mut divergence, MAX_DIVERGENCES, |entry| entry.pass);
        record.writes = Some(writes);
        record.divergence = Some(divergence);
    }

    /// What the first pass changed, whatever later passes did.
    pub(super) fn of_first_pass(&self) -> Vec<Listed> {
        let Some(first) = &self.evidence.first else {
            return Vec::new();
        };
        let mut listed = Vec::new();
        for (region, changed) in first.changes.iter().enumerate().filter(|(_, changed)| changed.bytes > 0) {
            for part in self.parts(region) {
                let ranges: Vec<[u64; 2]> =
                    changed.ranges.iter().filter_map(|range| within(range, &part.offsets)).collect();
                if !ranges.is_empty() {
                    let start = part.offsets.start;
                    listed.push(Listed { region, start, write: self.write(region, part, ranges, changed) });
                }
            }
        }
        listed
    }

    fn write(&self, region: usize, part: Part, ranges: Vec<[u64; 2]>, changed: &ChangedRanges) -> Write {
        let whole = part.offsets.end - part.offsets.start == self.ready.plan.regions[region].bytes;
        let bytes = if whole { changed.bytes } else { ranges.iter().map(|range| range[1]).sum() };
        let merged = changed.merged;
        let base = self.ready.plan.regions[region].base + part.offsets.start;
        let size = part.offsets.end - part.offsets.start;
        // Of several arguments that point into one allocation, a pool's, the nearest one below the first change.
        let pointers = self.ready.arguments.pointers.iter().filter_map(|pointer| {
            let offset = pointer.address.checked_sub(base).filter(|&offset| offset < size)?;
            Some((offset, pointer.argument))
        });
        let first = ranges.first().map_or(0, |range| range[0]);
        let below =
            pointers.clone().filter(|(offset, _)| *offset <= first).min_by_key(|(offset, _)| first - offset);
        let arg = below.or_else(|| pointers.clone().next()).map(|(_, argument)| argument);
        let dump = self.evidence.dumps.get(&base).filter(|_| !ranges.is_empty()).cloned();
        Write { kind: part.kind, name: part.name, arg, base, size, ranges, merged, bytes, hash: None, dump }
    }

    /// Hash of what the first pass left in these ranges, which count from `start` in the region. Ranges that were merged have
    /// blocks between them that did not change: those are left out.
    fn left_in(&self, region: usize, start: u64, ranges: &[[u64; 2]]) -> Option<ContentHash> {
        if self.evidence.unkept {
            return None;
        }
        let mut hasher = RangeHasher::new();
        for &[offset, length] in ranges {
            let length = usize::try_from(length).ok()?;
            for (part, left) in self.evidence.written[region].split(start + offset, length) {
                hasher.update(offset + part.start as u64, left.unwrap_or_default());
            }
        }
        (!ranges.is_empty()).then(|| hasher.finish())
    }

    fn diverging(&self, region: usize, part: &Part, write: u32, list: &mut Vec<Divergence>) {
        for entry in self.evidence.divergences.entries().iter().filter(|entry| entry.region == region) {
            let run = entry.offset..entry.offset + entry.bytes;
            if let Some([offset, bytes]) = within(&run, &part.offsets) {
                list.push(Divergence { write, pass: entry.pass, offset, bytes });
            }
        }
    }

    /// An allocation is one part; a segment is cut at its variables.
    fn parts(&self, region: usize) -> Vec<Part> {
        let region = &self.ready.plan.regions[region];
        match &region.kind {
            RegionKind::Allocation | RegionKind::Mapping(_) => {
                vec![Part { kind: WriteKind::Allocation, name: None, offsets: 0..region.bytes }]
            }
            RegionKind::Module(module) => module
                .parts
                .iter()
                .map(|part| Part {
                    kind: WriteKind::ModuleVariable,
                    name: part.name.clone(),
                    offsets: part.offset..part.offset + part.size,
                })
                .collect(),
        }
    }
}

/// The part of a range inside a window, as offset from the window's start and length.
fn within(range: &Range<u64>, window: &Range<u64>) -> Option<[u64; 2]> {
    let start = range.start.max(window.start);
    let end = range.end.min(window.end);
    (start < end).then(|| [start - window.start, end - start])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_told_relative_to_their_part() {
        assert_eq!(within(&(4..20), &(8..12)), Some([0, 4]));
        assert_eq!(within(&(10..11), &(8..12)), Some([2, 1]));
        assert_eq!(within(&(12..14), &(8..12)), None);
    }
}
