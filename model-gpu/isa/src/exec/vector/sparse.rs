//! Sparse matrix multiply-accumulate (SMFMAC): of each four consecutive elements along the depth, A holds two.
//!
//! A lane holds four elements of A (eight narrow ones) and the eight (sixteen) of B that they may meet. The index register of A's
//! lane has two bits for each of its elements: which of the four it is. ABID names the set of indices within the register when
//! CBSZ is zero; otherwise it is the first. The sum starts with the destination and is rounded as in [`super::matrix`].
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "operands are bit patterns")]

use super::matrix::{brain, byte, half, place, put32, shape, word};
use crate::WAVE_SIZE;
use crate::exec::{Context, Flow};
use crate::float::minifloat::{BF8, FP8, Minifloat};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// Reads element `n` of a lane, from the registers that start with the given one.
type Read<E> = fn(&Context<'_>, u16, usize, usize) -> E;

/// How sums are read from registers and written to them.
type Bits<S> = (fn(u32) -> S, fn(S) -> u32);

/// `held` elements of A in a lane; `rows` rows.
fn multiply<E: Copy, S: Copy>(
    cx: &mut Context<'_>,
    inst: &Inst,
    (rows, held): (usize, usize),
    (read_a, read_b): (Read<E>, Read<E>),
    (from_bits, to_bits): Bits<S>,
    accumulate: fn(S, E, E) -> S,
) -> Flow {
    let (cbsz, abid) = (inst.imm & 7, (inst.imm >> 8 & 15) as usize);
    let sets = 16 / held;
    let first = if cbsz == 0 { abid % sets * 2 * held } else { 0 };
    let mut results = Vec::with_capacity(rows * rows);
    for i in 0..rows {
        for j in 0..rows {
            let (register, lane) = place(shape(rows, 0, 1, 1), false, 0, i, j);
            let mut sum = from_bits(word(cx, inst.dst, register, lane));
            for group in 0..WAVE_SIZE / rows {
                let (a_lane, b_lane) = (rows * group + i, rows * group + j);
                let indices = word(cx, inst.src[2].register, 0, a_lane) >> first;
                for n in 0..held {
                    let depth = 4 * (n / 2) + (indices >> (2 * n) & 3) as usize;
                    let a = read_a(cx, inst.src[0].register, n, a_lane);
                    let b = read_b(cx, inst.src[1].register, depth, b_lane);
                    sum = accumulate(sum, a, b);
                }
            }
            results.push((register, lane, to_bits(sum)));
        }
    }
    for (register, lane, value) in results {
        put32(cx, inst, register, lane, value);
    }
    Flow::Next
}

fn floats(cx: &mut Context<'_>, inst: &Inst, rows: usize, held: usize, read: (Read<f32>, Read<f32>)) -> Flow {
    let add = |sum: f32, a: f32, b: f32| a.mul_add(b, sum);
    multiply(cx, inst, (rows, held), read, (f32::from_bits, f32::to_bits), add)
}

fn integers(cx: &mut Context<'_>, inst: &Inst, rows: usize) -> Flow {
    let read: Read<i32> = |cx, register, n, lane| i32::from(byte(cx, register, n, lane) as i8);
    let add = |sum: u32, a: i32, b: i32| sum.wrapping_add((a * b) as u32);
    multiply(cx, inst, (rows, 8), (read, read), (|bits| bits, |sum| sum), add)
}

fn small(format: Minifloat, cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    format.decode(byte(cx, register, n, lane))
}

fn fp8(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    small(FP8, cx, register, n, lane)
}

fn bf8(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    small(BF8, cx, register, n, lane)
}

macro_rules! sparse {
    ($($name:ident $cd:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$cd,
            src: [Ty::B64, Ty::B128, Ty::B32],
            traits: Traits { accumulate: true, ..Traits::NONE },
        };
    )* };
}

sparse! {
    v_smfmac_f32_16x16x32_f16 B128 |cx, inst| floats(cx, inst, 16, 4, (half, half));
    v_smfmac_f32_32x32x16_f16 B512 |cx, inst| floats(cx, inst, 32, 4, (half, half));
    v_smfmac_f32_16x16x32_bf16 B128 |cx, inst| floats(cx, inst, 16, 4, (brain, brain));
    v_smfmac_f32_32x32x16_bf16 B512 |cx, inst| floats(cx, inst, 32, 4, (brain, brain));
    v_smfmac_i32_16x16x64_i8 B128 |cx, inst| integers(cx, inst, 16);
    v_smfmac_i32_32x32x32_i8 B512 |cx, inst| integers(cx, inst, 32);
    v_smfmac_f32_16x16x64_bf8_bf8 B128 |cx, inst| floats(cx, inst, 16, 8, (bf8, bf8));
    v_smfmac_f32_16x16x64_bf8_fp8 B128 |cx, inst| floats(cx, inst, 16, 8, (bf8, fp8));
    v_smfmac_f32_16x16x64_fp8_bf8 B128 |cx, inst| floats(cx, inst, 16, 8, (fp8, bf8));
    v_smfmac_f32_16x16x64_fp8_fp8 B128 |cx, inst| floats(cx, inst, 16, 8, (fp8, fp8));
    v_smfmac_f32_32x32x32_bf8_bf8 B512 |cx, inst| floats(cx, inst, 32, 8, (bf8, bf8));
    v_smfmac_f32_32x32x32_bf8_fp8 B512 |cx, inst| floats(cx, inst, 32, 8, (bf8, fp8));
    v_smfmac_f32_32x32x32_fp8_bf8 B512 |cx, inst| floats(cx, inst, 32, 8, (fp8, bf8));
    v_smfmac_f32_32x32x32_fp8_fp8 B512 |cx, inst| floats(cx, inst, 32, 8, (fp8, fp8));
}
