//! Modifiers and constants of packed, dot-product and 16-bit operations, and forms that have none.

use super::support::{CODE, Rig, sopp, v, vop1, vop2, vop3, vop3p};
use crate::Target;
use crate::decode::decode;

const SDWA: u32 = 249;
const DPP: u32 = 250;
/// Operand codes of the inline constants 1.0 and 2.0.
const ONE: u32 = 242;
const TWO: u32 = 244;

fn refusal(words: &[u32]) -> String {
    match decode(Target::Gfx942, CODE, words) {
        Ok(inst) => panic!("{words:08x?} decodes as {}", inst.mnemonic()),
        Err(illegal) => illegal.reason,
    }
}

#[test]
pub(super) fn inline_floats_of_packed_integers_are_single_precision() {
    let mut rig = Rig::new();
    rig.set(2, |_| 0x0001_0002);
    rig.run(&vop3p("v_pk_add_u16", 10, [v(2), ONE, 0]));
    assert_eq!(rig.get(10, 0), 0x3f81_0002, "the upper half of 1.0 as a single");
    rig.run(&vop3p("v_pk_add_f16", 10, [v(2), ONE, 0]));
    assert_eq!(rig.get(10, 0) & 0xffff, 0x3c00, "a half");
}

/// `v_dot2_f32_f16 v10, v2, v3, v4` with the given modifier bits.
fn dot2(op_sel: u32, op_sel_hi: u32, neg_lo: u32, neg_hi: u32) -> f32 {
    let mut rig = Rig::new();
    // Halves (low, high): (1, 2) and (3, 4).
    rig.set(2, |_| 0x4000_3c00);
    rig.set(3, |_| 0x4400_4200);
    rig.set(4, |_| 100.0_f32.to_bits());
    let [low, high] = vop3p("v_dot2_f32_f16", 10, [v(2), v(3), v(4)]);
    let low = low & !(0x4000) | op_sel_hi >> 2 << 14 | op_sel << 11 | neg_hi << 8;
    let high = high & !(3 << 27) | (op_sel_hi & 3) << 27 | neg_lo << 29;
    rig.run(&[low, high]);
    f32::from_bits(rig.get(10, 7))
}

#[test]
pub(super) fn half_dot_products_select_and_negate_their_halves() {
    assert_eq!(dot2(0, 7, 0, 0), 111.0);
    assert_eq!(dot2(1, 7, 0, 0), 100.0 + 2.0 * 3.0 + 2.0 * 4.0, "the low product takes the high half");
    assert_eq!(dot2(0, 6, 0, 0), 100.0 + 1.0 * 3.0 + 1.0 * 4.0, "the high product takes the low half");
    assert_eq!(dot2(0, 7, 1, 0), 100.0 - 3.0 + 8.0);
    assert_eq!(dot2(0, 7, 0, 2), 100.0 + 3.0 - 8.0);
    assert_eq!(dot2(0, 7, 4, 4), -100.0 + 11.0, "the accumulator");
}

#[test]
pub(super) fn half_dot_products_take_constants_as_halves() {
    let mut rig = Rig::new();
    rig.set(2, |_| 0x4400_4200);
    rig.run(&vop3p("v_dot2_f32_f16", 10, [v(2), TWO, ONE]));
    assert_eq!(f32::from_bits(rig.get(10, 0)), 3.0 * 2.0 + 1.0, "the constant's upper half is zero");
    rig.set(3, |_| 0x4400_4200);
    rig.set(11, |_| 1.0_f32.to_bits());
    rig.run(&[vop2("v_dot2c_f32_f16", 11, TWO, 3)]);
    assert_eq!(f32::from_bits(rig.get(11, 0)), 3.0 * 2.0 + 1.0);
}

#[test]
pub(super) fn integer_dot_products_have_no_modifiers() {
    let [low, high] = vop3p("v_dot4_i32_i8", 10, [v(2), v(3), v(4)]);
    assert!(decode(Target::Gfx942, CODE, &[low, high]).is_ok());
    for words in [[low | 1 << 11, high], [low | 1 << 8, high], [low, high | 1 << 29]] {
        assert!(refusal(&words).contains("v_dot4_i32_i8"));
    }
    let [low, high] = vop3p("v_dot2_i32_i16", 10, [v(2), v(3), v(4)]);
    assert!(refusal(&[low, high & !(1 << 27)]).contains("v_dot2_i32_i16"));
}

#[test]
pub(super) fn clamped_16_bit_sums_saturate_in_the_half_that_is_written() {
    let mut rig = Rig::new();
    rig.set(2, |_| 0x7ff0_8010);
    rig.set(3, |_| 0x0020_ffe0);
    let clamped = |mnemonic: &str, op_sel: u32| {
        let [low, high] = vop3(mnemonic, 10, [v(2), v(3), 0]);
        [low | 1 << 15 | op_sel << 11, high]
    };
    rig.set(10, |_| 0x1111_2222);
    rig.run(&clamped("v_add_i16", 0));
    assert_eq!(rig.get(10, 0), 0x1111_8000);
    rig.run(&clamped("v_add_i16", 0b1011));
    assert_eq!(rig.get(10, 0), 0x7fff_8000);
    rig.set(3, |_| 0xffe0_0020);
    rig.run(&clamped("v_sub_i16", 0));
    assert_eq!(rig.get(10, 0), 0x7fff_8000);
    rig.run(&clamped("v_sub_i16", 0b1011));
    assert_eq!(rig.get(10, 0), 0x7fff_8000);
    rig.run(&vop3("v_sub_i16", 10, [v(2), v(3), 0]));
    assert_eq!(rig.get(10, 0), 0x7fff_7ff0, "without the modifier it wraps");
}

#[test]
pub(super) fn a_debug_trap_without_a_debugger_goes_on() {
    let mut rig = Rig::new();
    rig.run(&[sopp("s_trap", 3), vop1("v_mov_b32", 10, 129)]);
    assert_eq!(rig.get(10, 0), 1);
}

#[test]
pub(super) fn sign_modifiers_of_integers_are_refused_in_every_form() {
    let dpp = 15 << 28 | 15 << 24 | 0xe4 << 8 | 2;
    let add = |word: u32, code| [vop2("v_add_u32", 10, code, 3), word];
    assert!(decode(Target::Gfx942, CODE, &add(dpp, DPP)).is_ok());
    for bit in 20..24 {
        assert!(refusal(&add(dpp | 1 << bit, DPP)).contains("sign"), "DPP bit {bit}");
    }
    let sdwa = 6 << 24 | 6 << 16 | 6 << 8 | 2;
    assert!(decode(Target::Gfx942, CODE, &add(sdwa, SDWA)).is_ok());
    for bit in [20, 21, 28, 29] {
        assert!(refusal(&add(sdwa | 1 << bit, SDWA)).contains("sign"), "SDWA bit {bit}");
    }
    assert!(decode(Target::Gfx942, CODE, &[vop2("v_add_f32", 10, DPP, 3), dpp | 15 << 20]).is_ok());
}

#[test]
pub(super) fn forms_that_do_not_exist_are_refused() {
    // buffer_load_dwordx2 with the LDS bit.
    assert!(refusal(&[0xe054_1000 | 1 << 16, 0x8002_0a02]).contains("LDS"));
    let lane_select = vop3("v_readlane_b32", 10, [v(2), v(3), 0]);
    assert!(refusal(&lane_select).contains("lane"));
    assert!(refusal(&vop3("v_writelane_b32", 10, [4, v(3), 0])).contains("lane"));
    for mnemonic in ["v_fmamk_f32", "v_fmaak_f32", "v_swap_b32", "v_accvgpr_mov_b32"] {
        assert!(refusal(&vop3(mnemonic, 10, [v(2), v(3), v(4)])).contains("VOP3"));
    }
    for extra in [249, 250] {
        assert!(refusal(&[vop1("v_swap_b32", 10, extra), 0xff00_0602]).contains("no SDWA or DPP"));
    }
    assert!(refusal(&[vop1("v_cvt_f32_f64", 10, 249), 6 << 16 | 6 << 8 | 2]).contains("64 bits"));
}

#[test]
pub(super) fn the_index_mode_keeps_all_registers_of_an_operand_in_the_file() {
    let mut rig = Rig::new();
    let last = rig.wave.config.arch_vgprs - 1;
    rig.wave.set_sgpr(4, u32::from(last) - 4);
    // s_set_gpr_idx_on s4 for source 1: the pair's second register is one too many.
    let on = 0xbf11_0204;
    let shift = vop3("v_lshrrev_b64", 10, [128, v(4), 0]);
    assert!(rig.try_run(&[on, shift[0], shift[1]]).is_err());
    rig.wave.set_sgpr(4, u32::from(last) - 5);
    rig.run(&[on, shift[0], shift[1], sopp("s_set_gpr_idx_off", 0)]);
}
