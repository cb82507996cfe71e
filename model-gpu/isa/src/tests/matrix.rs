//! Matrix instructions against a plain matrix product.

use super::support::{Rig, mfma, v};

/// Small whole numbers, so that sums are exact.
fn entry(which: u32, block: u32, row: u32, column: u32) -> f32 {
    f32::from(u8::try_from((which * 7 + block * 5 + row * 3 + column * 2) % 9).expect("small")) - 4.0
}

/// The product of A's row `i` and B's column `j` plus C, by the definition.
fn expected(block: u32, depth: u32, i: u32, j: u32) -> f32 {
    (0..depth).map(|k| entry(1, block, i, k) * entry(2, block, k, j)).sum::<f32>() + entry(3, block, i, j)
}

#[test]
pub(super) fn single_precision_shapes_multiply() {
    let shapes = [
        ("v_mfma_f32_32x32x2_f32", 32, 2, 1),
        ("v_mfma_f32_16x16x4_f32", 16, 4, 1),
        ("v_mfma_f32_4x4x1_16b_f32", 4, 1, 16),
        ("v_mfma_f32_16x16x1_4b_f32", 16, 1, 4),
        ("v_mfma_f32_32x32x1_2b_f32", 32, 1, 2),
    ];
    for (mnemonic, m, depth, blocks) in shapes {
        let mut rig = Rig::new();
        let split = |lane: u32| (lane % m, lane / m % blocks, lane / m / blocks);
        rig.set(2, |lane| {
            let (i, block, k) = split(lane);
            entry(1, block, i, k).to_bits()
        });
        rig.set(3, |lane| {
            let (j, block, k) = split(lane);
            entry(2, block, k, j).to_bits()
        });
        // Results: groups of four rows; each register of each lane is one element.
        let element = |register: u32, lane: u32| {
            let j = lane % m;
            match m {
                32 => (register / 16, register % 16 / 4 * 8 + lane / 32 * 4 + register % 4, j),
                16 => (register / 4, lane / 16 * 4 + register % 4, j),
                _ => (lane / 4, register, j),
            }
        };
        let registers = m * m * blocks / 64;
        for register in 0..registers {
            rig.set(u8::try_from(40 + register).expect("small"), |lane| {
                let (block, i, j) = element(register, lane);
                entry(3, block, i, j).to_bits()
            });
        }
        rig.wave.set_exec(1);
        rig.run(&mfma(mnemonic, 80, [v(2), v(3), v(40)], [0; 3]));
        for register in 0..registers {
            for lane in 0..64 {
                let (block, i, j) = element(register, lane);
                let got = f32::from_bits(rig.get(u8::try_from(80 + register).expect("small"), lane as usize));
                assert_eq!(got, expected(block, depth, i, j), "{mnemonic} block {block} [{i}][{j}]");
            }
        }
    }
}

#[test]
pub(super) fn narrow_elements_are_packed_along_the_depth() {
    let mut rig = Rig::new();
    // A[i][k] = k + 1 in i8, B[k][j] = 1: every result is 1 + 2 + ... + 32.
    let bytes = |lane: u32, half: u32| {
        let first = lane / 16 * 8 + half * 4;
        u32::from_le_bytes(std::array::from_fn(|n| u8::try_from(first as usize + n + 1).expect("small")))
    };
    rig.set(2, |lane| bytes(lane, 0));
    rig.set(3, |lane| bytes(lane, 1));
    rig.set64(4, |_| 0x0101_0101_0101_0101);
    rig.run(&mfma("v_mfma_i32_16x16x32_i8", 80, [v(2), v(4), 128], [0; 3]));
    assert!((80..84).all(|register| (0..64).all(|lane| rig.get(register, lane) == 528)));
    // Halves: ones times twos, sixteen deep, plus one half.
    rig.set64(2, |_| 0x3c00_3c00_3c00_3c00);
    rig.set64(4, |_| 0x4000_4000_4000_4000);
    rig.run(&mfma("v_mfma_f32_16x16x16_f16", 80, [v(2), v(4), 240], [0; 3]));
    assert!((0..64).all(|lane| f32::from_bits(rig.get(83, lane)) == 32.5));
}

#[test]
pub(super) fn doubles_and_their_signs() {
    let mut rig = Rig::new();
    rig.set64(2, |_| 1.5_f64.to_bits());
    rig.set64(4, |_| 2.0_f64.to_bits());
    rig.run(&mfma("v_mfma_f64_16x16x4_f64", 80, [v(2), v(4), 242], [0; 3]));
    assert!((0..4).all(|n| f64::from_bits(rig.get64(80 + 2 * n, 17)) == 13.0));
    rig.run(&mfma("v_mfma_f64_4x4x4_4b_f64", 80, [v(2), v(4), 242], [0, 0, 1]));
    assert_eq!(f64::from_bits(rig.get64(80, 63)), -11.0, "A negated");
}
