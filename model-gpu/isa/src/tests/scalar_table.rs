//! Scalar instructions, each against its definition.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::support::{CODE, DATA, Rig, opcode, sample, smem, sop1, sop2, sopk, sopp, v, vop2};
use crate::instruction::Encoding;
use crate::{Stop, Wave};

/// Two operands: s[2:3] and s[4:5]; the result in s[10:11] and SCC.
fn both(mnemonic: &str, wide: bool, f: impl Fn(u64, u64) -> (u64, Option<bool>)) {
    for n in 0..60 {
        let (a, b) = (sample(n * 3 + 1), sample(n * 5 + 2));
        let mut rig = Rig::new();
        rig.wave.set_sgpr64(2, a);
        rig.wave.set_sgpr64(4, b);
        rig.wave.set_scc(n % 2 == 1);
        rig.run(&[sop2(mnemonic, 10, 2, 4)]);
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        let (expected, scc) = f(a, b);
        assert_eq!(rig.wave.sgpr64(10), expected & mask, "{mnemonic} {a:#x} {b:#x}");
        assert_eq!(rig.wave.scc(), scc.unwrap_or(n % 2 == 1), "{mnemonic} {a:#x} {b:#x}: SCC");
    }
}

/// Logic sets SCC when the result is not zero.
#[test]
pub(super) fn logic_says_whether_anything_is_left() {
    type Logic = fn(u64, u64) -> u64;
    let operations: [(&str, Logic); 8] = [
        ("and", |a, b| a & b),
        ("or", |a, b| a | b),
        ("xor", |a, b| a ^ b),
        ("andn2", |a, b| a & !b),
        ("orn2", |a, b| a | !b),
        ("nand", |a, b| !(a & b)),
        ("nor", |a, b| !(a | b)),
        ("xnor", |a, b| !(a ^ b)),
    ];
    for (name, f) in operations {
        both(&format!("s_{name}_b32"), false, |a, b| (f(a, b), Some(f(a, b) as u32 != 0)));
        both(&format!("s_{name}_b64"), true, |a, b| (f(a, b), Some(f(a, b) != 0)));
    }
    both("s_lshr_b32", false, |a, b| {
        let result = a as u32 >> (b & 31);
        (result.into(), Some(result != 0))
    });
}

#[test]
pub(super) fn integer_arithmetic() {
    both("s_mul_i32", false, |a, b| ((a as u32).wrapping_mul(b as u32).into(), None));
    both("s_mul_hi_u32", false, |a, b| ((u64::from(a as u32) * u64::from(b as u32)) >> 32, None));
    both("s_mul_hi_i32", false, |a, b| {
        ((((i64::from(a as u32 as i32) * i64::from(b as u32 as i32)) >> 32) as u32).into(), None)
    });
    both("s_absdiff_i32", false, |a, b| {
        let result = (a as i32).wrapping_sub(b as i32).unsigned_abs();
        let result = if result == 0x8000_0000 { 0x8000_0000 } else { result };
        (result.into(), Some(result != 0))
    });
    for shift in [1, 2, 4] {
        both(&format!("s_lshl{shift}_add_u32"), false, |a, b| {
            let sum = (u64::from(a as u32) << shift) + u64::from(b as u32);
            (sum & 0xffff_ffff, Some(sum >> 32 != 0))
        });
    }
    both("s_pack_ll_b32_b16", false, |a, b| (a & 0xffff | (b & 0xffff) << 16, None));
    both("s_pack_lh_b32_b16", false, |a, b| (a & 0xffff | b & 0xffff_0000, None));
    both("s_pack_hh_b32_b16", false, |a, b| (a >> 16 & 0xffff | b & 0xffff_0000, None));
    for scc in [false, true] {
        let mut rig = Rig::new();
        rig.wave.set_scc(scc);
        rig.wave.set_sgpr64(2, 7);
        rig.wave.set_sgpr64(4, 1 << 40);
        for register in [10, 12, 14, 16] {
            rig.wave.set_sgpr64(register, 99);
        }
        rig.run(&[
            sop2("s_cselect_b64", 10, 2, 4),
            sop1("s_cmov_b32", 12, 2),
            sop1("s_cmov_b64", 14, 4),
            sopk("s_cmovk_i32", 16, 0xffff),
        ]);
        assert_eq!(rig.wave.sgpr64(10), if scc { 7 } else { 1 << 40 });
        assert_eq!(rig.wave.sgpr(12), if scc { 7 } else { 99 });
        assert_eq!(rig.wave.sgpr64(14), if scc { 1 << 40 } else { 99 });
        assert_eq!(rig.wave.sgpr(16), if scc { u32::MAX } else { 99 });
        rig.run(&[sopk("s_mulk_i32", 12, 0xfffd)]);
        assert_eq!(rig.wave.sgpr(12), if scc { 7_u32 } else { 99 }.wrapping_mul(-3_i32 as u32));
    }
}

/// One operand, s[2:3]; the result in s[10:11].
fn one(mnemonic: &str, wide: bool, f: impl Fn(u64) -> u64) {
    for n in 0..60 {
        let a = sample(n * 3 + 1);
        let mut rig = Rig::new();
        rig.wave.set_sgpr64(2, a);
        rig.run(&[sop1(mnemonic, 10, 2)]);
        let mask = if wide { u64::MAX } else { 0xffff_ffff };
        assert_eq!(rig.wave.sgpr64(10), f(a) & mask, "{mnemonic} {a:#x}");
    }
}

#[test]
pub(super) fn bits_of_one_operand() {
    one("s_not_b32", false, |a| !a);
    one("s_brev_b32", false, |a| (a as u32).reverse_bits().into());
    one("s_sext_i32_i16", false, |a| i64::from(a as i16) as u64);
    one("s_bcnt1_i32_b32", false, |a| (a as u32).count_ones().into());
    one("s_bcnt0_i32_b64", false, |a| a.count_zeros().into());
    one("s_ff0_i32_b64", false, |a| if a == u64::MAX { u64::MAX } else { u64::from(a.trailing_ones()) });
    let quads = |a: u64, bits: u32| (0..bits / 4).fold(0, |r, n| r | u64::from(a >> (4 * n) & 15 != 0) << n);
    one("s_quadmask_b64", true, |a| quads(a, 64));
    one("s_wqm_b32", false, |a| {
        (0..8).fold(0, |r, n| if a >> (4 * n) & 15 != 0 { r | 15 << (4 * n) } else { r })
    });
    for (mnemonic, wide, set) in [
        ("s_bitset0_b32", false, false),
        ("s_bitset1_b32", false, true),
        ("s_bitset0_b64", true, false),
        ("s_bitset1_b64", true, true),
    ] {
        for bit in [0, 31, 33, 63] {
            let mut rig = Rig::new();
            let old = 0xa5a5_0ff0_3c3c_9669;
            rig.wave.set_sgpr64(10, old);
            rig.wave.set_sgpr(2, bit);
            rig.run(&[sop1(mnemonic, 10, 2)]);
            let at = 1_u64 << if wide { bit } else { bit % 32 };
            assert_eq!(rig.wave.sgpr64(10), if set { old | at } else { old & !at }, "{mnemonic} {bit}");
        }
    }
}

#[test]
pub(super) fn saved_masks_combine_source_and_exec() {
    type Combine = fn(u64, u64) -> u64;
    let operations: [(&str, Combine); 9] = [
        ("or", |s, e| s | e),
        ("xor", |s, e| s ^ e),
        ("andn2", |s, e| s & !e),
        ("orn2", |s, e| s | !e),
        ("nand", |s, e| !(s & e)),
        ("nor", |s, e| !(s | e)),
        ("xnor", |s, e| !(s ^ e)),
        ("andn1", |s, e| !s & e),
        ("orn1", |s, e| !s | e),
    ];
    let (source, exec) = (0x0ff0_1234_5678_9abc, 0xfedc_ba98_7654_00ff);
    for (name, f) in operations {
        let mut rig = Rig::new();
        rig.wave.set_sgpr64(2, source);
        rig.wave.set_exec(exec);
        rig.run(&[sop1(&format!("s_{name}_saveexec_b64"), 10, 2)]);
        assert_eq!((rig.wave.sgpr64(10), rig.wave.exec()), (exec, f(source, exec)), "{name}");
        assert!(rig.wave.scc());
    }
    // These write EXEC and the destination alike.
    let mut rig = Rig::new();
    rig.wave.set_sgpr64(2, source);
    rig.wave.set_exec(exec);
    rig.run(&[sop1("s_andn1_wrexec_b64", 10, 2)]);
    assert_eq!((rig.wave.sgpr64(10), rig.wave.exec()), (!source & exec, !source & exec));
}

#[test]
pub(super) fn branches_go_by_what_their_names_say() {
    type Set = fn(&mut Wave);
    let cases: [(&str, Set, Set); 6] = [
        ("s_cbranch_scc0", |w| w.set_scc(false), |w| w.set_scc(true)),
        ("s_cbranch_scc1", |w| w.set_scc(true), |w| w.set_scc(false)),
        ("s_cbranch_vccz", |w| w.set_vcc(0), |w| w.set_vcc(4)),
        ("s_cbranch_vccnz", |w| w.set_vcc(1 << 40), |w| w.set_vcc(0)),
        ("s_cbranch_execz", |w| w.set_exec(0), |w| w.set_exec(1)),
        ("s_cbranch_execnz", |w| w.set_exec(1 << 63), |w| w.set_exec(0)),
    ];
    for (mnemonic, taken, not) in cases {
        for (set, expected) in [(taken, 0), (not, 7)] {
            let mut rig = Rig::new();
            set(&mut rig.wave);
            rig.run(&[sopp(mnemonic, 1), sop1("s_mov_b32", 10, 128 + 7)]);
            assert_eq!(rig.wave.sgpr(10), expected, "{mnemonic}");
        }
    }
    // No debugger is attached, so none of its flags is set.
    for mnemonic in
        ["s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"]
    {
        let mut rig = Rig::new();
        rig.run(&[sopp(mnemonic, 1), sop1("s_mov_b32", 10, 128 + 7)]);
        assert_eq!(rig.wave.sgpr(10), 7, "{mnemonic}");
    }
}

#[test]
pub(super) fn addresses_of_code_are_read_and_exchanged() {
    let mut rig = Rig::new();
    rig.wave.set_sgpr64(4, CODE + 12);
    rig.run(&[sop1("s_getpc_b64", 10, 0), sop1("s_swappc_b64", 12, 4), sop1("s_mov_b32", 20, 128 + 7)]);
    assert_eq!((rig.wave.sgpr64(10), rig.wave.sgpr64(12), rig.wave.sgpr(20)), (CODE + 4, CODE + 8, 0));
}

#[test]
pub(super) fn waits_priorities_and_counters_change_nothing() {
    for mnemonic in [
        "s_waitcnt",
        "s_wakeup",
        "s_setprio",
        "s_incperflevel",
        "s_decperflevel",
        "s_ttracedata",
        "s_icache_inv",
        "s_sethalt",
    ] {
        let mut rig = Rig::new();
        rig.run(&[sopp(mnemonic, 0), sop1("s_mov_b32", 10, 128 + 7)]);
        assert_eq!(rig.wave.sgpr(10), 7, "{mnemonic}");
    }
    let mut rig = Rig::new();
    assert_eq!(rig.try_run(&[sopp("s_sleep", 1)]), Ok(Stop::Yield));
    rig.run(&[sopp("s_sendmsghalt", 1)]);
    let halted = rig.try_run(&[sopp("s_sethalt", 1)]).expect_err("nobody resumes it").to_string();
    assert!(halted.contains("halts"), "{halted}");
    for mnemonic in ["s_dcache_inv", "s_dcache_inv_vol", "s_dcache_wb", "s_dcache_wb_vol"] {
        rig.run(&smem(mnemonic, false, 0));
    }
    rig.run(&smem("s_memrealtime", false, 0));
    assert_eq!(rig.wave.sgpr64(8), 0x2_0000_0009);
}

#[test]
pub(super) fn registers_move_by_m0() {
    let mut rig = Rig::new();
    for n in 0..8 {
        rig.wave.set_sgpr(20 + n, 100 + u32::from(n));
    }
    rig.wave.set_m0(4);
    rig.run(&[
        sop1("s_movrels_b32", 10, 20),
        sop1("s_movrels_b64", 12, 20),
        sop1("s_movreld_b32", 30, 20),
        sop1("s_movreld_b64", 40, 20),
    ]);
    assert_eq!((rig.wave.sgpr(10), rig.wave.sgpr64(12)), (104, 105 << 32 | 104));
    assert_eq!((rig.wave.sgpr(34), rig.wave.sgpr64(44)), (100, 101 << 32 | 100));
    // The vector index mode: source 0 by two, then its mode and index changed.
    rig.set(2, |_| 7);
    rig.set(4, |_| 9);
    rig.set(5, |_| 11);
    rig.wave.set_sgpr(3, 2);
    rig.wave.set_sgpr(6, 3);
    let on = 0xbf11_0103;
    rig.run(&[
        on,
        super::support::vop1("v_mov_b32", 10, v(2)),
        sop1("s_set_gpr_idx_idx", 0, 6),
        super::support::vop1("v_mov_b32", 11, v(2)),
        sopp("s_set_gpr_idx_mode", 0),
        super::support::vop1("v_mov_b32", 12, v(2)),
        sopp("s_set_gpr_idx_off", 0),
        vop2("v_add_u32", 13, v(2), 2),
    ]);
    assert_eq!([10, 11, 12, 13].map(|n| rig.get(n, 0)), [9, 11, 7, 14]);
}

#[test]
pub(super) fn scalar_memory_of_every_width() {
    for (suffix, count) in [("", 1_u8), ("x2", 2), ("x4", 4), ("x8", 8), ("x16", 16)] {
        for kind in ["", "buffer_", "scratch_"] {
            if kind == "scratch_" && count > 4 {
                continue;
            }
            let mnemonic = format!("s_{kind}load_dword{suffix}");
            let mut rig = Rig::new();
            for n in 0..24 {
                rig.memory.write32(DATA + 4 * n, 0x100 + n as u32);
            }
            rig.wave.set_sgpr64(4, DATA);
            // The buffer ends after its twelfth dword.
            rig.wave.set_sgpr64(6, 48);
            rig.run(&smem(&mnemonic, false, 8));
            for n in 0..count {
                let expected = if kind == "buffer_" && n >= 10 { 0 } else { 0x102 + u32::from(n) };
                assert_eq!(rig.wave.sgpr(8 + n), expected, "{mnemonic} register {n}");
            }
            if count <= 4 {
                let store = format!("s_{kind}store_dword{suffix}");
                rig.run(&smem(&store, false, 28));
                for n in 0..u64::from(count) {
                    assert_eq!(rig.memory.read32(DATA + 28 + 4 * n), 0x102 + n as u32, "{store}");
                }
                assert_eq!(rig.memory.read32(DATA + 28 + 4 * u64::from(count)), 0x107 + u32::from(count));
            }
        }
    }
    for mnemonic in ["s_buffer_atomic_cmpswap", "s_atomic_cmpswap_x2"] {
        let mut rig = Rig::new();
        rig.memory.write32(DATA, 5);
        rig.wave.set_sgpr64(4, DATA);
        rig.wave.set_sgpr64(6, 64);
        let wide = mnemonic.ends_with("x2");
        rig.wave.set_sgpr64(8, 9);
        rig.wave.set_sgpr(if wide { 10 } else { 9 }, 5);
        rig.run(&smem(mnemonic, true, 0));
        assert_eq!((rig.memory.read32(DATA), rig.wave.sgpr(8)), (9, 5), "{mnemonic}");
    }
    assert_eq!(opcode(Encoding::Smem, "s_load_dword"), 0);
}
