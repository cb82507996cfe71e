//! Sums of absolute differences with 32-bit sums.
#![allow(non_upper_case_globals, reason = "operations are named as their mnemonics")]
#![allow(clippy::cast_possible_truncation, reason = "windows of four bytes are taken out of eight")]

use super::integer::masked_differences;
use super::operand::{raw32, raw64};
use crate::exec::Flow;
use crate::exec::lanes::blend;
use crate::instruction::{Op, Traits};
use crate::operand::{Kind, Ty};

/// Four windows of source 0, each against source 1, each added to one dword of source 2.
pub(crate) const v_mqsad_u32_u8: Op = Op {
    exec: |cx, inst| {
        let (bytes, reference) = (raw64(cx, inst, 0), raw32(cx, inst, 1));
        let sums: [[u32; crate::WAVE_SIZE]; 4] = std::array::from_fn(|n| match inst.src[2].kind {
            Kind::Vector => *cx.wave.vector.get(inst.src[2].register + n as u16),
            _ => raw32(cx, inst, 2),
        });
        let exec = cx.exec();
        for (n, sums) in (0u16..).zip(&sums) {
            let row = std::array::from_fn(|lane| {
                sums[lane].wrapping_add(masked_differences((bytes[lane] >> (8 * n)) as u32, reference[lane]))
            });
            blend(cx.wave.vector.get_mut(inst.dst + n), &row, exec);
        }
        Flow::Next
    },
    dst: Ty::B128,
    src: [Ty::B64, Ty::B32, Ty::B128],
    traits: Traits::NONE,
};
