//! Every form of every vector instruction: the long form, SDWA and DPP do what the short form does with its operands
//! extracted, permuted or negated beforehand, and its result put where the form says.
#![allow(clippy::cast_possible_truncation, reason = "fields are small")]

use std::collections::BTreeSet;

use super::support::{CODE, Rig, sample};
use crate::instruction::{Encoding, Literal, Row};
use crate::operand::Ty;
use crate::{Target, Wave};

const ENCODINGS: [Encoding; 3] = [Encoding::Vop1, Encoding::Vop2, Encoding::Vopc];

/// Registers of the operands: sources in v2 and v4, the destination in v10 and those behind it, masks in VCC.
const FIRST: u32 = 2;
const SECOND: u32 = 4;
const RESULT: u32 = 10;
const VCC: u32 = 106;

/// Operand codes that announce the second word of a form.
const SDWA: u32 = 249;
const DPP: u32 = 250;

/// Selectors of SDWA: a byte, a word, all.
const BYTE_2: u32 = 2;
const WORD_1: u32 = 5;
const WHOLE: u32 = 6;
const PRESERVE: u32 = 2;

/// `row_shr:1`, all rows and banks, zero where there is no source.
const SHIFTED: u32 = 0xff08_0000 | 0x111 << 8;

/// A row of a table with what is needed to encode it.
#[derive(Clone, Copy)]
struct Case {
    target: Target,
    encoding: Encoding,
    row: &'static Row,
}

impl Case {
    fn all() -> impl Iterator<Item = Case> {
        Target::ALL.into_iter().flat_map(|target| {
            ENCODINGS.into_iter().flat_map(move |encoding| {
                crate::tables::rows(target, encoding)
                    // Refused in every form.
                    .filter(|row| row.mnemonic != "v_screen_partition_4se_b32")
                    .map(move |row| Case { target, encoding, row })
            })
        })
    }

    fn short(&self, first: u32) -> Vec<u32> {
        let opcode = u32::from(self.row.opcode);
        let word = match self.encoding {
            Encoding::Vop1 => 0x7e00_0000 | RESULT << 17 | opcode << 9 | first,
            Encoding::Vop2 => opcode << 25 | RESULT << 17 | SECOND << 9 | first,
            _ => 0x7c00_0000 | opcode << 17 | SECOND << 9 | first,
        };
        let literal = (self.row.op.traits.literal != Literal::None).then_some(0x3fc0_0000);
        [word].into_iter().chain(literal).collect()
    }

    /// The short form.
    fn base(&self) -> Vec<u32> {
        self.short(256 + FIRST)
    }

    /// The long form, with bits of its two words added.
    fn long(&self, modifiers: [u32; 2]) -> Vec<u32> {
        let (start, result) = match self.encoding {
            Encoding::Vop1 => (0x140, RESULT),
            Encoding::Vop2 => (0x100, RESULT),
            _ => (0, VCC),
        };
        let traits = self.row.op.traits;
        let carry = if traits.carry_out { VCC << 8 } else { 0 };
        let mask = if traits.mask_in { VCC << 18 } else { 0 };
        let second = if self.encoding == Encoding::Vop1 { 0 } else { (256 + SECOND) << 9 };
        let opcode = u32::from(self.row.opcode) + start;
        vec![
            0xd000_0000 | opcode << 16 | result | carry | modifiers[0],
            (256 + FIRST) | second | mask | modifiers[1],
        ]
    }

    /// The SDWA form: selectors of both sources and, but for comparisons, of the result; more bits of its word.
    fn sdwa(&self, first: u32, second: u32, result: u32, more: u32) -> Vec<u32> {
        let result = if self.encoding == Encoding::Vopc { 0 } else { result << 8 };
        let mut words = self.short(SDWA);
        words.push(second << 24 | first << 16 | result | more | FIRST);
        words
    }

    fn dpp(&self, fields: u32) -> Vec<u32> {
        let mut words = self.short(DPP);
        words.push(fields | FIRST);
        words
    }

    /// The mnemonic of `words`, if they are an instruction.
    fn name(&self, words: &[u32]) -> Option<String> {
        let exists = self.row.op.traits.literal == Literal::None || words.len() == 2 && words == self.base();
        let inst = crate::decode::decode(self.target, CODE, words).ok().filter(|_| exists)?;
        Some(inst.mnemonic())
    }

    fn source(&self, n: usize) -> Ty {
        self.row.op.src[n]
    }

    /// Runs `words` on inputs that `change` has changed.
    fn run(&self, words: &[u32], change: impl Fn(&mut Rig)) -> Rig {
        let mut rig = Rig::of(self.target);
        let seed = u64::from(self.row.opcode) * 977;
        for register in 2..16 {
            rig.set(register, |lane| sample(seed + u64::from(register) * 131 + u64::from(lane) * 3) as u32);
        }
        for register in 0..102 {
            rig.wave.set_sgpr(register, sample(seed + u64::from(register)) as u32);
        }
        rig.wave.set_vcc(0x1234_5678_9abc_def0);
        change(&mut rig);
        rig.run(words);
        rig
    }
}

/// What an instruction may have changed, without the sources.
fn outcome(wave: &Wave) -> (Vec<u32>, Vec<u32>, [u64; 2], u32) {
    let vector = (6..16).flat_map(|register| *wave.vgpr(register)).collect();
    let scalar = (0..102).map(|register| wave.sgpr(register)).collect();
    (vector, scalar, [wave.vcc(), wave.exec()], wave.mode())
}

/// The forms that were run, and those that did something else than the short form.
#[derive(Default)]
struct Comparison {
    wrong: Vec<String>,
}

impl Comparison {
    fn same(&mut self, case: &Case, form: &[u32], base: &Rig, what: &str) {
        let run = case.run(form, |_| {});
        if outcome(&run.wave) != outcome(&base.wave) {
            let name = case.name(form).unwrap_or_default();
            self.wrong.push(format!("{name} of {:?}, {what}: {form:x?}", case.target));
        }
    }

    fn end(self) {
        assert!(self.wrong.is_empty(), "{} forms differ:\n{}", self.wrong.len(), self.wrong.join("\n"));
    }
}

/// Changes lanes of a source register as `f` says.
fn change(rig: &mut Rig, register: u32, f: impl Fn(u32) -> u32) {
    let old = *rig.wave.vgpr(register as u8);
    rig.set(register as u8, |lane| f(old[lane as usize]));
}

/// Where the sign of a source is: the register beyond the first, and the bit.
fn sign(ty: Ty) -> Option<(u32, u32)> {
    match ty {
        Ty::F16 => Some((0, 0x8000)),
        Ty::F32 => Some((0, 0x8000_0000)),
        Ty::F64 => Some((1, 0x8000_0000)),
        _ => None,
    }
}

#[test]
pub(super) fn the_long_form_does_what_the_short_one_does_and_changes_signs() {
    let mut forms = Comparison::default();
    for case in Case::all() {
        let plain = case.long([0, 0]);
        if case.name(&plain).is_none() {
            continue;
        }
        forms.same(&case, &plain, &case.run(&case.base(), |_| {}), "as the short form");
        if case.row.op.traits.carry_out {
            continue;
        }
        for (n, register) in [(0, FIRST), (1, SECOND)] {
            let Some((beyond, bit)) = sign(case.source(n)) else { continue };
            let negated = case.long([0, 1 << (29 + n)]);
            let absolute = case.long([1 << (8 + n), 0]);
            if case.name(&negated).is_none() {
                continue;
            }
            let base = case.run(&case.base(), |rig| change(rig, register + beyond, |x| x ^ bit));
            forms.same(&case, &negated, &base, "negated");
            let base = case.run(&case.base(), |rig| change(rig, register + beyond, |x| x & !bit));
            forms.same(&case, &absolute, &base, "absolute");
        }
    }
    forms.end();
}

#[test]
pub(super) fn sdwa_forms_take_and_write_parts() {
    let mut forms = Comparison::default();
    for case in Case::all() {
        let whole = case.sdwa(WHOLE, WHOLE, WHOLE, 0);
        if case.name(&whole).is_none() {
            continue;
        }
        forms.same(&case, &whole, &case.run(&case.base(), |_| {}), "whole");
        let sources = [
            (case.sdwa(WORD_1, WHOLE, WHOLE, 0), FIRST, 16, 0xffff),
            (case.sdwa(BYTE_2, WHOLE, WHOLE, 0), FIRST, 16, 0xff),
            (case.sdwa(WHOLE, WORD_1, WHOLE, 0), SECOND, 16, 0xffff),
        ];
        for (form, register, shift, mask) in sources {
            let base = case.run(&case.base(), |rig| change(rig, register, |x| x >> shift & mask));
            forms.same(&case, &form, &base, "a part of a source");
        }
        if sign(case.source(0)) == Some((0, 0x8000_0000)) {
            let base = case.run(&case.base(), |rig| change(rig, FIRST, |x| x ^ 0x8000_0000));
            forms.same(&case, &case.sdwa(WHOLE, WHOLE, WHOLE, 1 << 20), &base, "negated");
        }
        if case.encoding == Encoding::Vopc || case.row.op.dst.registers() != 1 {
            continue;
        }
        let old = *case.run(&[], |_| {}).wave.vgpr(RESULT as u8);
        let mut base = case.run(&case.base(), |_| {});
        let result = *base.wave.vgpr(RESULT as u8);
        base.set(RESULT as u8, |lane| old[lane as usize] & 0xffff | result[lane as usize] << 16);
        forms.same(
            &case,
            &case.sdwa(WHOLE, WHOLE, WORD_1, PRESERVE << 11),
            &base,
            "the upper half of the result",
        );
        base.set(RESULT as u8, |lane| result[lane as usize] << 16 & 0xff_0000);
        forms.same(&case, &case.sdwa(WHOLE, WHOLE, BYTE_2, 0), &base, "a byte of the result");
    }
    forms.end();
}

#[test]
pub(super) fn dpp_forms_take_the_first_source_from_other_lanes() {
    let mut forms = Comparison::default();
    for case in Case::all() {
        let shifted = case.dpp(SHIFTED);
        if case.name(&shifted).is_none() {
            continue;
        }
        let permute = |rig: &mut Rig| {
            for register in [FIRST, FIRST + 1] {
                let old = *rig.wave.vgpr(register as u8);
                rig.set(register as u8, |lane| if lane % 16 == 0 { 0 } else { old[lane as usize - 1] });
            }
        };
        forms.same(&case, &shifted, &case.run(&case.base(), permute), "shifted by a lane");
        if let Some((beyond, bit)) = sign(case.source(0)) {
            let base = case.run(&case.base(), |rig| {
                permute(rig);
                change(rig, FIRST + beyond, |x| x ^ bit);
            });
            forms.same(&case, &case.dpp(SHIFTED | 1 << 20), &base, "shifted and negated");
        }
    }
    forms.end();
}

/// The mnemonics of all forms, with the suffix of each.
pub(super) fn all() -> BTreeSet<String> {
    Case::all()
        .flat_map(|case| {
            let forms =
                [case.base(), case.long([0, 0]), case.sdwa(WHOLE, WHOLE, WHOLE, 0), case.dpp(SHIFTED)];
            forms.into_iter().filter_map(move |words| case.name(&words))
        })
        .collect()
}
