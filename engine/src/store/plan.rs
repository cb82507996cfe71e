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
mod tests {
    use super::*;
    use crate::handles::Agent;
    use proptest::prelude::*;

    /// Regions by size and distance from the end of the one before.
    fn plan(sizes: &[(u64, u64)]) -> Plan {
        let mut base = 0x1000;
        let regions = sizes.iter().map(|&(bytes, distance)| {
            base += distance;
            let region = Region::new(RegionKind::Allocation, base, bytes, Agent(1));
            base += bytes;
            Arc::new(region)
        });
        Plan::new(regions.collect())
    }

    fn sizes() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let size = prop_oneof![0..10_u64, 0..10_000_u64, 1..3 * CHUNK];
        let distance = prop_oneof![Just(0), 0..5000_u64];
        prop::collection::vec((size, distance), 1..12)
    }

    proptest! {
        #[test]
        fn every_byte_has_exactly_one_place(sizes in sizes()) {
            let plan = plan(&sizes);
            let mut end = 0;
            for (index, &(size, _)) in sizes.iter().enumerate() {
                let mut offset = 0;
                for piece in &plan.pieces[plan.pieces_of(index)] {
                    prop_assert_eq!((piece.region, piece.offset), (index, offset));
                    prop_assert!(piece.bytes > 0 && piece.bytes <= READ && piece.at >= end);
                    offset += piece.bytes;
                    end = piece.at + piece.bytes;
                }
                prop_assert_eq!(offset, size);
            }
            prop_assert!(end <= plan.bytes);
            prop_assert_eq!(plan.captured(), sizes.iter().map(|(size, _)| size).sum::<u64>());
        }

        #[test]
        fn a_range_is_covered_once_and_in_order(
            size in 1..3 * CHUNK,
            from in 0..3 * CHUNK,
            length in 1..3 * CHUNK,
        ) {
            let plan = plan(&[(size, 0)]);
            let range = from.min(size - 1)..(from.min(size - 1) + length).min(size);
            let mut at = range.start;
            for (number, offset, bytes) in plan.cover(0, range.clone()) {
                let piece = &plan.pieces[number];
                prop_assert_eq!(offset, at);
                prop_assert!(offset >= piece.offset && offset + bytes <= piece.offset + piece.bytes);
                at += bytes;
            }
            prop_assert_eq!(at, range.end);
        }

        #[test]
        fn moves_have_every_piece_once_and_nothing_but_ends_of_pages_beside(sizes in sizes()) {
            let plan = plan(&sizes);
            let mut next = 0;
            for each in &plan.moves {
                prop_assert_eq!(each.parts.start, next);
                next = each.parts.end;
                prop_assert!(each.bytes <= CHUNK);
                let mut end = each.device;
                for piece in &plan.pieces[each.parts.clone()] {
                    let device = plan.regions[piece.region].base + piece.offset;
                    prop_assert_eq!(device - each.device, piece.at - each.at);
                    prop_assert!((end..=end.next_multiple_of(PAGE)).contains(&device));
                    end = device + piece.bytes;
                    prop_assert!(each.regions.contains(&piece.region));
                }
                prop_assert_eq!(end, each.device + each.bytes);
            }
            prop_assert_eq!(next, plan.pieces.len());
        }

        #[test]
        fn reads_have_every_piece_once_and_lie_in_one_move_each(sizes in sizes()) {
            let plan = plan(&sizes);
            let mut next = 0;
            for read in &plan.reads {
                prop_assert_eq!(read.parts.start, next);
                next = read.parts.end;
                prop_assert!(read.bytes <= READ);
                let (first, last) = (&plan.pieces[read.parts.start], &plan.pieces[read.parts.end - 1]);
                prop_assert_eq!(read.device, plan.regions[first.region].base + first.offset);
                prop_assert_eq!((read.at, read.at + read.bytes), (first.at, last.at + last.bytes));
                prop_assert_eq!(&read.regions, &(first.region..last.region + 1));
                let within = plan.moves.iter().find(|saved| saved.parts.contains(&read.parts.start));
                let within = within.expect("was saved");
                prop_assert!(read.parts.end <= within.parts.end);
                prop_assert_eq!(read.device - within.device, read.at - within.at);
            }
            prop_assert_eq!(next, plan.pieces.len());
        }

        #[test]
        fn parts_are_written_back_completely_from_where_they_were_saved(
            sizes in sizes(), cuts in prop::collection::vec(0.0..1.0_f64, 24), joined in any::<bool>(),
        ) {
            let plan = plan(&sizes);
            let parts: Vec<(usize, Range<u64>)> = sizes.iter().enumerate().filter_map(|(region, &(size, _))| {
                #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
                let [a, b] = [0, 1].map(|side| (cuts[region * 2 + side] * size as f64) as u64);
                (a != b).then(|| (region, a.min(b)..a.max(b)))
            }).collect();
            let moves = plan.moves_for(&parts, joined);
            for each in &moves {
                prop_assert!(joined || each.regions.len() == 1);
                // All of it lies in one move of the snapshot, at the same distance.
                let saved = plan.moves.iter().find(|saved| {
                    saved.device <= each.device && each.device + each.bytes <= saved.device + saved.bytes
                });
                let saved = saved.expect("was saved");
                prop_assert_eq!(each.device - saved.device, each.at - saved.at);
            }
            for (number, (region, range)) in parts.iter().enumerate() {
                let base = plan.regions[*region].base;
                let covered: u64 = moves.iter().filter(|each| each.parts.contains(&number)).map(|each| {
                    let start = each.device.max(base + range.start);
                    (each.device + each.bytes).min(base + range.end).saturating_sub(start)
                }).sum();
                prop_assert_eq!(covered, range.end - range.start);
            }
        }

        #[test]
        fn groups_hold_every_move_once_without_overlap(sizes in sizes()) {
            let plan = plan(&sizes);
            let room = CHUNK + PAGE;
            let mut all = Vec::new();
            for group in groups(&plan.moves, room) {
                let mut end = 0;
                for (each, at) in group {
                    prop_assert!(at >= end && at + each.bytes <= room);
                    end = at + each.bytes;
                    all.push(each.clone());
                }
            }
            prop_assert_eq!(&all, &plan.moves);
        }
    }

    #[test]
    fn code_is_never_copied_with_its_neighbours() {
        let module = crate::code::ModuleRegion {
            agent: Agent(1),
            executable: crate::handles::Executable(1),
            generation: 0,
            base: 0x2000,
            size: 100,
            parts: Vec::new(),
        };
        let code = Region::new(RegionKind::Module(Arc::new(module)), 0x2000, 100, Agent(1));
        let data = Region::new(RegionKind::Allocation, 0x3000, 100, Agent(1));
        assert_eq!(Plan::new(vec![Arc::new(code), Arc::new(data)]).moves.len(), 2);
    }
}
