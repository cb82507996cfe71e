//! Fork and join: branches that keep the lanes of the other way on a stack in scalar registers.
//!
//! CDNA3 manual, section "Arbitrary Divergent Control Flow". MODE holds the stack's height (CSP) in bits 31:29; each entry is
//! four scalar registers: the mask, then the address.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::alu::custom;
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// Where CSP lies in MODE, and how many entries fit below the end of the general registers.
const CSP: u32 = 29;
const DEEPEST: u32 = 7;

fn height(cx: &Context<'_>) -> u32 {
    cx.wave.mode >> CSP
}

fn set_height(cx: &mut Context<'_>, height: u32) {
    cx.wave.mode = cx.wave.mode & !(7 << CSP) | height << CSP;
}

/// The smaller part of the lanes goes on first; the other is kept.
fn fork(cx: &mut Context<'_>, inst: &Inst, condition: u64, target: u64) -> Flow {
    if !target.is_multiple_of(4) {
        return cx.illegal(inst, "jump to an address that is not a multiple of 4");
    }
    let (pass, fail) = (condition & cx.exec(), !condition & cx.exec());
    if fail == 0 {
        cx.wave.pc = target;
        return Flow::Branch;
    }
    if pass == 0 {
        cx.wave.pc = inst.next();
        return Flow::Branch;
    }
    let depth = height(cx);
    if depth == DEEPEST {
        return cx.illegal(inst, "the stack of branches is full");
    }
    let fail_first = fail.count_ones() < pass.count_ones();
    let (now, here, kept, there) =
        if fail_first { (fail, inst.next(), pass, target) } else { (pass, target, fail, inst.next()) };
    let [entry, ..] = (depth * 4).to_le_bytes();
    cx.set_pair(entry.into(), kept);
    cx.set_pair(u16::from(entry) + 2, there);
    set_height(cx, depth + 1);
    cx.wave.set_exec(now);
    cx.wave.pc = here;
    Flow::Branch
}

custom! {
    s_cbranch_g_fork [B64, B64] -> None |cx, inst| {
        let (condition, target) = (cx.scalar64(&inst.src[0]), cx.scalar64(&inst.src[1]));
        fork(cx, inst, condition, target)
    };
    s_cbranch_i_fork [B64] -> None |cx, inst| {
        let condition = cx.scalar64(&inst.src[0]);
        fork(cx, inst, condition, inst.imm)
    };
    // The source is the height from before the fork.
    s_cbranch_join [B32] -> None |cx, inst| {
        let depth = height(cx);
        if depth == cx.scalar32(&inst.src[0]) & 7 {
            return Flow::Next;
        }
        let Some(depth) = depth.checked_sub(1) else {
            return cx.illegal(inst, "the stack of branches is empty");
        };
        let [entry, ..] = (depth * 4).to_le_bytes();
        let (mask, target) = (cx.pair(entry.into()), cx.pair(u16::from(entry) + 2));
        if !target.is_multiple_of(4) {
            return cx.illegal(inst, "jump to an address that is not a multiple of 4");
        }
        set_height(cx, depth);
        cx.wave.set_exec(mask);
        cx.wave.pc = target;
        Flow::Branch
    };
}
