//! The kernel descriptor: what a kernel needs and how its registers start.
//!
//! Layout and meaning: LLVM's "User Guide for AMDGPU Backend", code object V3 kernel descriptor, and the register
//! tables for GFX90A and GFX942 there.

use model_gpu_isa::{Target, reads_exceptions};

use crate::memory::{Access, View};

/// Size of a descriptor.
pub(super) const BYTES: usize = 64;

/// Bytes of code, from a kernel's entry on, in which reads of TRAPSTS are looked for at each dispatch.
const LOOKED_AT: u64 = 16 << 10;

/// Bytes of prologue that firmware with kernel argument preloading skips.
const PRELOAD_PROLOGUE: u64 = 256;

/// User registers that the packet processor fills, in the order of the descriptor's enable bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct UserRegisters {
    pub(super) private_segment_buffer: bool,
    pub(super) dispatch_ptr: bool,
    pub(super) queue_ptr: bool,
    pub(super) kernarg_ptr: bool,
    pub(super) dispatch_id: bool,
    pub(super) flat_scratch_init: bool,
    pub(super) private_segment_size: bool,
}

/// A parsed descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    /// Instruction set of the kernel.
    pub(super) target: Target,
    /// Static group memory in bytes.
    pub(super) group_bytes: u32,
    /// Offset of the entry point from the descriptor.
    entry_offset: i64,
    /// The MODE register at the start.
    pub(super) mode: u32,
    /// The code may read which arithmetic exceptions there were; see [`Descriptor::look_for_exceptions`].
    pub(super) records_exceptions: bool,
    /// Architected vector registers.
    pub(super) arch_vgprs: u16,
    /// Accumulation vector registers.
    pub(super) acc_vgprs: u16,
    /// Scalar registers that the packet processor fills.
    pub(super) user_sgprs: u8,
    /// Which values go there.
    pub(super) user: UserRegisters,
    /// Work-group identifiers that follow the user registers: x, y, z.
    pub(super) workgroup_id: [bool; 3],
    /// The work-group information word follows them.
    pub(super) workgroup_info: bool,
    /// The offset of the wave's scratch follows that: where scratch is not architected, for kernels that use it.
    pub(super) scratch_offset: bool,
    /// Work-item identifiers in v0: 0 for x, 1 for x and y, 2 for all.
    pub(super) workitem_id: u8,
    /// Words of kernel arguments that are preloaded, and the first of them.
    pub(super) preload: (u8, u16),
}

fn word(bytes: &[u8; BYTES], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

fn field(word: u32, low: u32, bits: u32) -> u8 {
    // Fields are at most eight bits wide.
    (word >> low & ((1 << bits) - 1)).to_le_bytes()[0]
}

impl Descriptor {
    /// Parses a descriptor of a kernel for `target`.
    pub(super) fn parse(target: Target, bytes: &[u8; BYTES]) -> Result<Self, String> {
        let (rsrc3, rsrc1, rsrc2) = (word(bytes, 44), word(bytes, 48), word(bytes, 52));
        let properties = word(bytes, 56) & 0xffff;
        let preload = word(bytes, 56) >> 16;
        if word(bytes, 60) != 0 || bytes[24..44].iter().any(|b| *b != 0) {
            return Err("reserved bytes are not zero".to_owned());
        }
        let bit = |n: u32| properties >> n & 1 != 0;
        if bit(10) {
            return Err("the kernel is for waves of 32 lanes".to_owned());
        }
        let user = UserRegisters {
            private_segment_buffer: bit(0),
            dispatch_ptr: bit(1),
            queue_ptr: bit(2),
            kernarg_ptr: bit(3),
            dispatch_id: bit(4),
            flat_scratch_init: bit(5),
            private_segment_size: bit(6),
        };
        let architected = target.architected_flat_scratch();
        if architected && (user.private_segment_buffer || user.flat_scratch_init) {
            return Err(format!("the kernel sets up scratch by itself; {target} has architected scratch"));
        }
        // FLOAT_MODE in bits 19:12, DX10_CLAMP 21, IEEE 23, FP16_OVFL 26.
        let mode =
            (rsrc1 >> 12 & 0xff) | (rsrc1 >> 21 & 1) << 8 | (rsrc1 >> 23 & 1) << 9 | (rsrc1 >> 26 & 1) << 23;
        // Enables of traps: arithmetic exceptions in bits 30:24, address watch and memory violation in 14:13.
        let mode = mode | (rsrc2 >> 24 & 0x7f) << 12 | (rsrc2 >> 13 & 3) << 19;
        // Unified register file: granules of 8, accumulation registers after ACCUM_OFFSET.
        let total = (u16::from(field(rsrc1, 0, 6)) + 1) * 8;
        let arch_vgprs = ((u16::from(field(rsrc3, 0, 6)) + 1) * 4).min(total);
        let mut entry = [0; 8];
        entry.copy_from_slice(&bytes[16..24]);
        Ok(Self {
            target,
            group_bytes: word(bytes, 0),
            entry_offset: i64::from_le_bytes(entry),
            mode,
            records_exceptions: false,
            arch_vgprs: arch_vgprs.min(256),
            acc_vgprs: (total - arch_vgprs).min(256),
            user_sgprs: field(rsrc2, 1, 5),
            user,
            workgroup_id: [7, 8, 9].map(|n| rsrc2 >> n & 1 != 0),
            workgroup_info: rsrc2 >> 10 & 1 != 0,
            scratch_offset: !architected && rsrc2 & 1 != 0,
            workitem_id: field(rsrc2, 11, 2),
            preload: (field(preload, 0, 7), u16::try_from(preload >> 7 & 0x1ff).unwrap_or(0)),
        })
    }

    /// Finds out whether the kernel's code reads TRAPSTS: its waves record arithmetic exceptions only then. Of code that
    /// lies far from the entry nothing is known; it has to write TRAPSTS before it reads it.
    pub(super) fn look_for_exceptions(&mut self, view: &View<'_>, entry: u64) {
        if let Ok(code) = view.piece(entry, LOOKED_AT, Access::Execute) {
            let words = code.len() / 4;
            self.records_exceptions = (0..words).any(|n| reads_exceptions(code.load(4 * n)));
        }
    }

    /// Address of the first instruction of the kernel whose descriptor lies at `descriptor`.
    pub(super) fn entry(&self, descriptor: u64) -> u64 {
        let entry = descriptor.wrapping_add_signed(self.entry_offset);
        if self.preload.0 > 0 { entry.wrapping_add(PRELOAD_PROLOGUE) } else { entry }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor as clang emits it for a small gfx942 kernel.
    fn sample() -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[0..4].copy_from_slice(&128u32.to_le_bytes());
        bytes[16..24].copy_from_slice(&0x1000i64.to_le_bytes());
        bytes[44..48].copy_from_slice(&3u32.to_le_bytes());
        bytes[48..52].copy_from_slice(&0x00af_0081u32.to_le_bytes());
        bytes[52..56].copy_from_slice(&0x1384u32.to_le_bytes());
        bytes[56..60].copy_from_slice(&0x0008u32.to_le_bytes());
        bytes
    }

    #[test]
    fn fields_of_a_compiled_kernel_are_understood() {
        let kernel = Descriptor::parse(Target::Gfx942, &sample()).expect("sound");
        assert_eq!(kernel.group_bytes, 128);
        assert_eq!(kernel.entry(0x4000), 0x5000);
        assert_eq!(kernel.mode, 0x3f0);
        assert_eq!((kernel.arch_vgprs, kernel.acc_vgprs), (16, 0));
        assert_eq!(kernel.user_sgprs, 2);
        assert_eq!(kernel.user, UserRegisters { kernarg_ptr: true, ..UserRegisters::default() });
        assert_eq!(kernel.workgroup_id, [true, true, true]);
        assert_eq!(kernel.workitem_id, 2);
    }

    #[test]
    fn preloaded_arguments_start_after_the_prologue() {
        let mut bytes = sample();
        bytes[58..60].copy_from_slice(&(4u16 | 2 << 7).to_le_bytes());
        let kernel = Descriptor::parse(Target::Gfx942, &bytes).expect("sound");
        assert_eq!(kernel.preload, (4, 2));
        assert_eq!(kernel.entry(0x4000), 0x5100);
    }

    #[test]
    fn kernels_for_other_targets_are_refused() {
        let mut wave32 = sample();
        wave32[57] = 4;
        assert!(Descriptor::parse(Target::Gfx942, &wave32).expect_err("wave32").contains("32 lanes"));
        let mut old_scratch = sample();
        old_scratch[56] |= 1;
        assert!(Descriptor::parse(Target::Gfx942, &old_scratch).expect_err("scratch").contains("scratch"));
        assert!(
            Descriptor::parse(Target::Gfx90a, &old_scratch).expect("its own way").user.private_segment_buffer
        );
        let mut trapping = sample();
        trapping[55] |= 1;
        assert_eq!(Descriptor::parse(Target::Gfx942, &trapping).expect("sound").mode, 1 << 12 | 0x3f0);
        let mut clamping = sample();
        clamping[51] |= 4;
        assert_eq!(Descriptor::parse(Target::Gfx942, &clamping).expect("sound").mode, 1 << 23 | 0x3f0);
        let mut garbage = sample();
        garbage[30] = 1;
        assert!(Descriptor::parse(Target::Gfx942, &garbage).expect_err("reserved").contains("reserved"));
    }
}
