//! Scanning two buffers for differences at the speed of memory.
//!
//! Equal pages are skipped by one comparison each; within a page that differs, blocks of 64 bytes become bit masks.

/// Bytes of a block, the unit of hashes and saved bytes.
pub const BLOCK: usize = 64;

/// Bytes compared at once to skip what is equal.
const PAGE: usize = 4096;

/// Calls `changed` with the offset and the difference mask of each block that differs, ascending: bit *i* stands for byte
/// *i* of the block. The last block may be short.
pub(super) fn for_each_changed_block(before: &[u8], now: &[u8], mut changed: impl FnMut(usize, u64)) {
    assert_eq!(before.len(), now.len(), "both sides of a comparison have one length");
    for (page, (before, now)) in before.chunks(PAGE).zip(now.chunks(PAGE)).enumerate() {
        if before == now {
            continue;
        }
        let (before_blocks, before_tail) = before.as_chunks::<BLOCK>();
        let (now_blocks, now_tail) = now.as_chunks::<BLOCK>();
        for (block, (before, now)) in before_blocks.iter().zip(now_blocks).enumerate() {
            let mask = difference_mask(before, now);
            if mask != 0 {
                changed(page * PAGE + block * BLOCK, mask);
            }
        }
        if before_tail != now_tail {
            let mask = difference_mask(&padded(before_tail), &padded(now_tail));
            changed(page * PAGE + before_blocks.len() * BLOCK, mask);
        }
    }
}

/// Calls `run` with the start and end of each maximal run of set bits, ascending.
pub(super) fn for_each_run(mut mask: u64, mut run: impl FnMut(u32, u32)) {
    while mask != 0 {
        let start = mask.trailing_zeros();
        let end = start + (mask >> start).trailing_ones();
        run(start, end);
        mask = mask.checked_shr(end).unwrap_or(0).checked_shl(end).unwrap_or(0);
    }
}

/// One bit for each byte that differs. Written so that the compiler turns it into vector instructions.
fn difference_mask(before: &[u8; BLOCK], now: &[u8; BLOCK]) -> u64 {
    // Each byte that differs becomes its own bit of the eight that its word will give.
    let mut bits = [0_u8; BLOCK];
    for at in 0..BLOCK {
        let differs = if before[at] == now[at] { 0 } else { u8::MAX };
        bits[at] = differs & (1 << (at % 8));
    }
    let mut mask = [0; 8];
    for (byte, word) in mask.iter_mut().zip(bits.as_chunks::<8>().0) {
        let mut word = u64::from_le_bytes(*word);
        word |= word >> 32;
        word |= word >> 16;
        word |= word >> 8;
        *byte = word.to_le_bytes()[0];
    }
    u64::from_le_bytes(mask)
}

fn padded(tail: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..tail.len()].copy_from_slice(tail);
    block
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn runs(mask: u64) -> Vec<(u32, u32)> {
        let mut result = Vec::new();
        for_each_run(mask, |start, end| result.push((start, end)));
        result
    }

    #[test]
    fn runs_at_both_ends_of_a_mask_are_found() {
        assert_eq!(runs(1 | 0b110 << 10 | 1 << 63), [(0, 1), (11, 13), (63, 64)]);
    }

    #[test]
    fn a_full_mask_is_one_run() {
        assert_eq!(runs(u64::MAX), [(0, 64)]);
    }

    proptest! {
        #[test]
        fn a_mask_has_a_bit_for_each_byte_that_differs(
            before in prop::collection::vec(0..3_u8, BLOCK), now in prop::collection::vec(0..3_u8, BLOCK),
        ) {
            let expected = (0..BLOCK).fold(0, |mask, at| mask | u64::from(before[at] != now[at]) << at);
            let (before, now) = (padded(&before), padded(&now));
            prop_assert_eq!(difference_mask(&before, &now), expected);
        }
    }

    #[test]
    fn a_short_last_block_is_compared() {
        let before = [7; PAGE + 70];
        let mut now = before;
        now[PAGE + 69] = 8;
        let mut seen = Vec::new();
        for_each_changed_block(&before, &now, |offset, mask| seen.push((offset, mask)));
        assert_eq!(seen, [(PAGE + 64, 1 << 5)]);
    }
}
