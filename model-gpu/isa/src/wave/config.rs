//! What the dispatcher decides about a wave before it runs, and what surrounds it while it runs.

use crate::{AddressSpace, CodeCache, Environment, Target};

/// The part of a wave's state that its dispatcher decides and that is not a plain register.
#[derive(Debug, Clone)]
pub struct WaveConfig {
    /// The instruction set of the wave's code.
    pub target: Target,
    /// Device address of the first instruction.
    pub entry: u64,
    /// The EXEC mask at the start.
    pub exec: u64,
    /// The MODE register at the start, as the kernel descriptor's `compute_pgm_rsrc1` gives it: FP_ROUND in bits 3:0,
    /// FP_DENORM in bits 7:4, DX10_CLAMP in bit 8, IEEE in bit 9.
    pub mode: u32,
    /// Vector registers `v0..` that the kernel may use; at most 256. This is the accumulation offset.
    pub arch_vgprs: u16,
    /// Accumulation registers `a0..` that the kernel may use; at most 256.
    pub acc_vgprs: u16,
    /// Base of the 4 GiB aperture through which FLAT instructions reach LDS; a multiple of 2^32.
    pub shared_base: u64,
    /// Base of the 4 GiB aperture through which FLAT instructions reach scratch; a multiple of 2^32.
    pub private_base: u64,
    /// Device address of this wave's scratch memory. Where FLAT_SCRATCH is architected (gfx942) it starts with this; on gfx90a
    /// the kernel sets it up from registers that its dispatcher fills. Byte `b` of lane `l` lies at
    /// `scratch_base + (b / 4) * 256 + l * 4 + b % 4`.
    pub scratch_base: u64,
    /// Scratch bytes of each lane; the wave's scratch memory has 64 times as many.
    pub scratch_bytes_per_lane: u32,
    /// What `s_getreg` reads from HW_ID.
    pub hardware_id: u32,
    /// What `s_getreg` reads from XCC_ID.
    pub xcc_id: u32,
    /// Arithmetic exceptions are recorded in TRAPSTS from the start; see [`reads_exceptions`]. Without this they are while
    /// MODE enables a trap on one, and from the wave's first write to TRAPSTS on. It makes vector arithmetic many times slower.
    pub records_exceptions: bool,
}

impl Default for WaveConfig {
    /// All lanes on, every register usable, round to nearest even, denormals kept, DX10_CLAMP and IEEE on,
    /// no scratch, apertures as Linux's KFD gives them to gfx942.
    fn default() -> Self {
        Self {
            target: Target::default(),
            entry: 0,
            exec: u64::MAX,
            mode: 0x3f0,
            arch_vgprs: 256,
            acc_vgprs: 256,
            shared_base: 0x1_0000_0000_0000,
            private_base: 0x2_0000_0000_0000,
            scratch_base: 0,
            scratch_bytes_per_lane: 0,
            hardware_id: 0,
            xcc_id: 0,
            records_exceptions: false,
        }
    }
}

/// Whether a word of code may be an instruction that reads TRAPSTS (`s_getreg_b32`).
#[must_use]
pub fn reads_exceptions(word: u32) -> bool {
    word & 0xff80_003f == 0xb880_0003
}

/// What surrounds a wave while it runs. One for each worker thread.
pub struct Machine<'a> {
    pub(crate) memory: &'a dyn AddressSpace,
    pub(crate) environment: &'a dyn Environment,
    pub(crate) code: &'a mut CodeCache,
}

impl<'a> Machine<'a> {
    /// A machine of this memory, this environment and this thread's decoded code.
    pub fn new(
        memory: &'a dyn AddressSpace,
        environment: &'a dyn Environment,
        code: &'a mut CodeCache,
    ) -> Self {
        Self { memory, environment, code }
    }
}

impl std::fmt::Debug for Machine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Machine").field("code", &self.code).finish_non_exhaustive()
    }
}
