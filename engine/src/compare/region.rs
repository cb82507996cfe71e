//! Comparing one region, chunk by chunk.

use std::ops::Range;

use super::blocks::{BLOCK, for_each_changed_block, for_each_run};
use super::ranges::{ChangedRanges, MAX_RANGES, RangeCollector};
use super::{PassHash, WrittenBytes};

/// Changed blocks are hashed before they leave the processor's cache.
const CACHED: usize = 64 * 1024;

/// How exact the list of changed ranges is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// To the byte, for the report.
    Bytes,
    /// Whole blocks, for a restore: cheaper where a kernel changes some bytes of every word.
    Blocks,
}

/// The comparison of one region with its snapshot after one pass.
#[derive(Debug)]
pub struct RegionComparison {
    base: u64,
    precision: Precision,
    position: u64,
    ranges: RangeCollector,
    /// The sequence of changed blocks that was hashed last and may go on in the next chunk, as offsets.
    sequence: Option<Range<u64>>,
}

impl RegionComparison {
    /// Begins at the first byte of the region that lies at device address `base`.
    pub fn new(base: u64, precision: Precision) -> Self {
        Self { base, precision, position: 0, ranges: RangeCollector::new(MAX_RANGES), sequence: None }
    }

    /// Compares the next chunk. Every chunk but the last is a multiple of [`BLOCK`] bytes. Changed bytes go into `hash`
    /// and, for the pass whose bytes are kept, into `written`.
    ///
    /// # Panics
    /// When the sides differ in length, or a chunk follows one that was no multiple of a block.
    pub fn feed(
        &mut self,
        before: &[u8],
        now: &[u8],
        hash: &mut PassHash,
        mut written: Option<&mut WrittenBytes>,
    ) {
        assert_eq!(self.position % BLOCK as u64, 0, "only the last chunk may end within a block");
        let position = self.position;
        let mut open: Option<Range<usize>> = None;
        for_each_changed_block(before, now, |offset, mask| {
            let block = offset..now.len().min(offset + BLOCK);
            self.list(position, &block, mask);
            match &mut open {
                Some(open) if open.end == block.start && open.len() < CACHED => open.end = block.end,
                _ => {
                    if let Some(done) = open.replace(block) {
                        self.take(position, &done, now, hash, written.as_deref_mut());
                    }
                }
            }
        });
        if let Some(done) = open {
            self.take(position, &done, now, hash, written);
        }
        self.position += now.len() as u64;
    }

    /// Ends the region: what changed in all its chunks.
    pub fn finish(mut self, hash: &mut PassHash) -> ChangedRanges {
        self.end_sequence(hash);
        self.ranges.finish()
    }

    /// Lists what changed in one block.
    fn list(&mut self, position: u64, block: &Range<usize>, mask: u64) {
        let start = position + block.start as u64;
        match self.precision {
            Precision::Bytes => for_each_run(mask, |from, to| {
                self.ranges.add(start + u64::from(from), start + u64::from(to));
            }),
            Precision::Blocks => self.ranges.add(start, position + block.end as u64),
        }
    }

    /// Takes in the bytes of neighbouring changed blocks of the chunk at `position`.
    fn take(
        &mut self,
        position: u64,
        blocks: &Range<usize>,
        now: &[u8],
        hash: &mut PassHash,
        written: Option<&mut WrittenBytes>,
    ) {
        let start = position + blocks.start as u64;
        let end = position + blocks.end as u64;
        let bytes = &now[blocks.clone()];
        match &mut self.sequence {
            Some(sequence) if sequence.end == start => sequence.end = end,
            _ => {
                self.end_sequence(hash);
                hash.word(self.base.wrapping_add(start));
                self.sequence = Some(start..end);
            }
        }
        hash.bytes(bytes);
        if let Some(written) = written {
            written.push(start, bytes);
        }
    }

    fn end_sequence(&mut self, hash: &mut PassHash) {
        if let Some(sequence) = self.sequence.take() {
            hash.word(sequence.end - sequence.start);
        }
    }
}
