//! Formatted buffers: loads and stores that convert (`buffer_*_format_*`, `tbuffer_*`).
//!
//! Formats are those of the manuals' chapter on vector memory buffers: components from the low bits up. `tbuffer_*` take theirs
//! from the instruction, `buffer_*_format_*` from the resource, whose DST_SEL fields then choose what each result register gets.
//! Missing components load as 0, 0, 0 and 1.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "components are bit fields"
)]

use super::place::{Place, Places, load8, store8};
use crate::WAVE_SIZE;
use crate::exec::lanes::{active, blend};
use crate::exec::{Context, Flow};
use crate::float::narrow::{Format as Float, narrow};
use crate::float::{F16, Round};
use crate::instruction::{Encoding, Inst, Op, Traits};
use crate::operand::Ty;

/// First bit and width of each component.
type Components = &'static [(u32, u32)];

const fn layout(data_format: u32) -> Option<Components> {
    Some(match data_format {
        1 => &[(0, 8)],
        2 => &[(0, 16)],
        3 => &[(0, 8), (8, 8)],
        4 => &[(0, 32)],
        5 => &[(0, 16), (16, 16)],
        6 => &[(0, 11), (11, 11), (22, 10)],
        7 => &[(0, 10), (10, 11), (21, 11)],
        8 => &[(0, 2), (2, 10), (12, 10), (22, 10)],
        9 => &[(0, 10), (10, 10), (20, 10), (30, 2)],
        10 => &[(0, 8), (8, 8), (16, 8), (24, 8)],
        11 => &[(0, 32), (32, 32)],
        12 => &[(0, 16), (16, 16), (32, 16), (48, 16)],
        13 => &[(0, 32), (32, 32), (64, 32)],
        14 => &[(0, 32), (32, 32), (64, 32), (96, 32)],
        _ => return None,
    })
}

/// What a component's bits mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Unorm,
    Snorm,
    Uscaled,
    Sscaled,
    Uint,
    Sint,
    Float,
}

impl Number {
    fn of(code: u32) -> Option<Self> {
        Some(match code {
            0 => Number::Unorm,
            1 => Number::Snorm,
            2 => Number::Uscaled,
            3 => Number::Sscaled,
            4 => Number::Uint,
            5 => Number::Sint,
            7 => Number::Float,
            _ => return None,
        })
    }

    fn is_integer(self) -> bool {
        matches!(self, Number::Uint | Number::Sint)
    }

    /// The register's value of a component of `width` bits.
    fn load(self, bits: u32, width: u32) -> u32 {
        let signed = (bits << (32 - width)) as i32 >> (32 - width);
        let most = ((1_u64 << width) - 1) as f64;
        let value = match self {
            Number::Uint => return bits,
            Number::Sint => return signed as u32,
            Number::Float if width == 32 => return bits,
            Number::Float if width == 16 => return F16(bits as u16).to_f32().to_bits(),
            Number::Float => small_float(bits, width),
            Number::Unorm => f64::from(bits) / most,
            Number::Snorm => (f64::from(signed) / (most / 2.0).floor()).max(-1.0),
            Number::Uscaled => f64::from(bits),
            Number::Sscaled => f64::from(signed),
        };
        (value as f32).to_bits()
    }

    /// The component for a register's value; none where the manuals do not say what an integer out of range becomes.
    fn store(self, value: u32, width: u32) -> Option<u32> {
        let most = ((1_u64 << width) - 1) as f64;
        let half = (most / 2.0).floor();
        let float = f64::from(f32::from_bits(value));
        let float = if float.is_nan() { 0.0 } else { float };
        Some(match self {
            Number::Uint => (width == 32 || value >> width == 0).then_some(value)?,
            Number::Sint => {
                let back = (value << (32 - width)) as i32 >> (32 - width);
                (back as u32 == value).then_some(value)?
            }
            Number::Float if width == 32 => value,
            Number::Float if width == 16 => F16::from_f32(f32::from_bits(value), Round::NearestEven).0.into(),
            Number::Float => {
                let wide = f64::from(f32::from_bits(value));
                let format = Float { mantissa: width - 5, exponent: 5 };
                // There is no sign: negative numbers become zero.
                if wide < 0.0 { 0 } else { narrow(wide, format, Round::NearestEven) }
            }
            Number::Unorm => (float.clamp(0.0, 1.0) * most).round_ties_even() as u32,
            Number::Snorm => (float.clamp(-1.0, 1.0) * half).round_ties_even() as i32 as u32,
            Number::Uscaled => float.clamp(0.0, most) as u32,
            Number::Sscaled => float.clamp(-half - 1.0, half) as i32 as u32,
        })
    }
}

/// Floats of 10 and 11 bits: no sign, five bits of exponent.
fn small_float(bits: u32, width: u32) -> f64 {
    let mantissa = width - 5;
    let (exponent, fraction) = ((bits >> mantissa) as i32, f64::from(bits & ((1 << mantissa) - 1)));
    let unit = 2.0_f64.powi(-(mantissa as i32));
    match exponent {
        0 => fraction * unit * 2.0_f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction * unit) * 2.0_f64.powi(exponent - 15),
    }
}

/// The format of an instruction: components, their meaning, and which of them each result register takes.
struct Format {
    components: Components,
    number: Number,
    /// 0 and 1 are constants, 4 to 7 components.
    select: [u32; 4],
}

impl Format {
    fn of(cx: &Context<'_>, inst: &Inst) -> Result<Self, String> {
        let (data, number, select) = match inst.encoding {
            Encoding::Mtbuf => {
                let [data, number, ..] = inst.format.to_le_bytes();
                (u32::from(data), u32::from(number), [4, 5, 6, 7])
            }
            _ => {
                let word = cx.wave.scalar[usize::from(inst.src[2].register + 3) & 127];
                (word >> 15 & 15, word >> 12 & 7, [0, 3, 6, 9].map(|bit| word >> bit & 7))
            }
        };
        let unknown = || format!("data format {data} with number format {number} does not exist");
        let components = layout(data).ok_or_else(unknown)?;
        let number = Number::of(number).ok_or_else(unknown)?;
        if number == Number::Float && components.iter().any(|(_, width)| *width < 10) {
            return Err(unknown());
        }
        Ok(Self { components, number, select })
    }

    fn bytes(&self) -> u32 {
        self.components.iter().map(|(_, width)| width).sum::<u32>() / 8
    }

    fn one(&self) -> u32 {
        if self.number.is_integer() { 1 } else { 1.0_f32.to_bits() }
    }

    /// The four results for the bytes of an element.
    fn load(&self, element: u128) -> [u32; 4] {
        let all: [u32; 4] = std::array::from_fn(|n| match self.components.get(n) {
            Some((first, width)) => {
                let bits = (element >> first) as u32 & ((1_u64 << width) - 1) as u32;
                self.number.load(bits, *width)
            }
            None if n == 3 => self.one(),
            None => 0,
        });
        self.select.map(|select| match select {
            1 => self.one(),
            4..=7 => all[select as usize - 4],
            _ => 0,
        })
    }

    fn store(&self, values: [u32; 4]) -> Option<u128> {
        let mut element = 0;
        for ((first, width), value) in self.components.iter().zip(values) {
            let bits = self.number.store(value, *width)? & ((1_u64 << width) - 1) as u32;
            element |= u128::from(bits) << first;
        }
        Some(element)
    }

    /// A result as 16 bits.
    fn shorten(&self, value: u32) -> u32 {
        if self.number.is_integer() {
            return value & 0xffff;
        }
        F16::from_f32(f32::from_bits(value), Round::NearestEven).0.into()
    }

    fn lengthen(&self, value: u32) -> u32 {
        match self.number {
            Number::Uint => value & 0xffff,
            Number::Sint => i32::from(value as u16 as i16) as u32,
            _ => F16(value as u16).to_f32().to_bits(),
        }
    }
}

/// Bytes of an element, for the check against the buffer's size.
pub(crate) fn element_bytes(cx: &Context<'_>, inst: &Inst) -> u32 {
    Format::of(cx, inst).map_or(4, |format| format.bytes())
}

/// How values lie in the registers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Packing {
    /// One to a register.
    Whole,
    /// Two to a register.
    Halves,
    /// One in the upper half.
    High,
}

fn load(cx: &mut Context<'_>, inst: &Inst, count: usize, packing: Packing) -> Flow {
    let format = match Format::of(cx, inst) {
        Ok(format) => format,
        Err(reason) => return cx.illegal(inst, &reason),
    };
    let places = Places::of(cx, inst);
    let mut rows = [[0; WAVE_SIZE]; 4];
    for lane in active(cx.exec()) {
        let mut element = 0;
        for n in 0..format.bytes() {
            match load8(cx, places.dword(lane, n / 4).plus(n % 4)) {
                Ok(byte) => element |= u128::from(byte) << (8 * n),
                Err(fault) => return cx.fault(inst, fault),
            }
        }
        let values = if places.place(lane) == Place::Nowhere { [0; 4] } else { format.load(element) };
        for n in 0..count {
            let short = format.shorten(values[n]);
            match packing {
                Packing::Whole => rows[n][lane] = values[n],
                Packing::Halves => rows[n / 2][lane] |= short << (16 * (n % 2)),
                Packing::High => rows[0][lane] = cx.wave.vector.get(inst.dst)[lane] & 0xffff | short << 16,
            }
        }
    }
    let exec = cx.exec();
    for n in 0..inst.row.op.dst.registers() {
        blend(cx.wave.vector.get_mut(inst.dst + n), &rows[usize::from(n)], exec);
    }
    Flow::Next
}

fn store(cx: &mut Context<'_>, inst: &Inst, count: usize, packing: Packing) -> Flow {
    let format = match Format::of(cx, inst) {
        Ok(format) => format,
        Err(reason) => return cx.illegal(inst, &reason),
    };
    let places = Places::of(cx, inst);
    for lane in active(cx.exec()) {
        let mut values = [0; 4];
        for (n, value) in values.iter_mut().take(count).enumerate() {
            let at = |index: usize| cx.wave.vector.get(inst.src[1].register + index as u16)[lane];
            *value = match packing {
                Packing::Whole => at(n),
                Packing::Halves => format.lengthen(at(n / 2) >> (16 * (n % 2))),
                Packing::High => format.lengthen(at(0) >> 16),
            };
        }
        let Some(element) = format.store(values) else {
            return cx.illegal(
                inst,
                "an integer does not fit the format, and what becomes of it is not documented",
            );
        };
        for n in 0..format.bytes() {
            if let Err(fault) = store8(cx, places.dword(lane, n / 4).plus(n % 4), (element >> (8 * n)) as u8)
            {
                return cx.fault(inst, fault);
            }
        }
    }
    Flow::Next
}

macro_rules! formatted {
    ($($load:ident $store:ident $ty:ident $count:literal $packing:ident;)*) => { $(
        pub(crate) const $load: Op = Op {
            exec: |cx, inst| load(cx, inst, $count, Packing::$packing),
            dst: Ty::$ty,
            src: [Ty::None; 3],
            traits: Traits { formatted: true, ..Traits::NONE },
        };
        pub(crate) const $store: Op = Op {
            exec: |cx, inst| store(cx, inst, $count, Packing::$packing),
            dst: Ty::None,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$ty, formatted: true, ..Traits::NONE },
        };
    )* };
}

formatted! {
    load_format_x store_format_x B32 1 Whole;
    load_format_xy store_format_xy B64 2 Whole;
    load_format_xyz store_format_xyz B96 3 Whole;
    load_format_xyzw store_format_xyzw B128 4 Whole;
    load_format_d16_x store_format_d16_x B32 1 Halves;
    load_format_d16_xy store_format_d16_xy B32 2 Halves;
    load_format_d16_xyz store_format_d16_xyz B64 3 Halves;
    load_format_d16_xyzw store_format_d16_xyzw B64 4 Halves;
    load_format_d16_hi_x store_format_d16_hi_x B32 1 High;
}
