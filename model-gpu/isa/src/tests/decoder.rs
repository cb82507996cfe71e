//! The decoder against LLVM's disassembler.

use std::collections::BTreeSet;

use crate::instruction::Encoding;
use crate::{Target, disassemble};

/// Lines `MNEMONIC HEXWORD...` printed by `llvm-objdump` for compiled HIP programs; made by `check-with-llvm --update`.
fn corpus(target: Target) -> &'static str {
    match target {
        Target::Gfx90a => include_str!("../../tests/gfx90a/corpus.txt"),
        Target::Gfx942 => include_str!("../../tests/gfx942/corpus.txt"),
    }
}

/// Every opcode that LLVM's disassembler names for the target: encoding, opcode, mnemonic.
fn opcodes(target: Target) -> &'static str {
    match target {
        Target::Gfx90a => include_str!("../../tests/gfx90a/opcodes.txt"),
        Target::Gfx942 => include_str!("../../tests/gfx942/opcodes.txt"),
    }
}

#[test]
fn mnemonic_and_length_equal_those_of_llvm_over_the_corpus() {
    Target::ALL.into_iter().for_each(corpus_agrees);
}

fn corpus_agrees(target: Target) {
    let mut mnemonics = BTreeSet::new();
    let mut wrong = Vec::new();
    for line in corpus(target).lines() {
        let mut fields = line.split(' ');
        let mnemonic = fields.next().expect("a mnemonic");
        let words: Vec<u32> = fields.map(|word| u32::from_str_radix(word, 16).expect("a word")).collect();
        mnemonics.insert(mnemonic);
        match disassemble(target, &words) {
            Ok(ours) if ours.mnemonic == mnemonic && ours.size == 4 * words.len() => {}
            other => wrong.push(format!("{line}: {other:?}")),
        }
    }
    let lines = corpus(target).lines().count();
    println!("{target}: {lines} lines, {} mnemonics, {} wrong", mnemonics.len(), wrong.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(mnemonics.len() > 500);
}

#[test]
fn table_rows_have_the_opcodes_and_mnemonics_of_llvm() {
    Target::ALL.into_iter().for_each(rows_agree);
}

fn rows_agree(target: Target) {
    let mut known = BTreeSet::new();
    for line in opcodes(target).lines() {
        let fields: Vec<_> = line.split(' ').collect();
        let opcode = u16::from_str_radix(fields[1].trim_start_matches("0x"), 16).expect("an opcode");
        known.insert((fields[0].to_owned(), opcode, fields[2]));
    }
    let mut rows = 0;
    for encoding in Encoding::ALL {
        let name = format!("{encoding:?}").to_lowercase();
        for row in crate::tables::rows(target, encoding) {
            rows += 1;
            assert!(
                known.contains(&(name.clone(), row.opcode, row.mnemonic)),
                "{name} {:#x} {} is not an instruction of {target}",
                row.opcode,
                row.mnemonic
            );
        }
    }
    println!("{target}: {rows} of {} opcodes have rows", known.len());
}

#[test]
fn unknown_encodings_are_refused_by_name() {
    let refused = |words: &[u32]| disassemble(Target::Gfx942, words).expect_err("no instruction");
    assert!(refused(&[]).contains("no instruction words"));
    assert!(refused(&[0xf000_0000, 0]).contains("no encoding"));
    assert!(refused(&[0xbeff_ff00]).contains("Sop1 opcode 0xff"));
    assert!(refused(&[0xd340_0000]).contains("second word"));
    assert!(refused(&[0xbe80_007d]).contains("operand code 125"));
}

#[test]
fn every_opcode_of_llvm_outside_of_images_has_a_row() {
    for target in Target::ALL {
        let mut missing = Vec::new();
        for line in opcodes(target).lines() {
            let fields: Vec<_> = line.split(' ').collect();
            let opcode = u32::from_str_radix(fields[1].trim_start_matches("0x"), 16).expect("an opcode");
            let encoding = Encoding::ALL.into_iter().find(|e| format!("{e:?}").to_lowercase() == fields[0]);
            let found = encoding.and_then(|encoding| crate::tables::lookup(target, encoding, opcode));
            if found.is_none_or(|row| row.mnemonic != fields[2]) {
                missing.push(line);
            }
        }
        assert!(missing.is_empty(), "{target}: {missing:#?}");
    }
}
