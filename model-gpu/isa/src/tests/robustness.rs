//! Nothing that code does may panic.

use super::support::{CODE, DATA, Rig, sample, sopp};
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
    }
}

#[allow(clippy::cast_possible_truncation, reason = "noise")]
fn noise(n: u64) -> u32 {
    (sample(n + 40) >> 7) as u32
}

#[test]
fn every_row_decodes_or_refuses_arbitrary_fields_and_executes_without_panic() {
    let mut executed = std::collections::BTreeSet::new();
    let mut n = 0;
    for encoding in Encoding::ALL {
        for row in crate::tables::rows(Target::Gfx942, encoding) {
            if row.mnemonic.starts_with("v_mfma") {
                // Covered by its own test: slow here.
                executed.insert(row.mnemonic);
                continue;
            }
            for _ in 0..60 {
                n += 3;
                let words = [first_word(encoding, row.opcode.into(), noise(n)), noise(n + 1)];
                let Ok(inst) = decode(Target::Gfx942, CODE, &words) else { continue };
                assert_eq!(inst.row.mnemonic, row.mnemonic, "{words:08x?}");
                let mut rig = Rig::new();
                for register in 0..128 {
                    rig.wave.set_sgpr(register, noise(n + u64::from(register)));
                }
                for register in 0..=255 {
                    rig.set(register, |lane| noise(n + u64::from(register) * 64 + u64::from(lane)));
                }
                // Addresses mostly valid, so that memory instructions get somewhere.
                for register in (0..=254).step_by(2) {
                    rig.set64(register, |lane| DATA + u64::from(noise(n + u64::from(lane)) & 0x1ff8));
                }
                rig.wave.set_exec(sample(n));
                rig.wave.set_sgpr64(102, super::support::SCRATCH);
                let outcome = rig.try_run(&[words[0], words[1], sopp("s_nop", 0)]);
                if outcome.is_ok() {
                    executed.insert(row.mnemonic);
                }
            }
        }
    }
    let rows: std::collections::BTreeSet<_> = Encoding::ALL
        .iter()
        .flat_map(|encoding| crate::tables::rows(Target::Gfx942, *encoding))
        .map(|row| row.mnemonic)
        .collect();
    let never: Vec<_> = rows.difference(&executed).collect();
    println!("{} of {} mnemonics executed; never: {never:?}", executed.len(), rows.len());
    assert!(never.len() < 40, "{never:?}");
}

#[test]
fn arbitrary_words_decode_or_are_refused() {
    for n in 0..300_000 {
        let words = [noise(n), noise(n + 77)];
        let _ = decode(Target::Gfx942, CODE, &words);
        let _ = decode(Target::Gfx942, CODE, &words[..1]);
    }
}
