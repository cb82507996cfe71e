//! Vector loads and stores of FLAT, GLOBAL, SCRATCH and MUBUF.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "values are narrowed by definition"
)]

use super::place::{Place, Places, load8, load16, load32, store8, store16, store32};
use crate::exec::lanes::{Row, active, blend};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;
use crate::{MemoryFault, WAVE_SIZE};

/// Loads one value for each active lane; inactive lanes are zero.
#[inline(always)]
fn gather(
    cx: &mut Context<'_>,
    places: &Places,
    offset: u32,
    load: impl Fn(&mut Context<'_>, Place) -> Result<u32, MemoryFault>,
) -> Result<Row<u32>, MemoryFault> {
    let mut row = [0; WAVE_SIZE];
    for lane in active(cx.exec()) {
        row[lane] = load(cx, places.place(lane).plus(offset))?;
    }
    Ok(row)
}

/// Loads that fill one register.
#[inline(always)]
fn load_one(
    cx: &mut Context<'_>,
    inst: &Inst,
    load: impl Fn(&mut Context<'_>, Place) -> Result<u32, MemoryFault>,
) -> Flow {
    let places = Places::of(cx, inst);
    match gather(cx, &places, 0, load) {
        Ok(row) if inst.to_lds => store_to_lds(cx, inst, &row),
        Ok(row) => {
            let exec = cx.exec();
            blend(cx.wave.vector.get_mut(inst.dst), &row, exec);
            Flow::Next
        }
        Err(fault) => cx.fault(inst, fault),
    }
}

/// The load's destination is LDS: one dword for each lane from the byte in M0, moved by the immediate too.
fn store_to_lds(cx: &mut Context<'_>, inst: &Inst, row: &Row<u32>) -> Flow {
    let base = (cx.wave.m0() & 0xffff).wrapping_add(inst.imm as u32);
    for lane in active(cx.exec()) {
        cx.lds.store32(base.wrapping_add(4 * lane as u32), row[lane]);
    }
    Flow::Next
}

/// Loads of consecutive dwords, aligned pairs at once. Registers are written only when every lane's access succeeded.
#[inline(always)]
fn load_many<const N: usize>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let places = Places::of(cx, inst);
    let mut rows = [[0; WAVE_SIZE]; N];
    for lane in active(cx.exec()) {
        let mut n = 0;
        while n < N {
            let (loaded, dwords) = match places.aligned_pair(lane, n as u32) {
                Some(address) if n + 1 < N => (cx.memory.load64(address), 2),
                _ => (load32(cx, places.dword(lane, n as u32)).map(u64::from), 1),
            };
            let value = match loaded {
                Ok(value) => value,
                Err(fault) => return cx.fault(inst, fault),
            };
            rows[n][lane] = value as u32;
            if dwords == 2 {
                rows[n + 1][lane] = (value >> 32) as u32;
            }
            n += dwords;
        }
    }
    let exec = cx.exec();
    for (n, row) in (0u16..).zip(&rows) {
        blend(cx.wave.vector.get_mut(inst.dst + n), row, exec);
    }
    Flow::Next
}

/// Loads of 16 bits into one half; the other is kept.
fn load_half(
    cx: &mut Context<'_>,
    inst: &Inst,
    high: bool,
    load: impl Fn(&mut Context<'_>, Place) -> Result<u32, MemoryFault>,
) -> Flow {
    let places = Places::of(cx, inst);
    match gather(cx, &places, 0, load) {
        Ok(mut row) => {
            for (value, old) in row.iter_mut().zip(cx.wave.vector.get(inst.dst)) {
                *value = if high { old & 0xffff | *value << 16 } else { old & 0xffff_0000 | *value & 0xffff };
            }
            let exec = cx.exec();
            blend(cx.wave.vector.get_mut(inst.dst), &row, exec);
            Flow::Next
        }
        Err(fault) => cx.fault(inst, fault),
    }
}

#[inline(always)]
fn scatter(
    cx: &mut Context<'_>,
    inst: &Inst,
    store: impl Fn(&mut Context<'_>, Place, u32) -> Result<(), MemoryFault>,
) -> Flow {
    let places = Places::of(cx, inst);
    let row = *cx.wave.vector.get(inst.src[1].register);
    for lane in active(cx.exec()) {
        if let Err(fault) = store(cx, places.place(lane), row[lane]) {
            return cx.fault(inst, fault);
        }
    }
    Flow::Next
}

#[inline(always)]
fn store_many<const N: usize>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let places = Places::of(cx, inst);
    let first = inst.src[1].register;
    for lane in active(cx.exec()) {
        let mut n = 0;
        while n < N {
            let value = cx.wave.vector.get(first + n as u16)[lane];
            let (stored, dwords) = match places.aligned_pair(lane, n as u32) {
                Some(address) if n + 1 < N => {
                    let high = cx.wave.vector.get(first + n as u16 + 1)[lane];
                    (cx.memory.store64(address, u64::from(value) | u64::from(high) << 32), 2)
                }
                _ => (store32(cx, places.dword(lane, n as u32), value), 1),
            };
            if let Err(fault) = stored {
                return cx.fault(inst, fault);
            }
            n += dwords;
        }
    }
    Flow::Next
}

fn unsigned8(cx: &mut Context<'_>, place: Place) -> Result<u32, MemoryFault> {
    load8(cx, place).map(u32::from)
}

fn signed8(cx: &mut Context<'_>, place: Place) -> Result<u32, MemoryFault> {
    load8(cx, place).map(|byte| i32::from(byte as i8) as u32)
}

fn unsigned16(cx: &mut Context<'_>, place: Place) -> Result<u32, MemoryFault> {
    load16(cx, place).map(u32::from)
}

fn signed16(cx: &mut Context<'_>, place: Place) -> Result<u32, MemoryFault> {
    load16(cx, place).map(|half| i32::from(half as i16) as u32)
}

macro_rules! loads {
    ($($name:ident $data:ident $narrow:literal $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$data,
            src: [Ty::None; 3],
            traits: Traits { narrow: $narrow, ..Traits::NONE },
        };
    )* };
}

loads! {
    load_ubyte B32 1 |cx, inst| load_one(cx, inst, unsigned8);
    load_sbyte B32 1 |cx, inst| load_one(cx, inst, signed8);
    load_ushort B32 2 |cx, inst| load_one(cx, inst, unsigned16);
    load_sshort B32 2 |cx, inst| load_one(cx, inst, signed16);
    load_dword B32 0 |cx, inst| load_one(cx, inst, load32);
    load_dwordx2 B64 0 load_many::<2>;
    load_dwordx3 B96 0 load_many::<3>;
    load_dwordx4 B128 0 load_many::<4>;
    load_ubyte_d16 B32 1 |cx, inst| load_half(cx, inst, false, unsigned8);
    load_ubyte_d16_hi B32 1 |cx, inst| load_half(cx, inst, true, unsigned8);
    load_sbyte_d16 B32 1 |cx, inst| load_half(cx, inst, false, signed8);
    load_sbyte_d16_hi B32 1 |cx, inst| load_half(cx, inst, true, signed8);
    load_short_d16 B32 2 |cx, inst| load_half(cx, inst, false, unsigned16);
    load_short_d16_hi B32 2 |cx, inst| load_half(cx, inst, true, unsigned16);
}

macro_rules! stores {
    ($($name:ident $data:ident $narrow:literal $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::None,
            src: [Ty::None; 3],
            traits: Traits { data: Ty::$data, narrow: $narrow, ..Traits::NONE },
        };
    )* };
}

stores! {
    store_byte B32 1 |cx, inst| scatter(cx, inst, |cx, place, value| store8(cx, place, value as u8));
    store_byte_d16_hi B32 1 |cx, inst| scatter(cx, inst, |cx, place, value| store8(cx, place, (value >> 16) as u8));
    store_short B32 2 |cx, inst| scatter(cx, inst, |cx, place, value| store16(cx, place, value as u16));
    store_short_d16_hi B32 2 |cx, inst| scatter(cx, inst, |cx, place, value| store16(cx, place, (value >> 16) as u16));
    store_dword B32 0 |cx, inst| scatter(cx, inst, store32);
    store_dwordx2 B64 0 store_many::<2>;
    store_dwordx3 B96 0 store_many::<3>;
    store_dwordx4 B128 0 store_many::<4>;
}

/// Loads whose destination is LDS. There is no destination register.
macro_rules! lds_loads {
    ($($name:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op { exec: $f, dst: Ty::None, src: [Ty::None; 3], traits: Traits::NONE };
    )* };
}

lds_loads! {
    load_lds_ubyte |cx, inst| load_one(cx, inst, unsigned8);
    load_lds_sbyte |cx, inst| load_one(cx, inst, signed8);
    load_lds_ushort |cx, inst| load_one(cx, inst, unsigned16);
    load_lds_sshort |cx, inst| load_one(cx, inst, signed16);
    load_lds_dword |cx, inst| load_one(cx, inst, load32);
}

/// From LDS, one dword for each lane at M0 plus the immediate, to the buffer.
pub(crate) const buffer_store_lds_dword: Op = Op {
    exec: |cx, inst| {
        let places = Places::of(cx, inst);
        let base = (cx.wave.m0() & 0xffff).wrapping_add(inst.imm as u32);
        for lane in active(cx.exec()) {
            let value = cx.lds.load32(base.wrapping_add(4 * lane as u32));
            if let Err(fault) = store32(cx, places.place(lane), value) {
                return cx.fault(inst, fault);
            }
        }
        Flow::Next
    },
    dst: Ty::None,
    src: [Ty::None; 3],
    traits: Traits::NONE,
};

/// Executes a store or an atomic of system scope.
pub(crate) fn system_scope(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    cx.memory.system_scope = true;
    let flow = (inst.row.op.exec)(cx, inst);
    cx.memory.system_scope = false;
    flow
}

/// A write-back of system scope: what the device's cache holds goes to memory.
pub(crate) fn write_back(cx: &mut Context<'_>, _: &Inst) -> Flow {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    cx.memory.write_back();
    Flow::Next
}

/// Write-back of less than system scope, and invalidation: all waves of a device share one cache, which holds nothing but
/// what was stored, so ordering is all that is left of it.
pub(crate) const cache_control: Op = Op {
    exec: |_, _| {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        Flow::Next
    },
    dst: Ty::None,
    src: [Ty::None; 3],
    traits: Traits::NONE,
};
