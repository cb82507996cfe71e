//! Program control: branches, calls, barriers, messages, traps.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::alu::custom;
use crate::Exception;
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

fn branch_if(cx: &mut Context<'_>, inst: &Inst, condition: bool) -> Flow {
    if condition {
        cx.wave.pc = inst.imm;
        Flow::Branch
    } else {
        Flow::Next
    }
}

fn jump(cx: &mut Context<'_>, inst: &Inst, target: u64) -> Flow {
    if !target.is_multiple_of(4) {
        return cx.illegal(inst, "jump to an address that is not a multiple of 4");
    }
    cx.wave.pc = target;
    Flow::Branch
}

/// Instructions of trap handlers; the model runs none.
const PRIVILEGED: &str = "outside of a trap handler";

custom! {
    s_nop [] -> None |_, _| Flow::Next;
    s_endpgm [] -> None |_, _| Flow::End;
    s_branch [] -> None |cx, inst| branch_if(cx, inst, true);
    s_cbranch_scc0 [] -> None |cx, inst| branch_if(cx, inst, !cx.wave.scc);
    s_cbranch_scc1 [] -> None |cx, inst| branch_if(cx, inst, cx.wave.scc);
    s_cbranch_vccz [] -> None |cx, inst| branch_if(cx, inst, cx.wave.vcc() == 0);
    s_cbranch_vccnz [] -> None |cx, inst| branch_if(cx, inst, cx.wave.vcc() != 0);
    s_cbranch_execz [] -> None |cx, inst| branch_if(cx, inst, cx.exec() == 0);
    s_cbranch_execnz [] -> None |cx, inst| branch_if(cx, inst, cx.exec() != 0);
    // No debugger is attached: the conditional debug flags are clear.
    s_cbranch_cdbg [] -> None |_, _| Flow::Next;
    s_barrier [] -> None |_, _| Flow::Barrier;
    s_sleep [] -> None |_, _| Flow::Yield;
    s_icache_inv [] -> None |_, _| Flow::InvalidateCode;
    s_sendmsg [] -> None |cx, inst| send(cx, inst);
    s_sendmsghalt [] -> None |cx, inst| send(cx, inst);
    s_sethalt [] -> None |cx, inst| {
        if inst.imm & 1 == 0 {
            return Flow::Next;
        }
        cx.illegal(inst, "the wave halts itself and nothing could resume it")
    };
    // Only a debugger that wants to see a wave die sets the bit.
    s_setkill [] -> None |_, inst| if inst.imm & 1 == 1 { Flow::End } else { Flow::Next };
    s_rfe_b64 [B64] -> None |cx, inst| cx.illegal(inst, PRIVILEGED);
    s_rfe_restore_b64 [B64, B32] -> None |cx, inst| cx.illegal(inst, PRIVILEGED);
    s_endpgm_saved [] -> None |cx, inst| cx.illegal(inst, PRIVILEGED);
    s_trap [] -> None |cx, inst| {
        let [id, ..] = inst.imm.to_le_bytes();
        // A debugger's trap: no debugger is attached, so the trap handler goes on behind it.
        if id == 3 {
            return Flow::Next;
        }
        cx.exception = Some(Exception::Trap { pc: inst.address, id });
        Flow::Raise
    };

    s_getpc_b64 [] -> B64 |cx, inst| {
        cx.set_pair(inst.dst, inst.next());
        Flow::Next
    };
    s_setpc_b64 [B64] -> None |cx, inst| {
        let target = cx.scalar64(&inst.src[0]);
        jump(cx, inst, target)
    };
    s_swappc_b64 [B64] -> B64 |cx, inst| {
        let target = cx.scalar64(&inst.src[0]);
        cx.set_pair(inst.dst, inst.next());
        jump(cx, inst, target)
    };
    s_call_b64 [] -> B64 |cx, inst| {
        cx.set_pair(inst.dst, inst.next());
        jump(cx, inst, inst.imm)
    };
}

/// The message's number is in the low four bits of the immediate.
fn send(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let [low, high, ..] = inst.imm.to_le_bytes();
    let m0 = cx.wave.m0();
    match cx.environment.send_message(u16::from_le_bytes([low, high]), m0) {
        Ok(()) => Flow::Next,
        Err(reason) => cx.illegal(inst, &reason),
    }
}
