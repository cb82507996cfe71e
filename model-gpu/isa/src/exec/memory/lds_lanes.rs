//! DS operations that move data between lanes or count them.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, reason = "lane numbers and offsets are small")]

use super::lds::ds_ops;
use crate::WAVE_SIZE;
use crate::exec::lanes::{active, blend};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

fn write_back(cx: &mut Context<'_>, inst: &Inst, row: &[u32; WAVE_SIZE]) -> Flow {
    let exec = cx.exec();
    blend(cx.wave.vector.get_mut(inst.dst), row, exec);
    Flow::Next
}

/// The lane that an address in bytes names.
fn lane_of(address: u32, inst: &Inst) -> usize {
    (address.wrapping_add(inst.imm as u32 & 0xffff) / 4 % 64) as usize
}

/// The source lane of `ds_swizzle`, within groups of 32.
fn swizzled(pattern: u32, lane: usize) -> usize {
    let (group, within) = (lane & !31, lane as u32 & 31);
    if pattern >= 0xe000 {
        // The order of a fast Fourier transform: bits are reversed but for those of the mask, which stay.
        let mask = pattern & 31;
        let reversed = within.reverse_bits() >> 27 >> mask.count_ones();
        return group | (reversed | within & mask) as usize;
    }
    if pattern >= 0xc000 {
        // Rotation of the bits outside the mask, down when bit 10 is set.
        let (mask, by) = (pattern & 31, pattern >> 5 & 31);
        let moved = if pattern & 0x400 == 0 { within.wrapping_add(by) } else { within.wrapping_sub(by) };
        return group | (within & mask | moved & !mask & 31) as usize;
    }
    if pattern & 0x8000 != 0 {
        // A permutation of each four lanes.
        return lane & !3 | (pattern >> (2 * (within & 3)) & 3) as usize;
    }
    let (and, or, xor) = (pattern & 31, pattern >> 5 & 31, pattern >> 10 & 31);
    group | ((within & and | or) ^ xor) as usize
}

/// Adds `change` of the number of active lanes to the dword at M0; every active lane gets the value before.
fn count(cx: &mut Context<'_>, inst: &Inst, change: impl Fn(u32, u32) -> u32) -> Flow {
    let at = (cx.wave.m0() & 0xffff).wrapping_add(inst.imm as u32 & 0xffff);
    let old = cx.lds.load32(at);
    let lanes = cx.exec().count_ones();
    cx.lds.store32(at, change(old, lanes));
    write_back(cx, inst, &[old; WAVE_SIZE])
}

ds_ops! {
    ds_swizzle_b32 [B32 None None] -> B32 |cx, inst| {
        let pattern = inst.imm as u32 & 0xffff;
        let data = *cx.wave.vector.get(inst.src[0].register);
        let exec = cx.exec();
        let row = std::array::from_fn(|lane| {
            let from = swizzled(pattern, lane);
            if exec >> from & 1 == 1 { data[from] } else { 0 }
        });
        write_back(cx, inst, &row)
    };
    ds_permute_b32 [B32 B32 None] -> B32 |cx, inst| {
        let addresses = *cx.wave.vector.get(inst.src[0].register);
        let data = *cx.wave.vector.get(inst.src[1].register);
        let mut row = [0; WAVE_SIZE];
        for lane in active(cx.exec()) {
            row[lane_of(addresses[lane], inst)] = data[lane];
        }
        write_back(cx, inst, &row)
    };
    ds_bpermute_b32 [B32 B32 None] -> B32 |cx, inst| {
        let addresses = *cx.wave.vector.get(inst.src[0].register);
        let data = *cx.wave.vector.get(inst.src[1].register);
        let exec = cx.exec();
        let row = std::array::from_fn(|lane| {
            let from = lane_of(addresses[lane], inst);
            if exec >> from & 1 == 1 { data[from] } else { 0 }
        });
        write_back(cx, inst, &row)
    };
    ds_append [None None None] -> B32 |cx, inst| count(cx, inst, u32::wrapping_add);
    ds_consume [None None None] -> B32 |cx, inst| count(cx, inst, u32::wrapping_sub);
}
