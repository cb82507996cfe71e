//! The runtime's opaque handles as distinct types, so that an agent is never passed where a signal is meant.
//!
//! The values are those of the HSA interface (`hsa_agent_t::handle`, `hsa_signal_t::handle`, ...).

/// An agent (`hsa_agent_t::handle`): one GPU or the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agent(pub u64);

/// A signal (`hsa_signal_t::handle`), which in ROCr is the address of its `amd_signal_t`. Zero is "no signal".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Signal(pub u64);

impl Signal {
    /// The null handle: a packet that completes silently.
    pub const NONE: Self = Self(0);

    /// Whether this is the null handle.
    #[must_use]
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

/// A memory pool or region (`hsa_amd_memory_pool_t::handle`, `hsa_region_t::handle`); ROCr gives both the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pool(pub u64);

/// An executable (`hsa_executable_t::handle`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Executable(pub u64);

/// The address of a queue object as the runtime returned it (`hsa_queue_t *` of a hardware queue).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HardwareQueue(pub u64);
