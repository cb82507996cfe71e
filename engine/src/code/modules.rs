//! The map from addresses to kernels and module variables.

use super::region::{MAX_SEGMENT, ModuleRegion, OversizedSegment, device_address, parts};
use crate::handles::{Agent, Executable};
use crate::runtime::{LoadedCodeObject, RuntimeError};
use code_object::{CodeObject, Kernel};
use parking_lot::RwLock;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

/// All code objects now loaded, on all agents. Every method may be called from any thread; none calls the runtime.
#[derive(Debug, Default)]
pub struct Modules(RwLock<State>);

#[derive(Debug, Default)]
struct State {
    executables: HashMap<Executable, Loaded>,
    /// By kernel object: the device address of the descriptor, unique in the process.
    kernels: HashMap<u64, Arc<LoadedKernel>>,
    last_generation: u64,
}

/// What one executable brought.
#[derive(Debug, Default)]
struct Loaded {
    regions: Vec<Arc<ModuleRegion>>,
    oversized: Vec<OversizedSegment>,
    kernels: Vec<u64>,
    /// Why windows cannot know all memory that a kernel of these agents may write.
    gaps: Vec<(Option<Agent>, EnumerationError)>,
}

/// A kernel at the address that packets name.
#[derive(Debug)]
pub struct LoadedKernel {
    /// The agent it was loaded on.
    pub agent: Agent,
    /// The executable that owns it.
    pub executable: Executable,
    /// Device address of its descriptor (`hsa_kernel_dispatch_packet_t::kernel_object`).
    pub kernel_object: u64,
    /// What the code object says of it.
    pub kernel: Kernel,
    managed: Option<Arc<str>>,
    demangled: OnceLock<String>,
}

impl LoadedKernel {
    /// Signature in the source language; computed once.
    pub fn demangled(&self) -> &str {
        self.demangled.get_or_init(|| self.kernel.demangled())
    }

    /// A `__managed__` variable of its code object, if there is one. The object then holds a pointer to it that no argument
    /// shows; the compiler calls the initial value `NAME.managed`.
    pub fn managed_variable(&self) -> Option<&str> {
        self.managed.as_deref()
    }

    /// Mangled name without `.kd`.
    pub fn symbol(&self) -> &str {
        self.kernel.mangled()
    }
}

/// Why the writable memory of an executable is not fully known. Windows on the agents it may concern are declined.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EnumerationError {
    /// The loader did not list its code objects.
    #[error("cannot list the code objects of executable {executable:#x}: {error}")]
    Walk {
        /// The executable's handle.
        executable: u64,
        /// The call that failed.
        error: RuntimeError,
    },
    /// A code object could not be read.
    #[error("cannot read the code object loaded at {load_base:#x}: {error}")]
    Unreadable {
        /// Where the loader put it.
        load_base: u64,
        /// What is wrong with it.
        error: code_object::Error,
    },
    /// A segment does not lie in the memory that the loader reports.
    #[error(
        "the segment at {address:#x} of the code object loaded at {load_base:#x} lies outside its memory"
    )]
    SegmentOutside {
        /// Where the loader put the code object.
        load_base: u64,
        /// Virtual address of the segment in the ELF file.
        address: u64,
    },
}

/// What a freeze made known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frozen {
    /// Writable memory that a snapshot must take from now on.
    pub regions: Vec<Arc<ModuleRegion>>,
    /// Segments left out because of their size; to be logged.
    pub oversized: Vec<OversizedSegment>,
    /// What could not be read; to be logged. Windows on these agents are declined until the executable goes.
    pub errors: Vec<EnumerationError>,
}

impl Modules {
    /// Nothing loaded yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// After a freeze: the code objects of an executable as the loader placed them, or why they are not known.
    pub fn frozen(
        &self,
        executable: Executable,
        objects: Result<Vec<LoadedCodeObject>, RuntimeError>,
    ) -> Frozen {
        // Reading takes a while for a big image, so it is done without the lock.
        let found = Found::read(executable, objects);
        let mut state = self.0.write();
        state.forget(executable);
        let mut regions = Vec::with_capacity(found.regions.len());
        for region in found.regions {
            state.last_generation += 1;
            let generation = state.last_generation;
            regions.push(Arc::new(ModuleRegion { generation, ..region }));
        }
        let errors = found.gaps.iter().map(|(_, error)| error.clone()).collect();
        let kernels = found.kernels.iter().map(|kernel| kernel.kernel_object).collect();
        let oversized = found.oversized.clone();
        let loaded = Loaded { regions: regions.clone(), oversized, kernels, gaps: found.gaps };
        state.executables.insert(executable, loaded);
        state
            .kernels
            .extend(found.kernels.into_iter().map(|kernel| (kernel.kernel_object, Arc::new(kernel))));
        Frozen { regions, oversized: found.oversized, errors }
    }

    /// Before an executable is destroyed: gives the memory that is captured no longer.
    pub fn destroyed(&self, executable: Executable) -> Vec<Arc<ModuleRegion>> {
        self.0.write().forget(executable)
    }

    /// The kernel that a packet's kernel object names.
    pub fn kernel(&self, kernel_object: u64) -> Option<Arc<LoadedKernel>> {
        self.0.read().kernels.get(&kernel_object).cloned()
    }

    /// All writable module memory of an agent, by ascending address.
    ///
    /// # Errors
    /// When there may be more of it than is known: a window would then leave it out.
    pub fn regions(&self, agent: Agent) -> Result<Vec<Arc<ModuleRegion>>, EnumerationError> {
        let state = self.0.read();
        let mut regions = Vec::new();
        for loaded in state.executables.values() {
            let mut gaps = loaded.gaps.iter();
            if let Some((_, error)) = gaps.find(|(on, _)| on.is_none_or(|on| on == agent)) {
                return Err(error.clone());
            }
            regions.extend(loaded.regions.iter().filter(|region| region.agent == agent).cloned());
        }
        regions.sort_by_key(|region| region.base);
        Ok(regions)
    }

    /// A segment on an agent that no snapshot takes, because of its size.
    pub fn oversized(&self, agent: Agent) -> Option<OversizedSegment> {
        let state = self.0.read();
        let mut segments = state.executables.values().flat_map(|loaded| &loaded.oversized);
        segments.find(|segment| segment.agent == agent).copied()
    }

    /// Whether this very loading is still there: same base, size and generation.
    pub fn is_loaded(&self, region: &ModuleRegion) -> bool {
        let state = self.0.read();
        state.executables.get(&region.executable).is_some_and(|loaded| {
            loaded.regions.iter().any(|now| {
                now.generation == region.generation && now.base == region.base && now.size == region.size
            })
        })
    }

    /// The module memory that holds an address.
    pub fn region_at(&self, address: u64) -> Option<Arc<ModuleRegion>> {
        let state = self.0.read();
        let mut regions = state.executables.values().flat_map(|loaded| &loaded.regions);
        regions.find(|region| (region.base..region.end()).contains(&address)).cloned()
    }
}

impl State {
    fn forget(&mut self, executable: Executable) -> Vec<Arc<ModuleRegion>> {
        let Some(loaded) = self.executables.remove(&executable) else {
            return Vec::new();
        };
        for kernel_object in loaded.kernels {
            let owner = self.kernels.get(&kernel_object).map(|kernel| kernel.executable);
            if owner == Some(executable) {
                self.kernels.remove(&kernel_object);
            }
        }
        loaded.regions
    }
}

/// What the images of an executable say.
#[derive(Default)]
struct Found {
    /// Without generations yet.
    regions: Vec<ModuleRegion>,
    kernels: Vec<LoadedKernel>,
    oversized: Vec<OversizedSegment>,
    gaps: Vec<(Option<Agent>, EnumerationError)>,
}

impl Found {
    fn read(executable: Executable, objects: Result<Vec<LoadedCodeObject>, RuntimeError>) -> Self {
        let mut found = Self::default();
        match objects {
            Ok(objects) => objects.iter().for_each(|loaded| found.add(executable, loaded)),
            Err(error) => found.gaps.push((None, EnumerationError::Walk { executable: executable.0, error })),
        }
        found
    }

    fn add(&mut self, executable: Executable, loaded: &LoadedCodeObject) {
        // A program-scope object has no place in an agent's memory.
        let Some(agent) = loaded.agent else { return };
        let load_base = loaded.load_base;
        let object = match CodeObject::parse(&loaded.image) {
            Ok(object) => object,
            Err(error) => {
                self.gaps.push((Some(agent), EnumerationError::Unreadable { load_base, error }));
                return;
            }
        };
        for segment in object.writable_segments() {
            let size = segment.size;
            match device_address(loaded, segment) {
                None => {
                    let address = segment.address;
                    self.gaps.push((Some(agent), EnumerationError::SegmentOutside { load_base, address }));
                }
                Some(base) if size > MAX_SEGMENT => {
                    self.oversized.push(OversizedSegment { agent, base, size })
                }
                Some(base) => {
                    let parts = parts(&object, segment);
                    self.regions.push(ModuleRegion { agent, executable, generation: 0, base, size, parts });
                }
            }
        }
        let managed = object.variables().iter().find_map(|variable| variable.name.strip_suffix(".managed"));
        let managed: Option<Arc<str>> = managed.map(Arc::from);
        self.kernels.extend(object.into_kernels().into_iter().map(|kernel| LoadedKernel {
            agent,
            executable,
            kernel_object: kernel.descriptor_address().wrapping_add_signed(loaded.load_delta),
            kernel,
            managed: managed.clone(),
            demangled: OnceLock::new(),
        }));
    }
}
