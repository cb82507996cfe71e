//! Global wave sync instructions.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::lds::ds_ops;
use crate::exec::{Context, Flow};
use crate::gws::{Gws, Ticket};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// The resource: bits 21:16 of M0 plus the offset.
fn resource(cx: &Context<'_>, inst: &Inst) -> usize {
    usize::from((cx.wave.m0() >> 16).to_le_bytes()[0].wrapping_add(inst.imm.to_le_bytes()[0]) & 63)
}

/// The data of the first active lane.
fn value(cx: &Context<'_>, inst: &Inst) -> u32 {
    let lane = cx.exec().trailing_zeros() as usize % crate::WAVE_SIZE;
    cx.wave.vector.get(inst.src[0].register)[lane]
}

fn with(cx: &mut Context<'_>, inst: &Inst, f: impl FnOnce(&Gws, usize)) -> Flow {
    let Some(gws) = cx.environment.gws() else { return missing(cx, inst) };
    f(gws, resource(cx, inst));
    Flow::Next
}

fn missing(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    cx.illegal(inst, "the queue has no global wave sync")
}

/// Asks once with `ask`, then again and again whether the ticket passes.
fn wait(cx: &mut Context<'_>, inst: &Inst, ask: impl FnOnce(&Gws, usize) -> Option<Ticket>) -> Flow {
    let Some(gws) = cx.environment.gws() else { return missing(cx, inst) };
    let resource = resource(cx, inst);
    let waiting = match cx.wave.ticket.take() {
        Some(ticket) => (!gws.passes(resource, ticket)).then_some(ticket),
        None => ask(gws, resource),
    };
    cx.wave.ticket = waiting;
    if waiting.is_none() { Flow::Next } else { Flow::Again }
}

ds_ops! {
    ds_gws_init [B32 None None] -> None |cx, inst| {
        let value = value(cx, inst);
        with(cx, inst, |gws, resource| gws.init(resource, value))
    };
    ds_gws_barrier [B32 None None] -> None |cx, inst| {
        let value = value(cx, inst);
        wait(cx, inst, |gws, resource| gws.arrive(resource, value))
    };
    ds_gws_sema_p [None None None] -> None |cx, inst| wait(cx, inst, Gws::take);
    ds_gws_sema_v [None None None] -> None |cx, inst| with(cx, inst, |gws, resource| gws.give(resource, 1));
    ds_gws_sema_br [B32 None None] -> None |cx, inst| {
        let value = value(cx, inst);
        with(cx, inst, |gws, resource| gws.give(resource, value))
    };
    ds_gws_sema_release_all [None None None] -> None |cx, inst| with(cx, inst, Gws::release_all);
}
