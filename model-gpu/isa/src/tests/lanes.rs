//! EXEC, masks, carries, lane movement, DPP and SDWA.

use super::support::{Rig, ds, sop1, v, vop1, vop2, vop3};

/// The first word's source code for the extra word's form.
const SDWA: u32 = 249;
const DPP: u32 = 250;

#[test]
pub(super) fn inactive_lanes_are_not_written() {
    let mut rig = Rig::new();
    rig.set(10, |_| 7);
    rig.wave.set_exec(0xf0);
    rig.run(&[vop1("v_mov_b32", 10, 129)]);
    assert_eq!((rig.get(10, 3), rig.get(10, 4), rig.get(10, 8)), (7, 1, 7));
}

#[test]
pub(super) fn comparisons_give_zero_for_inactive_lanes_and_may_write_exec() {
    let mut rig = Rig::new();
    rig.set(2, |lane| lane);
    rig.wave.set_exec(0xffff);
    rig.wave.set_vcc(u64::MAX);
    rig.run(&vop3("v_cmp_lt_u32", 10, [v(2), 132, 128]));
    assert_eq!(rig.wave.sgpr64(10), 0xf);
    rig.run(&vop3("v_cmpx_ge_u32", 12, [v(2), 136, 128]));
    assert_eq!((rig.wave.sgpr64(12), rig.wave.exec()), (0xff00, 0xff00));
}

#[test]
pub(super) fn carries_go_through_masks() {
    let mut rig = Rig::new();
    rig.set(2, |_| u32::MAX);
    rig.set(3, |lane| lane % 2);
    rig.set(4, |_| 10);
    rig.run(&[vop2("v_add_co_u32", 10, v(2), 3), vop2("v_addc_co_u32", 11, v(4), 4)]);
    assert_eq!((rig.get(10, 1), rig.get(11, 1)), (0, 21));
    assert_eq!((rig.get(10, 2), rig.get(11, 2)), (u32::MAX, 20));
    assert_eq!(rig.wave.vcc(), 0);
    rig.run(&[vop2("v_sub_co_u32", 12, 128, 3), vop2("v_subb_co_u32", 13, v(4), 4)]);
    assert_eq!((rig.get(12, 1), rig.get(13, 1), rig.get(13, 2)), (u32::MAX, u32::MAX, 0));
    rig.wave.set_vcc(0b10);
    rig.run(&[vop2("v_cndmask_b32", 14, v(2), 4)]);
    assert_eq!((rig.get(14, 0), rig.get(14, 1)), (u32::MAX, 10));
}

#[test]
pub(super) fn scalars_are_read_from_and_written_to_lanes() {
    let mut rig = Rig::new();
    rig.set(2, |lane| lane * 3);
    rig.wave.set_exec(0xff00);
    rig.wave.set_sgpr(4, 77);
    let mut words = vec![vop1("v_readfirstlane_b32", 10, v(2))];
    words.extend(vop3("v_readlane_b32", 11, [v(2), 128 + 5, 128]));
    words.extend(vop3("v_writelane_b32", 2, [4, 128 + 6, 128]));
    words.extend(vop3("v_mbcnt_lo_u32_b32", 12, [193, 128, 128]));
    words.extend(vop3("v_mbcnt_hi_u32_b32", 12, [193, v(12), 128]));
    rig.run(&words);
    assert_eq!((rig.wave.sgpr(10), rig.wave.sgpr(11), rig.get(2, 6)), (24, 15, 77));
    rig.wave.set_exec(u64::MAX);
    rig.run(&words);
    assert_eq!((rig.get(12, 0), rig.get(12, 40)), (0, 40));
}

/// `v_mov_b32_dpp v10, v2` with the old value 1000.
fn dpp(control: u32, row_mask: u32, bank_mask: u32, bound: u32, exec: u64) -> Vec<u32> {
    let mut rig = Rig::new();
    rig.set(2, |lane| lane);
    rig.set(10, |_| 1000);
    rig.wave.set_exec(exec);
    rig.run(&[vop1("v_mov_b32", 10, DPP), row_mask << 28 | bank_mask << 24 | bound << 19 | control << 8 | 2]);
    rig.wave.vgpr(10).to_vec()
}

#[test]
pub(super) fn dpp_takes_values_from_other_lanes() {
    let quad = dpp(0b01_00_11_10, 15, 15, 0, u64::MAX);
    assert_eq!(quad[..4], [2, 3, 0, 1]);
    let shifted = dpp(0x111, 15, 15, 0, u64::MAX);
    assert_eq!((shifted[0], shifted[1], shifted[16], shifted[17]), (1000, 0, 1000, 16));
    assert_eq!(dpp(0x111, 15, 15, 1, u64::MAX)[16], 0, "bound_ctrl reads zero out of bounds");
    let left = dpp(0x101, 15, 15, 0, u64::MAX);
    assert_eq!((left[0], left[15]), (1, 1000));
    let rotated = dpp(0x121, 15, 15, 0, u64::MAX);
    assert_eq!((rotated[16], rotated[17]), (31, 16));
    assert_eq!(dpp(0x140, 15, 15, 0, u64::MAX)[17], 30);
    assert_eq!(dpp(0x141, 15, 15, 0, u64::MAX)[9], 14);
    let broadcast = dpp(0x142, 0xa, 15, 0, u64::MAX);
    assert_eq!((broadcast[0], broadcast[16], broadcast[32], broadcast[48]), (1000, 15, 1000, 47));
    let broadcast = dpp(0x143, 0xc, 15, 0, u64::MAX);
    assert_eq!((broadcast[31], broadcast[32], broadcast[63]), (1000, 31, 31));
    assert_eq!(dpp(0x153, 15, 15, 0, u64::MAX)[40], 35);
    assert_eq!(dpp(0x140, 15, 2, 0, u64::MAX)[..5], [1000, 1000, 1000, 1000, 11]);
    assert_eq!(dpp(0x111, 15, 15, 0, !1)[1], 1000, "an inactive lane is no source");
}

#[test]
pub(super) fn sdwa_selects_parts_of_sources_and_destination() {
    let run = |fields: u32| {
        let mut rig = Rig::new();
        rig.set(2, |_| 0x1280_5678);
        rig.set(3, |_| 0x0000_0001);
        rig.set(10, |_| 0xaaaa_aaaa);
        rig.run(&[vop2("v_add_u32", 10, SDWA, 3), 6 << 24 | fields | 2]);
        rig.get(10, 0)
    };
    let (dword, byte2, word1) = (6 << 16, 2 << 16, 5 << 16);
    let (whole, to_word1, to_byte1) = (6 << 8, 5 << 8, 1 << 8);
    assert_eq!(run(byte2 | whole), 0x81);
    assert_eq!(run(byte2 | 1 << 19 | whole), 0xffff_ff81, "sign-extended");
    assert_eq!(run(word1 | whole), 0x1281);
    assert_eq!(run(dword | to_word1), 0x5679_0000);
    assert_eq!(run(dword | to_word1 | 2 << 11), 0x5679_aaaa, "the rest preserved");
    assert_eq!(run(byte2 | to_byte1 | 1 << 11), 0xffff_8100, "sign-extended above");
}

#[test]
pub(super) fn data_share_permutes_lanes() {
    let mut rig = Rig::new();
    rig.set(2, |lane| 4 * (63 - lane));
    rig.set(3, |lane| 100 + lane);
    let mut words = ds("ds_bpermute_b32", 10, 2, [3, 0], 0).to_vec();
    words.extend(ds("ds_permute_b32", 11, 2, [3, 0], 0));
    words.extend(ds("ds_swizzle_b32", 12, 3, [0, 0], 0x041f));
    words.extend(ds("ds_swizzle_b32", 13, 3, [0, 0], 0x80b1));
    rig.run(&words);
    assert_eq!((rig.get(10, 1), rig.get(11, 1)), (162, 162));
    assert_eq!((rig.get(12, 0), rig.get(12, 33)), (101, 132));
    assert_eq!((rig.get(13, 0), rig.get(13, 3)), (101, 102));
    rig.wave.set_exec(1);
    rig.run(&words);
    assert_eq!(rig.get(10, 0), 0, "an inactive lane gives zero");
}

#[test]
pub(super) fn the_index_mode_moves_vector_registers() {
    let mut rig = Rig::new();
    rig.wave.set_sgpr(4, 3);
    rig.set(5, |_| 55);
    // s_set_gpr_idx_on s4, SRC0; v_mov v10, v2 reads v5; off; v_mov v11, v2.
    rig.run(&[
        0xbf11_0104,
        vop1("v_mov_b32", 10, v(2)),
        super::support::sopp("s_set_gpr_idx_off", 0),
        vop1("v_mov_b32", 11, v(2)),
        sop1("s_mov_b32", 5, 124),
    ]);
    assert_eq!((rig.get(10, 0), rig.get(11, 0)), (55, 0));
    assert_eq!(rig.wave.sgpr(5) & 0xf0ff, 0x1003);
}
