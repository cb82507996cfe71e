//! Vector atomics of FLAT, GLOBAL and MUBUF.
//!
//! Float atomics round to nearest even and keep denormals whatever MODE says, as the memory-side units do.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::place::{Place, Places, scratch_atomic};
use crate::exec::lanes::{active, blend};
use crate::exec::{Context, Flow};
use crate::float::arithmetic::{add16, add32, add64};
use crate::float::narrow::{bf16_to_f32, f32_to_bf16};
use crate::float::{F16, Fp, Round};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;
use crate::{MemoryFault, WAVE_SIZE};

/// Applies `f(old, data)` to 32 bits at each active lane's place, in lane order.
fn modify32(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(u32, u32) -> u32) -> Flow {
    let data = *cx.wave.vector.get(inst.src[1].register);
    each32(cx, inst, |lane, old| f(old, data[lane]))
}

fn each32(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(usize, u32) -> u32) -> Flow {
    let places = Places::of(cx, inst);
    let mut old = [0; WAVE_SIZE];
    for lane in active(cx.exec()) {
        let result = at32(cx, places.place(lane), |value| f(lane, value));
        match result {
            Ok(value) => old[lane] = value,
            Err(fault) => return cx.fault(inst, fault),
        }
    }
    if inst.returns {
        let exec = cx.exec();
        blend(cx.wave.vector.get_mut(inst.dst), &old, exec);
    }
    Flow::Next
}

fn at32(cx: &mut Context<'_>, place: Place, f: impl Fn(u32) -> u32) -> Result<u32, MemoryFault> {
    match place {
        Place::Global(address) => cx.memory.modify32(address, f),
        Place::Lds(offset) => {
            let old = cx.lds.load32(offset);
            cx.lds.store32(offset, f(old));
            Ok(old)
        }
        Place::Scratch { lane, offset } => {
            let address = scratch_atomic(cx, lane, offset, 4)?;
            cx.memory.modify32(address, f)
        }
        Place::Nowhere => Ok(0),
    }
}

fn modify64(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(u64, u64) -> u64) -> Flow {
    let first = inst.src[1].register;
    let (low, high) = (*cx.wave.vector.get(first), *cx.wave.vector.get(first + 1));
    each64(cx, inst, |lane, old| f(old, u64::from(low[lane]) | u64::from(high[lane]) << 32))
}

fn each64(cx: &mut Context<'_>, inst: &Inst, f: impl Fn(usize, u64) -> u64) -> Flow {
    let places = Places::of(cx, inst);
    let (mut low, mut high) = ([0; WAVE_SIZE], [0; WAVE_SIZE]);
    for lane in active(cx.exec()) {
        let result = at64(cx, places.place(lane), |value| f(lane, value));
        match result {
            Ok(value) => {
                low[lane] = value as u32;
                high[lane] = (value >> 32) as u32;
            }
            Err(fault) => return cx.fault(inst, fault),
        }
    }
    if inst.returns {
        let exec = cx.exec();
        blend(cx.wave.vector.get_mut(inst.dst), &low, exec);
        blend(cx.wave.vector.get_mut(inst.dst + 1), &high, exec);
    }
    Flow::Next
}

fn at64(cx: &mut Context<'_>, place: Place, f: impl Fn(u64) -> u64) -> Result<u64, MemoryFault> {
    match place {
        Place::Global(address) => cx.memory.modify64(address, f),
        Place::Lds(offset) => {
            let old = cx.lds.load64(offset);
            cx.lds.store64(offset, f(old));
            Ok(old)
        }
        Place::Scratch { lane, offset } => {
            let address = scratch_atomic(cx, lane, offset, 8)?;
            cx.memory.modify64(address, f)
        }
        Place::Nowhere => Ok(0),
    }
}

/// Compare and swap: the data registers hold the new value, then the one to compare with.
fn compare_swap32(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let first = inst.src[1].register;
    let (new, expected) = (*cx.wave.vector.get(first), *cx.wave.vector.get(first + 1));
    each32(cx, inst, |lane, old| if old == expected[lane] { new[lane] } else { old })
}

fn compare_swap64(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let first = inst.src[1].register;
    let registers: [[u32; WAVE_SIZE]; 4] = std::array::from_fn(|n| *cx.wave.vector.get(first + n as u16));
    let pair =
        |n: usize, lane: usize| u64::from(registers[n][lane]) | u64::from(registers[n + 1][lane]) << 32;
    each64(cx, inst, |lane, old| if old == pair(2, lane) { pair(0, lane) } else { old })
}

/// Wrapping increment: zero once the limit is reached.
pub(crate) fn increment32(old: u32, limit: u32) -> u32 {
    if old >= limit { 0 } else { old + 1 }
}

/// Wrapping decrement: the limit below zero and from above the limit.
pub(crate) fn decrement32(old: u32, limit: u32) -> u32 {
    if old == 0 || old > limit { limit } else { old - 1 }
}

pub(crate) fn increment64(old: u64, limit: u64) -> u64 {
    if old >= limit { 0 } else { old + 1 }
}

pub(crate) fn decrement64(old: u64, limit: u64) -> u64 {
    if old == 0 || old > limit { limit } else { old - 1 }
}

pub(crate) fn add_f32(old: u32, data: u32) -> u32 {
    add32(Fp::DEFAULT, f32::from_bits(old), f32::from_bits(data)).to_bits()
}

pub(crate) fn add_f64(old: u64, data: u64) -> u64 {
    add64(Fp::DEFAULT, f64::from_bits(old), f64::from_bits(data)).to_bits()
}

pub(crate) fn min_f64(old: u64, data: u64) -> u64 {
    if f64::from_bits(data) < f64::from_bits(old) { data } else { old }
}

pub(crate) fn max_f64(old: u64, data: u64) -> u64 {
    if f64::from_bits(data) > f64::from_bits(old) { data } else { old }
}

pub(crate) fn pk_add_f16(old: u32, data: u32) -> u32 {
    let part = |shift: u32| {
        u32::from(add16(Fp::DEFAULT, F16((old >> shift) as u16), F16((data >> shift) as u16)).0) << shift
    };
    part(0) | part(16)
}

pub(crate) fn pk_add_bf16(old: u32, data: u32) -> u32 {
    let part = |shift: u32| {
        let sum = add32(Fp::DEFAULT, bf16_to_f32((old >> shift) as u16), bf16_to_f32((data >> shift) as u16));
        u32::from(f32_to_bf16(sum, Round::NearestEven)) << shift
    };
    part(0) | part(16)
}

macro_rules! atomics {
    ($($name:ident $result:ident $data:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$result,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$data, ..Traits::NONE },
        };
    )* };
}

atomics! {
    atomic_swap B32 B32 |cx, inst| modify32(cx, inst, |_, data| data);
    atomic_cmpswap B32 B64 compare_swap32;
    atomic_add B32 B32 |cx, inst| modify32(cx, inst, u32::wrapping_add);
    atomic_sub B32 B32 |cx, inst| modify32(cx, inst, u32::wrapping_sub);
    atomic_smin B32 B32 |cx, inst| modify32(cx, inst, |old, data| (old as i32).min(data as i32) as u32);
    atomic_umin B32 B32 |cx, inst| modify32(cx, inst, u32::min);
    atomic_smax B32 B32 |cx, inst| modify32(cx, inst, |old, data| (old as i32).max(data as i32) as u32);
    atomic_umax B32 B32 |cx, inst| modify32(cx, inst, u32::max);
    atomic_and B32 B32 |cx, inst| modify32(cx, inst, |old, data| old & data);
    atomic_or B32 B32 |cx, inst| modify32(cx, inst, |old, data| old | data);
    atomic_xor B32 B32 |cx, inst| modify32(cx, inst, |old, data| old ^ data);
    atomic_inc B32 B32 |cx, inst| modify32(cx, inst, increment32);
    atomic_dec B32 B32 |cx, inst| modify32(cx, inst, decrement32);
    atomic_add_f32 B32 B32 |cx, inst| modify32(cx, inst, add_f32);
    atomic_pk_add_f16 B32 B32 |cx, inst| modify32(cx, inst, pk_add_f16);
    atomic_pk_add_bf16 B32 B32 |cx, inst| modify32(cx, inst, pk_add_bf16);

    atomic_swap_x2 B64 B64 |cx, inst| modify64(cx, inst, |_, data| data);
    atomic_cmpswap_x2 B64 B128 compare_swap64;
    atomic_add_x2 B64 B64 |cx, inst| modify64(cx, inst, u64::wrapping_add);
    atomic_sub_x2 B64 B64 |cx, inst| modify64(cx, inst, u64::wrapping_sub);
    atomic_smin_x2 B64 B64 |cx, inst| modify64(cx, inst, |old, data| (old as i64).min(data as i64) as u64);
    atomic_umin_x2 B64 B64 |cx, inst| modify64(cx, inst, u64::min);
    atomic_smax_x2 B64 B64 |cx, inst| modify64(cx, inst, |old, data| (old as i64).max(data as i64) as u64);
    atomic_umax_x2 B64 B64 |cx, inst| modify64(cx, inst, u64::max);
    atomic_and_x2 B64 B64 |cx, inst| modify64(cx, inst, |old, data| old & data);
    atomic_or_x2 B64 B64 |cx, inst| modify64(cx, inst, |old, data| old | data);
    atomic_xor_x2 B64 B64 |cx, inst| modify64(cx, inst, |old, data| old ^ data);
    atomic_inc_x2 B64 B64 |cx, inst| modify64(cx, inst, increment64);
    atomic_dec_x2 B64 B64 |cx, inst| modify64(cx, inst, decrement64);
    atomic_add_f64 B64 B64 |cx, inst| modify64(cx, inst, add_f64);
    atomic_min_f64 B64 B64 |cx, inst| modify64(cx, inst, min_f64);
    atomic_max_f64 B64 B64 |cx, inst| modify64(cx, inst, max_f64);
}
