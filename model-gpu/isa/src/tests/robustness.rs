//! Nothing that code does may panic.

use super::support::{CODE, DATA, Rig, sample, sop1, sopp, v, vop3};
use crate::Target;
use crate::decode::decode;
use crate::instruction::Encoding;

/// A word with the bits of an encoding and an opcode.
fn first_word(encoding: Encoding, opcode: u32, noise: u32) -> u32 {
    match encoding {
        Encoding::Sop1 => 0xbe80_0000 | opcode << 8 | noise & 0x7f_00ff,
        Encoding::Sop2 => 0x8000_0000 | opcode << 23 | noise & 0x7f_ffff,
        Encoding::Sopc => 0xbf00_0000 | opcode << 16 | noise & 0xffff,
        Encoding::Sopk => 0xb000_0000 | opcode << 23 | noise & 0x7f_ffff,
        Encoding::Sopp => 0xbf80_0000 | opcode << 16 | noise & 0xffff,
        Encoding::Smem => 0xc000_0000 | opcode << 18 | noise & 0x3_ffff,
        Encoding::Vop1 => 0x7e00_0000 | opcode << 9 | noise & 0x1fe_01ff,
        Encoding::Vop2 => opcode << 25 | noise & 0x1ff_ffff,
        Encoding::Vopc => 0x7c00_0000 | opcode << 17 | noise & 0x1_ffff,
        Encoding::Vop3 => 0xd000_0000 | opcode << 16 | noise & 0x80ff,
        Encoding::Vop3p => 0xd380_0000 | opcode << 16 | noise & 0xffff,
        Encoding::Ds => 0xd800_0000 | opcode << 17 | noise & 0xffff,
        Encoding::Flat => 0xdc00_0000 | opcode << 18 | noise & 0x1_3fff,
        Encoding::Scratch => 0xdc00_4000 | opcode << 18 | noise & 0x1_3fff,
        Encoding::Global => 0xdc00_8000 | opcode << 18 | noise & 0x1_3fff,
        Encoding::Mubuf => 0xe000_0000 | opcode << 18 | noise & 0x1_7fff,
        Encoding::Mtbuf => 0xe800_0000 | opcode << 15 | noise & 0x3f8_7fff,
    }
}

#[allow(clippy::cast_possible_truncation, reason = "noise")]
fn noise(n: u64) -> u32 {
    (sample(n + 40) >> 7) as u32
}

/// Registers with noise, and addresses that are mostly valid, so that memory instructions get somewhere.
fn fill(rig: &mut Rig, n: u64) {
    for register in (0..102).step_by(2) {
        rig.wave.set_sgpr64(register, DATA + u64::from(noise(n + u64::from(register)) & 0x1ff8));
    }
    for register in 102..128 {
        rig.wave.set_sgpr(register, noise(n + u64::from(register)));
    }
    rig.wave.set_sgpr(124, noise(n + 124) & 0x3ff);
    for register in (0..=254).step_by(2) {
        let value = |lane| DATA + u64::from(noise(n + u64::from(register)).wrapping_add(lane * 8) & 0x1ff8);
        rig.set64(register, value);
    }
    rig.wave.set_exec(sample(n));
    rig.wave.set_sgpr64(102, super::support::SCRATCH);
}

#[test]
fn every_row_decodes_or_refuses_arbitrary_fields_and_executes_without_panic() {
    for target in Target::ALL {
        let (mut executed, mut rows, mut n) = (0, 0, 0);
        for encoding in Encoding::ALL {
            for row in crate::tables::rows(target, encoding) {
                let mut rig = Rig::of(target);
                let mut ended = false;
                let slow = row.mnemonic.contains("mfma") || row.mnemonic.contains("smfmac");
                for attempt in 0..if slow { 4 } else { 40 } {
                    n += 3;
                    let words = [first_word(encoding, row.opcode.into(), noise(n)), noise(n + 1)];
                    let Ok(inst) = decode(target, CODE, &words) else { continue };
                    assert_eq!(inst.row.mnemonic, row.mnemonic, "{words:08x?}");
                    // What earlier attempts left is noise as well.
                    if attempt % 8 == 0 {
                        fill(&mut rig, n);
                    }
                    rig.wave.mode = 0x3f0;
                    rig.wave.ticket = None;
                    ended |= rig.try_run(&[words[0], words[1], sopp("s_nop", 0)]).is_ok();
                }
                rows += 1;
                executed += u32::from(ended);
            }
        }
        println!("{target}: {executed} of {rows} rows got to the end with some arbitrary fields");
        assert!(executed * 10 > rows * 8, "{target}: the noise reaches {executed} of {rows} rows only");
    }
}

#[test]
fn arbitrary_words_decode_or_are_refused() {
    for n in 0..100_000 {
        let words = [noise(n), noise(n + 77)];
        for target in Target::ALL {
            let _ = decode(target, CODE, &words);
            let _ = decode(target, CODE, &words[..1]);
        }
    }
}

#[test]
fn code_that_leads_nowhere_is_an_exception_with_a_name() {
    let of = |rig: &mut Rig| rig.resume().expect_err("nowhere").to_string();
    // The second word of an instruction lies beyond the code's memory.
    let mut rig = Rig::new();
    let last = super::support::CODE + super::support::SIZE - 4;
    rig.memory.write32(last, vop3("v_fma_f32", 1, [v(2), v(3), v(4)])[0]);
    rig.wave.pc = last;
    assert!(of(&mut rig).contains("instruction fetch"), "the fetch of the second word");
    // A branch to where nothing is mapped.
    let mut rig = Rig::new();
    rig.load(&[sopp("s_branch", 0x8000)]);
    assert!(of(&mut rig).contains("instruction fetch"));
    // An entry between two words.
    let mut rig = Rig::new();
    rig.load(&[]);
    rig.wave.pc += 2;
    assert!(of(&mut rig).contains("not a multiple of 4"));
}

#[test]
fn register_tuples_must_lie_where_the_hardware_has_them() {
    let refused = |words: &[u32]| decode(Target::Gfx942, CODE, words).expect_err("no such tuple").reason;
    assert!(refused(&[sop1("s_mov_b64", 3, 4)]).contains("multiple of 2"));
    assert!(refused(&[sop1("s_mov_b64", 4, 5)]).contains("multiple of 2"));
    assert!(refused(&[0xc00a_0000 | 6 << 6 | 1, 0]).contains("multiple of 4"), "s_load_dwordx4 s[6:9]");
    assert!(refused(&vop3("v_add_f64", 1, [v(2), v(4), 0])).contains("even"));
    assert!(refused(&vop3("v_add_f64", 2, [v(3), v(4), 0])).contains("even"));
    assert!(refused(&vop3("v_add_f64", 254, [v(2), v(255), 0])).contains("255"));
    assert!(refused(&[sop1("s_mov_b64", 101, 4)]).contains("101"));
}
