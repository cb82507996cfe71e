//! What the hooks of executables tell: code that is loaded and unloaded, and the memory of its variables.

use super::Engine;
use crate::handles::Executable;
use crate::inventory::Region;
use crate::sync::Arc;

/// The memory of an executable that is about to be destroyed.
#[derive(Debug)]
pub struct Destroying {
    regions: Vec<Arc<Region>>,
}

impl Destroying {
    /// Whether it is still being copied: the real call has to wait, see [`Engine::destroy_later`].
    #[must_use]
    pub fn is_late(&self) -> bool {
        self.regions.iter().any(|region| region.is_being_copied())
    }
}

/// Executables.
impl Engine {
    /// After `hsa_executable_freeze` succeeded: kernels and module variables become known.
    pub fn executable_frozen(&self, executable: Executable) {
        if !self.is_stopped() {
            self.process.code.freeze(&*self.process.runtime, executable);
            self.process.kernels.renew();
        }
    }

    /// After `hsa_executable_agent_global_variable_define` and its sibling for the whole program: a variable of the executable is
    /// memory at this address.
    pub fn variable_defined(&self, executable: Executable, address: u64) {
        if !self.is_stopped() {
            self.process.code.define(executable, address);
        }
    }

    /// Before `hsa_executable_destroy`: its memory is no longer captured or restored once this returns. A thread that `may_wait`
    /// waits for the chunks of it that are being copied; for one that may not, see [`Destroying::is_late`].
    pub fn executable_destroying(&self, executable: Executable, may_wait: bool) -> Destroying {
        if self.is_stopped() {
            return Destroying { regions: Vec::new() };
        }
        let regions = self.process.code.destroy(executable);
        for region in &regions {
            if may_wait {
                region.retire();
            } else {
                region.retire_at_once();
            }
        }
        self.process.kernels.renew();
        Destroying { regions }
    }

    /// For an executable whose destruction [`Destroying::is_late`]: `destroy` makes the real call when its memory is not being copied
    /// any more, on a thread of the engine's or on this one.
    pub fn destroy_later(&self, destroying: &Destroying, destroy: impl FnOnce() + Send + 'static) {
        Region::when_not_copied(&destroying.regions, destroy);
    }
}
