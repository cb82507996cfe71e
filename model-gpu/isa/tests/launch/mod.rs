//! A minimal dispatcher for tests: loads a code object into an arena, sets up waves as the AMDHSA ABI asks, and runs a
//! grid of work-groups.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "fields of packets and descriptors are taken apart"
)]

use std::cell::UnsafeCell;

use model_gpu_isa::{
    Access, AddressSpace, CodeCache, Environment, Exception, FaultReason, Machine, MemoryFault, Progress,
    Span, Target, Wave, WaveConfig, Workgroup,
};
use object::read::elf::ElfFile64;
use object::{Object as _, ObjectSegment as _, ObjectSymbol as _};

/// Device address of the arena.
pub const BASE: u64 = 0x7000_0000_0000;

/// A flat piece of device memory.
pub struct Arena {
    words: Box<[UnsafeCell<u64>]>,
    used: u64,
}

impl Arena {
    pub fn new(bytes: usize) -> Self {
        Self { words: (0..bytes.div_ceil(8)).map(|_| UnsafeCell::new(0)).collect(), used: 0 }
    }

    fn size(&self) -> u64 {
        self.words.len() as u64 * 8
    }

    fn host(&self) -> *mut u8 {
        self.words[0].get().cast()
    }

    /// Reserves `size` bytes; gives the device address, a multiple of 4096.
    pub fn allocate(&mut self, size: u64) -> u64 {
        let at = self.used.next_multiple_of(4096);
        assert!(at + size <= self.size(), "the arena is too small");
        self.used = at + size;
        BASE + at
    }

    pub fn write(&mut self, address: u64, bytes: &[u8]) {
        let offset = (address - BASE) as usize;
        assert!(offset + bytes.len() <= self.size() as usize);
        // SAFETY: the range lies in the arena by the check, and nobody else accesses it while `self` is borrowed mutably.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.host().add(offset), bytes.len()) };
    }

    pub fn read(&self, address: u64, size: usize) -> Vec<u8> {
        let offset = (address - BASE) as usize;
        assert!(offset + size <= self.size() as usize);
        let mut bytes = vec![0; size];
        // SAFETY: the range lies in the arena by the check; waves run on this thread only, and none runs now.
        unsafe { std::ptr::copy_nonoverlapping(self.host().add(offset), bytes.as_mut_ptr(), size) };
        bytes
    }

    pub fn upload(&mut self, bytes: &[u8]) -> u64 {
        let address = self.allocate(bytes.len() as u64);
        self.write(address, bytes);
        address
    }
}

// SAFETY: the arena is one live allocation that does not move, readable and writable, for as long as `self` is borrowed.
unsafe impl AddressSpace for Arena {
    fn translate(&self, address: u64, access: Access) -> Result<Span, MemoryFault> {
        if address < BASE || address - BASE >= self.size() {
            return Err(MemoryFault { address, access, reason: FaultReason::Unmapped });
        }
        Ok(Span { start: BASE, length: self.size(), host: self.host(), cached: false })
    }
}

/// Clocks that count calls, and no messages.
#[derive(Default)]
pub struct Quiet {
    ticks: std::cell::Cell<u64>,
}

impl Environment for Quiet {
    fn core_clock(&self) -> u64 {
        self.ticks.set(self.ticks.get() + 100);
        self.ticks.get()
    }

    fn real_time(&self) -> u64 {
        self.core_clock()
    }

    fn send_message(&self, _message: u16, _m0: u32) -> Result<(), String> {
        Ok(())
    }
}

/// A loaded code object.
pub struct Module {
    data: Vec<u8>,
    base: u64,
    version5: bool,
    target: Target,
}

impl Module {
    pub fn load(arena: &mut Arena, data: &[u8]) -> Self {
        let elf = ElfFile64::<object::Endianness>::parse(data).expect("a code object");
        let top = elf.segments().map(|segment| segment.address() + segment.size()).max().expect("segments");
        let base = arena.allocate(top);
        for segment in elf.segments() {
            arena.write(base + segment.address(), segment.data().expect("segment data"));
        }
        for (offset, relocation) in elf.dynamic_relocations().into_iter().flatten() {
            let value = match relocation.target() {
                object::RelocationTarget::Symbol(index) => elf
                    .dynamic_symbol_table()
                    .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok())
                    .map_or(0, |symbol| base + symbol.address()),
                _ => base,
            };
            let value = value.wrapping_add(relocation.addend() as u64);
            arena.write(base + offset, &value.to_le_bytes());
        }
        // EF_AMDGPU_MACH, the low byte of the ELF header's flags.
        let target = if data[48] == 0x3f { Target::Gfx90a } else { Target::Gfx942 };
        Self { base, version5: data[8] >= 3, target, data: data.to_vec() }
    }

    /// Names of the kernels.
    pub fn kernels(&self) -> Vec<String> {
        let elf = ElfFile64::<object::Endianness>::parse(&*self.data).expect("a code object");
        let names = elf
            .dynamic_symbols()
            .filter_map(|symbol| Some(symbol.name().ok()?.strip_suffix(".kd")?.to_owned()));
        names.collect()
    }

    fn descriptor(&self, kernel: &str) -> u64 {
        let elf = ElfFile64::<object::Endianness>::parse(&*self.data).expect("a code object");
        let name = format!("{kernel}.kd");
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name() == Ok(&name));
        self.base + symbol.unwrap_or_else(|| panic!("no kernel {kernel}")).address()
    }

    /// Device address of a variable.
    pub fn variable(&self, name: &str) -> u64 {
        let elf = ElfFile64::<object::Endianness>::parse(&*self.data).expect("a code object");
        let symbol = elf.dynamic_symbols().find(|symbol| symbol.name() == Ok(name));
        self.base + symbol.unwrap_or_else(|| panic!("no variable {name}")).address()
    }
}

/// A grid of work-groups.
#[derive(Debug, Clone, Copy)]
pub struct Grid {
    pub groups: [u32; 3],
    pub group: [u32; 3],
    pub dynamic_lds: u32,
}

impl Grid {
    pub fn linear(groups: u32, group: u32) -> Self {
        Self { groups: [groups, 1, 1], group: [group, 1, 1], dynamic_lds: 0 }
    }
}

/// Fields of a kernel descriptor.
struct Descriptor {
    lds: u32,
    scratch: u32,
    kernarg: u32,
    entry: u64,
    rsrc1: u32,
    rsrc2: u32,
    rsrc3: u32,
    properties: u32,
}

impl Descriptor {
    fn read(arena: &Arena, address: u64) -> Self {
        let bytes = arena.read(address, 64);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let offset = i64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
        Self {
            lds: word(0),
            scratch: word(4),
            kernarg: word(8),
            entry: address.wrapping_add(offset as u64),
            rsrc1: word(48),
            rsrc2: word(52),
            rsrc3: word(44),
            properties: word(56),
        }
    }
}

/// Runs `kernel` over `grid` with the explicit arguments in `arguments`; gives the instructions executed.
pub fn launch(
    arena: &mut Arena,
    module: &Module,
    kernel: &str,
    grid: Grid,
    arguments: &[u8],
) -> Result<u64, Exception> {
    let address = module.descriptor(kernel);
    let descriptor = Descriptor::read(arena, address);
    let mark = arena.used;
    let kernarg = kernarg(arena, module, &descriptor, grid, arguments);
    let packet = packet(arena, &descriptor, grid, address, kernarg);
    let scratch_lane = descriptor.scratch.max(16384);
    let waves = grid.group.iter().product::<u32>().div_ceil(64);
    let scratch = arena.allocate(u64::from(scratch_lane) * 64 * u64::from(waves));
    let environment = Quiet::default();
    let mut code = CodeCache::new();
    let mut executed = 0;
    for z in 0..grid.groups[2] {
        for y in 0..grid.groups[1] {
            for x in 0..grid.groups[0] {
                let mut group = Workgroup::new((descriptor.lds + grid.dynamic_lds) as usize);
                for wave in 0..waves {
                    let scratch = scratch + u64::from(wave) * u64::from(scratch_lane) * 64;
                    let setup = Setup { target: module.target, kernarg, packet, scratch, scratch_lane };
                    group.add_wave(start(&descriptor, grid, [x, y, z], wave, &setup));
                }
                let mut machine = Machine::new(arena, &environment, &mut code);
                while group.run(&mut machine, 100_000).map_err(|(_, exception)| exception)?
                    == Progress::Running
                {}
                executed += group.waves().iter().map(Wave::executed).sum::<u64>();
            }
        }
    }
    arena.used = mark;
    Ok(executed)
}

struct Setup {
    target: Target,
    kernarg: u64,
    packet: u64,
    scratch: u64,
    scratch_lane: u32,
}

fn kernarg(arena: &mut Arena, module: &Module, descriptor: &Descriptor, grid: Grid, arguments: &[u8]) -> u64 {
    let mut bytes = arguments.to_vec();
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    let hidden = bytes.len();
    bytes.resize((hidden + 256).max(descriptor.kernarg as usize), 0);
    if module.version5 {
        for dimension in 0..3 {
            let at = hidden + 4 * dimension;
            bytes[at..at + 4].copy_from_slice(&grid.groups[dimension].to_le_bytes());
            let at = hidden + 12 + 2 * dimension;
            bytes[at..at + 2].copy_from_slice(&(grid.group[dimension] as u16).to_le_bytes());
        }
        bytes[hidden + 64] = 3;
    }
    arena.upload(&bytes)
}

/// An AQL dispatch packet.
fn packet(arena: &mut Arena, descriptor: &Descriptor, grid: Grid, object: u64, kernarg: u64) -> u64 {
    let mut bytes = vec![0_u8; 64];
    bytes[0] = 2;
    bytes[2] = 3;
    for dimension in 0..3 {
        let size = grid.group[dimension];
        bytes[4 + 2 * dimension..6 + 2 * dimension].copy_from_slice(&(size as u16).to_le_bytes());
        let total = size * grid.groups[dimension];
        bytes[12 + 4 * dimension..16 + 4 * dimension].copy_from_slice(&total.to_le_bytes());
    }
    bytes[24..28].copy_from_slice(&descriptor.scratch.to_le_bytes());
    bytes[28..32].copy_from_slice(&(descriptor.lds + grid.dynamic_lds).to_le_bytes());
    bytes[32..40].copy_from_slice(&object.to_le_bytes());
    bytes[40..48].copy_from_slice(&kernarg.to_le_bytes());
    arena.upload(&bytes)
}

/// A wave with its initial registers: LLVM's "User Guide for AMDGPU Backend", section "Initial Kernel Execution State".
fn start(descriptor: &Descriptor, grid: Grid, group: [u32; 3], wave: u32, setup: &Setup) -> Wave {
    let items: u32 = grid.group.iter().product();
    let active = (items - wave * 64).min(64);
    let accumulation_offset = ((descriptor.rsrc3 & 0x3f) + 1) * 4;
    let total = ((descriptor.rsrc1 & 0x3f) + 1) * 8;
    let mut started = Wave::new(&WaveConfig {
        target: setup.target,
        entry: descriptor.entry,
        exec: if active == 64 { u64::MAX } else { (1 << active) - 1 },
        mode: descriptor.rsrc1 >> 12 & 0xff
            | (descriptor.rsrc1 >> 21 & 1) << 8
            | (descriptor.rsrc1 >> 23 & 1) << 9,
        arch_vgprs: accumulation_offset.min(256) as u16,
        acc_vgprs: total.saturating_sub(accumulation_offset).min(256) as u16,
        scratch_base: setup.scratch,
        scratch_bytes_per_lane: setup.scratch_lane,
        ..WaveConfig::default()
    });
    let mut register = 0;
    let pairs = [(1, setup.packet), (2, 0), (3, setup.kernarg), (4, 0), (5, setup.scratch)];
    if descriptor.properties & 1 == 1 {
        // Swizzled, 64 lanes interleaved, the lane added to the index.
        started.set_sgpr64(0, setup.scratch | 1 << 63);
        started.set_sgpr(2, setup.scratch_lane * 64);
        started.set_sgpr(3, 3 << 21 | 1 << 23);
        register += 4;
    }
    for (bit, value) in pairs {
        if descriptor.properties >> bit & 1 == 1 {
            started.set_sgpr64(register, value);
            register += 2;
        }
    }
    if descriptor.properties >> 6 & 1 == 1 {
        started.set_sgpr(register, descriptor.scratch);
        register += 1;
    }
    register = register.max((descriptor.rsrc2 >> 1 & 0x1f) as u8);
    for (dimension, id) in group.into_iter().enumerate() {
        if descriptor.rsrc2 >> (7 + dimension) & 1 == 1 {
            started.set_sgpr(register, id);
            register += 1;
        }
    }
    let ids = std::array::from_fn(|lane| {
        let item = wave * 64 + lane as u32;
        let (x, rest) = (item % grid.group[0], item / grid.group[0]);
        x | (rest % grid.group[1]) << 10 | (rest / grid.group[1]) << 20
    });
    started.set_vgpr(0, &ids);
    started
}
