//! Typed operands of vector instructions: fetched from registers or constants with their modifiers, and stored.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::dpp;
use crate::exec::Context;
use crate::exec::lanes::{Row, blend, map1};
use crate::float::{F16, Fp};
use crate::instruction::{Inst, Unused};
use crate::operand::{Kind, Part, Src, Ty};

/// A value that a vector instruction reads, one for each lane.
pub(crate) trait Fetch: Copy {
    /// The operand kind, for the decoder.
    const TY: Ty;
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self>;
}

/// A value that a vector instruction writes, one for each lane.
pub(crate) trait Store: Copy + Default {
    /// The operand kind, for the decoder.
    const TY: Ty;
    fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>);
}

/// [`Fetch::fetch`] as a call, for code that shall be small.
#[inline(never)]
pub(crate) fn fetch_apart<T: Fetch>(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<T> {
    T::fetch(cx, inst, n)
}

/// [`Store::store`] as a call, for code that shall be small.
#[inline(never)]
pub(crate) fn store_apart<T: Store>(cx: &mut Context<'_>, inst: &Inst, row: &Row<T>) {
    T::store(cx, inst, row);
}

/// A source as 32 bits, with lane permutation and part selection.
#[inline(always)]
pub(crate) fn raw32(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<u32> {
    let src = &inst.src[n];
    if src.part != Part::Whole || n == 0 && inst.dpp.is_some() {
        return arranged(cx, inst, n);
    }
    plain(cx, src)
}

#[inline(always)]
fn plain(cx: &Context<'_>, src: &Src) -> Row<u32> {
    match src.kind {
        Kind::Vector => *cx.wave.vector.get(src.register),
        _ => [cx.scalar32(src); 64],
    }
}

/// A source whose lanes are permuted, or of which a part is taken.
#[inline(never)]
fn arranged(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<u32> {
    let src = &inst.src[n];
    let mut row = plain(cx, src);
    if n == 0
        && let Some(control) = inst.dpp
    {
        row = dpp::permute(control, cx.exec(), &row);
    }
    if src.part != Part::Whole {
        select(&mut row, src.part, src.sign_extend);
    }
    row
}

fn select(row: &mut Row<u32>, part: Part, sign_extend: bool) {
    let (shift, width) = match part {
        Part::Whole => return,
        Part::Byte(n) => (u32::from(n) * 8, 8),
        Part::Word(n) => (u32::from(n) * 16, 16),
    };
    let unused = 32 - width;
    for value in row {
        let raised = *value >> shift << unused;
        *value = if sign_extend { (raised as i32 >> unused) as u32 } else { raised >> unused };
    }
}

/// A source as 64 bits.
#[inline(always)]
pub(crate) fn raw64(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<u64> {
    let src = &inst.src[n];
    let row = match src.kind {
        Kind::Vector => {
            let low = cx.wave.vector.get(src.register);
            let high = cx.wave.vector.get(src.register + 1);
            std::array::from_fn(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
        }
        _ => [cx.scalar64(src); 64],
    };
    match inst.dpp {
        Some(control) if n == 0 => dpp::permute(control, cx.exec(), &row),
        _ => row,
    }
}

/// The lanes that an instruction writes.
#[inline(always)]
pub(crate) fn write_mask(cx: &Context<'_>, inst: &Inst) -> u64 {
    match inst.dpp {
        None => cx.exec(),
        Some(control) => dpp::write_mask(control, cx.exec()),
    }
}

/// Writes 32-bit results.
#[inline(always)]
pub(crate) fn write32(cx: &mut Context<'_>, inst: &Inst, row: &Row<u32>) {
    let mask = write_mask(cx, inst);
    if inst.dst_part == Part::Whole {
        blend(cx.wave.vector.get_mut(inst.dst), row, mask);
    } else {
        write_part(cx, inst, row, mask);
    }
}

#[inline(never)]
fn write_part(cx: &mut Context<'_>, inst: &Inst, row: &Row<u32>, mask: u64) {
    let merged = merge(inst, row, cx.wave.vector.get(inst.dst));
    blend(cx.wave.vector.get_mut(inst.dst), &merged, mask);
}

fn merge(inst: &Inst, row: &Row<u32>, old: &Row<u32>) -> Row<u32> {
    let (shift, width) = match inst.dst_part {
        Part::Whole => return *row,
        Part::Byte(n) => (u32::from(n) * 8, 8),
        Part::Word(n) => (u32::from(n) * 16, 16),
    };
    let field = ((1u32 << width) - 1) << shift;
    std::array::from_fn(|lane| {
        let placed = row[lane] << shift & field;
        match inst.dst_unused {
            Unused::Zero => placed,
            Unused::Preserve => placed | old[lane] & !field,
            Unused::SignExtend => {
                let unused = 32 - width - shift;
                ((placed << unused) as i32 >> unused) as u32
            }
        }
    })
}

/// Writes 64-bit results.
#[inline(always)]
pub(crate) fn write64(cx: &mut Context<'_>, inst: &Inst, row: &Row<u64>) {
    let mask = write_mask(cx, inst);
    let low = map1(row, |value| value as u32);
    let high = map1(row, |value| (value >> 32) as u32);
    blend(cx.wave.vector.get_mut(inst.dst), &low, mask);
    blend(cx.wave.vector.get_mut(inst.dst + 1), &high, mask);
}

macro_rules! bits {
    ($($ty:ty, $kind:ident, $raw:ident, $write:ident, $wide:ty);*) => { $(
        impl Fetch for $ty {
            const TY: Ty = Ty::$kind;
            #[inline(always)]
            fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
                map1(&$raw(cx, inst, n), |value| value as $ty)
            }
        }
        impl Store for $ty {
            const TY: Ty = Ty::$kind;
            #[inline(always)]
            fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>) {
                $write(cx, inst, &map1(row, |value| value as $wide));
            }
        }
    )* };
}

bits! {
    u32, B32, raw32, write32, u32;
    i32, B32, raw32, write32, u32;
    u16, B16, raw32, write32, u32;
    u64, B64, raw64, write64, u64;
    i64, B64, raw64, write64, u64
}

impl Fetch for i16 {
    const TY: Ty = Ty::B16;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
        map1(&raw32(cx, inst, n), |value| value as i16)
    }
}

impl Store for i16 {
    const TY: Ty = Ty::B16;
    #[inline(always)]
    fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>) {
        write32(cx, inst, &map1(row, |value| u32::from(value as u16)));
    }
}

/// 32 bits to which float modifiers apply though they are not computed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct FloatBits(pub(crate) u32);

impl Fetch for FloatBits {
    const TY: Ty = Ty::F32;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
        let (and, xor) = sign_masks(inst, n);
        map1(&raw32(cx, inst, n), |value| FloatBits(value & !(and << 31) ^ xor << 31))
    }
}

/// Whether the sign bit of a source is cleared, and whether it is then flipped.
fn sign_masks(inst: &Inst, n: usize) -> (u32, u32) {
    (u32::from(inst.src[n].absolute), u32::from(inst.src[n].negate))
}

impl Fetch for f32 {
    const TY: Ty = Ty::F32;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
        let raw = raw32(cx, inst, n);
        let (and, xor) = sign_masks(inst, n);
        let row = if and | xor == 0 {
            map1(&raw, f32::from_bits)
        } else {
            map1(&raw, |value| f32::from_bits(value & !(and << 31) ^ xor << 31))
        };
        if cx.fp.flush_in32 {
            let fp = cx.fp;
            return map1(&row, |value| fp.flush_in32(value));
        }
        row
    }
}

impl Store for f32 {
    const TY: Ty = Ty::F32;
    #[inline(always)]
    fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>) {
        if inst.clamp || inst.omod != 0 {
            return store_modified32(cx, inst, row);
        }
        write32(cx, inst, &map1(row, f32::to_bits));
    }
}

#[inline(never)]
fn store_modified32(cx: &mut Context<'_>, inst: &Inst, row: &Row<f32>) {
    let modified = modify32(cx.fp, inst, row);
    write32(cx, inst, &map1(&modified, f32::to_bits));
}

/// The factor of an output multiplier.
fn multiplier(omod: u8) -> f32 {
    match omod {
        1 => 2.0,
        2 => 4.0,
        3 => 0.5,
        _ => 1.0,
    }
}

fn modify32(fp: Fp, inst: &Inst, row: &Row<f32>) -> Row<f32> {
    let factor = if fp.flush_out32 { multiplier(inst.omod) } else { 1.0 };
    let clamp = inst.clamp;
    map1(row, |value| {
        let value = if factor == 1.0 { value } else { fp.flush_out32(value * factor) };
        if !clamp {
            value
        } else if value.is_nan() {
            if fp.dx10_clamp { 0.0 } else { value }
        } else {
            clamp_unit(f64::from(value)) as f32
        }
    })
}

/// The nearest number in 0 to 1; -0 becomes +0.
fn clamp_unit(value: f64) -> f64 {
    if value > 1.0 {
        1.0
    } else if value > 0.0 {
        value
    } else {
        0.0
    }
}

impl Fetch for f64 {
    const TY: Ty = Ty::F64;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
        let raw = raw64(cx, inst, n);
        let (and, xor) = sign_masks(inst, n);
        let fp = cx.fp;
        map1(&raw, |value| {
            let value = f64::from_bits(value & !(u64::from(and) << 63) ^ u64::from(xor) << 63);
            fp.flush_in64(value)
        })
    }
}

impl Store for f64 {
    const TY: Ty = Ty::F64;
    #[inline(always)]
    fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>) {
        if inst.clamp || inst.omod != 0 {
            return store_modified64(cx, inst, row);
        }
        write64(cx, inst, &map1(row, f64::to_bits));
    }
}

#[inline(never)]
fn store_modified64(cx: &mut Context<'_>, inst: &Inst, row: &Row<f64>) {
    let fp = cx.fp;
    let factor = if fp.flush_out64 { f64::from(multiplier(inst.omod)) } else { 1.0 };
    let modified = map1(row, |value| {
        let value = if factor == 1.0 { value } else { fp.flush_out64(value * factor) };
        if !inst.clamp {
            value
        } else if value.is_nan() {
            if fp.dx10_clamp { 0.0 } else { value }
        } else {
            clamp_unit(value)
        }
    });
    write64(cx, inst, &map1(&modified, f64::to_bits));
}

impl Fetch for F16 {
    const TY: Ty = Ty::F16;
    #[inline(always)]
    fn fetch(cx: &Context<'_>, inst: &Inst, n: usize) -> Row<Self> {
        let (and, xor) = sign_masks(inst, n);
        let flush = cx.fp.flush_in64;
        map1(&raw32(cx, inst, n), |value| {
            F16((value as u16) & !((and as u16) << 15) ^ (xor as u16) << 15).flush(flush)
        })
    }
}

impl Store for F16 {
    const TY: Ty = Ty::F16;
    #[inline(always)]
    fn store(cx: &mut Context<'_>, inst: &Inst, row: &Row<Self>) {
        if inst.clamp || inst.omod != 0 {
            return store_modified16(cx, inst, row);
        }
        write32(cx, inst, &map1(row, |value| u32::from(value.0)));
    }
}

#[inline(never)]
fn store_modified16(cx: &mut Context<'_>, inst: &Inst, row: &Row<F16>) {
    let fp = cx.fp;
    let (clamp, omod) = (inst.clamp, if fp.flush_out64 { inst.omod } else { 0 });
    write32(cx, inst, &map1(row, |value| u32::from(modify16(fp, clamp, omod, value).0)));
}

/// Output modifiers of halves.
pub(crate) fn modify16(fp: Fp, clamp: bool, omod: u8, value: F16) -> F16 {
    if !clamp && omod == 0 {
        return value;
    }
    if value.is_nan() {
        return if clamp && fp.dx10_clamp { F16(0) } else { value };
    }
    let mut wide = value.to_f64() * f64::from(multiplier(omod));
    if clamp {
        wide = clamp_unit(wide);
    }
    fp.half(wide)
}
