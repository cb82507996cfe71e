//! DS atomics, each with and without the value before it.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::atomic::{
    add_f32, add_f64, decrement32, decrement64, increment32, increment64, max_f64, min_f64, pk_add_bf16,
    pk_add_f16,
};
use super::lds::addresses;
use crate::WAVE_SIZE;
use crate::exec::lanes::{active, blend};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::{Kind, Ty};

/// Applies `f(old, first data, second data)` at each active lane's place, in lane order.
fn modify32(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(u32, u32, u32) -> u32) -> Flow {
    let places = addresses(cx, inst);
    let data = data32(cx, inst, 1);
    let data2 = data32(cx, inst, 2);
    let exec = cx.exec();
    let mut old = [0; WAVE_SIZE];
    for lane in active(exec) {
        old[lane] = cx.lds.load32(places[lane]);
        cx.lds.store32(places[lane], f(old[lane], data[lane], data2[lane]));
    }
    if inst.row.op.dst != Ty::None {
        blend(cx.wave.vector.get_mut(inst.dst), &old, exec);
    }
    Flow::Next
}

fn data32(cx: &Context<'_>, inst: &Inst, n: usize) -> [u32; WAVE_SIZE] {
    match inst.src[n].kind {
        Kind::Vector => *cx.wave.vector.get(inst.src[n].register),
        _ => [0; WAVE_SIZE],
    }
}

fn data64(cx: &Context<'_>, inst: &Inst, n: usize) -> [u64; WAVE_SIZE] {
    match inst.src[n].kind {
        Kind::Vector => {
            let low = cx.wave.vector.get(inst.src[n].register);
            let high = cx.wave.vector.get(inst.src[n].register + 1);
            std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
        }
        _ => [0; WAVE_SIZE],
    }
}

fn modify64(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(u64, u64, u64) -> u64) -> Flow {
    let places = addresses(cx, inst);
    let data = data64(cx, inst, 1);
    let data2 = data64(cx, inst, 2);
    let exec = cx.exec();
    let mut old = [0; WAVE_SIZE];
    for lane in active(exec) {
        old[lane] = cx.lds.load64(places[lane]);
        cx.lds.store64(places[lane], f(old[lane], data[lane], data2[lane]));
    }
    if inst.row.op.dst != Ty::None {
        blend(cx.wave.vector.get_mut(inst.dst), &old.map(|value| value as u32), exec);
        blend(cx.wave.vector.get_mut(inst.dst + 1), &old.map(|value| (value >> 32) as u32), exec);
    }
    Flow::Next
}

/// Exchanges two dwords; returns both old ones.
fn exchange2(cx: &mut Context<'_>, inst: &Inst, unit: u32) -> Flow {
    let base = *cx.wave.vector.get(inst.src[0].register);
    let exec = cx.exec();
    for which in 0..2u16 {
        let offset = (inst.imm as u32 >> (8 * which) & 0xff) * unit;
        let data = data32(cx, inst, 1 + usize::from(which));
        let mut old = [0; WAVE_SIZE];
        for lane in active(exec) {
            let at = base[lane].wrapping_add(offset);
            old[lane] = cx.lds.load32(at);
            cx.lds.store32(at, data[lane]);
        }
        blend(cx.wave.vector.get_mut(inst.dst + which), &old, exec);
    }
    Flow::Next
}

fn exchange2_64(cx: &mut Context<'_>, inst: &Inst, unit: u32) -> Flow {
    let base = *cx.wave.vector.get(inst.src[0].register);
    let exec = cx.exec();
    for which in 0..2u16 {
        let offset = (inst.imm as u32 >> (8 * which) & 0xff) * unit;
        let data = data64(cx, inst, 1 + usize::from(which));
        let mut old = [0; WAVE_SIZE];
        for lane in active(exec) {
            let at = base[lane].wrapping_add(offset);
            old[lane] = cx.lds.load64(at);
            cx.lds.store64(at, data[lane]);
        }
        blend(cx.wave.vector.get_mut(inst.dst + 2 * which), &old.map(|value| value as u32), exec);
        blend(cx.wave.vector.get_mut(inst.dst + 2 * which + 1), &old.map(|value| (value >> 32) as u32), exec);
    }
    Flow::Next
}

macro_rules! pairs {
    ($($name:ident $rtn:ident $run:ident [$data:ident $data2:ident] $ty:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| $run(cx, inst, $f),
            dst: Ty::None,
            src: [Ty::B32, Ty::$data, Ty::$data2],
            traits: Traits::NONE,
        };
        pub(crate) const $rtn: Op = Op { dst: Ty::$ty, ..$name };
    )* };
}

fn signed(f: impl Fn(i32, i32) -> i32) -> impl Fn(u32, u32, u32) -> u32 {
    move |old, data, _| f(old as i32, data as i32) as u32
}

fn signed64(f: impl Fn(i64, i64) -> i64) -> impl Fn(u64, u64, u64) -> u64 {
    move |old, data, _| f(old as i64, data as i64) as u64
}

pairs! {
    ds_add_u32 ds_add_rtn_u32 modify32 [B32 None] B32 |old, data, _| old.wrapping_add(data);
    ds_sub_u32 ds_sub_rtn_u32 modify32 [B32 None] B32 |old, data, _| old.wrapping_sub(data);
    ds_rsub_u32 ds_rsub_rtn_u32 modify32 [B32 None] B32 |old, data, _| data.wrapping_sub(old);
    ds_inc_u32 ds_inc_rtn_u32 modify32 [B32 None] B32 |old, data, _| increment32(old, data);
    ds_dec_u32 ds_dec_rtn_u32 modify32 [B32 None] B32 |old, data, _| decrement32(old, data);
    ds_min_i32 ds_min_rtn_i32 modify32 [B32 None] B32 signed(Ord::min);
    ds_max_i32 ds_max_rtn_i32 modify32 [B32 None] B32 signed(Ord::max);
    ds_min_u32 ds_min_rtn_u32 modify32 [B32 None] B32 |old, data, _| old.min(data);
    ds_max_u32 ds_max_rtn_u32 modify32 [B32 None] B32 |old, data, _| old.max(data);
    ds_and_b32 ds_and_rtn_b32 modify32 [B32 None] B32 |old, data, _| old & data;
    ds_or_b32 ds_or_rtn_b32 modify32 [B32 None] B32 |old, data, _| old | data;
    ds_xor_b32 ds_xor_rtn_b32 modify32 [B32 None] B32 |old, data, _| old ^ data;
    ds_mskor_b32 ds_mskor_rtn_b32 modify32 [B32 B32] B32 |old, data, data2| old & !data | data2;
    ds_cmpst_b32 ds_cmpst_rtn_b32 modify32 [B32 B32] B32 |old, cmp, new| if old == cmp { new } else { old };
    ds_cmpst_f32 ds_cmpst_rtn_f32 modify32 [B32 B32] B32 |old, cmp, new| {
        if f32::from_bits(old) == f32::from_bits(cmp) { new } else { old }
    };
    ds_min_f32 ds_min_rtn_f32 modify32 [B32 None] B32 |old, data, _| {
        if f32::from_bits(data) < f32::from_bits(old) { data } else { old }
    };
    ds_max_f32 ds_max_rtn_f32 modify32 [B32 None] B32 |old, data, _| {
        if f32::from_bits(data) > f32::from_bits(old) { data } else { old }
    };
    ds_add_f32 ds_add_rtn_f32 modify32 [B32 None] B32 |old, data, _| add_f32(old, data);
    ds_pk_add_f16 ds_pk_add_rtn_f16 modify32 [B32 None] B32 |old, data, _| pk_add_f16(old, data);
    ds_pk_add_bf16 ds_pk_add_rtn_bf16 modify32 [B32 None] B32 |old, data, _| pk_add_bf16(old, data);
    ds_wrxchg_b32_unused ds_wrxchg_rtn_b32 modify32 [B32 None] B32 |_, data, _| data;
    ds_wrap_b32_unused ds_wrap_rtn_b32 modify32 [B32 B32] B32 |old, data, data2| {
        if old >= data { old - data } else { old.wrapping_add(data2) }
    };

    ds_add_u64 ds_add_rtn_u64 modify64 [B64 None] B64 |old, data, _| old.wrapping_add(data);
    ds_sub_u64 ds_sub_rtn_u64 modify64 [B64 None] B64 |old, data, _| old.wrapping_sub(data);
    ds_rsub_u64 ds_rsub_rtn_u64 modify64 [B64 None] B64 |old, data, _| data.wrapping_sub(old);
    ds_inc_u64 ds_inc_rtn_u64 modify64 [B64 None] B64 |old, data, _| increment64(old, data);
    ds_dec_u64 ds_dec_rtn_u64 modify64 [B64 None] B64 |old, data, _| decrement64(old, data);
    ds_min_i64 ds_min_rtn_i64 modify64 [B64 None] B64 signed64(Ord::min);
    ds_max_i64 ds_max_rtn_i64 modify64 [B64 None] B64 signed64(Ord::max);
    ds_min_u64 ds_min_rtn_u64 modify64 [B64 None] B64 |old, data, _| old.min(data);
    ds_max_u64 ds_max_rtn_u64 modify64 [B64 None] B64 |old, data, _| old.max(data);
    ds_and_b64 ds_and_rtn_b64 modify64 [B64 None] B64 |old, data, _| old & data;
    ds_or_b64 ds_or_rtn_b64 modify64 [B64 None] B64 |old, data, _| old | data;
    ds_xor_b64 ds_xor_rtn_b64 modify64 [B64 None] B64 |old, data, _| old ^ data;
    ds_mskor_b64 ds_mskor_rtn_b64 modify64 [B64 B64] B64 |old, data, data2| old & !data | data2;
    ds_cmpst_b64 ds_cmpst_rtn_b64 modify64 [B64 B64] B64 |old, cmp, new| if old == cmp { new } else { old };
    ds_cmpst_f64 ds_cmpst_rtn_f64 modify64 [B64 B64] B64 |old, cmp, new| {
        if f64::from_bits(old) == f64::from_bits(cmp) { new } else { old }
    };
    ds_min_f64 ds_min_rtn_f64 modify64 [B64 None] B64 |old, data, _| min_f64(old, data);
    ds_max_f64 ds_max_rtn_f64 modify64 [B64 None] B64 |old, data, _| max_f64(old, data);
    ds_add_f64 ds_add_rtn_f64 modify64 [B64 None] B64 |old, data, _| add_f64(old, data);
    ds_wrxchg_b64_unused ds_wrxchg_rtn_b64 modify64 [B64 None] B64 |_, data, _| data;
    ds_condxchg_unused ds_condxchg32_rtn_b64 modify64 [B64 None] B64 |old, data, _| conditional_exchange(old, data);
}

/// Each dword whose new value has its top bit set is replaced by the rest of it.
fn conditional_exchange(old: u64, data: u64) -> u64 {
    let part = |shift: u32| {
        let (old, new) = ((old >> shift) as u32, (data >> shift) as u32);
        u64::from(if new >> 31 == 1 { new & 0x7fff_ffff } else { old }) << shift
    };
    part(0) | part(32)
}

macro_rules! exchanges {
    ($($name:ident $data:ident $dst:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op =
            Op { exec: $f, dst: Ty::$dst, src: [Ty::B32, Ty::$data, Ty::$data], traits: Traits::NONE };
    )* };
}

exchanges! {
    ds_wrxchg2_rtn_b32 B32 B64 |cx, inst| exchange2(cx, inst, 4);
    ds_wrxchg2st64_rtn_b32 B32 B64 |cx, inst| exchange2(cx, inst, 256);
    ds_wrxchg2_rtn_b64 B64 B128 |cx, inst| exchange2_64(cx, inst, 8);
    ds_wrxchg2st64_rtn_b64 B64 B128 |cx, inst| exchange2_64(cx, inst, 512);
}
