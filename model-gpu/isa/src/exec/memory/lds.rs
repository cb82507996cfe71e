//! DS loads and stores.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "values are narrowed by definition"
)]

use crate::exec::lanes::{Row, active, blend};
use crate::exec::{Context, Flow};
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;
use crate::{Lds, WAVE_SIZE};

/// The LDS byte of each lane: source 0 plus the 16-bit offset.
pub(crate) fn addresses(cx: &Context<'_>, inst: &Inst) -> Row<u32> {
    let offset = inst.imm as u32 & 0xffff;
    cx.wave.vector.get(inst.src[0].register).map(|address| address.wrapping_add(offset))
}

/// The two offsets of the two-address forms, in bytes: each 8-bit field counts elements of `unit` bytes.
fn two_offsets(inst: &Inst, unit: u32) -> [u32; 2] {
    [inst.imm as u32 & 0xff, inst.imm as u32 >> 8 & 0xff].map(|count| count * unit)
}

fn load_rows<const N: usize>(
    cx: &mut Context<'_>,
    inst: &Inst,
    load: impl Fn(&Lds, usize) -> [u32; N],
) -> Flow {
    let mut rows = [[0; WAVE_SIZE]; N];
    let exec = cx.exec();
    for lane in active(exec) {
        for (row, value) in rows.iter_mut().zip(load(cx.lds, lane)) {
            row[lane] = value;
        }
    }
    for (n, row) in (0u16..).zip(&rows) {
        blend(cx.wave.vector.get_mut(inst.dst + n), row, exec);
    }
    Flow::Next
}

fn read<const N: usize>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let addresses = addresses(cx, inst);
    load_rows::<N>(cx, inst, |lds, lane| {
        std::array::from_fn(|n| lds.load32(addresses[lane].wrapping_add(4 * n as u32)))
    })
}

fn read_narrow(cx: &mut Context<'_>, inst: &Inst, load: impl Fn(&Lds, u32) -> u32) -> Flow {
    let addresses = addresses(cx, inst);
    load_rows::<1>(cx, inst, |lds, lane| [load(lds, addresses[lane])])
}

/// One half of the destination is kept.
fn read_half(cx: &mut Context<'_>, inst: &Inst, high: bool, load: impl Fn(&Lds, u32) -> u32) -> Flow {
    let addresses = addresses(cx, inst);
    let old = *cx.wave.vector.get(inst.dst);
    load_rows::<1>(cx, inst, |lds, lane| {
        let value = load(lds, addresses[lane]);
        [if high { old[lane] & 0xffff | value << 16 } else { old[lane] & 0xffff_0000 | value & 0xffff }]
    })
}

/// Two values of `N / 2` dwords each.
fn read2<const N: usize>(cx: &mut Context<'_>, inst: &Inst, unit: u32) -> Flow {
    let base = *cx.wave.vector.get(inst.src[0].register);
    let offsets = two_offsets(inst, unit);
    load_rows::<N>(cx, inst, |lds, lane| {
        std::array::from_fn(|n| {
            let within = 4 * (n % (N / 2)) as u32;
            lds.load32(base[lane].wrapping_add(offsets[n / (N / 2)]).wrapping_add(within))
        })
    })
}

fn write<const N: usize>(cx: &mut Context<'_>, inst: &Inst) -> Flow {
    let addresses = addresses(cx, inst);
    for lane in active(cx.exec()) {
        for n in 0..N {
            let value = cx.wave.vector.get(inst.src[1].register + n as u16)[lane];
            cx.lds.store32(addresses[lane].wrapping_add(4 * n as u32), value);
        }
    }
    Flow::Next
}

fn write_narrow(cx: &mut Context<'_>, inst: &Inst, store: impl Fn(&mut Lds, u32, u32)) -> Flow {
    let addresses = addresses(cx, inst);
    let row = *cx.wave.vector.get(inst.src[1].register);
    for lane in active(cx.exec()) {
        store(cx.lds, addresses[lane], row[lane]);
    }
    Flow::Next
}

/// Two values of `N` dwords each.
fn write2<const N: usize>(cx: &mut Context<'_>, inst: &Inst, unit: u32) -> Flow {
    let base = *cx.wave.vector.get(inst.src[0].register);
    let offsets = two_offsets(inst, unit);
    for lane in active(cx.exec()) {
        for (which, offset) in offsets.into_iter().enumerate() {
            for n in 0..N {
                let value = cx.wave.vector.get(inst.src[1 + which].register + n as u16)[lane];
                cx.lds.store32(base[lane].wrapping_add(offset).wrapping_add(4 * n as u32), value);
            }
        }
    }
    Flow::Next
}

/// One dword for each lane at M0 plus the offset.
fn by_lane(cx: &Context<'_>, inst: &Inst) -> u32 {
    (cx.wave.m0() & 0xffff).wrapping_add(inst.imm as u32 & 0xffff)
}

/// A DS operation: result, first data operand, second data operand.
macro_rules! ds_ops {
    ($($name:ident [$addr:ident $data:ident $data2:ident] -> $dst:ident $f:expr;)*) => { $(
        pub(crate) const $name: Op = Op {
            exec: $f,
            dst: Ty::$dst,
            src: [Ty::$addr, Ty::$data, Ty::$data2],
            traits: Traits::NONE,
        };
    )* };
}

pub(crate) use ds_ops;

ds_ops! {
    ds_read_b32 [B32 None None] -> B32 read::<1>;
    ds_read_b64 [B32 None None] -> B64 read::<2>;
    ds_read_b96 [B32 None None] -> B96 read::<3>;
    ds_read_b128 [B32 None None] -> B128 read::<4>;
    ds_read_u8 [B32 None None] -> B32 |cx, inst| read_narrow(cx, inst, |lds, at| u32::from(lds.load8(at)));
    ds_read_i8 [B32 None None] -> B32 |cx, inst| read_narrow(cx, inst, |lds, at| i32::from(lds.load8(at) as i8) as u32);
    ds_read_u16 [B32 None None] -> B32 |cx, inst| read_narrow(cx, inst, |lds, at| u32::from(lds.load16(at)));
    ds_read_i16 [B32 None None] -> B32 |cx, inst| {
        read_narrow(cx, inst, |lds, at| i32::from(lds.load16(at) as i16) as u32)
    };
    ds_read_u8_d16 [B32 None None] -> B32 |cx, inst| read_half(cx, inst, false, |lds, at| u32::from(lds.load8(at)));
    ds_read_u8_d16_hi [B32 None None] -> B32 |cx, inst| read_half(cx, inst, true, |lds, at| u32::from(lds.load8(at)));
    ds_read_i8_d16 [B32 None None] -> B32 |cx, inst| {
        read_half(cx, inst, false, |lds, at| i32::from(lds.load8(at) as i8) as u32)
    };
    ds_read_i8_d16_hi [B32 None None] -> B32 |cx, inst| {
        read_half(cx, inst, true, |lds, at| i32::from(lds.load8(at) as i8) as u32)
    };
    ds_read_u16_d16 [B32 None None] -> B32 |cx, inst| read_half(cx, inst, false, |lds, at| u32::from(lds.load16(at)));
    ds_read_u16_d16_hi [B32 None None] -> B32 |cx, inst| read_half(cx, inst, true, |lds, at| u32::from(lds.load16(at)));
    ds_read2_b32 [B32 None None] -> B64 |cx, inst| read2::<2>(cx, inst, 4);
    ds_read2st64_b32 [B32 None None] -> B64 |cx, inst| read2::<2>(cx, inst, 256);
    ds_read2_b64 [B32 None None] -> B128 |cx, inst| read2::<4>(cx, inst, 8);
    ds_read2st64_b64 [B32 None None] -> B128 |cx, inst| read2::<4>(cx, inst, 512);

    ds_write_b32 [B32 B32 None] -> None write::<1>;
    ds_write_b64 [B32 B64 None] -> None write::<2>;
    ds_write_b96 [B32 B96 None] -> None write::<3>;
    ds_write_b128 [B32 B128 None] -> None write::<4>;
    ds_write_b8 [B32 B32 None] -> None |cx, inst| write_narrow(cx, inst, |lds, at, value| lds.store8(at, value as u8));
    ds_write_b16 [B32 B32 None] -> None |cx, inst| {
        write_narrow(cx, inst, |lds, at, value| lds.store16(at, value as u16))
    };
    ds_write_b8_d16_hi [B32 B32 None] -> None |cx, inst| {
        write_narrow(cx, inst, |lds, at, value| lds.store8(at, (value >> 16) as u8))
    };
    ds_write_b16_d16_hi [B32 B32 None] -> None |cx, inst| {
        write_narrow(cx, inst, |lds, at, value| lds.store16(at, (value >> 16) as u16))
    };
    ds_write2_b32 [B32 B32 B32] -> None |cx, inst| write2::<1>(cx, inst, 4);
    ds_write2st64_b32 [B32 B32 B32] -> None |cx, inst| write2::<1>(cx, inst, 256);
    ds_write2_b64 [B32 B64 B64] -> None |cx, inst| write2::<2>(cx, inst, 8);
    ds_write2st64_b64 [B32 B64 B64] -> None |cx, inst| write2::<2>(cx, inst, 512);

    ds_nop [None None None] -> None |_, _| Flow::Next;
    ds_read_addtid_b32 [None None None] -> B32 |cx, inst| {
        let base = by_lane(cx, inst);
        load_rows::<1>(cx, inst, |lds, lane| [lds.load32(base.wrapping_add(4 * lane as u32))])
    };
    ds_write_addtid_b32 [None B32 None] -> None |cx, inst| {
        let base = by_lane(cx, inst);
        let row = *cx.wave.vector.get(inst.src[1].register);
        for lane in active(cx.exec()) {
            cx.lds.store32(base.wrapping_add(4 * lane as u32), row[lane]);
        }
        Flow::Next
    };
}
