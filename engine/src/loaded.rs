//! The life of loaded code: its kernels become known with a freeze, its writable memory is captured until the executable
//! goes.

use crate::code::{LoadedKernel, Modules, OversizedSegment};
use crate::handles::{Agent, Executable};
use crate::inventory::{Region, RegionKind};
use crate::runtime::Runtime;
use crate::sync::{Arc, RwLock};
use std::collections::HashMap;

/// The code objects of the process and the regions of their writable segments.
#[derive(Debug, Default)]
pub(crate) struct LoadedCode {
    modules: Modules,
    regions: RwLock<HashMap<Executable, Vec<Arc<Region>>>>,
    /// Variables that the application has placed itself, by address.
    defined: RwLock<HashMap<Executable, Vec<u64>>>,
}

impl LoadedCode {
    /// After a freeze.
    pub(crate) fn freeze(&self, runtime: &dyn Runtime, executable: Executable) {
        let frozen = self.modules.frozen(executable, runtime.loaded_code_objects(executable));
        for error in &frozen.errors {
            tracing::error!("{error}; windows on that agent are declined while the executable lives");
        }
        for segment in &frozen.oversized {
            tracing::warn!(
                "{} bytes of module variables at {:#x} are more than a snapshot takes; kernels on that agent run once",
                segment.size,
                segment.base
            );
        }
        let regions = frozen.regions.into_iter().map(|module| {
            let (base, size, agent) = (module.base, module.size, module.agent);
            Arc::new(Region::new(RegionKind::Module(module), base, size, agent))
        });
        let before = self.regions.write().insert(executable, regions.collect());
        before.into_iter().flatten().for_each(|region| region.retire());
    }

    /// The application gives a variable of the executable its memory.
    pub(crate) fn define(&self, executable: Executable, address: u64) {
        self.defined.write().entry(executable).or_default().push(address);
    }

    /// Addresses of the variables that the application has placed itself.
    pub(crate) fn defined(&self, executable: Executable) -> Vec<u64> {
        self.defined.read().get(&executable).cloned().unwrap_or_default()
    }

    /// Before a destroy: gives the regions that are to be retired.
    pub(crate) fn destroy(&self, executable: Executable) -> Vec<Arc<Region>> {
        self.modules.destroyed(executable);
        self.defined.write().remove(&executable);
        self.regions.write().remove(&executable).unwrap_or_default()
    }

    /// The kernel of a packet's kernel object.
    pub(crate) fn kernel(&self, kernel_object: u64) -> Option<Arc<LoadedKernel>> {
        self.modules.kernel(kernel_object)
    }

    /// Module memory of an agent that is too large to capture.
    pub(crate) fn oversized(&self, agent: Agent) -> Option<OversizedSegment> {
        self.modules.oversized(agent)
    }

    /// The writable module memory of an agent; an error says why there may be more than is known.
    pub(crate) fn regions(&self, agent: Agent) -> Result<Vec<Arc<Region>>, String> {
        self.modules.regions(agent).map_err(|error| error.to_string())?;
        let regions = self.regions.read();
        Ok(regions.values().flatten().filter(|region| region.owner == agent).cloned().collect())
    }
}
