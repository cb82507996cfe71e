//! Operations that save EXEC and combine it with a mask.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::alu::custom;
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// EXEC becomes `f(source, EXEC)`; the destination gets the old EXEC, or the new one for the `wrexec` forms.
fn combine(cx: &mut Context<'_>, inst: &Inst, save_old: bool, f: impl Fn(u64, u64) -> u64) -> Flow {
    let source = cx.scalar64(&inst.src[0]);
    let old = cx.exec();
    let new = f(source, old);
    cx.set_pair(inst.dst, if save_old { old } else { new });
    cx.wave.set_exec(new);
    cx.wave.scc = new != 0;
    Flow::Next
}

custom! {
    s_and_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| s & e);
    s_or_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| s | e);
    s_xor_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| s ^ e);
    s_andn2_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| s & !e);
    s_orn2_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| s | !e);
    s_nand_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| !(s & e));
    s_nor_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| !(s | e));
    s_xnor_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| !(s ^ e));
    s_andn1_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| !s & e);
    s_orn1_saveexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, true, |s, e| !s | e);
    s_andn1_wrexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, false, |s, e| !s & e);
    s_andn2_wrexec_b64 [B64] -> B64 |cx, inst| combine(cx, inst, false, |s, e| s & !e);
}
