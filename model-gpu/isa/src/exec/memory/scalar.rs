//! Scalar memory: loads through the constant cache, clocks, cache control.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, reason = "addresses and registers are taken apart")]

use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::{Kind, Ty};

/// Source 0 is the base pair, source 1 an optional scalar offset; the immediate is added. The low two bits of the sum
/// do not count.
fn load<const N: u16>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let address = cx.pair(inst.src[0].register).wrapping_add(offset(cx, inst)) & !3;
    load_dwords::<N>(cx, inst, |n| Some(address.wrapping_add(4 * n)))
}

/// Address of a plain access, for stores and atomics.
pub(crate) fn global_address(cx: &Context<'_>, inst: &Inst, _bytes: u64) -> Option<u64> {
    Some(cx.pair(inst.src[0].register).wrapping_add(offset(cx, inst)) & !3)
}

/// Scratch is interleaved by 64 lanes, so a scalar offset in a register counts 64 times.
pub(crate) fn scratch_address(cx: &Context<'_>, inst: &Inst, _bytes: u64) -> Option<u64> {
    let scalar = register_offset(cx, inst).wrapping_mul(64);
    Some(cx.pair(inst.src[0].register).wrapping_add(inst.imm).wrapping_add(scalar) & !3)
}

fn scratch_load<const N: u16>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let address = scratch_address(cx, inst, 0);
    load_dwords::<N>(cx, inst, |n| Some(address?.wrapping_add(4 * n)))
}

fn offset(cx: &Context<'_>, inst: &Inst) -> u64 {
    inst.imm.wrapping_add(register_offset(cx, inst))
}

fn register_offset(cx: &Context<'_>, inst: &Inst) -> u64 {
    match inst.src[1].kind {
        Kind::None => 0,
        _ => u64::from(cx.scalar32(&inst.src[1])),
    }
}

fn load_dwords<const N: u16>(
    cx: &mut Context<'_>,
    inst: &Inst,
    address: impl Fn(u64) -> Option<u64>,
) -> Flow {
    let mut values = [0; 16];
    let mut n = 0;
    while n < usize::from(N) {
        let Some(at) = address(n as u64) else {
            n += 1;
            continue;
        };
        // Aligned pairs are loaded at once: nobody else's store is seen by half.
        let pair = n + 1 < usize::from(N) && at.is_multiple_of(8) && address(n as u64 + 1).is_some();
        let loaded = if pair { cx.memory.load64(at) } else { cx.memory.load32(at).map(u64::from) };
        let value = match loaded {
            Ok(value) => value,
            Err(fault) => return cx.fault(inst, fault),
        };
        values[n] = value as u32;
        if pair {
            values[n + 1] = (value >> 32) as u32;
        }
        n += if pair { 2 } else { 1 };
    }
    for n in 0..N {
        cx.set_scalar(inst.dst + n, values[usize::from(n)]);
    }
    Flow::Next
}

/// Address in a buffer resource of an access whose last byte is the `bytes`th from the offset; none beyond the buffer's size.
pub(crate) fn buffer_address(cx: &Context<'_>, inst: &Inst, bytes: u64) -> Option<u64> {
    let register = inst.src[0].register;
    let words = [cx.pair(register), cx.pair(register + 2)];
    let base = words[0] & 0xffff_ffff_ffff;
    let stride = words[0] >> 48 & 0x3fff;
    let records = words[1] & 0xffff_ffff;
    let size = if stride == 0 { records } else { records * stride };
    let offset = offset(cx, inst) & !3;
    (offset.checked_add(bytes)? <= size).then(|| base.wrapping_add(offset))
}

/// Dwords beyond the buffer's size are zero.
fn buffer_load<const N: u16>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let addresses: [Option<u64>; 16] =
        std::array::from_fn(|n| Some(buffer_address(cx, inst, 4 * n as u64 + 4)?.wrapping_add(4 * n as u64)));
    load_dwords::<N>(cx, inst, |n| addresses[n as usize & 15])
}

macro_rules! scalar_loads {
    ($($name:ident $ty:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op { exec: $f, dst: Ty::$ty, src: [Ty::None; 3], traits: Traits::NONE };
    )* };
}

scalar_loads! {
    s_load_dword B32 load::<1>;
    s_load_dwordx2 B64 load::<2>;
    s_load_dwordx4 B128 load::<4>;
    s_load_dwordx8 B256 load::<8>;
    s_load_dwordx16 B512 load::<16>;
    s_scratch_load_dword B32 scratch_load::<1>;
    s_scratch_load_dwordx2 B64 scratch_load::<2>;
    s_scratch_load_dwordx4 B128 scratch_load::<4>;
    s_buffer_load_dword B32 buffer_load::<1>;
    s_buffer_load_dwordx2 B64 buffer_load::<2>;
    s_buffer_load_dwordx4 B128 buffer_load::<4>;
    s_buffer_load_dwordx8 B256 buffer_load::<8>;
    s_buffer_load_dwordx16 B512 buffer_load::<16>;
    s_memtime B64 |cx, inst| {
        let time = cx.environment.core_clock();
        cx.set_pair(inst.dst, time);
        Flow::Next
    };
    s_memrealtime B64 |cx, inst| {
        let time = cx.environment.real_time();
        cx.set_pair(inst.dst, time);
        Flow::Next
    };
    // The model's scalar loads and stores go to memory each time: nothing is cached, probed or discarded.
    s_dcache None |_, _| Flow::Next;
}
