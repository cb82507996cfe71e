//! Formatted buffers.

use super::support::{DATA, Rig, opcode};
use crate::instruction::Encoding;

/// A typed buffer instruction: resource in s[8:11], data from v10, no offsets.
fn typed(mnemonic: &str, data_format: u32, number_format: u32) -> [u32; 2] {
    let low = 0xe800_0000 | opcode(Encoding::Mtbuf, mnemonic) << 15 | data_format << 19 | number_format << 23;
    [low, 128 << 24 | 2 << 16 | 10 << 8]
}

fn untyped(mnemonic: &str) -> [u32; 2] {
    [0xe000_0000 | opcode(Encoding::Mubuf, mnemonic) << 18, 128 << 24 | 2 << 16 | 10 << 8]
}

/// A buffer of 64 bytes at the data. `word3` is the resource's format.
fn rig(word3: u32) -> Rig {
    let mut rig = Rig::new();
    rig.wave.set_sgpr64(8, DATA);
    rig.wave.set_sgpr(10, 64);
    rig.wave.set_sgpr(11, word3);
    rig.wave.set_exec(1);
    rig
}

fn float(value: f32) -> u32 {
    value.to_bits()
}

/// Data and number formats, the bytes of an element, and what loads.
const CASES: [(u32, u32, [u32; 4], [f32; 4]); 15] = [
    (1, 0, [0xff, 0, 0, 0], [1.0, 0.0, 0.0, 1.0]),
    (1, 1, [0x81, 0, 0, 0], [-1.0, 0.0, 0.0, 1.0]),
    (2, 2, [0x1234, 0, 0, 0], [4660.0, 0.0, 0.0, 1.0]),
    (2, 7, [0xc000, 0, 0, 0], [-2.0, 0.0, 0.0, 1.0]),
    (3, 3, [0xfe03, 0, 0, 0], [3.0, -2.0, 0.0, 1.0]),
    (4, 7, [0x4040_0000, 0, 0, 0], [3.0, 0.0, 0.0, 1.0]),
    (5, 7, [0x4000_3c00, 0, 0, 0], [1.0, 2.0, 0.0, 1.0]),
    (6, 7, [0x1e0 << 22 | 0x400 << 11 | 0x3c0, 0, 0, 0], [1.0, 2.0, 1.0, 1.0]),
    (7, 7, [0x3c0 << 21 | 0x3c0 << 10 | 0x200, 0, 0, 0], [2.0, 1.0, 1.0, 1.0]),
    (8, 0, [3 | 0x3ff << 12, 0, 0, 0], [1.0, 0.0, 1.0, 0.0]),
    (9, 0, [0x3ff | 2 << 30, 0, 0, 0], [1.0, 0.0, 0.0, 2.0 / 3.0]),
    (10, 2, [0x0403_0201, 0, 0, 0], [1.0, 2.0, 3.0, 4.0]),
    (11, 7, [0x3f80_0000, 0x4000_0000, 0, 0], [1.0, 2.0, 0.0, 1.0]),
    (12, 7, [0x4000_3c00, 0x4400_4200, 0, 0], [1.0, 2.0, 3.0, 4.0]),
    (14, 7, [0x3f80_0000, 0x4000_0000, 0x4040_0000, 0x4080_0000], [1.0, 2.0, 3.0, 4.0]),
];

#[test]
pub(super) fn typed_loads_convert_and_stores_give_the_bytes_back() {
    for (data, number, words, values) in CASES {
        let mut rig = rig(0);
        for (n, word) in (0..).zip(words) {
            rig.memory.write32(DATA + 4 * n, word);
        }
        rig.run(&typed("tbuffer_load_format_xyzw", data, number));
        let got = [10, 11, 12, 13].map(|register| f32::from_bits(rig.get(register, 0)));
        assert_eq!(got, values, "format {data}.{number}");
        let written: u32 =
            [0, 1, 2, 2, 4, 4, 4, 4, 4, 4, 4, 8, 8, 12, 16].get(data as usize).copied().unwrap_or(16);
        let written = if data == 10 { 4 } else { written };
        for n in 0..4 {
            rig.memory.write32(DATA + 4 * n, 0xeeee_eeee);
        }
        rig.run(&typed("tbuffer_store_format_xyzw", data, number));
        for (n, word) in (0..4_u32).zip(words) {
            let bytes = (written.saturating_sub(4 * n)).min(4);
            let mask = u32::try_from((1_u64 << (8 * bytes)) - 1).expect("at most 32 bits");
            let expected = word & mask | 0xeeee_eeee & !mask;
            assert_eq!(
                rig.memory.read32(DATA + 4 * u64::from(n)),
                expected,
                "format {data}.{number} word {n}"
            );
        }
    }
}

#[test]
pub(super) fn integers_load_as_they_are_and_refuse_to_be_cut() {
    let mut rig = rig(0);
    rig.memory.write32(DATA, 0x80ff);
    rig.run(&typed("tbuffer_load_format_xy", 3, 5));
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (u32::MAX, 0xffff_ff80));
    rig.run(&typed("tbuffer_load_format_xyzw", 3, 4));
    assert_eq!([10, 11, 12, 13].map(|n| rig.get(n, 0)), [0xff, 0x80, 0, 1]);
    rig.set(10, |_| 0x100);
    let refused = rig.try_run(&typed("tbuffer_store_format_x", 1, 4)).expect_err("does not fit").to_string();
    assert!(refused.contains("does not fit"), "{refused}");
    let refused = rig.try_run(&typed("tbuffer_load_format_x", 15, 4)).expect_err("no format").to_string();
    assert!(refused.contains("data format 15"), "{refused}");
}

#[test]
pub(super) fn untyped_loads_take_format_and_order_from_the_resource() {
    // 8_8_8_8 unsigned scaled; z, y, x and one.
    let mut rig = rig(10 << 15 | 2 << 12 | 6 | 5 << 3 | 4 << 6 | 1 << 9);
    rig.memory.write32(DATA, 0x0403_0201);
    rig.run(&untyped("buffer_load_format_xyzw"));
    assert_eq!([10, 11, 12, 13].map(|n| rig.get(n, 0)), [3.0, 2.0, 1.0, 1.0].map(float));
    rig.run(&untyped("buffer_load_format_xy"));
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (float(3.0), float(2.0)));
    rig.set(10, |_| float(7.0));
    rig.set(11, |_| float(300.0));
    rig.run(&untyped("buffer_store_format_xy"));
    assert_eq!(rig.memory.read32(DATA), 0xff07);
    rig.set(20, |_| 0);
    // Beyond the buffer nothing is loaded.
    rig.wave.set_sgpr(10, 3);
    rig.run(&untyped("buffer_load_format_x"));
    assert_eq!(rig.get(10, 0), 0);
}

#[test]
pub(super) fn halves_are_packed_in_pairs() {
    let mut rig = rig(12 << 15 | 7 << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9);
    rig.memory.write32(DATA, 0x4000_3c00);
    rig.memory.write32(DATA + 4, 0x4400_4200);
    rig.run(&untyped("buffer_load_format_d16_xyzw"));
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (0x4000_3c00, 0x4400_4200));
    rig.run(&typed("tbuffer_load_format_d16_xyz", 12, 7));
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (0x4000_3c00, 0x4200));
    rig.set(10, |_| 0x5555_6666);
    rig.run(&untyped("buffer_load_format_d16_hi_x"));
    assert_eq!(rig.get(10, 0), 0x3c00_6666);
    rig.run(&untyped("buffer_store_format_d16_hi_x"));
    assert_eq!(rig.memory.read32(DATA) & 0xffff, 0x3c00);
    rig.set(10, |_| 0x4200_4400);
    rig.run(&typed("tbuffer_store_format_d16_xy", 11, 7));
    assert_eq!((rig.memory.read32(DATA), rig.memory.read32(DATA + 4)), (float(4.0), float(3.0)));
}

#[test]
pub(super) fn every_number_of_components_loads_and_stores() {
    for (n, name) in (1_usize..).zip(["x", "xy", "xyz", "xyzw"]) {
        for short in [false, true] {
            let kind = if short { "format_d16" } else { "format" };
            for typed_form in [false, true] {
                let prefix = if typed_form { "tbuffer" } else { "buffer" };
                // Unsigned integers of 16 bits.
                let mut rig = rig(12 << 15 | 4 << 12 | 4 | 5 << 3 | 6 << 6 | 7 << 9);
                rig.memory.write32(DATA, 0x0022_0011);
                rig.memory.write32(DATA + 4, 0x0044_0033);
                let encode = |what: &str| {
                    let mnemonic = format!("{prefix}_{what}_{kind}_{name}");
                    if typed_form { typed(&mnemonic, 12, 4) } else { untyped(&mnemonic) }
                };
                for register in 10..14 {
                    rig.set(register, |_| 0);
                }
                rig.run(&encode("load"));
                let part = |rig: &Rig, k: usize| {
                    let [register, shift] = if short { [10 + k / 2, 16 * (k % 2)] } else { [10 + k, 0] };
                    rig.get(u8::try_from(register).expect("small"), 0) >> shift & 0xffff
                };
                for k in 0..4 {
                    let expected = if k < n { [0x11, 0x22, 0x33, 0x44][k] } else { 0 };
                    assert_eq!(part(&rig, k), expected, "{prefix} {kind}_{name} component {k}");
                }
                rig.memory.write32(DATA, 0x7777_7777);
                rig.memory.write32(DATA + 4, 0x7777_7777);
                rig.run(&encode("store"));
                let stored = [rig.memory.read32(DATA), rig.memory.read32(DATA + 4)];
                let expected = |k: usize| if k < n { [0x11, 0x22, 0x33, 0x44][k] } else { 0 };
                assert_eq!(stored, [expected(0) | expected(1) << 16, expected(2) | expected(3) << 16]);
            }
        }
    }
}
