//! Where each part of a snapshot lies.
//!
//! A region is cut into [`Piece`]s, the unit of comparison. Pieces whose memory adjoins are one [`Move`], the unit of copying:
//! their distances in the store are those on the device, so that one copy moves many small allocations.

use crate::copy::{BATCH_COPIES, CHUNK, READ};
use crate::inventory::{Region, RegionKind};
use crate::sync::Arc;
use std::ops::{Deref, Range};

/// Alignment in the store: a cache line, which is also the grain of comparison.
const ALIGNMENT: u64 = 64;
/// Memory is mapped for agents in pages at least: the rest of an allocation's last page is its own.
pub(super) const PAGE: u64 = 4096;
/// Parts to be written back that lie closer together are one copy: a copy costs at least as much as the bytes between.
pub(crate) const GAP: u64 = 4096;

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

/// Bytes that lie one behind the other both on the agent and in the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    /// Address on the agent.
    pub(crate) device: u64,
    /// Offset in the store.
    pub(crate) at: u64,
    /// At most [`CHUNK`].
    pub(crate) bytes: u64,
    /// Regions that they belong to.
    pub(crate) regions: Range<usize>,
    /// What they are part of: pieces of the plan, or parts of a list to be written back.
    pub(crate) parts: Range<usize>,
}

impl Move {
    /// Whether memory that adjoins fits into a move of `most` bytes.
    fn takes(&self, device: u64, bytes: u64, most: u64) -> bool {
        device - self.device + bytes <= most
    }

    /// Goes on to the end of another move, which adjoins.
    fn take(&mut self, other: &Self) {
        self.bytes = other.device - self.device + other.bytes;
        self.regions.end = other.regions.end;
        self.parts.end = other.parts.end;
    }
}

/// The layout of a snapshot and what one window adds to it.
#[derive(Debug)]
pub(crate) struct Plan {
    layout: Arc<Layout>,
    /// Regions of which nothing is written back but what is asked for.
    exact: Vec<bool>,
}

impl Deref for Plan {
    type Target = Layout;

    fn deref(&self) -> &Layout {
        &self.layout
    }
}

/// Where the parts of a snapshot lie: the same for all windows that capture the same regions.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) regions: Vec<Arc<Region>>,
    /// By region, then by offset.
    pub(crate) pieces: Vec<Piece>,
    /// What is copied, in the order of the pieces.
    pub(crate) moves: Vec<Move>,
    /// The same for whoever looks at the bytes right away: at most [`READ`] each.
    pub(crate) reads: Vec<Move>,
    /// First piece of each region, and one behind the last region.
    first: Vec<usize>,
    /// Bytes of the store in use.
    pub(crate) bytes: u64,
    captured: u64,
}

impl Layout {
    /// Regions come by address and do not overlap.
    pub(crate) fn new(regions: Vec<Arc<Region>>) -> Self {
        let mut plan = Self {
            captured: regions.iter().map(|region| region.bytes).sum(),
            pieces: Vec::with_capacity(regions.len()),
            moves: Vec::new(),
            reads: Vec::new(),
            first: Vec::with_capacity(regions.len() + 1),
            bytes: 0,
            regions: Vec::new(),
        };
        let mut before: Option<&Region> = None;
        for (index, region) in regions.iter().enumerate() {
            plan.first.push(plan.pieces.len());
            if region.bytes == 0 {
                continue;
            }
            let adjoins = before.replace(region).is_some_and(|before| adjoin(before, region));
            for offset in (0..region.bytes).step_by(to_usize(READ)) {
                let bytes = READ.min(region.bytes - offset);
                plan.add(index, region.base + offset, offset, bytes, adjoins || offset > 0);
            }
        }
        plan.first.push(plan.pieces.len());
        plan.regions = regions;
        plan
    }

    /// Adds a piece at a device address, to the last move if its memory adjoins and there is room.
    fn add(&mut self, region: usize, device: u64, offset: u64, bytes: u64, adjoins: bool) {
        let number = self.pieces.len();
        let one = |at| Move { device, at, bytes, regions: region..region + 1, parts: number..number + 1 };
        let mut adjoins = adjoins;
        let at = match self.moves.last_mut().filter(|last| adjoins && last.takes(device, bytes, CHUNK)) {
            Some(last) => {
                last.take(&one(0));
                last.at + (device - last.device)
            }
            None => {
                // Both sides of a copy are equally aligned, which is what copy engines like.
                let at = self.bytes.next_multiple_of(ALIGNMENT) + device % ALIGNMENT;
                self.moves.push(one(at));
                // It was saved by another move, so it is read by another.
                adjoins = false;
                at
            }
        };
        match self.reads.last_mut().filter(|last| adjoins && last.takes(device, bytes, READ)) {
            Some(last) => last.take(&one(at)),
            None => self.reads.push(one(at)),
        }
        self.bytes = at + bytes;
        self.pieces.push(Piece { region, offset, bytes, at });
    }

    /// Bytes that are captured.
    pub(crate) fn captured(&self) -> u64 {
        self.captured
    }

    /// Numbers of the pieces of a region.
    pub(crate) fn pieces_of(&self, region: usize) -> Range<usize> {
        self.first[region]..self.first[region + 1]
    }

    /// The parts of pieces that a range of offsets in a region covers: number of the piece, offset in the region, bytes.
    pub(crate) fn cover(&self, region: usize, range: Range<u64>) -> impl Iterator<Item = (usize, u64, u64)> {
        self.pieces_of(region).filter_map(move |number| {
            let piece = &self.pieces[number];
            let start = range.start.max(piece.offset);
            let end = range.end.min(piece.offset + piece.bytes);
            (start < end).then(|| (number, start, end - start))
        })
    }

    /// A move for one piece alone.
    pub(crate) fn alone(&self, number: usize) -> Move {
        let Piece { region, offset, bytes, at } = self.pieces[number];
        let device = self.regions[region].base + offset;
        Move { device, at, bytes, regions: region..region + 1, parts: number..number + 1 }
    }

    /// What of these parts a move for them covers.
    pub(crate) fn within(
        &self,
        each: &Move,
        parts: &[(usize, Range<u64>)],
    ) -> impl Iterator<Item = (usize, Range<u64>)> {
        parts[each.parts.clone()].iter().filter_map(|(region, range)| {
            let base = self.regions[*region].base;
            let start = each.device.max(base + range.start);
            let end = (each.device + each.bytes).min(base + range.end);
            (start < end).then(|| (*region, start - base..end - base))
        })
    }

    /// The regions of a move.
    pub(crate) fn regions_of(&self, each: &Move) -> &[Arc<Region>] {
        &self.regions[each.regions.clone()]
    }
}

impl Plan {
    /// Regions come by address and do not overlap.
    #[cfg(test)]
    pub(crate) fn new(regions: Vec<Arc<Region>>) -> Self {
        Self::of(Arc::new(Layout::new(regions)))
    }

    pub(crate) fn of(layout: Arc<Layout>) -> Self {
        Self { exact: vec![false; layout.regions.len()], layout }
    }

    /// Of regions that the kernel does not reach nothing is written back but what is asked for: what lies between may be somebody
    /// else's by now.
    pub(crate) fn write_exactly_unless(&mut self, reached: &[bool]) {
        self.exact = reached.iter().map(|reached| !reached).collect();
    }

    /// Whether nothing of a region is to be written back but what is asked for.
    pub(crate) fn is_exact(&self, region: usize) -> bool {
        self.exact[region]
    }

    /// How to copy these parts of regions, which come by region and offset. Regions share a move only if `joined`, and only
    /// where one move of the snapshot has saved what lies between them too.
    pub(crate) fn moves_for(&self, parts: &[(usize, Range<u64>)], joined: bool) -> Vec<Move> {
        let mut moves: Vec<Move> = Vec::new();
        let mut saved = 0;
        let mut last_saved = 0;
        for (part, (region, range)) in parts.iter().enumerate() {
            let region = *region;
            for (number, offset, bytes) in self.cover(region, range.clone()) {
                while self.moves[saved].parts.end <= number {
                    saved += 1;
                }
                let piece = &self.pieces[number];
                let at = piece.at + (offset - piece.offset);
                let device = self.regions[region].base + offset;
                let near = |last: &Move| {
                    let adjoins = device == last.device + last.bytes;
                    let between = self.exact[region] || self.exact[last.regions.end - 1];
                    saved == last_saved
                        && (adjoins || !between)
                        && (last.regions.end == region + 1 || (joined && last.regions.end == region))
                        && device <= last.device + last.bytes + GAP
                };
                match moves.last_mut().filter(|last| near(last)) {
                    Some(last) => {
                        last.bytes = device + bytes - last.device;
                        last.regions.end = region + 1;
                        last.parts.end = part + 1;
                    }
                    None => {
                        let (regions, parts) = (region..region + 1, part..part + 1);
                        moves.push(Move { device, at, bytes, regions, parts });
                    }
                }
                last_saved = saved;
            }
        }
        moves
    }
}

/// Gathers moves into groups that a block of `room` bytes can hold, each move with its place there. A move that is larger than the
/// block is a group of its own.
pub(crate) fn groups(moves: &[Move], room: u64) -> impl Iterator<Item = Vec<(&Move, u64)>> {
    let mut rest = moves;
    std::iter::from_fn(move || {
        let mut group = Vec::new();
        let mut end: u64 = 0;
        while let Some((each, others)) = rest.split_first() {
            let at = end.next_multiple_of(ALIGNMENT) + each.device % ALIGNMENT;
            if !group.is_empty() && (group.len() == BATCH_COPIES || at + each.bytes > room) {
                break;
            }
            end = at + each.bytes;
            group.push((each, at));
            rest = others;
        }
        (!group.is_empty()).then_some(group)
    })
}

/// Whether nothing but the rest of the first one's last page lies between two allocations.
fn adjoin(first: &Region, second: &Region) -> bool {
    // What lies between segments of code is not known.
    let known = |region: &Region| !matches!(region.kind, RegionKind::Module(_));
    let page_end = first.end().checked_next_multiple_of(PAGE).unwrap_or(first.end());
    known(first) && known(second) && (first.end()..=page_end).contains(&second.base)
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
