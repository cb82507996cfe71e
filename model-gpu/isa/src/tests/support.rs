//! A wave with a little memory, and encoders for test programs.
#![allow(clippy::cast_possible_truncation, reason = "encoded fields are small")]

use std::cell::UnsafeCell;
use std::sync::atomic::AtomicU64;

use crate::instruction::{Encoding, Row};
use crate::{
    Access, AddressSpace, CodeCache, Environment, Exception, FaultReason, Lds, Machine, MemoryFault, Span,
    Stop, Target, Wave, WaveConfig,
};

/// Device address of the test memory: code first, data from [`DATA`].
pub(crate) const CODE: u64 = 0x1000_0000;
pub(crate) const DATA: u64 = CODE + 0x4000;
/// The wave's scratch.
pub(crate) const SCRATCH: u64 = CODE + 0x10000;
pub(crate) const SIZE: u64 = 0x20000;

/// Memory for one test.
pub(crate) struct Memory(Box<[UnsafeCell<u64>]>);

// SAFETY: one live allocation that does not move while `self` is borrowed, readable and writable.
unsafe impl AddressSpace for Memory {
    fn translate(&self, address: u64, access: Access) -> Result<Span, MemoryFault> {
        if !(CODE..CODE + SIZE).contains(&address) {
            return Err(MemoryFault { address, access, reason: FaultReason::Unmapped });
        }
        if address < DATA && matches!(access, Access::Write | Access::Atomic) {
            return Err(MemoryFault { address, access, reason: FaultReason::Permission });
        }
        // Two spans, so that accesses can cross from one to the other.
        let (start, length) = if address < DATA { (CODE, DATA - CODE) } else { (DATA, CODE + SIZE - DATA) };
        let host = self.0[usize::try_from((start - CODE) / 8).expect("small")].get().cast();
        Ok(Span { start, length, host, cached: false })
    }
}

impl Memory {
    fn new() -> Self {
        Self((0..SIZE / 8).map(|_| UnsafeCell::new(0)).collect())
    }

    /// Eight bytes as another thread sees them.
    pub(crate) fn shared(&self, address: u64) -> &'static AtomicU64 {
        let cell = &self.0[usize::try_from((address - CODE) / 8).expect("small")];
        // SAFETY: aligned; the cells are on the heap, and tests use the answer only while they keep the rig.
        unsafe { AtomicU64::from_ptr(cell.get()) }
    }

    pub(crate) fn write32(&mut self, address: u64, value: u32) {
        let index = usize::try_from((address - CODE) / 8).expect("small");
        let shift = (address % 8) * 8;
        let word = self.0[index].get_mut();
        *word = *word & !(0xffff_ffff << shift) | u64::from(value) << shift;
    }

    pub(crate) fn read32(&mut self, address: u64) -> u32 {
        let index = usize::try_from((address - CODE) / 8).expect("small");
        (*self.0[index].get_mut() >> ((address % 8) * 8)) as u32
    }
}

pub(crate) struct Clocks;

impl Environment for Clocks {
    fn core_clock(&self) -> u64 {
        0x1_0000_0007
    }

    fn real_time(&self) -> u64 {
        0x2_0000_0009
    }

    fn send_message(&self, message: u16, _m0: u32) -> Result<(), String> {
        if message & 15 == 1 { Ok(()) } else { Err(format!("message {message} is not known")) }
    }
}

/// A wave, its LDS and its memory.
pub(crate) struct Rig {
    pub(crate) wave: Wave,
    pub(crate) lds: Lds,
    pub(crate) memory: Memory,
    pub(crate) code: CodeCache,
}

impl Rig {
    pub(crate) fn new() -> Self {
        Self::of(Target::Gfx942)
    }

    pub(crate) fn of(target: Target) -> Self {
        let config = WaveConfig {
            target,
            entry: CODE,
            scratch_base: SCRATCH,
            scratch_bytes_per_lane: 256,
            hardware_id: 0x1234_5678,
            ..WaveConfig::default()
        };
        Self { wave: Wave::new(&config), lds: Lds::new(1024), memory: Memory::new(), code: CodeCache::new() }
    }

    /// Puts `words` and an `s_endpgm` at the start of the code, and sets the pc there.
    pub(crate) fn load(&mut self, words: &[u32]) {
        let end = [sopp("s_endpgm", 0)];
        for (n, word) in (0u64..).zip(words.iter().chain(&end)) {
            self.memory.write32(CODE + 4 * n, *word);
        }
        self.code.invalidate();
        self.wave.pc = CODE;
        self.wave.ended = false;
    }

    /// Runs what is loaded until it stops.
    pub(crate) fn resume(&mut self) -> Result<Stop, Exception> {
        let mut machine = Machine::new(&self.memory, &Clocks, &mut self.code);
        self.wave.run(&mut self.lds, &mut machine, 10_000)
    }

    pub(crate) fn try_run(&mut self, words: &[u32]) -> Result<Stop, Exception> {
        self.load(words);
        self.resume()
    }

    /// Runs `words` to the end of the program.
    pub(crate) fn run(&mut self, words: &[u32]) {
        assert_eq!(self.try_run(words), Ok(Stop::EndOfProgram));
    }

    pub(crate) fn set(&mut self, register: u8, lanes: impl Fn(u32) -> u32) {
        self.wave.set_vgpr(register, &std::array::from_fn(|lane| lanes(lane as u32)));
    }

    /// Sets a register pair.
    pub(crate) fn set64(&mut self, register: u8, lanes: impl Fn(u32) -> u64) {
        self.set(register, |lane| lanes(lane) as u32);
        self.set(register + 1, |lane| (lanes(lane) >> 32) as u32);
    }

    pub(crate) fn get(&self, register: u8, lane: usize) -> u32 {
        self.wave.vgpr(register)[lane]
    }

    pub(crate) fn get64(&self, register: u8, lane: usize) -> u64 {
        u64::from(self.get(register, lane)) | u64::from(self.get(register + 1, lane)) << 32
    }
}

/// The row of a mnemonic, in the first target that has it.
fn row(encoding: Encoding, mnemonic: &str) -> Option<&'static Row> {
    let mut rows = Target::ALL.into_iter().rev().flat_map(|target| crate::tables::rows(target, encoding));
    rows.find(|row| row.mnemonic == mnemonic)
}

/// The opcode of a mnemonic.
pub(crate) fn opcode(encoding: Encoding, mnemonic: &str) -> u32 {
    let row = row(encoding, mnemonic);
    u32::from(row.unwrap_or_else(|| panic!("{mnemonic} is not in the {encoding:?} tables")).opcode)
}

/// Operand code of a vector register.
pub(crate) const fn v(register: u32) -> u32 {
    256 + register
}

pub(crate) fn sop1(mnemonic: &str, dst: u32, src: u32) -> u32 {
    0xbe80_0000 | dst << 16 | opcode(Encoding::Sop1, mnemonic) << 8 | src
}

pub(crate) fn sop2(mnemonic: &str, dst: u32, src0: u32, src1: u32) -> u32 {
    0x8000_0000 | opcode(Encoding::Sop2, mnemonic) << 23 | dst << 16 | src1 << 8 | src0
}

pub(crate) fn sopc(mnemonic: &str, src0: u32, src1: u32) -> u32 {
    0xbf00_0000 | opcode(Encoding::Sopc, mnemonic) << 16 | src1 << 8 | src0
}

pub(crate) fn sopk(mnemonic: &str, dst: u32, immediate: u16) -> u32 {
    0xb000_0000 | opcode(Encoding::Sopk, mnemonic) << 23 | dst << 16 | u32::from(immediate)
}

pub(crate) fn sopp(mnemonic: &str, immediate: u16) -> u32 {
    0xbf80_0000 | opcode(Encoding::Sopp, mnemonic) << 16 | u32::from(immediate)
}

/// A scalar memory instruction: data from s8 on, base (or resource) in s[4:5], immediate offset.
pub(crate) fn smem(mnemonic: &str, returns: bool, immediate: u32) -> [u32; 2] {
    let opcode = opcode(Encoding::Smem, mnemonic);
    [0xc002_0000 | opcode << 18 | u32::from(returns) << 16 | 8 << 6 | 2, immediate]
}

pub(crate) fn vop1(mnemonic: &str, dst: u32, src: u32) -> u32 {
    0x7e00_0000 | dst << 17 | opcode(Encoding::Vop1, mnemonic) << 9 | src
}

pub(crate) fn vop2(mnemonic: &str, dst: u32, src0: u32, src1: u32) -> u32 {
    opcode(Encoding::Vop2, mnemonic) << 25 | dst << 17 | (src1 & 255) << 9 | src0
}

/// A VOP3 form of any vector operation.
pub(crate) fn vop3(mnemonic: &str, dst: u32, src: [u32; 3]) -> [u32; 2] {
    let opcode = [(Encoding::Vopc, 0), (Encoding::Vop2, 0x100), (Encoding::Vop1, 0x140), (Encoding::Vop3, 0)]
        .into_iter()
        .find_map(|(encoding, base)| Some(u32::from(row(encoding, mnemonic)?.opcode) + base))
        .unwrap_or_else(|| panic!("{mnemonic} has no VOP3 form"));
    [0xd000_0000 | opcode << 16 | dst, src[0] | src[1] << 9 | src[2] << 18]
}

pub(crate) fn vop3p(mnemonic: &str, dst: u32, src: [u32; 3]) -> [u32; 2] {
    let opcode = opcode(Encoding::Vop3p, mnemonic);
    [0xd380_4000 | opcode << 16 | dst, 0x1800_0000 | src[0] | src[1] << 9 | src[2] << 18]
}

/// A matrix instruction: operands are `v` registers, CBSZ, ABID and BLGP as given.
pub(crate) fn mfma(mnemonic: &str, dst: u32, src: [u32; 3], controls: [u32; 3]) -> [u32; 2] {
    let opcode = opcode(Encoding::Vop3p, mnemonic);
    [
        0xd380_0000 | opcode << 16 | controls[1] << 11 | controls[0] << 8 | dst,
        controls[2] << 29 | src[0] | src[1] << 9 | src[2] << 18,
    ]
}

pub(crate) fn ds(mnemonic: &str, dst: u32, address: u32, data: [u32; 2], offset: u32) -> [u32; 2] {
    [
        0xd800_0000 | opcode(Encoding::Ds, mnemonic) << 17 | offset,
        dst << 24 | data[1] << 16 | data[0] << 8 | address,
    ]
}

/// A FLAT-family instruction without a scalar address; `returns` sets SC0.
pub(crate) fn flat(
    mnemonic: &str,
    dst: u32,
    address: u32,
    data: u32,
    offset: u32,
    returns: bool,
) -> [u32; 2] {
    let (encoding, segment, off) = match mnemonic.split('_').next() {
        Some("flat") => (Encoding::Flat, 0, 0),
        // SVE: the vector address is used.
        Some("scratch") => (Encoding::Scratch, 1 << 14 | 1 << 13, 0x7f),
        _ => (Encoding::Global, 2 << 14, 0x7f),
    };
    let offset = if segment & 1 << 14 == 0 { offset & 0x1fff } else { offset & 0x1fff & !(1 << 13) };
    [
        0xdc00_0000 | opcode(encoding, mnemonic) << 18 | segment | u32::from(returns) << 16 | offset,
        dst << 24 | off << 16 | data << 8 | address,
    ]
}

/// Numbers that find edge cases, then pseudo-random ones.
pub(crate) fn sample(n: u64) -> u64 {
    const EDGES: [u64; 24] = [
        0,
        1,
        u64::MAX,
        1 << 63,
        i64::MAX as u64,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0xbf80_0000,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f80_0001,
        0x0000_0001,
        0x807f_ffff,
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        0x000f_ffff_ffff_ffff,
        0x3c00_3c00,
        0x7c00_fc00,
        0x0001_8001,
        0x7e00_7d00,
    ];
    match EDGES.get(n as usize % 61) {
        Some(edge) => *edge,
        None => {
            let mut x = n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
            x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ x >> 31
        }
    }
}
