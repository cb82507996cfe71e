//! Where each lane's access goes: device memory, LDS or the lane's scratch.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "addresses are computed modulo their width"
)]

use super::buffer;
use crate::exec::Context;
use crate::exec::lanes::Row;
use crate::instruction::{Encoding, Inst};
use crate::operand::Kind;
use crate::{Access, FaultReason, MemoryFault};

/// Where one access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Global(u64),
    /// A byte of LDS.
    Lds(u32),
    /// A byte of the lane's scratch.
    Scratch {
        lane: usize,
        offset: u32,
    },
    /// Outside a buffer: loads give zero, stores are dropped.
    Nowhere,
}

impl Place {
    /// The place `bytes` further on.
    #[inline(always)]
    pub(crate) fn plus(self, bytes: u32) -> Place {
        match self {
            Place::Global(address) => Place::Global(address.wrapping_add(u64::from(bytes))),
            Place::Lds(offset) => Place::Lds(offset.wrapping_add(bytes)),
            Place::Scratch { lane, offset } => Place::Scratch { lane, offset: offset.wrapping_add(bytes) },
            Place::Nowhere => Place::Nowhere,
        }
    }
}

/// The addresses of all lanes, and how to read them.
pub(crate) struct Places {
    space: Encoding,
    row: Row<u64>,
    shared: u64,
    private: u64,
    /// Bytes from one dword of an access to the next.
    step: u32,
}

/// An address that no lane can form: marks accesses outside a buffer.
pub(crate) const OUTSIDE: u64 = u64::MAX;

impl Places {
    /// The addresses of a FLAT, GLOBAL, SCRATCH or MUBUF instruction. Source 0 is the vector address, source 1 the
    /// data, source 2 the scalar address.
    pub(crate) fn of(cx: &Context<'_>, inst: &Inst) -> Self {
        let mut step = 4;
        let row = match inst.encoding {
            Encoding::Scratch => scratch_row(cx, inst),
            Encoding::Mubuf | Encoding::Mtbuf => {
                let (row, dwords) = buffer::addresses(cx, inst);
                step = dwords;
                row
            }
            _ => global_row(cx, inst),
        };
        let config = &cx.wave.config;
        Self {
            space: inst.encoding,
            row,
            shared: config.shared_base >> 32,
            private: config.private_base >> 32,
            step,
        }
    }

    /// The place of the access's dword `n`.
    #[inline(always)]
    pub(crate) fn dword(&self, lane: usize, n: u32) -> Place {
        self.place(lane).plus(self.step * n)
    }

    /// Address of dwords `n` and `n + 1`, when they are an aligned pair in device memory, which is accessed at once.
    #[inline(always)]
    pub(crate) fn aligned_pair(&self, lane: usize, n: u32) -> Option<u64> {
        match self.dword(lane, n) {
            Place::Global(address) if address.is_multiple_of(8) && self.step == 4 => Some(address),
            _ => None,
        }
    }

    #[inline(always)]
    pub(crate) fn place(&self, lane: usize) -> Place {
        let address = self.row[lane];
        match self.space {
            Encoding::Global => Place::Global(address),
            Encoding::Scratch => Place::Scratch { lane, offset: address as u32 },
            Encoding::Mubuf | Encoding::Mtbuf if address == OUTSIDE => Place::Nowhere,
            Encoding::Flat if address >> 32 == self.shared => Place::Lds(address as u32),
            Encoding::Flat if address >> 32 == self.private => {
                Place::Scratch { lane, offset: address as u32 }
            }
            _ => Place::Global(address),
        }
    }
}

/// A 64-bit vector address, or a scalar base with a 32-bit vector offset, plus the immediate.
#[inline(always)]
fn global_row(cx: &Context<'_>, inst: &Inst) -> Row<u64> {
    let low = cx.wave.vector.get(inst.src[0].register);
    if inst.src[2].kind == Kind::None {
        let high = cx.wave.vector.get(inst.src[0].register + 1);
        return std::array::from_fn(|lane| {
            (u64::from(low[lane]) | u64::from(high[lane]) << 32).wrapping_add(inst.imm)
        });
    }
    let base = cx.scalar64(&inst.src[2]).wrapping_add(inst.imm);
    std::array::from_fn(|lane| base.wrapping_add(u64::from(low[lane])))
}

/// Scratch offsets: vector and scalar parts, each optional, plus the immediate.
fn scratch_row(cx: &Context<'_>, inst: &Inst) -> Row<u64> {
    let base = match inst.src[2].kind {
        Kind::None => 0,
        _ => cx.scalar32(&inst.src[2]),
    }
    .wrapping_add(inst.imm as u32);
    match inst.src[0].kind {
        Kind::Vector => {
            let row = cx.wave.vector.get(inst.src[0].register);
            std::array::from_fn(|lane| u64::from(row[lane].wrapping_add(base)))
        }
        _ => [u64::from(base); 64],
    }
}

/// Device address of a byte of a lane's scratch. Dwords of the 64 lanes are interleaved.
fn scratch_address(cx: &Context<'_>, lane: usize, offset: u32, access: Access) -> Result<u64, MemoryFault> {
    let base = cx.pair(102);
    let address = base.wrapping_add(u64::from(offset / 4) * 256 + lane as u64 * 4 + u64::from(offset % 4));
    if offset >= cx.wave.config.scratch_bytes_per_lane {
        return Err(MemoryFault { address, access, reason: FaultReason::ScratchBounds });
    }
    Ok(address)
}

macro_rules! accessors {
    ($load:ident, $store:ident, $ty:ty) => {
        #[inline(always)]
        pub(crate) fn $load(cx: &mut Context<'_>, place: Place) -> Result<$ty, MemoryFault> {
            match place {
                Place::Global(address) => cx.memory.$load(address),
                Place::Lds(offset) => Ok(cx.lds.$load(offset)),
                Place::Scratch { lane, offset } => {
                    const SIZE: usize = size_of::<$ty>();
                    if (offset as usize).is_multiple_of(SIZE) {
                        let address = scratch_address(cx, lane, offset, Access::Read)?;
                        return cx.memory.$load(address);
                    }
                    let mut bytes = [0; SIZE];
                    for (n, byte) in (0u32..).zip(&mut bytes) {
                        let address = scratch_address(cx, lane, offset.wrapping_add(n), Access::Read)?;
                        *byte = cx.memory.load8(address)?;
                    }
                    Ok(<$ty>::from_le_bytes(bytes))
                }
                Place::Nowhere => Ok(0),
            }
        }

        #[inline(always)]
        pub(crate) fn $store(cx: &mut Context<'_>, place: Place, value: $ty) -> Result<(), MemoryFault> {
            match place {
                Place::Global(address) => cx.memory.$store(address, value),
                Place::Lds(offset) => {
                    cx.lds.$store(offset, value);
                    Ok(())
                }
                Place::Scratch { lane, offset } => {
                    const SIZE: usize = size_of::<$ty>();
                    if (offset as usize).is_multiple_of(SIZE) {
                        let address = scratch_address(cx, lane, offset, Access::Write)?;
                        return cx.memory.$store(address, value);
                    }
                    for (n, byte) in (0u32..).zip(value.to_le_bytes()) {
                        let address = scratch_address(cx, lane, offset.wrapping_add(n), Access::Write)?;
                        cx.memory.store8(address, byte)?;
                    }
                    Ok(())
                }
                Place::Nowhere => Ok(()),
            }
        }
    };
}

accessors!(load8, store8, u8);
accessors!(load16, store16, u16);
accessors!(load32, store32, u32);

/// Device address for an atomic on scratch, which takes aligned values only.
pub(crate) fn scratch_atomic(
    cx: &Context<'_>,
    lane: usize,
    offset: u32,
    size: u32,
) -> Result<u64, MemoryFault> {
    let address = scratch_address(cx, lane, offset, Access::Atomic)?;
    // A 64-bit value is split over two interleaved dwords; the hardware has no such atomic either.
    if !offset.is_multiple_of(size) || size > 4 {
        return Err(MemoryFault { address, access: Access::Atomic, reason: FaultReason::Misaligned });
    }
    Ok(address)
}
