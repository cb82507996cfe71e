//! What gfx90a does in its own way.

use super::support::{CODE, DATA, Rig, SCRATCH, ds, flat, mfma, sop1, v, vop2, vop3, vop3p};
use crate::decode::decode;
use crate::{Target, disassemble};

/// A MUBUF instruction by its opcode: address bits of the first word, data, resource at `s[8:11]`, scalar offset s3.
fn buffer(opcode: u32, low: u32, data: u32, address: u32) -> [u32; 2] {
    [0xe000_0000 | opcode << 18 | low, 3 << 24 | 2 << 16 | data << 8 | address]
}

const OFFEN: u32 = 1 << 12;
const STORE_DWORD: u32 = 0x1c;
const STORE_DWORDX2: u32 = 0x1d;
const LOAD_DWORD: u32 = 0x14;

fn rig() -> Rig {
    Rig::of(Target::Gfx90a)
}

/// The resource that ROCr gives to a kernel for its private segment: swizzled, 64 records of a lane each, lanes added.
fn private_buffer(rig: &mut Rig) {
    rig.wave.set_sgpr64(8, SCRATCH | 1 << 63);
    rig.wave.set_sgpr(10, 0x8000);
    rig.wave.set_sgpr(11, 4 << 15 | 3 << 21 | 1 << 23);
    rig.wave.set_sgpr(3, 0x100);
}

#[test]
pub(super) fn each_target_refuses_what_only_the_other_has() {
    let of = |target, words: &[u32]| disassemble(target, words).map(|inst| inst.mnemonic);
    let mov64 = [vop1_mov_b64()];
    assert_eq!(of(Target::Gfx942, &mov64), Ok("v_mov_b64_e32".to_owned()));
    assert_eq!(of(Target::Gfx90a, &mov64), Err("Vop1 opcode 0x38 is not in the tables of gfx90a".to_owned()));
    let mad = vop3("v_mad_f32", 1, [v(2), v(3), v(4)]);
    assert_eq!(of(Target::Gfx90a, &mad), Ok("v_mad_f32".to_owned()));
    assert_eq!(of(Target::Gfx942, &mad), Err("Vop3 opcode 0x1c1 is not in the tables of gfx942".to_owned()));
    let product = mfma("v_mfma_f32_32x32x8_f16", 0, [v(32), v(34), v(0)], [0; 3]);
    assert_eq!(of(Target::Gfx90a, &product), Ok("v_mfma_f32_32x32x8f16".to_owned()));
}

/// `v_mov_b64 v[2:3], v[4:5]`.
fn vop1_mov_b64() -> u32 {
    super::support::vop1("v_mov_b64", 2, v(4))
}

#[test]
pub(super) fn flat_scratch_starts_empty_and_is_what_the_kernel_puts_there() {
    let mut rig = rig();
    assert_eq!(rig.wave.sgpr64(102), 0);
    rig.wave.set_sgpr64(4, SCRATCH);
    rig.set(1, |lane| 0x100 + lane);
    rig.set(2, |_| 8);
    let mut store = flat("scratch_store_dword", 0, 2, 1, 4, false);
    // There is no SVE bit: an address register alone says that it counts.
    store[0] &= !(1 << 13);
    let mut code = vec![sop1("s_mov_b64", 102, 4)];
    code.extend(store);
    rig.run(&code);
    assert_eq!(rig.memory.read32(SCRATCH + 12 / 4 * 256 + 5 * 4), 0x105);
    // A scalar address takes the vector one's place.
    rig.wave.set_sgpr(6, 8);
    rig.run(&[0xdc50_4004, 9 << 24 | 6 << 16]);
    assert_eq!(rig.get(9, 5), 0x105);
}

#[test]
pub(super) fn private_memory_through_a_swizzled_buffer_is_interleaved() {
    let mut rig = rig();
    private_buffer(&mut rig);
    rig.set(2, |lane| 0x200 + lane);
    rig.set(3, |lane| 0x300 + lane);
    rig.set(5, |_| 8);
    rig.run(&buffer(STORE_DWORD, 4, 2, 0));
    assert_eq!(rig.memory.read32(SCRATCH + 0x100 + 256 + 7 * 4), 0x207);
    rig.run(&buffer(LOAD_DWORD, 4, 9, 0));
    assert_eq!(rig.get(9, 63), 0x23f);
    // The second dword of an access is the next one of the same lane.
    rig.run(&buffer(STORE_DWORDX2, OFFEN, 2, 5));
    assert_eq!(rig.memory.read32(SCRATCH + 0x100 + 2 * 256 + 7 * 4), 0x207);
    assert_eq!(rig.memory.read32(SCRATCH + 0x100 + 3 * 256 + 7 * 4), 0x307);
}

#[test]
pub(super) fn loads_to_lds_have_a_bit_and_lds_can_be_stored_to_a_buffer() {
    let mut rig = rig();
    for lane in 0..64 {
        rig.memory.write32(DATA + u64::from(lane) * 4, 0x400 + lane);
    }
    rig.set64(2, |lane| DATA + u64::from(lane) * 4);
    rig.wave.set_m0(64);
    let load = flat("global_load_dword", 0, 2, 0, 0, false);
    rig.run(&[load[0] | 1 << 13, load[1]]);
    assert_eq!(rig.lds.load32(64 + 4 * 9), 0x409);
    rig.wave.set_sgpr64(8, DATA + 0x1000);
    rig.wave.set_sgpr64(10, 0x1000);
    rig.wave.set_sgpr(3, 0);
    // Source and target move by the immediate; every lane stores to the same place, the last one counts.
    rig.run(&buffer(0x3d, 1 << 16, 0, 0));
    assert_eq!(rig.memory.read32(DATA + 0x1000), 0x43f);
    let other = flat("flat_load_dword", 0, 2, 0, 0, false);
    let refused = decode(Target::Gfx90a, CODE, &[other[0] | 1 << 13, other[1]]).expect_err("no such form");
    assert!(refused.reason.contains("bit 13"), "{}", refused.reason);
    let halves = flat("global_load_short_d16", 0, 2, 0, 0, false);
    let refused = decode(Target::Gfx90a, CODE, &[halves[0] | 1 << 13, halves[1]]).expect_err("no such form");
    assert!(refused.reason.contains("to LDS"), "{}", refused.reason);
}

#[test]
pub(super) fn multiply_add_rounds_twice_and_has_no_denormals() {
    let mut rig = rig();
    let x = 1.0_f32 + f32::EPSILON;
    rig.set(2, |lane| if lane == 1 { 1 } else { x.to_bits() });
    rig.set(3, |_| x.to_bits());
    rig.set(4, |_| (-(x * x)).to_bits());
    rig.run(&vop3("v_mad_f32", 10, [v(2), v(3), v(4)]));
    assert_eq!(f32::from_bits(rig.get(10, 0)), 0.0, "a fused multiply-add would leave the product's rest");
    assert_eq!(f32::from_bits(rig.get(10, 1)), -(x * x), "a denormal factor is zero");
    rig.set(10, |_| 1.0_f32.to_bits());
    rig.run(&[vop2("v_mac_f32", 10, v(3), 3)]);
    assert_eq!(f32::from_bits(rig.get(10, 5)), x * x + 1.0);
    rig.run(&[vop2("v_madmk_f32", 10, v(3), 4), 2.0_f32.to_bits()]);
    assert_eq!(f32::from_bits(rig.get(10, 5)), x * 2.0 - x * x);
    rig.run(&[vop2("v_madak_f32", 10, v(3), 3), 1.0_f32.to_bits()]);
    assert_eq!(f32::from_bits(rig.get(10, 5)), x * x + 1.0);
    // The legacy form: zero times anything is zero.
    rig.set(2, |_| 0);
    rig.set(3, |_| f32::INFINITY.to_bits());
    rig.run(&vop3("v_mad_legacy_f32", 10, [v(2), v(3), v(4)]));
    assert_eq!(f32::from_bits(rig.get(10, 0)), -(x * x));
}

#[test]
pub(super) fn narrow_products_take_denormals_for_zero_on_gfx90a_only() {
    for target in Target::ALL {
        let kept = target == Target::Gfx942;
        let mut rig = Rig::of(target);
        // A denormal half and a denormal brain float, times the largest power of two.
        rig.set64(2, |_| 0x0001_0001_0001_0001);
        rig.set64(4, |_| 0x7800_7800_7800_7800);
        rig.run(&mfma("v_mfma_f32_16x16x16_f16", 80, [v(2), v(4), 128], [0; 3]));
        let product = 16.0 * 2.0_f32.powi(-24) * 32768.0;
        assert_eq!(f32::from_bits(rig.get(80, 3)), if kept { product } else { 0.0 }, "{target}");
        rig.run(&vop3p("v_dot2_f32_f16", 80, [v(2), v(4), 128]));
        assert_eq!(f32::from_bits(rig.get(80, 3)), if kept { product / 8.0 } else { 0.0 }, "{target}");
    }
}

#[test]
pub(super) fn brain_floats_come_in_pairs_and_in_fours() {
    let mut rig = rig();
    rig.set64(2, |_| 0x3f80_4000_3f80_4000);
    rig.set64(4, |_| 0x4040_4080_4040_4080);
    // Each pair adds 1 * 3 + 2 * 4.
    rig.run(&mfma("v_mfma_f32_16x16x8bf16", 80, [v(2), v(4), 128], [0; 3]));
    assert_eq!(f32::from_bits(rig.get(83, 40)), 44.0);
    rig.run(&mfma("v_mfma_f32_16x16x16bf16_1k", 80, [v(2), v(4), 128], [0; 3]));
    assert_eq!(f32::from_bits(rig.get(83, 40)), 88.0);
    rig.set(2, |_| 0x0102_03ff);
    rig.set(4, |_| 0x0101_0101);
    rig.run(&mfma("v_mfma_i32_16x16x16i8", 80, [v(2), v(4), 128], [0; 3]));
    assert_eq!(rig.get(80, 0), 4 * (1 + 2 + 3 - 1));
}

#[test]
pub(super) fn lds_atomics_of_packed_halves_do_not_exist() {
    let refused =
        decode(Target::Gfx90a, CODE, &ds("ds_pk_add_f16", 0, 1, [2, 0], 0)).expect_err("gfx942 only");
    assert!(refused.reason.contains("0x17"), "{}", refused.reason);
}
