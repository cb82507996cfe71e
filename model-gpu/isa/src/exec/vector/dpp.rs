//! Data-parallel primitives: which lane each lane reads from.

use crate::WAVE_SIZE;
use crate::instruction::Dpp;

/// Whether the decoder should accept the control value.
pub(crate) fn known(control: u16) -> bool {
    matches!(control, 0..=0xff | 0x101..=0x10f | 0x111..=0x11f | 0x121..=0x12f | 0x130 | 0x134 | 0x138 | 0x13c
        | 0x140..=0x143 | 0x150..=0x15f)
}

/// The source lane, or none when it is out of bounds.
fn source(control: u16, lane: usize) -> Option<usize> {
    let (row, place) = (lane & !15, lane & 15);
    let count = usize::from(control & 15);
    match control {
        0..=0xff => Some((lane & !3) | usize::from(control >> (2 * (lane & 3)) & 3)),
        0x101..=0x10f => (place + count < 16).then(|| lane + count),
        0x111..=0x11f => (place >= count).then(|| lane - count),
        0x121..=0x12f => Some(row | ((place + 16 - count) & 15)),
        0x130 => (lane + 1 < WAVE_SIZE).then(|| lane + 1),
        0x134 => Some((lane + 1) % WAVE_SIZE),
        0x138 => lane.checked_sub(1),
        0x13c => Some((lane + WAVE_SIZE - 1) % WAVE_SIZE),
        0x140 => Some(row | (15 - place)),
        0x141 => Some((lane & !7) | (7 - (lane & 7))),
        0x142 => row.checked_sub(1),
        0x143 => (lane >= 32).then_some(31),
        0x150..=0x15f => Some(row | count),
        _ => None,
    }
}

/// A row with each lane's value taken from its source lane, zero where there is none. A lane that EXEC turns off is no
/// source.
#[inline(never)]
pub(crate) fn permute<T: Copy + Default>(dpp: Dpp, exec: u64, row: &[T; WAVE_SIZE]) -> [T; WAVE_SIZE] {
    std::array::from_fn(|lane| match source(dpp.control, lane) {
        Some(from) if exec >> from & 1 == 1 => row[from],
        _ => T::default(),
    })
}

/// The lanes that are written.
#[inline(never)]
pub(crate) fn write_mask(dpp: Dpp, exec: u64) -> u64 {
    let mut mask = 0;
    for lane in 0..WAVE_SIZE {
        let selected = dpp.row_mask >> (lane / 16) & 1 == 1 && dpp.bank_mask >> (lane / 4 % 4) & 1 == 1;
        let valid = source(dpp.control, lane).is_some_and(|from| exec >> from & 1 == 1);
        mask |= u64::from(selected && (valid || dpp.bound_control)) << lane;
    }
    mask & exec
}
