//! Addresses of untyped buffer instructions (MUBUF), from a buffer resource in four scalar registers.
#![allow(clippy::cast_possible_truncation, reason = "fields of the resource are taken apart")]

use super::format;
use super::place::OUTSIDE;
use crate::WAVE_SIZE;
use crate::exec::Context;
use crate::exec::lanes::Row;
use crate::instruction::Inst;
use crate::operand::Ty;

/// A buffer resource: CDNA3 manual, section "Buffer Resource Descriptor".
#[derive(Debug, Clone, Copy)]
struct Resource {
    base: u64,
    stride: u32,
    swizzle: bool,
    records: u32,
    /// Log2 of the elements (records) interleaved, less 3.
    index_stride: u32,
    add_lane: bool,
}

impl Resource {
    fn read(cx: &Context<'_>, register: u16) -> Self {
        let word = |n: u16| cx.pair(register + n) as u32;
        Self {
            base: u64::from(word(0)) | u64::from(word(1) & 0xffff) << 32,
            stride: word(1) >> 16 & 0x3fff,
            swizzle: word(1) >> 31 == 1,
            records: word(2),
            index_stride: word(3) >> 21 & 3,
            add_lane: word(3) >> 23 & 1 == 1,
        }
    }
}

/// Each lane's address, or [`OUTSIDE`] where it is beyond the buffer, and the bytes from one dword of an access to the next:
/// more than four where elements of several records are interleaved. Source 0 is the vector address (index, then offset,
/// as enabled), source 2 the first register of the resource.
pub(crate) fn addresses(cx: &Context<'_>, inst: &Inst) -> (Row<u64>, u32) {
    let resource = Resource::read(cx, inst.src[2].register);
    let group = 8u64 << resource.index_stride;
    let scalar_offset = cx.scalar32(&inst.scalar_offset);
    let first = inst.src[0].register;
    let zero = [0; WAVE_SIZE];
    let indices = if inst.index_enable { cx.wave.vector.get(first) } else { &zero };
    let offsets =
        if inst.offset_enable { cx.wave.vector.get(first + u16::from(inst.index_enable)) } else { &zero };
    let bytes = if inst.row.op.traits.formatted { format::element_bytes(cx, inst) } else { accessed(inst) };
    let row = std::array::from_fn(|lane| {
        let index = indices[lane].wrapping_add(if resource.add_lane { lane as u32 } else { 0 });
        let offset = offsets[lane].wrapping_add(inst.imm as u32);
        if outside(resource, index, offset, bytes, scalar_offset) {
            return OUTSIDE;
        }
        let inside = if resource.swizzle {
            // Records are interleaved in groups of `group`, in elements of four bytes.
            let (index, offset) = (u64::from(index), u64::from(offset));
            (index / group * u64::from(resource.stride) + offset / 4 * 4) * group
                + index % group * 4
                + offset % 4
        } else {
            u64::from(resource.stride) * u64::from(index) + u64::from(offset)
        };
        resource.base.wrapping_add(inside).wrapping_add(u64::from(scalar_offset))
    });
    (row, if resource.swizzle { 4 * group as u32 } else { 4 })
}

/// Bytes of each lane's access. An atomic accesses what it returns: a compare-and-swap has twice the data.
fn accessed(inst: &Inst) -> u32 {
    let op = &inst.row.op;
    if op.traits.narrow > 0 {
        return op.traits.narrow.into();
    }
    let ty = if op.dst == Ty::None { op.traits.data } else { op.dst };
    u32::from(ty.registers().max(1)) * 4
}

/// Raw buffers count bytes, of which the scalar offset takes away; structured ones count records.
fn outside(resource: Resource, index: u32, offset: u32, bytes: u32, scalar_offset: u32) -> bool {
    if resource.stride == 0 {
        let left = resource.records.saturating_sub(scalar_offset);
        u64::from(offset) + u64::from(bytes) > u64::from(left)
    } else {
        index >= resource.records || (resource.swizzle && offset >= resource.stride)
    }
}
