//! Where each part of a snapshot lies: regions cut into pieces that one copy moves, packed one behind the other.

use crate::copy::CHUNK;
use crate::inventory::Region;
use crate::sync::Arc;
use std::ops::Range;

/// Alignment of a piece in the store: a cache line, which is also the grain of comparison.
const ALIGNMENT: u64 = 64;

/// A part of a region.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Index of the region in the plan.
    pub(crate) region: usize,
    /// Offset in the region; a multiple of the alignment.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// Offset in the store.
    pub(crate) at: u64,
}

/// The layout of one snapshot.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) regions: Vec<Arc<Region>>,
    /// By region, then by offset.
    pub(crate) pieces: Vec<Piece>,
    /// First piece of each region, and one behind the last region.
    first: Vec<usize>,
    /// Bytes of the store in use.
    pub(crate) bytes: u64,
}

impl Plan {
    pub(crate) fn new(regions: Vec<Arc<Region>>) -> Self {
        let mut pieces = Vec::new();
        let mut first = Vec::with_capacity(regions.len() + 1);
        let mut at = 0;
        for (index, region) in regions.iter().enumerate() {
            first.push(pieces.len());
            let mut offset = 0;
            while offset < region.bytes {
                let bytes = CHUNK.min(region.bytes - offset);
                pieces.push(Piece { region: index, offset, bytes, at });
                offset += bytes;
                at += bytes.next_multiple_of(ALIGNMENT);
            }
        }
        first.push(pieces.len());
        Self { regions, pieces, first, bytes: at }
    }

    /// Bytes that are captured.
    pub(crate) fn captured(&self) -> u64 {
        self.regions.iter().map(|region| region.bytes).sum()
    }

    /// The pieces of a region.
    pub(crate) fn pieces_of(&self, region: usize) -> &[Piece] {
        &self.pieces[self.first[region]..self.first[region + 1]]
    }

    /// The parts of pieces that a range of offsets in a region covers: piece, offset in the region, bytes.
    pub(crate) fn cover(&self, region: usize, range: Range<u64>) -> impl Iterator<Item = (&Piece, u64, u64)> {
        self.pieces_of(region).iter().filter_map(move |piece| {
            let start = range.start.max(piece.offset);
            let end = range.end.min(piece.offset + piece.bytes);
            (start < end).then(|| (piece, start, end - start))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::Agent;
    use crate::inventory::RegionKind;
    use proptest::prelude::*;

    fn plan(sizes: &[u64]) -> Plan {
        let mut base = 0x1000;
        let regions = sizes.iter().map(|&bytes| {
            let region = Region::new(RegionKind::Allocation, base, bytes, Agent(1));
            base += bytes.next_multiple_of(4096) + 4096;
            Arc::new(region)
        });
        Plan::new(regions.collect())
    }

    proptest! {
        #[test]
        fn every_byte_has_exactly_one_place(sizes in prop::collection::vec(1..3 * CHUNK, 1..12)) {
            let plan = plan(&sizes);
            let mut end = 0;
            for (index, &size) in sizes.iter().enumerate() {
                let mut offset = 0;
                for piece in plan.pieces_of(index) {
                    prop_assert_eq!((piece.region, piece.offset), (index, offset));
                    prop_assert!(piece.bytes > 0 && piece.bytes <= CHUNK);
                    prop_assert!(piece.at >= end && piece.at.is_multiple_of(ALIGNMENT));
                    offset += piece.bytes;
                    end = piece.at + piece.bytes;
                }
                prop_assert_eq!(offset, size);
            }
            prop_assert!(end <= plan.bytes);
            prop_assert_eq!(plan.captured(), sizes.iter().sum::<u64>());
        }

        #[test]
        fn a_range_is_covered_once_and_in_order(
            size in 1..3 * CHUNK,
            from in 0..3 * CHUNK,
            length in 1..3 * CHUNK,
        ) {
            let plan = plan(&[size]);
            let range = from.min(size - 1)..(from.min(size - 1) + length).min(size);
            let mut at = range.start;
            for (piece, offset, bytes) in plan.cover(0, range.clone()) {
                prop_assert_eq!(offset, at);
                prop_assert!(offset >= piece.offset && offset + bytes <= piece.offset + piece.bytes);
                at += bytes;
            }
            prop_assert_eq!(at, range.end);
        }
    }
}
