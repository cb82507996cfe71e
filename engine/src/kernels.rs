//! Kernels by the kernel object that packets carry.

use crate::code::LoadedKernel;
use crate::endless::Endless;
use crate::sync::{Arc, AtomicU64, Mutex, Ordering, RwLock};
use code_object::HiddenKind;
use hsa_replay_contract::{KernelFilter, KernelName};
use std::collections::HashMap;

/// What is known of a kernel.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) name: KernelName,
    /// Whether the filter takes it.
    pub(crate) matches: bool,
    /// Whether it need not end by itself.
    pub(crate) endless: Option<Endless>,
    /// Whether it may put packets into queues and ring their doorbells, which nobody hears on the host.
    pub(crate) enqueues: bool,
    /// Dispatches so far of this symbol in the process, over all agents and executables that have it.
    pub(crate) launches: Arc<AtomicU64>,
    /// Arguments and sizes from the code object; `None` when no loaded code object holds the kernel.
    pub(crate) loaded: Option<Arc<LoadedKernel>>,
}

/// All kernels that packets have named.
#[derive(Debug)]
pub(crate) struct KernelTable {
    filter: KernelFilter,
    /// Kernels that wait for others, as far as the user has named them.
    waiting: Option<KernelFilter>,
    kernels: RwLock<HashMap<u64, Arc<Kernel>>>,
    launches: Mutex<HashMap<String, Arc<AtomicU64>>>,
    /// Changes with the loaded code, so that queues can keep what they looked up.
    epoch: AtomicU64,
}

impl KernelTable {
    pub(crate) fn new(filter: KernelFilter, waiting: Option<KernelFilter>) -> Self {
        Self {
            filter,
            waiting,
            kernels: RwLock::default(),
            launches: Mutex::default(),
            epoch: AtomicU64::new(1),
        }
    }

    /// Launches are counted on from those of an earlier engine of the process.
    pub(crate) fn continue_from(&self, earlier: &Self) {
        let earlier = earlier.launches.lock();
        let count = |count: &Arc<AtomicU64>| Arc::new(AtomicU64::new(count.load(Ordering::Relaxed)));
        *self.launches.lock() =
            earlier.iter().map(|(name, launches)| (name.clone(), count(launches))).collect();
    }

    /// Dispatches so far of all kernels.
    pub(crate) fn all_launches(&self) -> u64 {
        self.launches.lock().values().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Code was loaded or unloaded: every kernel is looked up anew. The counts of launches stay.
    pub(crate) fn renew(&self) {
        self.kernels.write().clear();
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// The kernel of a packet; `loaded` finds it among the loaded code. One that is not there is named by its address.
    pub(crate) fn find(
        &self,
        object: u64,
        loaded: impl FnOnce() -> Option<Arc<LoadedKernel>>,
    ) -> Arc<Kernel> {
        if let Some(kernel) = self.kernels.read().get(&object) {
            return Arc::clone(kernel);
        }
        let loaded = loaded();
        let name = match &loaded {
            Some(loaded) => KernelName::new(loaded.symbol()),
            None => KernelName::new(&format!("kernel_object_{object:#x}")),
        };
        let matches = self.filter.matches(&name);
        let launches = Arc::clone(self.launches.lock().entry(name.symbol().to_owned()).or_default());
        let endless = Endless::of(&name, self.waiting.as_ref());
        let enqueues = enqueues(&name, loaded.as_deref());
        let kernel = Arc::new(Kernel { name, matches, endless, enqueues, launches, loaded });
        Arc::clone(self.kernels.write().entry(object).or_insert(kernel))
    }
}

/// OpenCL's kernels on the device are put into queues by a kernel of the language runtime's; the kernels that ask it to are
/// given a queue.
fn enqueues(name: &KernelName, loaded: Option<&LoadedKernel>) -> bool {
    name.symbol().starts_with("__amd_rocclr_scheduler")
        || loaded.is_some_and(|loaded| {
            loaded.kernel.lists_exact_hidden_arguments()
                && loaded.kernel.hidden_argument(&HiddenKind::DefaultQueue).is_some()
        })
}
