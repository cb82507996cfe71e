//! AQL packets as values: the 64 bytes of one slot and what the engine needs to know of them.
//!
//! HSA Platform System Architecture Specification 1.2, section 2.9 (packet formats), and `hsa_ext_amd.h` for AMD's
//! vendor-specific packets.
#![allow(clippy::cast_possible_truncation, reason = "fields are cut out of the packet's words")]

use crate::handles::Signal;

/// Bytes of a slot.
pub(crate) const SLOT_BYTES: u64 = 64;
/// Header of a slot that holds no packet (`HSA_PACKET_TYPE_INVALID`).
pub(crate) const INVALID_HEADER: u16 = hsa_sys::HSA_PACKET_TYPE_INVALID as u16;

const TYPE_MASK: u16 = 0xff;
const BARRIER_BIT: u16 = 1 << hsa_sys::HSA_PACKET_HEADER_BARRIER;
const ACQUIRE_SHIFT: u32 = hsa_sys::HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE;
const RELEASE_SHIFT: u32 = hsa_sys::HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
const SYSTEM: u16 = hsa_sys::HSA_FENCE_SCOPE_SYSTEM as u16;
/// Barrier bit, system-scope acquire and release: nothing before it runs any more, and all of it is visible.
const FENCED: u16 = BARRIER_BIT | (SYSTEM << ACQUIRE_SHIFT) | (SYSTEM << RELEASE_SHIFT);

/// What a packet asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An AMD vendor-specific packet, with its format byte.
    Vendor(u8),
    /// An empty slot.
    Invalid,
    /// `hsa_kernel_dispatch_packet_t`.
    Dispatch,
    /// `hsa_barrier_and_packet_t`.
    BarrierAnd,
    /// `hsa_agent_dispatch_packet_t`.
    AgentDispatch,
    /// `hsa_barrier_or_packet_t`.
    BarrierOr,
    /// A type that the specification does not define.
    Unknown(u8),
}

/// The 64 bytes of one slot, little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) words: [u64; 8],
}

impl Packet {
    pub(crate) fn header(&self) -> u16 {
        self.words[0] as u16
    }

    pub(crate) fn kind(&self) -> Kind {
        let kind = self.header() & TYPE_MASK;
        match u32::from(kind) {
            hsa_sys::HSA_PACKET_TYPE_VENDOR_SPECIFIC => Kind::Vendor((self.words[0] >> 16) as u8),
            hsa_sys::HSA_PACKET_TYPE_INVALID => Kind::Invalid,
            hsa_sys::HSA_PACKET_TYPE_KERNEL_DISPATCH => Kind::Dispatch,
            hsa_sys::HSA_PACKET_TYPE_BARRIER_AND => Kind::BarrierAnd,
            hsa_sys::HSA_PACKET_TYPE_AGENT_DISPATCH => Kind::AgentDispatch,
            hsa_sys::HSA_PACKET_TYPE_BARRIER_OR => Kind::BarrierOr,
            _ => Kind::Unknown(kind as u8),
        }
    }

    /// The last eight bytes, which every packet type uses for its completion signal.
    pub(crate) fn completion_signal(&self) -> Signal {
        Signal(self.words[7])
    }

    /// The same packet with another completion signal.
    pub(crate) fn with_completion(mut self, signal: Signal) -> Self {
        self.words[7] = signal.0;
        self
    }

    pub(crate) fn kernel_object(&self) -> u64 {
        self.words[4]
    }

    pub(crate) fn kernarg_address(&self) -> u64 {
        self.words[5]
    }

    /// Work items in x, y and z; a dimension that the packet does not use counts as one.
    pub(crate) fn grid(&self) -> [u32; 3] {
        let sizes = [(self.words[1] >> 32) as u32, self.words[2] as u32, (self.words[2] >> 32) as u32];
        self.used_dimensions(sizes)
    }

    /// Work items of a group in x, y and z.
    pub(crate) fn workgroup(&self) -> [u32; 3] {
        let half = |value: u64| u32::from(value as u16);
        self.used_dimensions([half(self.words[0] >> 32), half(self.words[0] >> 48), half(self.words[1])])
    }

    fn used_dimensions(&self, mut sizes: [u32; 3]) -> [u32; 3] {
        let dimensions = ((self.words[0] >> 16) & 0b11) as usize;
        for size in sizes.iter_mut().skip(dimensions.max(1)) {
            *size = 1;
        }
        sizes
    }

    /// This dispatch as one pass of a window: the same work behind a full barrier, visible to all when it ends, with a
    /// completion signal of the engine's own.
    pub(crate) fn as_pass(&self, completion: Signal) -> Self {
        let mut words = self.words;
        let fences = !((0b11 << ACQUIRE_SHIFT) | (0b11 << RELEASE_SHIFT));
        let header = (self.header() & fences) | FENCED;
        words[0] = (words[0] & !0xffff) | u64::from(header);
        words[7] = completion.0;
        Self { words }
    }

    /// A barrier-AND without dependencies that completes when all packets before it have, with their writes visible to
    /// everyone.
    pub(crate) fn drain_barrier(completion: Signal) -> Self {
        let header = hsa_sys::HSA_PACKET_TYPE_BARRIER_AND as u16 | FENCED;
        Self { words: [u64::from(header), 0, 0, 0, 0, 0, 0, completion.0] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    fn dispatch() -> Packet {
        // Two dimensions, groups of 8 x 4, grid of 100 x 50, and a stale third dimension.
        Packet {
            words: [
                0x0b02 | 2 << 16 | 8 << 32 | 4 << 48,
                7 | 100 << 32,
                50 | 9 << 32,
                0,
                0x1000,
                0x2000,
                0,
                0x3000,
            ],
        }
    }

    #[test]
    fn fields_lie_where_the_header_says() {
        assert_eq!(offset_of!(hsa_sys::hsa_kernel_dispatch_packet_t, kernel_object), 4 * 8);
        assert_eq!(offset_of!(hsa_sys::hsa_kernel_dispatch_packet_t, kernarg_address), 5 * 8);
        assert_eq!(offset_of!(hsa_sys::hsa_kernel_dispatch_packet_t, completion_signal), 7 * 8);
        assert_eq!(offset_of!(hsa_sys::hsa_kernel_dispatch_packet_t, grid_size_x), 8 + 4);
        assert_eq!(offset_of!(hsa_sys::hsa_kernel_dispatch_packet_t, workgroup_size_z), 8);
        assert_eq!(offset_of!(hsa_sys::hsa_barrier_and_packet_t, dep_signal), 8);
        assert_eq!(offset_of!(hsa_sys::hsa_barrier_and_packet_t, completion_signal), 7 * 8);
    }

    #[test]
    fn unused_dimensions_count_as_one() {
        assert_eq!(dispatch().grid(), [100, 50, 1]);
        assert_eq!(dispatch().workgroup(), [8, 4, 1]);
    }

    #[test]
    fn a_pass_differs_from_its_packet_only_in_fences_and_signal() {
        let pass = dispatch().as_pass(Signal(0x4000));
        // Barrier bit 8, acquire scope 2 at bit 9, release scope 2 at bit 11.
        assert_eq!(pass.header(), 2 | 1 << 8 | 2 << 9 | 2 << 11);
        assert_eq!(pass.words[0] >> 16, dispatch().words[0] >> 16);
        assert_eq!(pass.words[1..7], dispatch().words[1..7]);
        assert_eq!(pass.completion_signal(), Signal(0x4000));
    }

    #[test]
    fn a_drain_barrier_waits_for_nothing_but_what_is_before_it() {
        let barrier = Packet::drain_barrier(Signal(0x4000));
        assert_eq!(barrier.kind(), Kind::BarrierAnd);
        assert_eq!(barrier.header(), 3 | 1 << 8 | 2 << 9 | 2 << 11);
        assert_eq!(barrier.words[1..7], [0; 6]);
    }
}
