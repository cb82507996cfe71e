//! What tells one target's silicon from another's for the driver and libdrm: names, numbers, clocks.

use core::ffi::CStr;

use model_gpu_core::Target;

/// A product with a target's instruction set.
#[derive(Debug)]
pub(crate) struct Product {
    /// Marketing name, as libdrm's list would give it.
    pub(crate) name: &'static CStr,
    /// PCI device number (libhsakmt's table of known GPUs).
    pub(crate) device_id: u32,
    /// Major, minor and stepping in decimal, two digits each for the last two: `gfx_target_version`.
    pub(crate) gfx_target_version: u32,
    /// `family_id` of the topology.
    pub(crate) family: u64,
    /// Largest clock of the compute engine in MHz.
    pub(crate) engine_mhz: u32,
    /// Largest clock of the memory in MHz.
    pub(crate) memory_mhz: u32,
}

/// The product for a target.
pub(crate) fn product(target: Target) -> &'static Product {
    match target {
        Target::Gfx90a => &Product {
            name: c"Software MI210",
            device_id: 0x740f,
            gfx_target_version: 90_010,
            family: 141,
            engine_mhz: 1700,
            memory_mhz: 1600,
        },
        Target::Gfx942 => &Product {
            name: c"Software MI300X",
            device_id: 0x74a1,
            gfx_target_version: 90_402,
            family: 145,
            engine_mhz: 2100,
            memory_mhz: 1300,
        },
    }
}
