//! Whether a window may capture memory, from the call and the pool it came from.
//!
//! The pool decides, not `hsa_amd_pointer_info`: ROCr derives the flags it reports from the driver's, where uncached device
//! memory looks like kernarg memory and the executable flag does not show.

use super::region::Exclusion;
use crate::handles::{Agent, Pool};
use crate::runtime::PoolFacts;
use crate::{Allocation, Source};
use std::collections::{HashMap, HashSet};

/// What is known of pools and agents since start.
#[derive(Debug)]
pub(crate) struct Classifier {
    pools: HashMap<Pool, PoolFacts>,
    gpus: HashSet<Agent>,
}

impl Classifier {
    pub(crate) fn new(pools: Vec<PoolFacts>, gpus: impl IntoIterator<Item = Agent>) -> Self {
        let pools = pools.into_iter().map(|facts| (facts.pool, facts)).collect();
        Self { pools, gpus: gpus.into_iter().collect() }
    }

    pub(crate) fn is_gpu(&self, agent: Agent) -> bool {
        self.gpus.contains(&agent)
    }

    /// The owner of new memory and why it is left out, if it is.
    pub(crate) fn classify(&self, allocation: &Allocation) -> (Agent, Option<Exclusion>) {
        let nobody = Agent(0);
        match allocation.source {
            Source::Pool { pool, flags } => {
                let (owner, exclusion) = self.pool(pool);
                // HIP takes its kernel arguments from coarse device memory that it asks for with this flag.
                let executable = flags & hsa_sys::HSA_AMD_MEMORY_POOL_EXECUTABLE_FLAG != 0;
                (owner, exclusion.or(executable.then_some(Exclusion::Kernarg)))
            }
            Source::Region { region } => self.pool(region),
            // The pool's agent cannot write there before it is given access.
            Source::VirtualMemory { pool: Some(pool), .. } => {
                let (owner, exclusion) = self.pool(pool);
                (owner, exclusion.or(Some(Exclusion::NoAccess)))
            }
            Source::VirtualMemory { pool: None, .. } => (nobody, Some(Exclusion::Import)),
            Source::IpcImport => (nobody, Some(Exclusion::Import)),
            Source::Interop => (nobody, Some(Exclusion::Interop)),
            Source::Managed => (nobody, Some(Exclusion::Managed)),
            Source::Locked => (nobody, Some(Exclusion::Locked)),
        }
    }

    fn pool(&self, pool: Pool) -> (Agent, Option<Exclusion>) {
        let Some(facts) = self.pools.get(&pool) else {
            return (Agent(0), Some(Exclusion::Unknown));
        };
        let flag = |bit| facts.global_flags & bit != 0;
        let exclusion = if flag(hsa_sys::HSA_REGION_GLOBAL_FLAG_KERNARG) {
            Some(Exclusion::Kernarg)
        } else if !self.is_gpu(facts.agent) {
            Some(Exclusion::Host)
        } else if !facts.global || !flag(hsa_sys::HSA_REGION_GLOBAL_FLAG_COARSE_GRAINED) {
            Some(Exclusion::FineGrained)
        } else if flag(hsa_sys::HSA_REGION_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED) {
            // Some pools carry coarse-grained and extended scope together: the stricter one counts.
            Some(Exclusion::FineGrained)
        } else {
            None
        };
        (facts.agent, exclusion)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GPU: Agent = Agent(0x10);
    const HOST: Agent = Agent(0x20);

    fn classify(agent: Agent, global_flags: u32, flags: u32) -> Option<Exclusion> {
        let pool = Pool(7);
        let facts = PoolFacts { pool, agent, global_flags, global: true };
        let classifier = Classifier::new(vec![facts], [GPU]);
        let source = Source::Pool { pool, flags };
        classifier.classify(&Allocation { address: 0x1000, bytes: 64, source }).1
    }

    #[test]
    fn only_coarse_device_memory_without_the_executable_flag_is_captured() {
        assert_eq!(classify(GPU, 4, 0), None);
        assert_eq!(classify(GPU, 4, 4), Some(Exclusion::Kernarg));
        assert_eq!(classify(GPU, 2, 0), Some(Exclusion::FineGrained));
        assert_eq!(classify(GPU, 4 | 8, 0), Some(Exclusion::FineGrained));
        assert_eq!(classify(GPU, 8, 0), Some(Exclusion::FineGrained));
        assert_eq!(classify(GPU, 4 | 1, 0), Some(Exclusion::Kernarg));
        assert_eq!(classify(HOST, 4, 0), Some(Exclusion::Host));
        assert_eq!(classify(HOST, 2 | 1, 0), Some(Exclusion::Kernarg));
    }

    proptest! {
        #[test]
        fn whatever_the_flags_nothing_but_plain_coarse_device_memory_is_captured(
            gpu in any::<bool>(), global in any::<bool>(), global_flags in 0..64_u32, flags in 0..64_u32,
        ) {
            let (pool, agent) = (Pool(7), if gpu { GPU } else { HOST });
            let facts = PoolFacts { pool, agent, global_flags, global };
            let classifier = Classifier::new(vec![facts], [GPU]);
            let allocation = |source| Allocation { address: 0x1000, bytes: 64, source };
            let plain = gpu && global && global_flags & 4 != 0 && global_flags & (1 | 8) == 0;
            let captured = |source| classifier.classify(&allocation(source)) == (agent, None);
            prop_assert_eq!(captured(Source::Pool { pool, flags }), plain && flags & 4 == 0);
            prop_assert_eq!(captured(Source::Region { region: pool }), plain);
            let mapped = Source::VirtualMemory { pool: Some(pool), physical: 1, offset: 0 };
            let no_access = classifier.classify(&allocation(mapped)).1 == Some(Exclusion::NoAccess);
            prop_assert_eq!(no_access, plain, "until it is opened to its agent");
            let imported = Source::VirtualMemory { pool: None, physical: 1, offset: 0 };
            for source in [imported, Source::IpcImport, Source::Interop, Source::Managed, Source::Locked] {
                prop_assert!(classifier.classify(&allocation(source)).1.is_some());
            }
        }
    }

    #[test]
    fn memory_of_an_unlisted_pool_is_left_out() {
        let classifier = Classifier::new(Vec::new(), [GPU]);
        let source = Source::Pool { pool: Pool(9), flags: 0 };
        let (_, exclusion) = classifier.classify(&Allocation { address: 0x1000, bytes: 64, source });
        assert_eq!(exclusion, Some(Exclusion::Unknown));
    }
}
