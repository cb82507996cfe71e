//! The comparison against an oracle that looks at one byte at a time.

use std::ops::Range;

use hsa_replay_contract::record::RangeHasher;
use proptest::prelude::*;

use super::*;

const BASE: u64 = 0x7f12_3456_7000;

struct Compared {
    changes: ChangedRanges,
    hash: u128,
    written: WrittenBytes,
}

/// Compares in chunks of the given number of blocks; the last one takes what is left.
fn compare(before: &[u8], now: &[u8], chunk_blocks: usize, precision: Precision) -> Compared {
    let mut hash = PassHash::new();
    let mut written = WrittenBytes::new();
    let mut region = RegionComparison::new(BASE, precision);
    let chunk = chunk_blocks * BLOCK;
    for (before, now) in before.chunks(chunk).zip(now.chunks(chunk)) {
        region.feed(before, now, &mut hash, Some(&mut written));
    }
    Compared { changes: region.finish(&mut hash), hash: hash.value(), written }
}

/// Maximal runs of units for which `differs` holds.
fn naive_runs(length: usize, unit: usize, differs: impl Fn(Range<usize>) -> bool) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for start in (0..length).step_by(unit) {
        let end = length.min(start + unit);
        if !differs(start..end) {
            continue;
        }
        match runs.last_mut() {
            Some(last) if last.end == start as u64 => last.end = end as u64,
            _ => runs.push(start as u64..end as u64),
        }
    }
    runs
}

fn naive_hash(now: &[u8], blocks: &[Range<u64>]) -> u128 {
    let mut hasher = RangeHasher::new();
    for block in blocks {
        hasher.update(BASE + block.start, &now[index(block)]);
    }
    hasher.finish().0
}

fn index(range: &Range<u64>) -> Range<usize> {
    usize::try_from(range.start).unwrap()..usize::try_from(range.end).unwrap()
}

/// Closes the smallest gap until the list is short enough; of equal ones the last.
fn naive_merge(mut ranges: Vec<Range<u64>>, limit: usize) -> Vec<Range<u64>> {
    while ranges.len() > limit {
        let smallest =
            (1..ranges.len()).rev().min_by_key(|&at| ranges[at].start - ranges[at - 1].end).unwrap();
        let joined = ranges[smallest - 1].start..ranges[smallest].end;
        ranges.splice(smallest - 1..=smallest, [joined]);
    }
    ranges
}

/// A buffer and the same buffer after some stores of various lengths.
fn buffers() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let stores = prop::collection::vec((any::<prop::sample::Index>(), 1..200_usize, any::<u8>()), 0..40);
    (prop::collection::vec(0..4_u8, 1..20_000), stores).prop_map(|(before, stores)| {
        let mut now = before.clone();
        for (at, length, value) in stores {
            let at = at.index(now.len());
            let end = now.len().min(at + length);
            now[at..end].fill(value % 4);
        }
        (before, now)
    })
}

proptest! {
    #[test]
    fn ranges_hash_and_bytes_equal_the_oracles((before, now) in buffers(), chunk_blocks in 1..200_usize) {
        let compared = compare(&before, &now, chunk_blocks, Precision::Bytes);
        let runs = naive_runs(now.len(), 1, |r| before[r.clone()] != now[r]);
        let blocks = naive_runs(now.len(), BLOCK, |r| before[r.clone()] != now[r]);
        prop_assert_eq!(compared.changes.bytes, runs.iter().map(|r| r.end - r.start).sum::<u64>());
        prop_assert!(!compared.changes.merged);
        prop_assert_eq!(&compared.changes.ranges, &runs);
        prop_assert_eq!(compared.hash, naive_hash(&now, &blocks));
        let kept: Vec<_> = compared.written.pieces().map(|(at, bytes)| (at, bytes.to_vec())).collect();
        let expected: Vec<_> = blocks.iter().map(|r| (r.start, now[index(r)].to_vec())).collect();
        prop_assert_eq!(kept, expected);
        let coarse = compare(&before, &now, chunk_blocks, Precision::Blocks);
        prop_assert_eq!(coarse.changes.ranges, blocks);
        prop_assert_eq!(coarse.hash, compared.hash);
    }

    #[test]
    fn the_written_bytes_put_the_state_back((before, now) in buffers()) {
        let compared = compare(&before, &now, 16, Precision::Bytes);
        let mut restored = before;
        for (offset, bytes) in compared.written.pieces() {
            let start = usize::try_from(offset).unwrap();
            restored[start..start + bytes.len()].copy_from_slice(bytes);
        }
        prop_assert_eq!(restored, now);
    }

    #[test]
    fn hashes_agree_exactly_when_the_states_do((before, first) in buffers(), at in any::<prop::sample::Index>()) {
        let mut second = first.clone();
        second[at.index(first.len())] ^= 1;
        let hash = |state: &[u8]| compare(&before, state, 8, Precision::Blocks).hash;
        prop_assert_eq!(hash(&first), hash(&first.clone()));
        prop_assert_ne!(hash(&first), hash(&second));
    }

    #[test]
    fn too_many_runs_are_merged_over_the_smallest_gaps(
        gaps in prop::collection::vec(1..6_u64, 1..200), limit in 1..50_usize,
    ) {
        let mut collector = ranges::RangeCollector::new(limit);
        let mut runs = Vec::new();
        let mut at = 0;
        for gap in gaps {
            collector.add(at, at + 2);
            runs.push(at..at + 2);
            at += 2 + gap;
        }
        let changes = collector.finish();
        prop_assert_eq!(changes.merged, runs.len() > limit);
        prop_assert_eq!(changes.bytes, 2 * runs.len() as u64);
        prop_assert_eq!(changes.ranges, naive_merge(runs, limit));
    }

    #[test]
    fn divergences_are_the_runs_in_which_two_passes_differ(
        (before, first) in buffers(), stores in prop::collection::vec((any::<prop::sample::Index>(), 1..90_usize), 0..6),
        chunk_blocks in 1..100_usize,
    ) {
        let mut second = first.clone();
        for (at, length) in stores {
            let at = at.index(second.len());
            let end = second.len().min(at + length);
            second[at..end].iter_mut().for_each(|byte| *byte ^= 0x80);
        }
        let written = compare(&before, &first, chunk_blocks, Precision::Bytes).written;
        let mut divergences = Divergences::new();
        let chunk = chunk_blocks * BLOCK;
        for (number, (before, now)) in before.chunks(chunk).zip(second.chunks(chunk)).enumerate() {
            divergences.feed(3, 1, (number * chunk) as u64, before, &written, now);
        }
        let expected: Vec<_> = naive_runs(second.len(), 1, |r| first[r.clone()] != second[r])
            .into_iter()
            .map(|r| Divergence { region: 3, pass: 1, offset: r.start, bytes: r.end - r.start })
            .collect();
        prop_assert!(expected.len() <= MAX_DIVERGENCES);
        prop_assert_eq!(divergences.entries(), &expected);
        prop_assert!(!divergences.is_truncated());
    }
}

#[test]
fn a_dense_kernel_lists_no_more_than_the_limit() {
    // Two changed bytes in every four, as adding 1.0 to floats does.
    let before = vec![0; 64 * 1024];
    let mut now = before.clone();
    for word in now.chunks_mut(4) {
        word[2..].fill(1);
    }
    let changes = compare(&before, &now, 100, Precision::Bytes).changes;
    assert_eq!(changes.ranges.len(), MAX_RANGES);
    assert!(changes.merged);
    assert_eq!(changes.bytes, 32 * 1024);
    assert_eq!(changes.ranges[0], 2..4);
    assert_eq!(changes.ranges.last().unwrap().end, 64 * 1024);
}

#[test]
fn the_list_of_divergences_ends_at_its_limit() {
    let before = vec![0; 64 * 200];
    let mut now = before.clone();
    for block in now.chunks_mut(64) {
        block[5] = 1;
    }
    let mut divergences = Divergences::new();
    divergences.feed(0, 2, 0, &before, &WrittenBytes::new(), &now);
    assert_eq!(divergences.entries().len(), MAX_DIVERGENCES);
    assert!(divergences.is_truncated());
}

#[test]
fn passes_share_the_list_and_each_that_differs_has_a_place_while_there_is_room() {
    let before = vec![0; 64 * 200];
    let mut now = before.clone();
    for block in now.chunks_mut(64) {
        block[5] = 1;
    }
    let list = |passes: u32| {
        let mut divergences = Divergences::new();
        for pass in 1..=passes {
            // The second region differs too; the third pass differs there only.
            for region in usize::from(pass == 3)..2 {
                divergences.feed(region, pass, 0, &before, &WrittenBytes::new(), &now);
            }
        }
        assert!(divergences.is_truncated());
        divergences.entries().to_vec()
    };
    let counts = |passes: u32| -> Vec<usize> {
        list(passes).chunk_by(|one, other| one.pass == other.pass).map(<[_]>::len).collect()
    };
    assert_eq!(counts(1), [64]);
    assert_eq!(counts(2), [32, 32]);
    assert_eq!(counts(3), [22, 21, 21]);
    assert_eq!(counts(64), [1; 64]);
    assert_eq!(counts(100), [1; 64], "what comes later finds no room");
    let third = list(3).into_iter().filter(|entry| entry.pass == 3);
    assert!(third.map(|entry| (entry.region, entry.offset)).eq((0..21).map(|block| (1, block * 64 + 5))));
}

#[test]
fn a_region_at_another_address_has_another_hash() {
    let value = |base| {
        let mut hash = PassHash::new();
        let mut region = RegionComparison::new(base, Precision::Bytes);
        region.feed(&[0; 64], &[1; 64], &mut hash, None);
        region.finish(&mut hash);
        hash.value()
    };
    assert_ne!(value(0x1000), value(0x2000));
}

#[test]
#[should_panic(expected = "only the last chunk")]
fn a_chunk_behind_a_partial_block_is_refused() {
    let mut hash = PassHash::new();
    let mut region = RegionComparison::new(0, Precision::Bytes);
    region.feed(&[0; 10], &[0; 10], &mut hash, None);
    region.feed(&[0; 10], &[0; 10], &mut hash, None);
}
