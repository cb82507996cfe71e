//! Layouts of snapshots and what they are cut into.

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
