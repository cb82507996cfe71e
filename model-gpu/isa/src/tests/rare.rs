//! Instructions that compilers rarely or never emit.

use super::support::{DATA, Rig, SCRATCH, ds, mfma, smem, sop1, sop2, sopc, sopk, sopp, v, vop1, vop2, vop3};
use crate::Stop;

#[test]
pub(super) fn scalar_stores_write_global_buffer_and_scratch_memory() {
    let mut rig = Rig::new();
    for n in 0..4 {
        rig.wave.set_sgpr(8 + n, 0x100 + u32::from(n));
    }
    rig.wave.set_sgpr64(4, DATA);
    rig.run(&smem("s_store_dword", false, 4));
    rig.run(&smem("s_store_dwordx4", false, 16));
    assert_eq!(
        [4, 16, 20, 24, 28].map(|at| rig.memory.read32(DATA + at)),
        [0x100, 0x100, 0x101, 0x102, 0x103]
    );
    // A buffer of twelve bytes: the store beyond is dropped.
    rig.wave.set_sgpr64(6, 12);
    rig.run(&smem("s_buffer_store_dwordx2", false, 8));
    assert_eq!([8, 12].map(|at| rig.memory.read32(DATA + at)), [0x100, 0]);
    // A scalar offset into scratch counts for each of 64 lanes.
    rig.wave.set_sgpr64(4, SCRATCH);
    rig.wave.set_sgpr(3, 4);
    let [low, _] = smem("s_scratch_store_dwordx2", false, 0);
    rig.run(&[low & !(1 << 17), 3]);
    assert_eq!(rig.memory.read32(SCRATCH + 256 + 4), 0x101);
    let [low, _] = smem("s_scratch_load_dword", false, 0);
    rig.run(&[low & !(1 << 17) & !(0x7f << 6) | 20 << 6, 3]);
    assert_eq!(rig.wave.sgpr(20), 0x100);
}

#[test]
pub(super) fn scalar_atomics_return_the_value_before_when_asked() {
    type Case = (&'static str, u64, u64);
    let cases: [Case; 12] = [
        ("swap", 7, 3),
        ("add", 7, 10),
        ("sub", 7, 4),
        ("smin", u64::MAX, u64::MAX),
        ("umin", u64::MAX, 7),
        ("smax", u64::MAX, 7),
        ("umax", u64::MAX, u64::MAX),
        ("and", 6, 2),
        ("or", 5, 7),
        ("xor", 5, 6),
        ("inc", 3, 0),
        ("dec", 7, 3),
    ];
    for (name, other, expected) in cases {
        for wide in [false, true] {
            for buffer in ["", "buffer_"] {
                let mnemonic = format!("s_{buffer}atomic_{name}{}", if wide { "_x2" } else { "" });
                let mut rig = Rig::new();
                // The cases are commutative but for the ones whose second operand is 3; the greater one is in memory.
                let (memory, data) = match name {
                    "smin" | "umin" | "smax" | "umax" => (7, other),
                    _ => (other, 3),
                };
                rig.memory.write32(DATA + 8, low(memory));
                rig.memory.write32(DATA + 12, high(memory));
                rig.wave.set_sgpr64(4, DATA);
                rig.wave.set_sgpr64(6, 64);
                rig.wave.set_sgpr64(8, data);
                rig.run(&smem(&mnemonic, true, 8));
                let got =
                    u64::from(rig.memory.read32(DATA + 8)) | u64::from(rig.memory.read32(DATA + 12)) << 32;
                let mask = if wide { u64::MAX } else { 0xffff_ffff };
                assert_eq!(got & mask, expected & mask, "{mnemonic}");
                assert_eq!(rig.wave.sgpr64(8) & mask, memory & mask, "{mnemonic} returns");
            }
        }
    }
}

fn low(value: u64) -> u32 {
    u32::try_from(value & 0xffff_ffff).expect("masked")
}

fn high(value: u64) -> u32 {
    low(value >> 32)
}

#[test]
pub(super) fn scalar_compare_and_swap_takes_the_new_value_first() {
    let mut rig = Rig::new();
    rig.memory.write32(DATA, 5);
    rig.wave.set_sgpr64(4, DATA);
    rig.wave.set_sgpr(8, 9);
    rig.wave.set_sgpr(9, 4);
    rig.run(&smem("s_atomic_cmpswap", false, 0));
    assert_eq!((rig.memory.read32(DATA), rig.wave.sgpr(8)), (5, 9), "unequal, and nothing is returned");
    rig.wave.set_sgpr(9, 5);
    rig.run(&smem("s_atomic_cmpswap", true, 0));
    assert_eq!((rig.memory.read32(DATA), rig.wave.sgpr(8)), (9, 5));
    rig.wave.set_sgpr64(8, 0x1_0000_0002);
    rig.wave.set_sgpr64(10, 9);
    rig.wave.set_sgpr64(6, 8);
    rig.run(&smem("s_buffer_atomic_cmpswap_x2", false, 0));
    assert_eq!((rig.memory.read32(DATA), rig.memory.read32(DATA + 4)), (2, 1));
}

#[test]
pub(super) fn forks_run_the_smaller_part_first_and_join_both() {
    let mut rig = Rig::new();
    // s[10:11]: lanes 0 to 2. Those that pass jump over one instruction, which the others execute.
    rig.wave.set_sgpr64(10, 7);
    rig.wave.set_sgpr(12, 0);
    rig.set(2, |_| 1);
    rig.run(&[
        sopk("s_cbranch_i_fork", 10, 2),
        vop2("v_add_u32", 2, 128 + 10, 2),
        sopp("s_branch", 1),
        vop2("v_add_u32", 2, 128 + 20, 2),
        sop1("s_cbranch_join", 0, 12),
        vop2("v_add_u32", 2, 128 + 40, 2),
    ]);
    assert_eq!([0, 2, 3, 63].map(|lane| rig.get(2, lane)), [21, 21, 51, 51]);
    assert_eq!(rig.wave.exec(), !7, "the mask of the last part to join: the program restores its own");
    // All lanes one way: no stack.
    rig.wave.set_exec(7);
    rig.wave.set_sgpr64(14, super::support::CODE + 8);
    rig.run(&[
        sop2("s_cbranch_g_fork", 0, 10, 14),
        vop2("v_add_u32", 2, 128 + 1, 2),
        sop1("s_cbranch_join", 0, 12),
    ]);
    assert_eq!(rig.get(2, 0), 21);
    let empty = rig.try_run(&[sop1("s_cbranch_join", 0, 129)]).expect_err("nothing to join");
    assert!(empty.to_string().contains("stack"), "{empty}");
}

#[test]
pub(super) fn vector_instructions_are_skipped_while_vskip_is_on() {
    let mut rig = Rig::new();
    rig.set(2, |_| 1);
    rig.wave.set_sgpr(3, 4);
    rig.run(&[sopc("s_setvskip", 3, 130), vop1("v_mov_b32", 2, 128 + 9), sop1("s_mov_b32", 5, 128 + 7)]);
    assert_eq!((rig.get(2, 0), rig.wave.sgpr(5)), (1, 7));
    rig.run(&[sopc("s_setvskip", 3, 128), vop1("v_mov_b32", 2, 128 + 9)]);
    assert_eq!(rig.get(2, 0), 9);
}

#[test]
pub(super) fn privileged_and_graphics_instructions_are_refused_by_name() {
    for (words, reason) in [
        (vec![sop1("s_rfe_b64", 0, 4)], "s_rfe_b64: outside of a trap handler"),
        (vec![sop2("s_rfe_restore_b64", 0, 4, 6)], "s_rfe_restore_b64: outside of a trap handler"),
        (vec![sopp("s_endpgm_saved", 0)], "s_endpgm_saved: outside of a trap handler"),
        (vec![vop1("v_screen_partition_4se_b32", 2, v(3))], "screen partition"),
    ] {
        let refused = Rig::new().try_run(&words).expect_err("refused").to_string();
        assert!(refused.contains(reason), "{refused}");
    }
    assert_eq!(Rig::new().try_run(&[sopp("s_setkill", 1), 0]), Ok(Stop::EndOfProgram));
    assert_eq!(Rig::new().try_run(&[sopp("s_endpgm_ordered_ps_done", 0), 0]), Ok(Stop::EndOfProgram));
    Rig::new().run(&[sopp("s_setkill", 0)]);
    for probe in ["s_atc_probe", "s_atc_probe_buffer", "s_dcache_discard", "s_dcache_discard_x2"] {
        Rig::new().run(&smem(probe, false, 0));
    }
}

#[test]
pub(super) fn swizzles_rotate_and_reverse() {
    let mut rig = Rig::new();
    rig.set(2, |lane| lane);
    let mut swizzled = |pattern: u32| {
        rig.run(&ds("ds_swizzle_b32", 10, 2, [0, 0], pattern));
        *rig.wave.vgpr(10)
    };
    // Lanes take what is three above them, within groups of 32.
    let up = swizzled(0xc000 | 3 << 5);
    assert_eq!([up[0], up[29], up[31], up[32], up[63]], [3, 0, 2, 35, 34]);
    let down = swizzled(0xc000 | 1 << 10 | 3 << 5);
    assert_eq!([down[3], down[0], down[32]], [0, 29, 61]);
    // Bits of the mask stay.
    assert_eq!(swizzled(0xc000 | 8 << 5 | 7)[6], 14);
    let reversed = swizzled(0xe000);
    assert_eq!([reversed[1], reversed[2], reversed[3], reversed[33]], [16, 8, 24, 48]);
    // One bit kept: the others are reversed among themselves, below it or beside it.
    assert_eq!(swizzled(0xe000 | 16)[17], 24);
}

#[test]
pub(super) fn quad_sums_of_differences_mask_zero_bytes_and_keep_32_bits() {
    let mut rig = Rig::new();
    rig.set64(2, |_| 0x0807_0605_0403_0201);
    rig.set(4, |_| 0x0100_0302);
    for n in 0..4 {
        rig.set(6 + n, |_| 0xffff_0000 + u32::from(n));
    }
    rig.run(&vop3("v_mqsad_u32_u8", 10, [v(2), v(4), v(6)]));
    // Window n starts at byte n: |n+1-2| + |n+2-3| + |n+4-1|; the zero byte of the reference does not count.
    for n in 0..4_u8 {
        let k = u32::from(n);
        let sum = (k + 1).abs_diff(2) + (k + 2).abs_diff(3) + (k + 4).abs_diff(1);
        assert_eq!(rig.get(10 + n, 33), 0xffff_0000 + k + sum);
    }
}

#[test]
pub(super) fn half_multiply_add_with_a_literal_rounds_twice() {
    let mut rig = Rig::new();
    rig.set(2, |_| 0x3c01);
    rig.set(3, |_| 0xbc02);
    // 1 + 2^-10 squared rounds to 1 + 2^-9, so nothing is left.
    rig.run(&[vop2("v_madmk_f16", 10, v(2), 3), 0x3c01]);
    assert_eq!(rig.get(10, 0), 0);
    rig.set(3, |_| 0x3c01);
    rig.run(&[vop2("v_madak_f16", 10, v(2), 3), 0xbc02]);
    assert_eq!(rig.get(10, 0), 0);
}

#[test]
pub(super) fn halves_too_large_saturate_under_fp16_ovfl() {
    let mut rig = Rig::new();
    rig.set(2, |lane| if lane == 1 { 0x7c00 } else { 0xfbff });
    rig.set(3, |_| 100_000.0_f32.to_bits());
    let overflow = [sopk("s_setreg_imm32_b32", 0, 1 | 23 << 6), 1];
    let sum = [vop2("v_add_f16", 10, v(2), 2), vop1("v_cvt_f16_f32", 11, v(3))];
    rig.run(&sum);
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (0xfc00, 0x7c00));
    rig.run(&[overflow.as_slice(), sum.as_slice()].concat());
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (0xfbff, 0x7bff), "the largest numbers");
    assert_eq!(rig.get(10, 1), 0x7c00, "an infinite operand stays");
}

#[test]
pub(super) fn numbers_too_large_for_8_bits_saturate_under_fp16_ovfl() {
    let mut rig = Rig::new();
    rig.set(2, |lane| if lane == 1 { f32::INFINITY.to_bits() } else { 1e6_f32.to_bits() });
    rig.set(3, |_| (-1e6_f32).to_bits());
    rig.set(4, |_| 0);
    let overflow = [sopk("s_setreg_imm32_b32", 0, 1 | 23 << 6), 1];
    let convert = [
        vop3("v_cvt_pk_fp8_f32", 10, [v(2), v(3), 0]),
        vop3("v_cvt_pk_bf8_f32", 11, [v(2), v(3), 0]),
        vop3("v_cvt_sr_fp8_f32", 12, [v(2), v(4), 0]),
    ]
    .concat();
    rig.run(&convert);
    assert_eq!([10, 11, 12].map(|register| rig.get(register, 0)), [0x8080, 0x8080, 0x80], "no number");
    rig.run(&[overflow.as_slice(), &convert].concat());
    assert_eq!([10, 11, 12].map(|register| rig.get(register, 0)), [0xff7f, 0xff7f, 0x7f], "the largest");
    assert_eq!(rig.get(10, 1), 0xff80, "infinity is no number still");
}

#[test]
pub(super) fn sparse_products_pick_two_of_four_along_the_depth() {
    // (mnemonic, rows, elements of A in a lane, bits of an element, one, three)
    let cases = [
        ("v_smfmac_f32_16x16x32_f16", 16, 4, 16, 0x3c00_u64, 0x4200_u64),
        ("v_smfmac_f32_32x32x16_f16", 32, 4, 16, 0x3c00, 0x4200),
        ("v_smfmac_f32_16x16x32_bf16", 16, 4, 16, 0x3f80, 0x4040),
        ("v_smfmac_f32_32x32x16_bf16", 32, 4, 16, 0x3f80, 0x4040),
        ("v_smfmac_i32_16x16x64_i8", 16, 8, 8, 1, 3),
        ("v_smfmac_i32_32x32x32_i8", 32, 8, 8, 1, 3),
        ("v_smfmac_f32_16x16x64_bf8_bf8", 16, 8, 8, 0x40, 0x46),
        ("v_smfmac_f32_16x16x64_bf8_fp8", 16, 8, 8, 0x40, 0x4c),
        ("v_smfmac_f32_16x16x64_fp8_bf8", 16, 8, 8, 0x40, 0x46),
        ("v_smfmac_f32_16x16x64_fp8_fp8", 16, 8, 8, 0x40, 0x4c),
        ("v_smfmac_f32_32x32x32_bf8_bf8", 32, 8, 8, 0x40, 0x46),
        ("v_smfmac_f32_32x32x32_bf8_fp8", 32, 8, 8, 0x40, 0x4c),
        ("v_smfmac_f32_32x32x32_fp8_bf8", 32, 8, 8, 0x40, 0x46),
        ("v_smfmac_f32_32x32x32_fp8_fp8", 32, 8, 8, 0x40, 0x4c),
    ];
    for (mnemonic, rows, held, bits, one, three) in cases {
        let mut rig = Rig::new();
        // A is one everywhere; B is three at depth 1 and 4k + 2 of each lane, zero elsewhere.
        rig.set64(2, |_| (0..64 / bits).fold(0, |all, n| all | one << (bits * n)));
        let depth = 2 * held;
        for register in 0..4_u32 {
            rig.set(4 + u8::try_from(register).expect("small"), |_| {
                (0..32 / bits).fold(0, |word, n| {
                    let k = register * (32 / bits) + n;
                    let set = k < depth && (k == 1 || k % 4 == 2);
                    word | if set { low(three) << (bits * n) } else { 0 }
                })
            });
        }
        // Set 1 of the indices: element 0 is the second, all others are the third of their four.
        let set = (0..held).fold(0_u32, |all, n| all | (if n == 0 { 1 } else { 2 }) << (2 * n));
        rig.set(1, |_| set << (2 * held) | if held == 4 { 0xff } else { 0xffff });
        let start = if mnemonic.contains("i32") { 5_u32 } else { 5.0_f32.to_bits() };
        for register in 0..16 {
            rig.set(40 + register, |_| start);
        }
        rig.run(&mfma(mnemonic, 40, [v(2), v(4), v(1)], [0, 1, 0]));
        let products = 3 * held * (64 / rows);
        let expected = 5 + products;
        for register in 0..rows * rows / 64 {
            for lane in [0, 17, 63] {
                let got = rig.get(40 + u8::try_from(register).expect("small"), lane);
                let got =
                    if mnemonic.contains("i32") { f64::from(got) } else { f64::from(f32::from_bits(got)) };
                assert!((got - f64::from(expected)).abs() < 1e-9, "{mnemonic}: {got}, not {expected}");
            }
        }
        // With CBSZ the first set counts, whose elements are all the fourth: zeros.
        rig.run(&mfma(mnemonic, 40, [v(2), v(4), v(1)], [1, 1, 0]));
        let got = rig.get(40, 0);
        let got = if mnemonic.contains("i32") { f64::from(got) } else { f64::from(f32::from_bits(got)) };
        assert!((got - f64::from(expected)).abs() < 1e-9, "{mnemonic} adds nothing: {got}");
    }
}
