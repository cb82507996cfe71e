//! Matrix multiply-accumulate (MFMA).
//!
//! Every lane takes part whatever EXEC says. For each element of the result the products are added to the element of C in
//! ascending order of k, each with one rounding to nearest even (a fused multiply-add of the accumulator's type; products of
//! narrow floats are exact in it). Denormals are kept, but for FP16 and BF16 on gfx90a: there denormal elements of A, B and C and
//! denormal results are zero, as AMD describes the MI200. XF32 operands are rounded to ten mantissa bits, to nearest even.
//!
//! Where elements lie: lane `M * (blocks * (k / packed) + block) + i` holds row `i` of A (column `j` of B alike), with `packed`
//! consecutive `k` in its registers. Results of 32-bit elements come in groups of four rows to a lane.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use crate::exec::{Context, Flow};
use crate::float::F16;
use crate::float::minifloat::{BF8, FP8};
use crate::float::narrow::bf16_to_f32;
use crate::instruction::{Inst, Op, Traits};
use crate::operand::{Kind, Ty};
use crate::{Target, WAVE_SIZE};

/// Rows (and columns), depth, blocks, and elements of depth that one lane holds.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    m: usize,
    k: usize,
    blocks: usize,
    packed: usize,
}

/// The most elements that a lane holds of A or B.
const MOST_PACKED: usize = 8;

/// Registers of one operand, by lane.
pub(super) fn word(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> u32 {
    cx.wave.vector.get(register + n as u16)[lane]
}

/// All elements of A or B that each lane holds.
fn elements<E: Copy + Default>(
    cx: &Context<'_>,
    register: u16,
    packed: usize,
    read: impl Fn(&Context<'_>, u16, usize, usize) -> E,
) -> [[E; MOST_PACKED]; WAVE_SIZE] {
    std::array::from_fn(|lane| {
        let mut held = [E::default(); MOST_PACKED];
        for (n, element) in held.iter_mut().take(packed).enumerate() {
            *element = read(cx, register, n, lane);
        }
        held
    })
}

/// The lane that B's lane `lane` is read from: the BLGP patterns.
fn group_pattern(pattern: u64, lane: usize) -> usize {
    match pattern {
        1 => lane % 32,
        2 => lane % 32 + 32,
        3 => (lane + 16) % 64,
        4..=7 => lane % 16 + 16 * (pattern as usize - 4),
        _ => lane,
    }
}

/// Register and lane of a result element; `quad` rows lie in one lane.
pub(super) fn place(shape: Shape, double: bool, block: usize, i: usize, j: usize) -> (usize, usize) {
    match (shape.m, double) {
        (32, _) => (16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4 % 2) + j),
        (16, false) => (4 * block + i % 4, 16 * (i / 4) + j),
        (16, true) => (i / 4, 16 * (i % 4) + j),
        (_, false) => (i, 4 * block + j),
        (_, true) => (0, 16 * i + 4 * block + j),
    }
}

/// Computes all blocks; `accumulate(acc, a, b)` adds one product. `get` and `put` access the element at a register and lane.
fn multiply<E: Copy + Default, A: Copy>(
    cx: &mut Context<'_>,
    inst: &Inst,
    (shape, double): (Shape, bool),
    read: impl Fn(&Context<'_>, u16, usize, usize) -> E,
    get: impl Fn(&Context<'_>, &Inst, usize, usize) -> A,
    put: impl Fn(&mut Context<'_>, &Inst, usize, usize, A),
    accumulate: impl Fn(A, E, E) -> A,
) -> Flow {
    let Shape { m, k, blocks, packed } = shape;
    let (broadcast, chosen) = (inst.imm & 7, (inst.imm >> 8 & 15) as usize);
    let pattern = if double { 0 } else { inst.imm >> 16 & 7 };
    let a = elements(cx, inst.src[0].register, packed, &read);
    let b = elements(cx, inst.src[1].register, packed, &read);
    let mut results = [[None; WAVE_SIZE]; 32];
    for block in 0..blocks {
        // CBSZ: groups of blocks share the block of A that ABID names within the group.
        let a_block = if broadcast == 0 { block } else { (block >> broadcast << broadcast) + chosen };
        for i in 0..m {
            for j in 0..m {
                let (register, lane) = place(shape, double, block, i, j);
                let mut sum = get(cx, inst, register, lane);
                for depth in 0..k {
                    let (outer, inner) = (depth / packed, depth % packed);
                    let a_lane = (m * (blocks * outer + a_block) + i) % WAVE_SIZE;
                    let b_lane = group_pattern(pattern, (m * (blocks * outer + block) + j) % WAVE_SIZE);
                    sum = accumulate(sum, a[a_lane][inner], b[b_lane][inner]);
                }
                results[register][lane] = Some(sum);
            }
        }
    }
    for (register, lanes) in results.iter().enumerate() {
        for (lane, result) in lanes.iter().enumerate() {
            if let Some(value) = *result {
                put(cx, inst, register, lane, value);
            }
        }
    }
    Flow::Next
}

fn get32(cx: &Context<'_>, inst: &Inst, register: usize, lane: usize) -> u32 {
    match inst.src[2].kind {
        Kind::Vector => word(cx, inst.src[2].register, register, lane),
        _ => cx.scalar32(&inst.src[2]),
    }
}

pub(super) fn put32(cx: &mut Context<'_>, inst: &Inst, register: usize, lane: usize, value: u32) {
    cx.wave.vector.get_mut(inst.dst + register as u16)[lane] = value;
}

/// Single-precision results.
fn singles(
    cx: &mut Context<'_>,
    inst: &Inst,
    shape: Shape,
    read_a: impl Fn(&Context<'_>, u16, usize, usize) -> f32,
) -> Flow {
    multiply(
        cx,
        inst,
        (shape, false),
        read_a,
        |cx, inst, register, lane| f32::from_bits(get32(cx, inst, register, lane)),
        |cx, inst, register, lane, value| put32(cx, inst, register, lane, value.to_bits()),
        |sum, a, b| a.mul_add(b, sum),
    )
}

/// Zero for a denormal.
fn flushed(value: f32) -> f32 {
    if value.is_subnormal() { 0.0_f32.copysign(value) } else { value }
}

/// Single-precision results of halves or brain floats, whose denormals gfx90a takes for zero.
fn narrow(
    cx: &mut Context<'_>,
    inst: &Inst,
    shape: Shape,
    smallest: f32,
    read: impl Fn(&Context<'_>, u16, usize, usize) -> f32,
) -> Flow {
    if cx.wave.config.target != Target::Gfx90a {
        return singles(cx, inst, shape, read);
    }
    multiply(
        cx,
        inst,
        (shape, false),
        |cx, register, n, lane| {
            let value = read(cx, register, n, lane);
            if value.abs() < smallest { 0.0_f32.copysign(value) } else { value }
        },
        |cx, inst, register, lane| flushed(f32::from_bits(get32(cx, inst, register, lane))),
        |cx, inst, register, lane, value: f32| put32(cx, inst, register, lane, flushed(value).to_bits()),
        |sum, a, b| a.mul_add(b, sum),
    )
}

/// Least normal numbers.
const HALF_NORMAL: f32 = 1.0 / 16384.0;
const BRAIN_NORMAL: f32 = f32::MIN_POSITIVE;

fn integers(cx: &mut Context<'_>, inst: &Inst, shape: Shape) -> Flow {
    multiply(
        cx,
        inst,
        (shape, false),
        |cx, register, n, lane| i32::from(byte(cx, register, n, lane) as i8),
        |cx, inst, register, lane| get32(cx, inst, register, lane) as i32,
        |cx, inst, register, lane, value| put32(cx, inst, register, lane, value as u32),
        |sum, a, b| sum.wrapping_add(a * b),
    )
}

/// Double-precision results. BLGP is a set of signs: of A, B and C.
fn doubles(cx: &mut Context<'_>, inst: &Inst, shape: Shape) -> Flow {
    let signs = inst.imm >> 16 & 7;
    let sign = |n: u64, value: f64| if signs >> n & 1 == 1 { -value } else { value };
    multiply(
        cx,
        inst,
        (shape, true),
        |cx, register, _, lane| f64::from_bits(pair(cx, register, lane)),
        |cx, inst, register, lane| {
            sign(
                2,
                f64::from_bits(match inst.src[2].kind {
                    Kind::Vector => pair(cx, inst.src[2].register + 2 * register as u16, lane),
                    _ => cx.scalar64(&inst.src[2]),
                }),
            )
        },
        |cx, inst, register, lane, value| {
            let bits = value.to_bits();
            put32(cx, inst, 2 * register, lane, bits as u32);
            put32(cx, inst, 2 * register + 1, lane, (bits >> 32) as u32);
        },
        |sum, a, b| sign(0, a).mul_add(sign(1, b), sum),
    )
}

fn pair(cx: &Context<'_>, register: u16, lane: usize) -> u64 {
    u64::from(word(cx, register, 0, lane)) | u64::from(word(cx, register, 1, lane)) << 32
}

fn single(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    f32::from_bits(word(cx, register, n, lane))
}

/// Ten mantissa bits, rounded to nearest even; NaN and infinity as they are.
fn xf32(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    let bits = word(cx, register, n, lane);
    if bits & 0x7f80_0000 == 0x7f80_0000 {
        return f32::from_bits(bits);
    }
    f32::from_bits(bits.wrapping_add(0xfff + (bits >> 13 & 1)) & !0x1fff)
}

/// Element `n` of one byte.
pub(super) fn byte(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> u8 {
    (word(cx, register, n / 4, lane) >> (8 * (n % 4))) as u8
}

fn half_bits(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> u16 {
    (word(cx, register, n / 2, lane) >> (16 * (n % 2))) as u16
}

pub(super) fn half(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    F16(half_bits(cx, register, n, lane)).to_f32()
}

pub(super) fn brain(cx: &Context<'_>, register: u16, n: usize, lane: usize) -> f32 {
    bf16_to_f32(half_bits(cx, register, n, lane))
}

/// Products of two 8-bit float formats: A's and B's reader differ, so each element carries both readings.
fn eighths(cx: &mut Context<'_>, inst: &Inst, shape: Shape, a_is_fp8: bool, b_is_fp8: bool) -> Flow {
    multiply(
        cx,
        inst,
        (shape, false),
        byte,
        |cx, inst, register, lane| f32::from_bits(get32(cx, inst, register, lane)),
        |cx, inst, register, lane, value| put32(cx, inst, register, lane, value.to_bits()),
        |sum, a, b| {
            let read = |bits, fp8| if fp8 { FP8.decode(bits) } else { BF8.decode(bits) };
            read(a, a_is_fp8).mul_add(read(b, b_is_fp8), sum)
        },
    )
}

pub(super) const fn shape(m: usize, k: usize, blocks: usize, packed: usize) -> Shape {
    Shape { m, k, blocks, packed }
}

macro_rules! matrices {
    ($($name:ident [$ab:ident $cd:ident] $f:expr;)*) => { $(
        pub(crate) const $name: Op =
            Op { exec: $f, dst: Ty::$cd, src: [Ty::$ab, Ty::$ab, Ty::$cd], traits: Traits::NONE };
    )* };
}

matrices! {
    v_mfma_f32_32x32x1_2b_f32 [B32 B1024] |cx, inst| singles(cx, inst, shape(32, 1, 2, 1), single);
    v_mfma_f32_16x16x1_4b_f32 [B32 B512] |cx, inst| singles(cx, inst, shape(16, 1, 4, 1), single);
    v_mfma_f32_4x4x1_16b_f32 [B32 B128] |cx, inst| singles(cx, inst, shape(4, 1, 16, 1), single);
    v_mfma_f32_32x32x2_f32 [B32 B512] |cx, inst| singles(cx, inst, shape(32, 2, 1, 1), single);
    v_mfma_f32_16x16x4_f32 [B32 B128] |cx, inst| singles(cx, inst, shape(16, 4, 1, 1), single);
    v_mfma_f32_16x16x8_xf32 [B64 B128] |cx, inst| singles(cx, inst, shape(16, 8, 1, 2), xf32);
    v_mfma_f32_32x32x4_xf32 [B64 B512] |cx, inst| singles(cx, inst, shape(32, 4, 1, 2), xf32);
    v_mfma_f32_32x32x4_2b_f16 [B64 B1024] |cx, inst| narrow(cx, inst, shape(32, 4, 2, 4), HALF_NORMAL, half);
    v_mfma_f32_16x16x4_4b_f16 [B64 B512] |cx, inst| narrow(cx, inst, shape(16, 4, 4, 4), HALF_NORMAL, half);
    v_mfma_f32_4x4x4_16b_f16 [B64 B128] |cx, inst| narrow(cx, inst, shape(4, 4, 16, 4), HALF_NORMAL, half);
    v_mfma_f32_32x32x8_f16 [B64 B512] |cx, inst| narrow(cx, inst, shape(32, 8, 1, 4), HALF_NORMAL, half);
    v_mfma_f32_16x16x16_f16 [B64 B128] |cx, inst| narrow(cx, inst, shape(16, 16, 1, 4), HALF_NORMAL, half);
    v_mfma_f32_32x32x4_2b_bf16 [B64 B1024] |cx, inst| narrow(cx, inst, shape(32, 4, 2, 4), BRAIN_NORMAL, brain);
    v_mfma_f32_16x16x4_4b_bf16 [B64 B512] |cx, inst| narrow(cx, inst, shape(16, 4, 4, 4), BRAIN_NORMAL, brain);
    v_mfma_f32_4x4x4_16b_bf16 [B64 B128] |cx, inst| narrow(cx, inst, shape(4, 4, 16, 4), BRAIN_NORMAL, brain);
    v_mfma_f32_32x32x8_bf16 [B64 B512] |cx, inst| narrow(cx, inst, shape(32, 8, 1, 4), BRAIN_NORMAL, brain);
    v_mfma_f32_16x16x16_bf16 [B64 B128] |cx, inst| narrow(cx, inst, shape(16, 16, 1, 4), BRAIN_NORMAL, brain);

    v_mfma_i32_32x32x4_2b_i8 [B32 B1024] |cx, inst| integers(cx, inst, shape(32, 4, 2, 4));
    v_mfma_i32_16x16x4_4b_i8 [B32 B512] |cx, inst| integers(cx, inst, shape(16, 4, 4, 4));
    v_mfma_i32_4x4x4_16b_i8 [B32 B128] |cx, inst| integers(cx, inst, shape(4, 4, 16, 4));
    v_mfma_i32_32x32x16_i8 [B64 B512] |cx, inst| integers(cx, inst, shape(32, 16, 1, 8));
    v_mfma_i32_16x16x32_i8 [B64 B128] |cx, inst| integers(cx, inst, shape(16, 32, 1, 8));

    // Two brain floats or four bytes in one register: gfx90a only.
    v_mfma_f32_32x32x2bf16 [B32 B1024] |cx, inst| narrow(cx, inst, shape(32, 2, 2, 2), BRAIN_NORMAL, brain);
    v_mfma_f32_16x16x2bf16 [B32 B512] |cx, inst| narrow(cx, inst, shape(16, 2, 4, 2), BRAIN_NORMAL, brain);
    v_mfma_f32_4x4x2bf16 [B32 B128] |cx, inst| narrow(cx, inst, shape(4, 2, 16, 2), BRAIN_NORMAL, brain);
    v_mfma_f32_32x32x4bf16 [B32 B512] |cx, inst| narrow(cx, inst, shape(32, 4, 1, 2), BRAIN_NORMAL, brain);
    v_mfma_f32_16x16x8bf16 [B32 B128] |cx, inst| narrow(cx, inst, shape(16, 8, 1, 2), BRAIN_NORMAL, brain);
    v_mfma_i32_32x32x8i8 [B32 B512] |cx, inst| integers(cx, inst, shape(32, 8, 1, 4));
    v_mfma_i32_16x16x16i8 [B32 B128] |cx, inst| integers(cx, inst, shape(16, 16, 1, 4));

    v_mfma_f64_16x16x4_f64 [F64 B256] |cx, inst| doubles(cx, inst, shape(16, 4, 1, 1));
    v_mfma_f64_4x4x4_4b_f64 [F64 F64] |cx, inst| doubles(cx, inst, shape(4, 4, 4, 1));

    v_mfma_f32_16x16x32_bf8_bf8 [B64 B128] |cx, inst| eighths(cx, inst, shape(16, 32, 1, 8), false, false);
    v_mfma_f32_16x16x32_bf8_fp8 [B64 B128] |cx, inst| eighths(cx, inst, shape(16, 32, 1, 8), false, true);
    v_mfma_f32_16x16x32_fp8_bf8 [B64 B128] |cx, inst| eighths(cx, inst, shape(16, 32, 1, 8), true, false);
    v_mfma_f32_16x16x32_fp8_fp8 [B64 B128] |cx, inst| eighths(cx, inst, shape(16, 32, 1, 8), true, true);
    v_mfma_f32_32x32x16_bf8_bf8 [B64 B512] |cx, inst| eighths(cx, inst, shape(32, 16, 1, 8), false, false);
    v_mfma_f32_32x32x16_bf8_fp8 [B64 B512] |cx, inst| eighths(cx, inst, shape(32, 16, 1, 8), false, true);
    v_mfma_f32_32x32x16_fp8_bf8 [B64 B512] |cx, inst| eighths(cx, inst, shape(32, 16, 1, 8), true, false);
    v_mfma_f32_32x32x16_fp8_fp8 [B64 B512] |cx, inst| eighths(cx, inst, shape(32, 16, 1, 8), true, true);
}
