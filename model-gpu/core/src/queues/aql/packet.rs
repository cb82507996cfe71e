//! The layout of AQL packets (HSA System Architecture 1.2, section 2.9) and of AMD's vendor packets.

use crate::memory::{Fault, View};
use crate::signal::Signal;

/// The first 16 bits of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub(super) u16);

/// What a header says the packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketType {
    /// Vendor packet; its format follows the header.
    Vendor,
    /// Nothing yet.
    Invalid,
    /// Kernel dispatch.
    KernelDispatch,
    /// Barrier that waits for all of its signals.
    BarrierAnd,
    /// Agent dispatch.
    AgentDispatch,
    /// Barrier that waits for one of its signals.
    BarrierOr,
    /// None of the above.
    Unknown(u8),
}

impl PacketType {
    /// The header of a free slot.
    pub(super) const INVALID_HEADER: u16 = 1;
}

impl Header {
    /// Whether the packet waits for all before it: bit 8.
    pub(super) fn barrier(self) -> bool {
        self.0 & 1 << 8 != 0
    }

    /// Whether what the packet did must be visible to the whole system at its end: the release fence scope, bits 12:11,
    /// is 2.
    pub(super) fn releases_to_system(self) -> bool {
        self.0 >> 11 & 3 == 2
    }

    /// The packet's type: bits 7:0.
    pub(super) fn packet_type(self) -> PacketType {
        match self.0.to_le_bytes()[0] {
            0 => PacketType::Vendor,
            1 => PacketType::Invalid,
            2 => PacketType::KernelDispatch,
            3 => PacketType::BarrierAnd,
            4 => PacketType::AgentDispatch,
            5 => PacketType::BarrierOr,
            other => PacketType::Unknown(other),
        }
    }
}

/// What a vendor packet holds (`hsa_amd_vendor_packet_header_t`: format in the third byte; ROCr's PM4 packet has it as
/// the second 16-bit word).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VendorFormat {
    /// A jump to PM4 commands.
    Pm4,
    /// A barrier on the value of one signal.
    BarrierValue,
    /// None of the above.
    Unknown(u8),
}

/// Format of the vendor packet at `address`.
pub(super) fn vendor_format(view: &View<'_>, address: u64) -> Result<VendorFormat, Fault> {
    Ok(match view.load::<u8>(address + 2)? {
        1 => VendorFormat::Pm4,
        2 => VendorFormat::BarrierValue,
        other => VendorFormat::Unknown(other),
    })
}

/// Offset of the completion signal, the same in all packets.
pub(super) const COMPLETION: u64 = 56;

/// A kernel dispatch packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dispatch {
    /// Number of dimensions: bits 1:0 of the setup word.
    pub dimensions: u16,
    /// Work-items in a work-group, by dimension.
    pub workgroup: [u16; 3],
    /// Work-items in the grid, by dimension.
    pub grid: [u32; 3],
    /// Private memory of a work-item, in bytes.
    pub private_bytes: u32,
    /// Group memory of a work-group, in bytes, static and dynamic.
    pub group_bytes: u32,
    /// Device address of the kernel descriptor.
    pub kernel_object: u64,
    /// Device address of the arguments.
    pub kernarg: u64,
    /// Completed when all work-groups are done.
    pub completion_signal: Signal,
}

impl Dispatch {
    pub(super) fn read(view: &View<'_>, at: u64) -> Result<Self, Fault> {
        Ok(Self {
            dimensions: view.load::<u16>(at + 2)? & 3,
            workgroup: [view.load(at + 4)?, view.load(at + 6)?, view.load(at + 8)?],
            grid: [view.load(at + 12)?, view.load(at + 16)?, view.load(at + 20)?],
            private_bytes: view.load(at + 24)?,
            group_bytes: view.load(at + 28)?,
            kernel_object: view.load(at + 32)?,
            kernarg: view.load(at + 40)?,
            completion_signal: Signal(view.load(at + COMPLETION)?),
        })
    }
}
