//! Hardware registers: `s_getreg` and `s_setreg`.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]

use super::alu::custom;
use crate::exec::{Context, Flow};
use crate::float::Fp;
use crate::instruction::{Inst, Op, Traits};
use crate::operand::Ty;

/// Numbers of the hardware registers that the model has.
mod register {
    pub(super) const MODE: u64 = 1;
    pub(super) const STATUS: u64 = 2;
    pub(super) const TRAPSTS: u64 = 3;
    pub(super) const HW_ID: u64 = 4;
    pub(super) const GPR_ALLOC: u64 = 5;
    pub(super) const LDS_ALLOC: u64 = 6;
    pub(super) const IB_STS: u64 = 7;
    pub(super) const SH_MEM_BASES: u64 = 15;
    pub(super) const XCC_ID: u64 = 20;
}

/// The field that the immediate names: register, offset, mask of its width.
fn field(inst: &Inst) -> (u64, u64, u32) {
    let width = (inst.imm >> 11 & 31) + 1;
    let mask = if width == 32 { u32::MAX } else { (1 << width) - 1 };
    (inst.imm & 63, inst.imm >> 6 & 31, mask)
}

#[allow(clippy::cast_possible_truncation, reason = "apertures are in the upper 16 bits of 64")]
fn read(cx: &Context<'_>, number: u64) -> Option<u32> {
    let config = &cx.wave.config;
    Some(match number {
        register::MODE => cx.wave.mode,
        // SCC in bit 0, EXECZ in 9, VCCZ in 10, VALID in 16.
        register::STATUS => {
            cx.wave.status
                | u32::from(cx.wave.scc)
                | u32::from(cx.exec() == 0) << 9
                | u32::from(cx.wave.vcc() == 0) << 10
                | 1 << 16
        }
        register::TRAPSTS => cx.wave.trapsts,
        register::HW_ID => config.hardware_id,
        // Vector registers in granules of 8, less one, in bits 13:8.
        register::GPR_ALLOC => {
            u32::from((config.arch_vgprs + config.acc_vgprs).div_ceil(8).saturating_sub(1) & 0x3f) << 8
        }
        // Bytes in granules of 512 in bits 20:12.
        register::LDS_ALLOC => (cx.lds.size().div_ceil(512) as u32 & 0x1ff) << 12,
        register::IB_STS => 0,
        // The upper 16 bits of both aperture bases, private in the low half.
        register::SH_MEM_BASES => {
            (config.private_base >> 48) as u32 | ((config.shared_base >> 48) as u32) << 16
        }
        register::XCC_ID => config.xcc_id,
        _ => return None,
    })
}

/// The MODE bit that skips vector instructions.
pub(crate) const VSKIP: u32 = 1 << 28;

/// The MODE bits that enable traps on arithmetic exceptions (the low part of EXCP_EN), and where they begin.
pub(crate) const EXCEPTIONS: u32 = 0x7f << EXCEPTIONS_SHIFT;
pub(crate) const EXCEPTIONS_SHIFT: u32 = 12;

fn write(cx: &mut Context<'_>, inst: &Inst, value: u32) -> Flow {
    let (number, offset, mask) = field(inst);
    let mask = mask << offset;
    let value = value << offset & mask;
    match number {
        register::MODE => {
            cx.wave.mode = cx.wave.mode & !mask | value;
            cx.fp = Fp::from_mode(cx.wave.mode);
        }
        register::TRAPSTS => {
            cx.wave.trapsts = cx.wave.trapsts & !mask | value;
            // Who clears the exceptions will ask for them.
            cx.wave.config.records_exceptions = true;
        }
        // Not writable without privilege: the write is dropped, as the hardware does.
        register::STATUS
        | register::HW_ID
        | register::GPR_ALLOC
        | register::LDS_ALLOC
        | register::IB_STS
        | register::SH_MEM_BASES
        | register::XCC_ID => {}
        _ => return cx.illegal(inst, &format!("hardware register {number} is not modelled")),
    }
    Flow::Next
}

custom! {
    s_getreg_b32 [] -> B32 |cx, inst| {
        let (number, offset, mask) = field(inst);
        let Some(value) = read(cx, number) else {
            return cx.illegal(inst, &format!("hardware register {number} is not modelled"));
        };
        cx.set_scalar(inst.dst, value >> offset & mask);
        Flow::Next
    };
    // The bit of source 0 that source 1 names.
    s_setvskip [B32, B32] -> None |cx, inst| {
        let skip = cx.scalar32(&inst.src[0]) >> (cx.scalar32(&inst.src[1]) & 31) & 1 == 1;
        cx.wave.mode = if skip { cx.wave.mode | VSKIP } else { cx.wave.mode & !VSKIP };
        Flow::Next
    };
    s_setreg_b32 [B32] -> None |cx, inst| {
        let value = cx.scalar32(&inst.src[0]);
        write(cx, inst, value)
    };
    // The literal is the source.
    s_setreg_imm32_b32 [B32] -> None |cx, inst| {
        let value = cx.scalar32(&inst.src[0]);
        write(cx, inst, value)
    };
}
