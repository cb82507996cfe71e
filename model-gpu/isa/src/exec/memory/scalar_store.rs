//! Scalar stores and atomics.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    reason = "operands are bit patterns"
)]

use super::atomic::{decrement32, decrement64, increment32, increment64};
use super::scalar::{buffer_address, global_address, scratch_address};
use crate::MemoryFault;
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// How an instruction addresses memory: the address of `bytes` bytes, none where a buffer ends before them.
type Address = fn(&Context<'_>, &Inst, u64) -> Option<u64>;

fn store<const N: u16>(cx: &mut Context<'_>, inst: &Inst, address: Address) -> Flow {
    for n in 0..N {
        let Some(at) = address(cx, inst, 4 * u64::from(n) + 4) else { continue };
        let value = cx.wave.scalar[usize::from(inst.dst + n) & 127];
        if let Err(fault) = cx.memory.store32(at.wrapping_add(4 * u64::from(n)), value) {
            return cx.fault(inst, fault);
        }
    }
    Flow::Next
}

/// Writes the value from before the atomic, if it was asked for.
fn finish<V>(
    cx: &mut Context<'_>,
    inst: &Inst,
    result: Result<V, MemoryFault>,
    put: impl Fn(&mut Context<'_>, u16, V),
) -> Flow {
    match result {
        Ok(old) => {
            if inst.returns {
                put(cx, inst.dst, old);
            }
            Flow::Next
        }
        Err(fault) => cx.fault(inst, fault),
    }
}

/// `f(old, data, second data)`; the second data follow the first.
fn modify32(cx: &mut Context<'_>, inst: &Inst, address: Address, f: fn(u32, u32, u32) -> u32) -> Flow {
    let (data, second) = (cx.pair(inst.dst) as u32, cx.pair(inst.dst + 1) as u32);
    let result = match address(cx, inst, 4) {
        Some(at) => cx.memory.modify32(at, |old| f(old, data, second)),
        None => Ok(0),
    };
    finish(cx, inst, result, |cx, register, old| cx.set_scalar(register, old))
}

fn modify64(cx: &mut Context<'_>, inst: &Inst, address: Address, f: fn(u64, u64, u64) -> u64) -> Flow {
    let (data, second) = (cx.pair(inst.dst), cx.pair(inst.dst + 2));
    let result = match address(cx, inst, 8) {
        Some(at) => cx.memory.modify64(at, |old| f(old, data, second)),
        None => Ok(0),
    };
    finish(cx, inst, result, |cx, register, old| cx.set_pair(register, old))
}

/// Stores have no result, but their data are where a load's result is: the decoder takes them for the destination.
macro_rules! stores {
    ($($name:ident $ty:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$ty,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$ty, ..Traits::NONE },
        };
    )* };
}

stores! {
    s_store_dword B32 |cx, inst| store::<1>(cx, inst, global_address);
    s_store_dwordx2 B64 |cx, inst| store::<2>(cx, inst, global_address);
    s_store_dwordx4 B128 |cx, inst| store::<4>(cx, inst, global_address);
    s_scratch_store_dword B32 |cx, inst| store::<1>(cx, inst, scratch_address);
    s_scratch_store_dwordx2 B64 |cx, inst| store::<2>(cx, inst, scratch_address);
    s_scratch_store_dwordx4 B128 |cx, inst| store::<4>(cx, inst, scratch_address);
    s_buffer_store_dword B32 |cx, inst| store::<1>(cx, inst, buffer_address);
    s_buffer_store_dwordx2 B64 |cx, inst| store::<2>(cx, inst, buffer_address);
    s_buffer_store_dwordx4 B128 |cx, inst| store::<4>(cx, inst, buffer_address);
}

macro_rules! atomics {
    ($($name:ident $buffer:ident $modify:ident $ty:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: |cx, inst| $modify(cx, inst, global_address, $f),
            dst: Ty::$ty,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$ty, ..Traits::NONE },
        };
        pub(crate) const $buffer: Op = Op {
            exec: |cx, inst| $modify(cx, inst, buffer_address, $f),
            dst: Ty::$ty,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$ty, ..Traits::NONE },
        };
    )* };
}

atomics! {
    s_atomic_swap s_buffer_atomic_swap modify32 B32 |_, data, _| data;
    s_atomic_cmpswap s_buffer_atomic_cmpswap modify32 B64 |old, new, expected| if old == expected { new } else { old };
    s_atomic_add s_buffer_atomic_add modify32 B32 |old, data, _| old.wrapping_add(data);
    s_atomic_sub s_buffer_atomic_sub modify32 B32 |old, data, _| old.wrapping_sub(data);
    s_atomic_smin s_buffer_atomic_smin modify32 B32 |old, data, _| (old as i32).min(data as i32) as u32;
    s_atomic_umin s_buffer_atomic_umin modify32 B32 |old, data, _| old.min(data);
    s_atomic_smax s_buffer_atomic_smax modify32 B32 |old, data, _| (old as i32).max(data as i32) as u32;
    s_atomic_umax s_buffer_atomic_umax modify32 B32 |old, data, _| old.max(data);
    s_atomic_and s_buffer_atomic_and modify32 B32 |old, data, _| old & data;
    s_atomic_or s_buffer_atomic_or modify32 B32 |old, data, _| old | data;
    s_atomic_xor s_buffer_atomic_xor modify32 B32 |old, data, _| old ^ data;
    s_atomic_inc s_buffer_atomic_inc modify32 B32 |old, data, _| increment32(old, data);
    s_atomic_dec s_buffer_atomic_dec modify32 B32 |old, data, _| decrement32(old, data);
    s_atomic_swap_x2 s_buffer_atomic_swap_x2 modify64 B64 |_, data, _| data;
    s_atomic_cmpswap_x2 s_buffer_atomic_cmpswap_x2 modify64 B128
        |old, new, expected| if old == expected { new } else { old };
    s_atomic_add_x2 s_buffer_atomic_add_x2 modify64 B64 |old, data, _| old.wrapping_add(data);
    s_atomic_sub_x2 s_buffer_atomic_sub_x2 modify64 B64 |old, data, _| old.wrapping_sub(data);
    s_atomic_smin_x2 s_buffer_atomic_smin_x2 modify64 B64 |old, data, _| (old as i64).min(data as i64) as u64;
    s_atomic_umin_x2 s_buffer_atomic_umin_x2 modify64 B64 |old, data, _| old.min(data);
    s_atomic_smax_x2 s_buffer_atomic_smax_x2 modify64 B64 |old, data, _| (old as i64).max(data as i64) as u64;
    s_atomic_umax_x2 s_buffer_atomic_umax_x2 modify64 B64 |old, data, _| old.max(data);
    s_atomic_and_x2 s_buffer_atomic_and_x2 modify64 B64 |old, data, _| old & data;
    s_atomic_or_x2 s_buffer_atomic_or_x2 modify64 B64 |old, data, _| old | data;
    s_atomic_xor_x2 s_buffer_atomic_xor_x2 modify64 B64 |old, data, _| old ^ data;
    s_atomic_inc_x2 s_buffer_atomic_inc_x2 modify64 B64 |old, data, _| increment64(old, data);
    s_atomic_dec_x2 s_buffer_atomic_dec_x2 modify64 B64 |old, data, _| decrement64(old, data);
}
