//! Which arithmetic exceptions a vector instruction raises: the low bits of TRAPSTS.
//!
//! They are found beside the instruction and not by it, with a software float that reports them, so that only waves whose
//! exceptions somebody asks for pay. What raises what:
//!
//! - additions, products, multiply-adds and conversions to a narrower or an integer format: as IEEE 754 has it, tiny after
//!   rounding; a result that MODE flushes to zero has underflowed;
//! - reciprocals, roots and logarithms: invalid and divide by zero, but never inexact, as they are approximations;
//!   `v_rcp_iflag_f32` an integer division by zero only;
//! - `v_div_fmas`: as the multiply-add and the move of its result together have it, which round once; `v_div_fixup`: invalid and
//!   division by zero of its division, and over- or underflow where the exponents alone put the quotient out of range;
//! - `v_mul_legacy_f32` and `v_mad_legacy_f32`: zero times anything is an exact zero;
//! - everything else on floats (minimum, comparison, rounding): invalid for a signaling NaN;
//! - input denormal: for a denormal source that MODE does not flush.
//!
//! Matrix and dot products raise nothing.
//!
//! The manuals say of the division steps no more than that they have flags, and of the legacy forms nothing: what these raise
//! here follows from their results.

use rustc_apfloat::ieee::{Double, Half, Quad, Single};
use rustc_apfloat::{Float, FloatConvert, Round as SoftRound, Status, StatusAnd};

use super::division::{Range, quotient32, quotient64};
use super::operand::{Fetch, write_mask};
use super::packed::{half_row, single_row};
use crate::exec::Context;
use crate::exec::lanes::{Row, active};
use crate::float::arithmetic::soft;
use crate::float::{F16, Fp};
use crate::instruction::Inst;
use crate::operand::Ty;

/// Bits of TRAPSTS, and of EXCP_EN in MODE.
const INVALID: u32 = 1;
const INPUT_DENORMAL: u32 = 1 << 1;
const DIVIDE_BY_ZERO: u32 = 1 << 2;
const OVERFLOW: u32 = 1 << 3;
const UNDERFLOW: u32 = 1 << 4;
const INEXACT: u32 = 1 << 5;
const INTEGER_DIVIDE_BY_ZERO: u32 = 1 << 6;

/// What an operation may raise, by what it computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Add,
    Subtract,
    SubtractReversed,
    Multiply,
    Fused,
    /// A fused multiply-add, moved by a power of two in the lanes of VCC.
    FusedAndMoved,
    /// A product and a sum, each rounded.
    Separate,
    /// The same two, of which zero times anything is zero.
    LegacyMultiply,
    LegacySeparate,
    Reciprocal,
    IntegerReciprocal,
    RootReciprocal,
    Root,
    Logarithm,
    /// Sine and cosine, which have no value at infinity.
    Periodic,
    /// Quotient, denominator, numerator.
    Fixup,
    /// To a narrower float.
    ToHalf(SoftRound),
    ToSingle(SoftRound),
    /// To an integer of so many bits.
    ToInteger(usize, bool),
    Other,
}

/// A float that instructions read, as the software float knows it.
trait Number: Fetch {
    type Soft: Float + FloatConvert<Half> + FloatConvert<Single> + FloatConvert<Quad>;
    /// By how many powers of two a division's result is moved.
    const MOVE: i32;
    fn soft(self) -> Self::Soft;
    fn rounding(fp: Fp) -> SoftRound;
    fn flushes(fp: Fp) -> bool;
    /// A wider number rounded to this format.
    fn narrowed(wide: Quad, round: SoftRound) -> StatusAnd<Self::Soft>;
    /// Where the exponents of a numerator and a denominator put the quotient.
    fn quotient(numerator: Self::Soft, denominator: Self::Soft) -> Range;
}

macro_rules! numbers {
    ($($name:ident $soft:ident $round:ident $flush:ident $shift:literal $bits:expr, $quotient:expr;)*) => {$(
        impl Number for $name {
            type Soft = $soft;
            const MOVE: i32 = $shift;
            fn soft(self) -> $soft { $soft::from_bits($bits(self)) }
            fn rounding(fp: Fp) -> SoftRound { soft(fp.$round) }
            fn flushes(fp: Fp) -> bool { fp.$flush }
            fn narrowed(wide: Quad, round: SoftRound) -> StatusAnd<$soft> { wide.convert_r(round, &mut false) }
            fn quotient(numerator: $soft, denominator: $soft) -> Range {
                $quotient(numerator.to_bits(), denominator.to_bits())
            }
        }
    )*};
}

numbers! {
    f32 Single round32 flush_out32 64 |x: f32| u128::from(x.to_bits()), quotient32;
    f64 Double round64 flush_out64 128 |x: f64| u128::from(x.to_bits()), quotient64;
    F16 Half round64 flush_out64 0 |x: F16| u128::from(x.0), |_, _| Range::Inside;
}

/// The exceptions that `inst` raises in the lanes that it writes, before it is executed.
pub(crate) fn raised(cx: &Context<'_>, inst: &Inst) -> u32 {
    let Some(name) = inst.row.mnemonic.strip_prefix("v_") else { return 0 };
    let fp = cx.fp;
    if let Some(name) = name.strip_prefix("pk_") {
        let Some((class, ty)) = arithmetic(name) else { return 0 };
        let halves = |high| match ty {
            Ty::F16 => {
                let row = |n| half_row(cx, inst, n, high).map(|bits| F16(bits).flush(fp.flush_in64));
                lanes(cx, inst, class, [row(0), row(1), row(2)])
            }
            _ => lanes(cx, inst, class, [0, 1, 2].map(|n| single_row(cx, inst, n, high))),
        };
        return halves(false) | halves(true);
    }
    if let Some(name) = name.strip_prefix("cvt_") {
        return conversion(cx, inst, name);
    }
    // Not recorded: see the README. `cmp_class` looks at a value without computing with it.
    let silent = ["mfma_", "smfmac_", "dot", "fma_mix", "mad_mix", "cmp_class_", "cmpx_class_"];
    if silent.iter().any(|prefix| name.starts_with(prefix)) {
        return 0;
    }
    let class = arithmetic(name).map_or(Class::Other, |(class, _)| class);
    match inst.row.op.src[0] {
        Ty::F32 => fetched::<f32>(cx, inst, class),
        Ty::F64 => fetched::<f64>(cx, inst, class),
        Ty::F16 => fetched::<F16>(cx, inst, class),
        _ => 0,
    }
}

/// What `name`, without `v_` and `pk_`, computes, and of which type.
fn arithmetic(name: &str) -> Option<(Class, Ty)> {
    let (stem, ty) = name.rsplit_once('_')?;
    let ty = match ty {
        "f16" => Ty::F16,
        "f32" => Ty::F32,
        "f64" => Ty::F64,
        _ => return None,
    };
    let class = match stem {
        "add" => Class::Add,
        "sub" => Class::Subtract,
        "subrev" => Class::SubtractReversed,
        "mul_legacy" => Class::LegacyMultiply,
        // Of halves, the legacy forms differ only in what they do to the other half of the register.
        "mad_legacy" if ty == Ty::F32 => Class::LegacySeparate,
        "mul" => Class::Multiply,
        "div_fmas" => Class::FusedAndMoved,
        "fma" | "fmac" | "fmamk" | "fmaak" | "fma_legacy" => Class::Fused,
        "mad" | "mac" | "madmk" | "madak" | "mad_legacy" => Class::Separate,
        "rcp" => Class::Reciprocal,
        "rcp_iflag" => Class::IntegerReciprocal,
        "rsq" => Class::RootReciprocal,
        "sqrt" => Class::Root,
        "log" | "log_legacy" => Class::Logarithm,
        "sin" | "cos" => Class::Periodic,
        "div_fixup" | "div_fixup_legacy" => Class::Fixup,
        _ => Class::Other,
    };
    Some((class, ty))
}

fn conversion(cx: &Context<'_>, inst: &Inst, name: &str) -> u32 {
    let fp = cx.fp;
    match name {
        "f16_f32" => fetched::<f32>(cx, inst, Class::ToHalf(soft(fp.round64))),
        "pkrtz_f16_f32" => fetched::<f32>(cx, inst, Class::ToHalf(SoftRound::TowardZero)),
        "f32_f64" => fetched::<f64>(cx, inst, Class::ToSingle(soft(fp.round32))),
        "u32_f32" => fetched::<f32>(cx, inst, Class::ToInteger(32, false)),
        "i32_f32" | "rpi_i32_f32" | "flr_i32_f32" => fetched::<f32>(cx, inst, Class::ToInteger(32, true)),
        "u32_f64" => fetched::<f64>(cx, inst, Class::ToInteger(32, false)),
        "i32_f64" => fetched::<f64>(cx, inst, Class::ToInteger(32, true)),
        "u16_f16" => fetched::<F16>(cx, inst, Class::ToInteger(16, false)),
        "i16_f16" => fetched::<F16>(cx, inst, Class::ToInteger(16, true)),
        "f32_u32" => integers(cx, inst, |x| Single::from_u128_r(x.into(), soft(fp.round32)).status),
        "f32_i32" => {
            let signed = |x: u32| i128::from(x.cast_signed());
            integers(cx, inst, |x| Single::from_i128_r(signed(x), soft(fp.round32)).status)
        }
        "f16_u16" => integers(cx, inst, |x| Half::from_u128_r((x & 0xffff).into(), soft(fp.round64)).status),
        "f16_i16" => {
            let signed = |x: u32| i128::from((x << 16).cast_signed() >> 16);
            integers(cx, inst, |x| Half::from_i128_r(signed(x), soft(fp.round64)).status)
        }
        _ => match inst.row.op.src[0] {
            Ty::F32 => fetched::<f32>(cx, inst, Class::Other),
            Ty::F64 => fetched::<f64>(cx, inst, Class::Other),
            Ty::F16 => fetched::<F16>(cx, inst, Class::Other),
            _ => 0,
        },
    }
}

fn integers(cx: &Context<'_>, inst: &Inst, status: impl Fn(u32) -> Status) -> u32 {
    let row = u32::fetch(cx, inst, 0);
    active(write_mask(cx, inst)).fold(0, |raised, lane| raised | bits(status(row[lane])))
}

/// The sources as the decoder says that they are; those of another type count as zeros.
fn fetched<T: Number + Default>(cx: &Context<'_>, inst: &Inst, class: Class) -> u32 {
    let own = inst.row.op.src[0];
    let rows = std::array::from_fn(|n| {
        if inst.row.op.src[n] == own { T::fetch(cx, inst, n) } else { [T::default(); 64] }
    });
    lanes(cx, inst, class, rows)
}

fn lanes<T: Number>(cx: &Context<'_>, inst: &Inst, class: Class, rows: [Row<T>; 3]) -> u32 {
    let used = inst.row.op.src.iter().filter(|ty| **ty != Ty::None).count();
    let mut raised = 0;
    for lane in active(write_mask(cx, inst)) {
        let values = [0, 1, 2].map(|n: usize| rows[n][lane].soft());
        for value in &values[..used] {
            raised |= if value.is_denormal() { INPUT_DENORMAL } else { 0 };
            raised |= if value.is_signaling() { INVALID } else { 0 };
        }
        let class = match class {
            Class::FusedAndMoved if cx.wave.vcc() >> lane & 1 == 0 => Class::Fused,
            class => class,
        };
        raised |= one::<T>(cx.fp, class, values);
    }
    // A reciprocal for integers tells of nothing but a division by zero.
    if class == Class::IntegerReciprocal { raised & INTEGER_DIVIDE_BY_ZERO } else { raised }
}

fn one<T: Number>(fp: Fp, class: Class, [a, b, c]: [T::Soft; 3]) -> u32 {
    let round = T::rounding(fp);
    let result = |result: StatusAnd<T::Soft>| rounded(result, T::flushes(fp));
    let when = |condition, bit| if condition { bit } else { 0 };
    let negative = |x: T::Soft| x.is_negative() && !x.is_zero() && !x.is_nan();
    match class {
        Class::Add => result(a.add_r(b, round)),
        Class::Subtract => result(a.sub_r(b, round)),
        Class::SubtractReversed => result(b.sub_r(a, round)),
        Class::Multiply => result(a.mul_r(b, round)),
        Class::Fused => result(a.mul_add_r(b, c, round)),
        Class::FusedAndMoved => moved::<T>(fp, [a, b, c]),
        Class::LegacyMultiply | Class::LegacySeparate if a.is_zero() || b.is_zero() => 0,
        Class::LegacyMultiply => result(a.mul_r(b, round)),
        Class::Separate | Class::LegacySeparate => {
            let product = a.mul_r(b, round);
            let sum = product.value.add_r(c, round);
            result(product) | result(sum)
        }
        Class::Reciprocal => when(a.is_zero(), DIVIDE_BY_ZERO),
        Class::IntegerReciprocal => when(a.is_zero(), INTEGER_DIVIDE_BY_ZERO),
        Class::RootReciprocal | Class::Logarithm => {
            when(a.is_zero(), DIVIDE_BY_ZERO) | when(negative(a), INVALID)
        }
        Class::Root => when(negative(a), INVALID),
        Class::Periodic => when(a.is_infinite(), INVALID),
        Class::Fixup => {
            let (denominator, numerator) = (b, c);
            let nothing = denominator.is_zero() && numerator.is_zero();
            let endless = denominator.is_infinite() && numerator.is_infinite();
            let by_zero = denominator.is_zero() && numerator.is_finite_non_zero();
            let range = match T::quotient(numerator, denominator) {
                Range::Above => OVERFLOW | INEXACT,
                Range::Below => UNDERFLOW | INEXACT,
                Range::Inside => 0,
            };
            let ordinary = denominator.is_finite_non_zero() && numerator.is_finite_non_zero();
            when(nothing || endless, INVALID) | when(by_zero, DIVIDE_BY_ZERO) | when(ordinary, range)
        }
        Class::ToHalf(round) => {
            let narrow = |x: T::Soft| rounded::<Half>(x.convert_r(round, &mut false), fp.flush_out64);
            narrow(a) | narrow(b)
        }
        Class::ToSingle(round) => rounded::<Single>(a.convert_r(round, &mut false), fp.flush_out32),
        Class::ToInteger(width, signed) => {
            let status = if signed {
                a.to_i128_r(width, SoftRound::TowardZero, &mut false).status
            } else {
                a.to_u128_r(width, SoftRound::TowardZero, &mut false).status
            };
            bits(status)
        }
        Class::Other => 0,
    }
}

/// A multiply-add whose result is moved up when it is at least 2, and down when it is less, before it is rounded.
fn moved<T: Number>(fp: Fp, values: [T::Soft; 3]) -> u32 {
    let [a, b, c]: [Quad; 3] = values.map(|x| x.convert(&mut false).value);
    let one_and_more = c.is_infinite() || c.is_finite_non_zero() && c.ilogb() > 0;
    let exact = a.mul_add(b, c);
    let result =
        T::narrowed(exact.value.scalbn(if one_and_more { T::MOVE } else { -T::MOVE }), T::rounding(fp));
    let tiny = result.value.is_denormal() || result.value.is_zero() && exact.value.is_finite_non_zero();
    let inexact = bits(exact.status) & INEXACT;
    let underflow = if tiny && inexact != 0 { UNDERFLOW } else { 0 };
    rounded(result, T::flushes(fp)) | bits(exact.status) | underflow
}

fn rounded<S: Float>(result: StatusAnd<S>, flushes: bool) -> u32 {
    let flushed = flushes && result.value.is_denormal();
    bits(result.status) | if flushed { UNDERFLOW | INEXACT } else { 0 }
}

fn bits(status: Status) -> u32 {
    [
        (Status::INVALID_OP, INVALID),
        (Status::DIV_BY_ZERO, DIVIDE_BY_ZERO),
        (Status::OVERFLOW, OVERFLOW),
        (Status::UNDERFLOW, UNDERFLOW),
        (Status::INEXACT, INEXACT),
    ]
    .into_iter()
    .filter(|(flag, _)| status.contains(*flag))
    .fold(0, |bits, (_, bit)| bits | bit)
}
