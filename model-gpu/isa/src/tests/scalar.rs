//! Scalar arithmetic, carries, bit fields and hardware registers.

use super::support::{Rig, sop1, sop2, sopc, sopk, sopp};

const LITERAL: u32 = 255;

/// Runs one operation on s4 and s5, or the pairs s[4:5] and s[6:7]; gives s[10:11] and SCC.
fn binary(mnemonic: &str, a: u64, b: u64, scc: bool) -> (u64, bool) {
    let mut rig = Rig::new();
    let wide = mnemonic.ends_with("64");
    rig.wave.set_sgpr64(4, a);
    rig.wave.set_sgpr64(6, b);
    rig.wave.set_scc(scc);
    rig.run(&[sop2(mnemonic, 10, 4, 6)]);
    let result = if wide { rig.wave.sgpr64(10) } else { u64::from(rig.wave.sgpr(10)) };
    (result, rig.wave.scc())
}

#[test]
pub(super) fn additions_and_subtractions_report_carry_or_signed_overflow() {
    let max = u64::from(u32::MAX);
    assert_eq!(binary("s_add_u32", max, 1, false), (0, true));
    assert_eq!(binary("s_add_u32", 5, 6, true), (11, false));
    assert_eq!(binary("s_addc_u32", max, 0, true), (0, true));
    assert_eq!(binary("s_addc_u32", 1, 2, true), (4, false));
    assert_eq!(binary("s_sub_u32", 1, 2, false), (max, true));
    assert_eq!(binary("s_subb_u32", 5, 5, true), (max, true));
    assert_eq!(binary("s_add_i32", 0x7fff_ffff, 1, false), (0x8000_0000, true));
    assert_eq!(binary("s_sub_i32", 0x8000_0000, 1, false), (0x7fff_ffff, true));
    assert_eq!(binary("s_sub_i32", 3, 4, true), (max, false));
}

#[test]
pub(super) fn minimum_and_maximum_say_which_operand_was_taken() {
    assert_eq!(binary("s_min_i32", 0xffff_ffff, 1, false), (0xffff_ffff, true));
    assert_eq!(binary("s_min_u32", 0xffff_ffff, 1, false), (1, false));
    assert_eq!(binary("s_max_i32", 0xffff_ffff, 1, true), (1, false));
    assert_eq!(binary("s_max_u32", 0xffff_ffff, 1, false), (0xffff_ffff, true));
}

#[test]
pub(super) fn bit_fields_take_offset_and_width_from_one_operand() {
    assert_eq!(binary("s_bfe_u32", 0xabcd_1234, 8 | 8 << 16, false), (0x12, true));
    assert_eq!(binary("s_bfe_i32", 0x0000_8000, 8 | 8 << 16, false), (0xffff_ff80, true));
    assert_eq!(binary("s_bfe_i32", 0xffff_ffff, 3, true), (0, false));
    assert_eq!(binary("s_bfe_u64", 0x1234_5678_9abc_def0, 32 | 64 << 16, false), (0x1234_5678, true));
    assert_eq!(binary("s_bfe_i64", 0xf0_0000_0000, 36 | 4 << 16, false), (u64::MAX, true));
    assert_eq!(binary("s_bfm_b32", 5, 3, false).0, 0xf8);
    assert_eq!(binary("s_bfm_b64", 33, 4, false).0, 0x1_ffff_ffff << 4);
}

#[test]
pub(super) fn shifts_use_the_low_bits_of_the_count() {
    assert_eq!(binary("s_lshl_b32", 1, 33, false), (2, true));
    assert_eq!(binary("s_lshl_b64", 1, 65, false), (2, true));
    assert_eq!(binary("s_ashr_i32", 0x8000_0000, 31, false), (0xffff_ffff, true));
    assert_eq!(binary("s_ashr_i64", 1 << 63, 63, false), (u64::MAX, true));
    assert_eq!(binary("s_lshr_b64", 1, 1, true), (0, false));
    assert_eq!(binary("s_lshl3_add_u32", 0x2000_0000, 5, false), (5, true));
}

#[test]
pub(super) fn one_operand_bit_searches_give_minus_one_for_none() {
    let unary = |mnemonic: &str, a: u64| {
        let mut rig = Rig::new();
        rig.wave.set_sgpr64(4, a);
        rig.run(&[sop1(mnemonic, 10, 4)]);
        rig.wave.sgpr64(10)
    };
    assert_eq!(unary("s_ff1_i32_b32", 0), 0xffff_ffff);
    assert_eq!(unary("s_ff1_i32_b64", 1 << 40), 40);
    assert_eq!(unary("s_ff0_i32_b32", 0xffff), 16);
    assert_eq!(unary("s_flbit_i32_b32", 0x0000_ffff), 16);
    assert_eq!(unary("s_flbit_i32_b64", 1), 63);
    assert_eq!(unary("s_flbit_i32", 0xffff_ffff), 0xffff_ffff);
    assert_eq!(unary("s_flbit_i32_i64", u64::MAX << 8), 56);
    assert_eq!(unary("s_bcnt1_i32_b64", u64::MAX), 64);
    assert_eq!(unary("s_bcnt0_i32_b32", 0xf0), 28);
    assert_eq!(unary("s_brev_b64", 1), 1 << 63);
    assert_eq!(unary("s_wqm_b64", 0x10), 0xf0);
    assert_eq!(unary("s_quadmask_b32", 0x101), 5);
    assert_eq!(unary("s_bitreplicate_b64_b32", 5), 0x33);
    assert_eq!(unary("s_sext_i32_i8", 0x80), 0xffff_ff80);
    assert_eq!(unary("s_abs_i32", 0x8000_0000), 0x8000_0000);
    assert_eq!(unary("s_not_b64", 0), u64::MAX);
}

#[test]
pub(super) fn saving_exec_combines_it_with_the_source() {
    let mut rig = Rig::new();
    rig.wave.set_exec(0xff);
    rig.wave.set_sgpr64(4, 0x0f0f);
    rig.run(&[sop1("s_and_saveexec_b64", 10, 4), sop1("s_andn2_wrexec_b64", 12, 4)]);
    assert_eq!(rig.wave.sgpr64(10), 0xff);
    assert_eq!(rig.wave.sgpr64(12), 0x0f00);
    assert_eq!(rig.wave.exec(), 0x0f00);
    assert!(rig.wave.scc());
}

#[test]
pub(super) fn immediates_and_literals_extend_as_the_operand_asks() {
    let mut rig = Rig::new();
    rig.wave.set_sgpr(4, 10);
    rig.run(&[
        sopk("s_movk_i32", 10, 0xfffe),
        sopk("s_addk_i32", 4, 0xffff),
        sop1("s_mov_b64", 12, LITERAL),
        0x8000_0001,
        sop1("s_mov_b64", 14, 193),
        sop1("s_mov_b64", 16, 242),
        sopc("s_cmp_eq_u32", 4, 137),
        sopk("s_cmpk_lg_u32", 10, 0xfffe),
        sop2("s_cselect_b32", 18, 129, 130),
    ]);
    assert_eq!(rig.wave.sgpr(10), 0xffff_fffe);
    assert_eq!(rig.wave.sgpr(4), 9);
    assert_eq!(rig.wave.sgpr64(12), 0x8000_0001);
    assert_eq!(rig.wave.sgpr64(14), u64::MAX);
    assert_eq!(rig.wave.sgpr64(16), 1.0_f64.to_bits());
    assert_eq!(rig.wave.sgpr(18), 1, "an unsigned comparison zero-extends its immediate");
}

#[test]
pub(super) fn hardware_registers_are_read_and_written_by_field() {
    let mut rig = Rig::new();
    let field = |register: u16, offset: u16, width: u16| register | offset << 6 | (width - 1) << 11;
    rig.wave.set_sgpr(4, 3);
    rig.run(&[
        sopk("s_setreg_b32", 4, field(1, 0, 2)),
        sopk("s_getreg_b32", 10, field(1, 0, 32)),
        sopk("s_getreg_b32", 11, field(4, 8, 8)),
        sop1("s_mov_b64", 12, 235),
        sop1("s_mov_b64", 14, 237),
        sopp("s_nop", 0),
    ]);
    assert_eq!(rig.wave.sgpr(10), 0x3f3);
    assert_eq!(rig.wave.sgpr(11), 0x56);
    assert_eq!(rig.wave.sgpr64(12), 1 << 48);
    assert_eq!(rig.wave.sgpr64(14), 1 << 49);
    assert!(rig.try_run(&[sopk("s_getreg_b32", 10, field(40, 0, 32))]).is_err());
}
