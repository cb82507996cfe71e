//! Every load, store and atomic of every space, by what its name says.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "operands are bit patterns"
)]

use super::support::{DATA, Rig, SCRATCH, ds, flat, opcode};
use crate::Target;
use crate::float::{F16, Round};
use crate::instruction::Encoding;

/// Bytes that each lane has for itself, and where its accesses go within them.
const STRIDE: u32 = 32;
const AT: u32 = 8;

/// A rig whose lanes point at their own bytes in `encoding`'s space: v[2:3].
fn rig(target: Target, encoding: Encoding) -> Rig {
    let mut rig = Rig::of(target);
    match encoding {
        Encoding::Scratch => rig.set(2, |_| AT),
        Encoding::Mubuf | Encoding::Ds => rig.set(2, |lane| lane * STRIDE + AT),
        _ => rig.set64(2, |lane| DATA + u64::from(lane * STRIDE + AT)),
    }
    if target == Target::Gfx90a {
        rig.wave.set_sgpr64(102, SCRATCH);
    }
    rig.lds = crate::Lds::new(64 * STRIDE as usize);
    rig.wave.set_sgpr64(8, DATA);
    rig.wave.set_sgpr64(10, 0x4000);
    rig.wave.set_exec(0x8000_0000_0000_00f5);
    rig
}

/// The dword `n` from where lane `lane` points.
fn place(encoding: Encoding, lane: u32, n: u32) -> u64 {
    match encoding {
        Encoding::Scratch => SCRATCH + u64::from((AT / 4 + n) * 256 + lane * 4),
        _ => DATA + u64::from(lane * STRIDE + AT + 4 * n),
    }
}

fn peek(rig: &mut Rig, encoding: Encoding, lane: u32, n: u32) -> u32 {
    match encoding {
        Encoding::Ds => rig.lds.load32(lane * STRIDE + AT + 4 * n),
        _ => rig.memory.read32(place(encoding, lane, n)),
    }
}

fn poke(rig: &mut Rig, encoding: Encoding, lane: u32, n: u32, value: u32) {
    match encoding {
        Encoding::Ds => rig.lds.store32(lane * STRIDE + AT + 4 * n, value),
        _ => rig.memory.write32(place(encoding, lane, n), value),
    }
}

fn peek64(rig: &mut Rig, encoding: Encoding, lane: u32) -> u64 {
    u64::from(peek(rig, encoding, lane, 0)) | u64::from(peek(rig, encoding, lane, 1)) << 32
}

/// The instruction: result (and a buffer's data) in v20, data in v10.
fn encode(target: Target, encoding: Encoding, mnemonic: &str, returns: bool) -> [u32; 2] {
    match encoding {
        Encoding::Ds => ds(mnemonic, 20, 2, [10, 14], 0),
        Encoding::Mubuf => {
            let low = 0xe000_1000 | opcode(encoding, mnemonic) << 18 | u32::from(returns) << 14;
            [low, 128 << 24 | 2 << 16 | 10 << 8 | 2]
        }
        _ => {
            let [low, high] = flat(mnemonic, 20, 2, 10, 0, returns);
            // Without architected scratch bit 13 means something else, and is not needed.
            [if target == Target::Gfx90a { low & !(1 << 13) } else { low }, high]
        }
    }
}

/// Bytes, sign, and half of a narrow access: `ubyte`, `sshort`, `short_d16_hi`, `dwordx3`, and as DS says it.
fn width(name: &str) -> (u32, bool, Option<bool>) {
    let (kind, half) = match name.split_once("_d16") {
        Some((kind, hi)) => (kind, Some(hi == "_hi")),
        None => (name, None),
    };
    let (bytes, signed) = match kind {
        "ubyte" | "byte" | "u8" | "b8" => (1, false),
        "sbyte" | "i8" => (1, true),
        "ushort" | "short" | "u16" | "b16" => (2, false),
        "sshort" | "i16" => (2, true),
        "dword" | "b32" => (4, false),
        "dwordx2" | "b64" => (8, false),
        "dwordx3" | "b96" => (12, false),
        "dwordx4" | "b128" => (16, false),
        _ => panic!("{name}"),
    };
    (bytes, signed, half)
}

fn pattern(lane: u32, n: u32) -> u32 {
    (lane * 4 + n).wrapping_mul(0x9e37_79b9) | 0x8080_8080
}

fn check_load(target: Target, encoding: Encoding, mnemonic: &str, name: &str) {
    let (bytes, signed, half) = width(name);
    let mut rig = rig(target, encoding);
    for lane in 0..64 {
        for n in 0..4 {
            poke(&mut rig, encoding, lane, n, pattern(lane, n));
        }
    }
    let result = if encoding == Encoding::Mubuf { 10 } else { 20 };
    for n in 0..4 {
        rig.set(result + n, |_| 0x1234_5678);
    }
    rig.run(&encode(target, encoding, mnemonic, false));
    for lane in 0..64 {
        for n in 0..4 {
            let value = pattern(lane, n);
            let narrow = match (bytes, signed) {
                (1, false) => value & 0xff,
                (1, true) => i32::from(value as i8) as u32,
                (2, false) => value & 0xffff,
                (2, true) => i32::from(value as i16) as u32,
                _ => value,
            };
            let loaded = match half {
                Some(true) => narrow << 16 | 0x5678,
                Some(false) => narrow & 0xffff | 0x1234_0000,
                None => narrow,
            };
            let active = rig.wave.exec() >> lane & 1 == 1 && n < bytes.div_ceil(4);
            let expected = if active { loaded } else { 0x1234_5678 };
            let got = rig.get(result + n as u8, lane as usize);
            assert_eq!(got, expected, "{target} {mnemonic} lane {lane} register {n}");
        }
    }
}

fn check_store(target: Target, encoding: Encoding, mnemonic: &str, name: &str) {
    let (bytes, _, half) = width(name);
    let mut rig = rig(target, encoding);
    for n in 0..4 {
        rig.set(10 + n as u8, |lane| pattern(lane, n));
    }
    for lane in 0..64 {
        for n in 0..4 {
            poke(&mut rig, encoding, lane, n, 0x5555_5555);
        }
    }
    rig.run(&encode(target, encoding, mnemonic, false));
    for lane in 0..64 {
        for n in 0..4 {
            let value = if half == Some(true) { pattern(lane, n) >> 16 } else { pattern(lane, n) };
            let kept = bytes.saturating_sub(4 * n).min(4);
            let mask = ((1_u64 << (8 * kept)) - 1) as u32;
            let mask = if rig.wave.exec() >> lane & 1 == 1 { mask } else { 0 };
            let expected = value & mask | 0x5555_5555 & !mask;
            assert_eq!(
                peek(&mut rig, encoding, lane, n),
                expected,
                "{target} {mnemonic} lane {lane} dword {n}"
            );
        }
    }
}

#[test]
pub(super) fn loads_and_stores_move_the_bytes_that_their_names_say() {
    for target in Target::ALL {
        for encoding in [Encoding::Global, Encoding::Flat, Encoding::Scratch, Encoding::Mubuf, Encoding::Ds] {
            for row in crate::tables::rows(target, encoding) {
                let (_, name) = row.mnemonic.split_once('_').expect("a space");
                let known = |name: &str| {
                    !name.contains("lds") && !name.contains("format") && !name.contains("addtid")
                };
                if !known(name) {
                    continue;
                }
                if let Some(name) = name.strip_prefix("load_").or_else(|| name.strip_prefix("read_")) {
                    check_load(target, encoding, row.mnemonic, name);
                } else if let Some(name) = name.strip_prefix("store_").or_else(|| name.strip_prefix("write_"))
                {
                    check_store(target, encoding, row.mnemonic, name);
                }
            }
        }
    }
}

/// What an atomic makes of the old value and its data. `name` has the operation, `ty` the type of its operands.
fn combined(name: &str, ty: &str, old: u64, data: u64, second: u64) -> u64 {
    let wide = ty.ends_with("64");
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    let halves = |f: fn(u16, u16) -> u16| {
        u64::from(f(old as u16, data as u16)) | u64::from(f((old >> 16) as u16, (data >> 16) as u16)) << 16
    };
    let float = |f32s: fn(f32, f32) -> f32, f64s: fn(f64, f64) -> f64| match ty {
        "f32" => f32s(f32::from_bits(old as u32), f32::from_bits(data as u32)).to_bits().into(),
        _ => f64s(f64::from_bits(old), f64::from_bits(data)).to_bits(),
    };
    let signed = |x: u64| if wide { x as i64 } else { i64::from(x as u32 as i32) };
    let result = match (name, ty) {
        ("add", "f32" | "f64") => float(|a, b| a + b, |a, b| a + b),
        ("min", "f32" | "f64") => float(f32::min, f64::min),
        ("max", "f32" | "f64") => float(f32::max, f64::max),
        ("pk_add", "f16") => {
            halves(|a, b| F16::from_f64(F16(a).to_f64() + F16(b).to_f64(), Round::NearestEven).0)
        }
        ("pk_add", "bf16") => halves(|a, b| {
            let wide = |x: u16| f32::from_bits(u32::from(x) << 16);
            ((wide(a) + wide(b)).to_bits() >> 16) as u16
        }),
        ("swap" | "wrxchg", _) => data,
        ("cmpswap", _) if old == second => data,
        // DS compares with its first operand and writes the second.
        ("cmpst", "b32" | "b64") if old == data => second,
        ("cmpst", "f32") if f32::from_bits(old as u32) == f32::from_bits(data as u32) => second,
        ("cmpst", "f64") if f64::from_bits(old) == f64::from_bits(data) => second,
        ("cmpswap" | "cmpst", _) => old,
        ("add", _) => old.wrapping_add(data),
        ("sub", _) => old.wrapping_sub(data),
        ("rsub", _) => data.wrapping_sub(old),
        ("min", "i32" | "i64") | ("smin", _) => {
            if signed(old) < signed(data) {
                old
            } else {
                data
            }
        }
        ("max", "i32" | "i64") | ("smax", _) => {
            if signed(old) > signed(data) {
                old
            } else {
                data
            }
        }
        ("min" | "umin", _) => old.min(data),
        ("max" | "umax", _) => old.max(data),
        ("and", _) => old & data,
        ("or", _) => old | data,
        ("xor", _) => old ^ data,
        ("inc", _) => {
            if old >= data {
                0
            } else {
                old + 1
            }
        }
        ("dec", _) => {
            if old == 0 || old > data {
                data
            } else {
                old - 1
            }
        }
        ("mskor", _) => old & !data | second,
        ("wrap", _) => {
            if old >= data {
                old - data
            } else {
                old + second
            }
        }
        _ => panic!("{name} {ty}"),
    };
    result & mask
}

/// Values of an atomic's operand that its operation tells apart; floats small enough that sums are exact.
fn operand(ty: &str, lane: u32, which: u32) -> u64 {
    let n = (lane * 5 + which * 3) % 11;
    match ty {
        "f32" => (f32::from(n as u8) - 4.0).to_bits().into(),
        "f64" => (f64::from(n) - 4.0).to_bits(),
        "f16" => 0x3c00_4000 + u64::from(n % 4) * 0x0100_0100,
        "bf16" => 0x3f80_4000 + u64::from(n % 2) * 0x0080_0080,
        _ if n < 3 => u64::MAX - u64::from(n),
        _ => u64::from(n),
    }
}

fn check_atomic(target: Target, encoding: Encoding, mnemonic: &str, name: &str, ty: &str, returns: bool) {
    let mut rig = rig(target, encoding);
    let wide = ty.ends_with("64");
    let mask = if wide { u64::MAX } else { 0xffff_ffff };
    // A compare-and-swap outside of DS has its second operand in the registers after the first.
    let second = match (encoding, wide) {
        (Encoding::Ds, _) => 14,
        (_, true) => 12,
        (_, false) => 11,
    };
    for (register, which) in [(10, 1), (second, 2)] {
        if wide {
            rig.set64(register, |lane| operand(ty, lane, which));
        } else {
            rig.set(register, |lane| operand(ty, lane, which) as u32);
        }
    }
    for lane in 0..64 {
        let old = operand(ty, lane, if lane % 2 == 0 { 1 + u32::from(name == "cmpswap") } else { 0 });
        poke(&mut rig, encoding, lane, 0, old as u32);
        poke(&mut rig, encoding, lane, 1, if wide { (old >> 32) as u32 } else { 0x7777_7777 });
    }
    let before: Vec<u64> = (0..64).map(|lane| peek64(&mut rig, encoding, lane)).collect();
    let result = if encoding == Encoding::Mubuf { 10 } else { 20 };
    rig.run(&encode(target, encoding, mnemonic, returns));
    for lane in 0..64 {
        let old = before[lane as usize] & mask;
        let (data, other) = (operand(ty, lane, 1) & mask, operand(ty, lane, 2) & mask);
        let active = rig.wave.exec() >> lane & 1 == 1;
        let expected = if active { combined(name, ty, old, data, other) } else { old };
        let got = peek64(&mut rig, encoding, lane);
        assert_eq!(got & mask, expected, "{target} {mnemonic} lane {lane}: {old:#x} {data:#x} {other:#x}");
        assert_eq!(got & !mask, before[lane as usize] & !mask, "{mnemonic} writes beyond its operand");
        if active && returns {
            let got =
                if wide { rig.get64(result, lane as usize) } else { rig.get(result, lane as usize).into() };
            assert_eq!(got, old, "{target} {mnemonic} returns");
        }
    }
}

#[test]
pub(super) fn atomics_combine_as_their_names_say_and_return_the_old_value() {
    for target in Target::ALL {
        for encoding in [Encoding::Global, Encoding::Flat, Encoding::Mubuf] {
            for row in crate::tables::rows(target, encoding) {
                let Some((_, name)) = row.mnemonic.split_once("_atomic_") else { continue };
                let (name, ty) = match name {
                    "add_f32" | "add_f64" | "min_f64" | "max_f64" | "pk_add_f16" | "pk_add_bf16" => {
                        name.rsplit_once('_').expect("a type")
                    }
                    _ => name.strip_suffix("_x2").map_or((name, "b32"), |name| (name, "b64")),
                };
                for returns in [false, true] {
                    check_atomic(target, encoding, row.mnemonic, name, ty, returns);
                }
            }
        }
    }
}

#[test]
pub(super) fn data_share_atomics_combine_as_their_names_say() {
    const OTHERS: [&str; 12] = [
        "write",
        "read",
        "swizzle",
        "permute",
        "bpermute",
        "nop",
        "append",
        "consume",
        "gws",
        "wrxchg2",
        "wrxchg2st64",
        "condxchg32",
    ];
    for target in Target::ALL {
        for row in crate::tables::rows(target, Encoding::Ds) {
            let name = row.mnemonic.strip_prefix("ds_").expect("ds");
            if OTHERS.iter().any(|other| name.starts_with(other)) {
                continue;
            }
            let (name, ty) = name.rsplit_once('_').expect("a type");
            let (name, returns) = name.strip_suffix("_rtn").map_or((name, false), |name| (name, true));
            check_atomic(target, Encoding::Ds, row.mnemonic, name, ty, returns);
        }
    }
}

#[test]
pub(super) fn two_address_forms_count_elements_or_64_of_them() {
    for (unit, suffix) in [(1, ""), (64, "st64")] {
        for (ty, bytes) in [("b32", 4_u32), ("b64", 8)] {
            let mut rig = Rig::new();
            rig.lds = crate::Lds::new(0x4000);
            rig.set(2, |lane| lane * 16);
            for n in 0..2_u8 {
                rig.set64(10 + 2 * n, |lane| {
                    u64::from(lane) << 32 | u64::from(0x100 * (u32::from(n) + 1) + lane)
                });
            }
            let offsets = 1 << 8;
            let at = |lane: u32, which: u32| lane * 16 + which * unit * bytes;
            rig.wave.set_exec(0x11);
            let exchange = ds(&format!("ds_wrxchg2{suffix}_rtn_{ty}"), 30, 2, [10, 12], offsets);
            rig.run(&ds(&format!("ds_write2{suffix}_{ty}"), 0, 2, [10, 12], offsets));
            rig.run(&ds(&format!("ds_read2{suffix}_{ty}"), 20, 2, [0, 0], offsets));
            for lane in [0_u32, 4] {
                let words = bytes / 4;
                assert_eq!(rig.lds.load32(at(lane, 0)), 0x100 + lane);
                assert_eq!(rig.lds.load32(at(lane, 1)), 0x200 + lane);
                assert_eq!(rig.get(20, lane as usize), 0x100 + lane);
                assert_eq!(rig.get(20 + words as u8, lane as usize), 0x200 + lane);
                if bytes == 8 {
                    assert_eq!((rig.get(21, lane as usize), rig.get(23, lane as usize)), (lane, lane));
                }
            }
            for n in 0..2_u8 {
                rig.set64(10 + 2 * n, |_| 0x0000_0007_0000_0500 + u64::from(n));
            }
            rig.run(&exchange);
            for lane in [0_u32, 4] {
                assert_eq!(rig.get(30, lane as usize), 0x100 + lane);
                assert_eq!(rig.get(30 + (bytes / 4) as u8, lane as usize), 0x200 + lane);
                assert_eq!((rig.lds.load32(at(lane, 0)), rig.lds.load32(at(lane, 1))), (0x500, 0x501));
            }
        }
    }
}

#[test]
pub(super) fn data_share_counts_lanes_addresses_by_lane_and_exchanges_by_condition() {
    let mut rig = Rig::new();
    rig.lds.store32(16, 100);
    rig.wave.set_m0(16);
    rig.wave.set_exec(0x7f);
    rig.run(&ds("ds_append", 20, 0, [0, 0], 0));
    assert_eq!((rig.get(20, 3), rig.lds.load32(16)), (100, 107));
    rig.run(&ds("ds_consume", 20, 0, [0, 0], 0));
    assert_eq!((rig.get(20, 3), rig.lds.load32(16)), (107, 100));
    rig.set(10, |lane| 0x40 + lane);
    rig.run(&ds("ds_write_addtid_b32", 0, 0, [10, 0], 8));
    assert_eq!(rig.lds.load32(16 + 8 + 4 * 6), 0x46);
    rig.run(&ds("ds_read_addtid_b32", 21, 0, [0, 0], 8));
    assert_eq!(rig.get(21, 6), 0x46);
    rig.run(&ds("ds_nop", 0, 0, [0, 0], 0));
    // Each half with the top bit set is exchanged, without that bit.
    rig.lds.store32(64, 1);
    rig.lds.store32(68, 2);
    rig.set(2, |_| 64);
    rig.set64(10, |_| 0x0000_0055_8000_0044);
    rig.wave.set_exec(1);
    rig.run(&ds("ds_condxchg32_rtn_b64", 20, 2, [10, 0], 0));
    assert_eq!(rig.get64(20, 0), 0x2_0000_0001);
    assert_eq!((rig.lds.load32(64), rig.lds.load32(68)), (0x44, 2));
}

#[test]
pub(super) fn loads_to_lds_go_to_m0_by_lane() {
    for encoding in [Encoding::Global, Encoding::Scratch] {
        for row in crate::tables::rows(Target::Gfx942, encoding).filter(|row| row.mnemonic.contains("_lds_"))
        {
            let name = row.mnemonic.split_once("_lds_").expect("a width").1;
            let mut rig = rig(Target::Gfx942, encoding);
            for lane in 0..64 {
                poke(&mut rig, encoding, lane, 0, pattern(lane, 0));
            }
            rig.wave.set_m0(128);
            rig.run(&encode(Target::Gfx942, encoding, row.mnemonic, false));
            let value = pattern(2, 0);
            let expected = match name {
                "ubyte" => value & 0xff,
                "sbyte" => i32::from(value as i8) as u32,
                "ushort" => value & 0xffff,
                "sshort" => i32::from(value as i16) as u32,
                _ => value,
            };
            assert_eq!(rig.lds.load32(128 + 4 * 2), expected, "{}", row.mnemonic);
        }
    }
}

#[test]
pub(super) fn cache_control_and_hints_change_nothing() {
    for target in Target::ALL {
        let names = ["buffer_wbl2", "buffer_inv", "buffer_invl2", "buffer_wbinvl1", "buffer_wbinvl1_vol"];
        for row in crate::tables::rows(target, Encoding::Mubuf).filter(|row| names.contains(&row.mnemonic)) {
            Rig::of(target).run(&[0xe000_0000 | u32::from(row.opcode) << 18, 0]);
        }
    }
}
