//! Arithmetic exceptions: what is recorded in TRAPSTS, and traps on it.

use super::support::{CODE, Rig, sop1, sopk, v, vop1, vop2, vop3, vop3p};
use crate::{Exception, Target};

const INVALID: u32 = 1;
const DENORMAL: u32 = 2;
const BY_ZERO: u32 = 4;
const OVERFLOW: u32 = 8;
const UNDERFLOW: u32 = 16;
const INEXACT: u32 = 32;
const INTEGER_BY_ZERO: u32 = 64;

/// The field of MODE or TRAPSTS that `s_getreg` and `s_setreg` are given.
const fn field(register: u16, offset: u16, width: u16) -> u16 {
    register | offset << 6 | (width - 1) << 11
}

const EXCP: u16 = field(3, 0, 9);

fn recording() -> Rig {
    let mut rig = Rig::new();
    rig.wave.config.records_exceptions = true;
    rig
}

/// What `code` leaves in TRAPSTS, with `values` in v0 (and v1), v2 (and v3), v4 (and v5) of lane 7 and ones in the others.
fn after(mode: u32, code: &[u32], values: [u64; 3], ones: u64) -> u32 {
    let mut rig = recording();
    rig.wave.mode = mode;
    for (register, value) in [0, 2, 4].into_iter().zip(values) {
        rig.set64(register, |lane| if lane == 7 { value } else { ones });
    }
    let read = [code, &[sopk("s_getreg_b32", 0, EXCP)]].concat();
    rig.run(&read);
    rig.wave.sgpr(0)
}

fn singles(code: &[u32], values: [f32; 3]) -> u32 {
    after(0x3f0, code, values.map(|x| x.to_bits().into()), 1f32.to_bits().into())
}

fn doubles(code: &[u32], values: [f64; 3]) -> u32 {
    after(0x3f0, code, values.map(f64::to_bits), 1f64.to_bits())
}

fn halves(code: &[u32], values: [u64; 3]) -> u32 {
    after(0x3f0, code, values, 0x3c00_3c00)
}

#[test]
pub(super) fn single_precision_records_what_ieee_raises() {
    let (big, tiny, signaling) = (f32::MAX, f32::MIN_POSITIVE, f32::from_bits(0x7f80_0001));
    let add = &[vop2("v_add_f32", 8, v(0), 2)][..];
    let multiply = &[vop2("v_mul_f32", 8, v(0), 2)][..];
    for (code, values, expected) in [
        (add, [1.0, 2.0, 0.0], 0),
        (add, [1.0, 1e-20, 0.0], INEXACT),
        (add, [big, big, 0.0], OVERFLOW | INEXACT),
        (add, [f32::INFINITY, f32::NEG_INFINITY, 0.0], INVALID),
        (add, [f32::NAN, 1.0, 0.0], 0),
        (add, [signaling, 1.0, 0.0], INVALID),
        (multiply, [tiny, 0.3, 0.0], UNDERFLOW | INEXACT),
        (multiply, [tiny, 0.5, 0.0], 0),
        (multiply, [0.0, f32::INFINITY, 0.0], INVALID),
        (multiply, [tiny / 2.0, 2.0, 0.0], DENORMAL),
        (&vop3("v_fma_f32", 8, [v(0), v(2), v(4)]), [big, 2.0, -big], 0),
        (&vop3("v_fma_f32", 8, [v(0), v(2), v(4)]), [3.0, 0.1, 1e-30], INEXACT),
        (&[vop1("v_rcp_f32", 8, v(0))], [-0.0, 0.0, 0.0], BY_ZERO),
        (&[vop1("v_rcp_f32", 8, v(0))], [3.0, 0.0, 0.0], 0),
        (&[vop1("v_rcp_iflag_f32", 8, v(0))], [0.0, 0.0, 0.0], INTEGER_BY_ZERO),
        (&[vop1("v_rcp_iflag_f32", 8, v(0))], [signaling, 0.0, 0.0], 0),
        (&[vop1("v_sqrt_f32", 8, v(0))], [-4.0, 0.0, 0.0], INVALID),
        (&[vop1("v_rsq_f32", 8, v(0))], [0.0, 0.0, 0.0], BY_ZERO),
        (&[vop1("v_log_f32", 8, v(0))], [-1.0, 0.0, 0.0], INVALID),
        (&[vop1("v_sin_f32", 8, v(0))], [f32::INFINITY, 0.0, 0.0], INVALID),
        (&vop3("v_div_fixup_f32", 8, [v(0), v(2), v(4)]), [1.0, 0.0, 3.0], BY_ZERO),
        (&vop3("v_div_fixup_f32", 8, [v(0), v(2), v(4)]), [1.0, 0.0, 0.0], INVALID),
        (&[vop2("v_max_f32", 8, v(0), 2)], [signaling, 1.0, 0.0], INVALID),
        (&[vop1("v_mov_b32", 8, v(0))], [signaling, 0.0, 0.0], 0),
        (&[vop1("v_cvt_i32_f32", 8, v(0))], [1.5, 0.0, 0.0], INEXACT),
        (&[vop1("v_cvt_i32_f32", 8, v(0))], [3e9, 0.0, 0.0], INVALID),
        (&[vop1("v_cvt_u32_f32", 8, v(0))], [f32::NAN, 0.0, 0.0], INVALID),
        (&[vop1("v_cvt_f16_f32", 8, v(0))], [1e6, 0.0, 0.0], OVERFLOW | INEXACT),
        (&[vop1("v_cvt_f16_f32", 8, v(0))], [1e-7, 0.0, 0.0], UNDERFLOW | INEXACT),
        (&[vop1("v_cvt_f32_i32", 8, v(0))], [f32::from_bits(0x0100_0001), 0.0, 0.0], INEXACT),
    ] {
        assert_eq!(singles(code, values), expected, "{code:x?} of {values:?}");
    }
}

#[test]
pub(super) fn a_quotient_out_of_range_has_over_or_underflowed() {
    let fixup = vop3("v_div_fixup_f32", 8, [v(0), v(2), v(4)]);
    assert_eq!(singles(&fixup, [1.0, 1e-20, 1e30]), OVERFLOW | INEXACT);
    assert_eq!(singles(&fixup, [1.0, 1e30, 1e-20]), UNDERFLOW | INEXACT);
    assert_eq!(singles(&fixup, [1.0, 1e30, 0.0]), 0, "zero is exact");
    assert_eq!(singles(&fixup, [1.0, f32::INFINITY, 1e-20]), 0, "and so is the quotient by infinity");
    assert_eq!(singles(&fixup, [1.0, 1e-20, f32::INFINITY]), 0);
    let fixup = vop3("v_div_fixup_f64", 8, [v(0), v(2), v(4)]);
    assert_eq!(doubles(&fixup, [1.0, 1e-200, 1e200]), OVERFLOW | INEXACT);
    assert_eq!(doubles(&fixup, [1.0, 1e200, 1e-200]), UNDERFLOW | INEXACT);
}

#[test]
pub(super) fn the_last_step_of_a_division_raises_what_its_moved_result_raises() {
    let fmas = |moves: bool, values: [f32; 3]| {
        let set = [sop1("s_mov_b64", 106, if moves { 193 } else { 128 })];
        singles(&[&set[..], &vop3("v_div_fmas_f32", 8, [v(0), v(2), v(4)])].concat(), values)
    };
    // The quotient is at least 2 and moved up by 2^64, or less and moved down.
    assert_eq!(fmas(true, [1.0, 0.0, 1e30]), OVERFLOW | INEXACT);
    assert_eq!(fmas(false, [1.0, 0.0, 1e30]), 0);
    assert_eq!(fmas(true, [1.0, 0.0, 1e-20]), UNDERFLOW | INEXACT);
    assert_eq!(fmas(true, [1.0, 0.0, 1.0]), 0);
    assert_eq!(fmas(true, [1.0, 1e-20, 1.0]), INEXACT);
    let set = [sop1("s_mov_b64", 106, 193)];
    let fmas = [&set[..], &vop3("v_div_fmas_f64", 8, [v(0), v(2), v(4)])].concat();
    assert_eq!(doubles(&fmas, [1.0, 0.0, 1e300]), OVERFLOW | INEXACT);
    assert_eq!(doubles(&fmas, [1.0, 0.0, 1e-300]), UNDERFLOW | INEXACT);
}

#[test]
pub(super) fn zero_times_infinity_is_no_invalid_operation_of_the_legacy_forms() {
    let multiply = vop3("v_mul_legacy_f32", 8, [v(0), v(2), 0]);
    assert_eq!(singles(&multiply, [0.0, f32::INFINITY, 0.0]), 0);
    assert_eq!(singles(&multiply, [f32::MAX, 2.0, 0.0]), OVERFLOW | INEXACT);
    let mut rig = Rig::of(Target::Gfx90a);
    rig.wave.config.records_exceptions = true;
    rig.set(0, |_| 0);
    rig.set(2, |_| f32::INFINITY.to_bits());
    rig.set(4, |_| 1f32.to_bits());
    rig.run(
        &[&vop3("v_mad_legacy_f32", 8, [v(0), v(2), v(4)])[..], &[sopk("s_getreg_b32", 0, EXCP)]].concat(),
    );
    assert_eq!(rig.wave.sgpr(0), 0);
}

#[test]
pub(super) fn the_vector_unit_clears_what_it_recorded() {
    let code = [vop1("v_rcp_f32", 8, v(0)), vop1("v_clrexcp", 0, 0)];
    assert_eq!(singles(&code, [0.0; 3]), 0);
    // What is not arithmetic stays.
    let set = [sopk("s_setreg_imm32_b32", 0, EXCP), 0x1ff];
    let code = [&set[..], &[vop1("v_clrexcp", 0, 0)]].concat();
    assert_eq!(singles(&code, [1.0; 3]), 0x180);
}

#[test]
pub(super) fn mixed_matrix_and_class_instructions_record_nothing() {
    let signaling = f32::from_bits(0x7f80_0001);
    // A half of 1.0 is a denormal as a single.
    let mix = vop3p("v_fma_mix_f32", 8, [v(0), v(2), v(4)]);
    assert_eq!(halves(&mix, [0x3c00, 0x3c00, 0x3c00]), 0);
    assert_eq!(singles(&vop3("v_cmp_class_f32", 8, [v(0), v(2), 0]), [signaling, 1.0, 0.0]), 0);
    assert_eq!(singles(&vop3p("v_dot2_f32_f16", 8, [v(0), v(2), v(4)]), [signaling, 1.0, signaling]), 0);
}

#[test]
pub(super) fn other_formats_and_packed_forms_record_too() {
    let add = vop3("v_add_f64", 8, [v(0), v(2), 0]);
    assert_eq!(doubles(&add, [1.0, 1e-20, 0.0]), INEXACT);
    assert_eq!(doubles(&add, [f64::MAX, f64::MAX, 0.0]), OVERFLOW | INEXACT);
    let multiply = vop3("v_mul_f64", 8, [v(0), v(2), 0]);
    assert_eq!(doubles(&multiply, [f64::MIN_POSITIVE, 0.3, 0.0]), UNDERFLOW | INEXACT);
    let narrow = [vop1("v_cvt_f32_f64", 8, v(0))];
    assert_eq!(doubles(&narrow, [1e300, 0.0, 0.0]), OVERFLOW | INEXACT);
    assert_eq!(halves(&[vop2("v_add_f16", 8, v(0), 2)], [0x7bff, 0x7bff, 0]), OVERFLOW | INEXACT);
    // The high half of one overflows, the low half of the other is inexact.
    let packed = vop3p("v_pk_mul_f16", 8, [v(0), v(2), 0]);
    assert_eq!(halves(&packed, [0x7bff_3c00, 0x7bff_3c00, 0]), OVERFLOW | INEXACT);
    assert_eq!(halves(&packed, [0x3c00_3c01, 0x3c00_3c01, 0]), INEXACT);
    let packed = vop3p("v_pk_add_f32", 8, [v(0), v(2), 0]);
    let pair = |low: f32, high: f32| u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32;
    let one = pair(1.0, 1.0);
    assert_eq!(after(0x3f0, &packed, [pair(1.0, f32::MAX), pair(1.0, f32::MAX), 0], one), OVERFLOW | INEXACT);
    let compare = vop3("v_cmp_lt_f32", 8, [v(0), v(2), 0]);
    assert_eq!(singles(&compare, [f32::from_bits(0x7f80_0001), 1.0, 0.0]), INVALID);
}

#[test]
pub(super) fn a_flushed_result_has_underflowed_and_a_flushed_source_is_no_denormal() {
    let code = [vop2("v_mul_f32", 8, v(0), 2)];
    let values = |a: f32, b: f32| [a, b, 0.0].map(|x: f32| u64::from(x.to_bits()));
    let one = u64::from(1f32.to_bits());
    assert_eq!(after(0x3c0, &code, values(f32::MIN_POSITIVE, 0.5), one), UNDERFLOW | INEXACT);
    assert_eq!(after(0x3c0, &code, values(f32::MIN_POSITIVE / 2.0, 1.0), one), 0);
}

#[test]
pub(super) fn exceptions_stay_until_they_are_cleared_and_inactive_lanes_raise_none() {
    let mut rig = recording();
    rig.set(0, |lane| if lane == 7 { 0 } else { 1f32.to_bits() });
    let divide = vop1("v_rcp_f32", 8, v(0));
    rig.run(&[divide, vop1("v_rcp_f32", 8, v(8)), sopk("s_getreg_b32", 0, EXCP)]);
    assert_eq!(rig.wave.sgpr(0), BY_ZERO);
    // Clears what there is, reads, raises again, reads one bit.
    rig.wave.set_sgpr(1, 0);
    rig.run(&[
        sopk("s_setreg_b32", 1, EXCP),
        sopk("s_getreg_b32", 2, EXCP),
        divide,
        sopk("s_getreg_b32", 3, field(3, 2, 1)),
    ]);
    assert_eq!((rig.wave.sgpr(2), rig.wave.sgpr(3)), (0, 1));
    let mut rig = recording();
    rig.wave.set_exec(!(1 << 7));
    rig.set(0, |lane| if lane == 7 { 0 } else { 1f32.to_bits() });
    rig.run(&[divide, sopk("s_getreg_b32", 0, EXCP)]);
    assert_eq!(rig.wave.sgpr(0), 0);
}

#[test]
pub(super) fn a_wave_records_once_it_has_written_the_register() {
    let mut rig = Rig::new();
    rig.set(0, |_| 0);
    rig.wave.set_sgpr(1, 0);
    let divide = vop1("v_rcp_f32", 8, v(0));
    rig.run(&[sopk("s_setreg_b32", 1, EXCP), divide, sopk("s_getreg_b32", 0, EXCP)]);
    assert_eq!(rig.wave.sgpr(0), BY_ZERO);
}

#[test]
pub(super) fn an_enabled_exception_ends_the_wave_before_it_writes() {
    let mut rig = Rig::new();
    rig.set(0, |lane| if lane == 7 { 0 } else { 1f32.to_bits() });
    rig.set(8, |_| 77);
    let enable = |bits: u32| [sopk("s_setreg_imm32_b32", 0, field(1, 12, 7)), bits];
    let divide = vop1("v_rcp_f32", 8, v(0));
    let end = rig.try_run(&[&enable(BY_ZERO)[..], &[divide]].concat());
    assert_eq!(end, Err(Exception::Arithmetic { pc: CODE + 8, status: BY_ZERO }));
    assert_eq!(rig.get(8, 0), 77);
    let mut rig = Rig::new();
    rig.set(0, |_| 0);
    rig.run(&[&enable(INEXACT | OVERFLOW)[..], &[divide, sopk("s_getreg_b32", 0, EXCP)]].concat());
    assert_eq!(rig.wave.sgpr(0), BY_ZERO, "others are recorded only");
}

#[test]
pub(super) fn a_word_that_reads_the_register_is_recognised() {
    for (word, reads) in [
        (sopk("s_getreg_b32", 5, EXCP), true),
        (sopk("s_getreg_b32", 0, field(3, 2, 1)), true),
        (sopk("s_getreg_b32", 0, field(1, 0, 32)), false),
        (sopk("s_setreg_b32", 0, EXCP), false),
    ] {
        assert_eq!(crate::reads_exceptions(word), reads, "{word:#x}");
    }
}
