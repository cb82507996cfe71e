//! Whether captured memory that a kernel can reach holds pointers to memory that would not be put back between passes.
//!
//! Arguments are only the first step: a kernel may take a pointer from memory and write through it. So the snapshot is
//! searched, beginning with what the explicit arguments and the variables of the kernel's own module lead to, and following
//! every word that is an address of captured memory. A word that is an address of memory which is known, may be written by the
//! agent's kernels and is not captured ends the search. Only words at multiples of eight count, as compilers lay pointers out.
//!
//! Data may look like such an address, which declines a dispatch that could have been replayed; a pointer that the kernel
//! computes otherwise (an offset from a base, a tagged or packed word) is not found. Both are in `docs/limits.md`.

use super::decide::Arguments;
use super::finish::say;
use super::search::{Found, Root, Search, Target, range};
use super::untracked::describe;
use super::{Refusal, Window};
use crate::copy::Mover;
use crate::host_memory::HostMemory;
use crate::inventory::{Exclusion, Record, RegionKind};
use crate::store::{Plan, Store, Trouble};
use hsa_replay_contract::Reason;
use std::time::Instant;

/// Bytes of host memory read at once.
const STEP: u64 = 64 << 10;

/// Where the pointers of a kernel lead.
#[derive(Debug)]
pub(super) struct Reach {
    /// Which regions of the plan they lead to.
    pub(super) regions: Vec<bool>,
    /// They lead to memory that the program leaves out, of which no pass tells.
    pub(super) left_out: bool,
}

impl Window<'_> {
    /// Follows the kernel's pointers and gives where they lead. Refuses a kernel that can reach pointers to memory
    /// which is not put back.
    pub(super) fn follow(
        &mut self,
        arguments: &Arguments,
        plan: &Plan,
        store: &mut dyn Store,
        mover: &Mover<'_>,
    ) -> Result<Reach, Refusal> {
        // A single pass is never run from memory that another one left, and gives no verdict.
        if self.plan.most() == 1 {
            return Ok(Reach { regions: vec![true; plan.regions.len()], left_out: false });
        }
        let outside = self.process.inventory.unrestored(self.agent.agent);
        let mappings = self.process.inventory.mappings(self.agent.agent);
        let queues = self.agent.queues();
        // Who finds a queue may enqueue: its packets would run once for each pass.
        let queues = queues.iter().map(|queue| (queue.object().range(), Target::Unrestored("a queue")));
        let left_out = self.process.inventory.left_out();
        let left_out = left_out.iter().map(|region| (range(region), Target::LeftOut));
        let mut search = Search::new(plan, &outside, &mappings, queues.chain(left_out));
        let mut left_out = None;
        for pointer in &arguments.pointers {
            let root = Root::Argument(pointer.argument);
            match search.targets.find(pointer.address) {
                Some(Target::Captured(region)) => search.reach(region, root),
                Some(Target::LeftOut) if pointer.is_read_only => {}
                Some(Target::LeftOut) => {
                    left_out.get_or_insert_with(|| self.led(root, pointer.address));
                }
                // Accepted, so the kernel only reads there, or it is allowed.
                Some(Target::Unrestored(_)) => {
                    self.search_host(&mut search, &outside, pointer.address, root)?;
                }
                // One past the end of an array belongs to the array.
                None => match search.targets.find(pointer.address.wrapping_sub(1)) {
                    Some(Target::Captured(region)) => search.reach(region, root),
                    Some(Target::LeftOut) if !pointer.is_read_only => {
                        left_out.get_or_insert_with(|| self.led(root, pointer.address));
                    }
                    _ => {}
                },
            }
        }
        // Where they lead out of captured memory is the language runtime's affair: the user has let the kernel talk to it.
        for &(what, address) in &arguments.hidden {
            if let Some(Target::Captured(region)) = search.targets.find(address) {
                search.reach(region, Root::Hidden(what));
            }
        }
        let own = self.kernel.loaded.as_ref().map(|loaded| loaded.executable);
        for address in own.map(|own| self.process.code.defined(own)).unwrap_or_default() {
            match search.targets.find(address) {
                Some(Target::Captured(region)) => search.reach(region, Root::Module),
                Some(Target::LeftOut) => {
                    left_out.get_or_insert_with(|| self.led(Root::Module, address));
                }
                Some(Target::Unrestored(_)) | None => {}
            }
        }
        for (at, region) in plan.regions.iter().enumerate() {
            if matches!(&region.kind, RegionKind::Module(module) if Some(module.executable) == own) {
                search.reach(at, Root::Module);
            }
        }
        let start = Instant::now();
        let searched = search.run(store, mover, self.deadline);
        if matches!(searched, Err(Trouble::Stuck(_))) {
            store.abandon();
        }
        if !searched.map_err(|trouble| self.refuse_for(trouble))? {
            return Err(out_of_time());
        }
        tracing::debug!(
            "followed pointers through {} bytes in {} us",
            search.bytes,
            start.elapsed().as_micros()
        );
        if let Some(found) = &search.found {
            let sentence = self.sentence(found, plan);
            self.refuse_unless_allowed(sentence)?;
        }
        let left_out = left_out.or_else(|| Some(self.sentence(search.left_out.as_ref()?, plan)));
        if let Some(sentence) = &left_out {
            say(&mut self.record, format!("{sentence}: hashes and writes speak of captured memory only"));
        }
        let regions = search.roots.iter().map(Option::is_some).collect();
        Ok(Reach { regions, left_out: left_out.is_some() })
    }

    /// A sentence on what leads to memory that the program leaves out.
    fn led(&self, root: Root, address: u64) -> String {
        let what = describe(Exclusion::Program);
        match root {
            Root::Argument(argument) => {
                format!("{} leads to {what} at {address:#x}", self.argument(argument))
            }
            Root::Hidden(_) | Root::Module => format!("a variable of its module is {what} at {address:#x}"),
        }
    }

    /// An argument by its number and name.
    pub(super) fn argument(&self, argument: u32) -> String {
        let loaded = self.kernel.loaded.as_ref();
        let name = loaded.and_then(|loaded| {
            let argument = usize::try_from(argument).ok()?;
            loaded.kernel.explicit_arguments().nth(argument)?.name.clone()
        });
        let name = name.map_or(String::new(), |name| format!(" ({name})"));
        format!("argument {argument}{name}")
    }

    /// Looks through host memory that an argument leads to and that the kernel only reads. What the host cannot read has no
    /// pointers that could be found.
    fn search_host(
        &self,
        search: &mut Search<'_>,
        outside: &[Record],
        address: u64,
        root: Root,
    ) -> Result<(), Refusal> {
        let readable = |record: &&Record| {
            matches!(
                record.exclusion(),
                Some(Exclusion::Host | Exclusion::Kernarg | Exclusion::Locked | Exclusion::Managed)
            ) && record.region.contains(address)
        };
        for record in outside.iter().filter(readable) {
            let region = &record.region;
            // Locked memory may have another address here.
            let Some(here) = self.host_address(region.base, region.bytes) else { continue };
            let memory = HostMemory::open();
            let mut at = 0;
            while at < region.bytes {
                if Instant::now() >= self.deadline {
                    return Err(out_of_time());
                }
                let bytes = STEP.min(region.bytes - at);
                let Some(read) = memory.read(here + at, bytes) else { break };
                search.words(region.base + at, &read, root);
                at += bytes;
            }
        }
        Ok(())
    }

    fn sentence(&self, found: &Found, plan: &Plan) -> String {
        let Found { root, at, address, what } = found;
        let root = match root {
            Root::Argument(argument) => self.argument(*argument),
            Root::Hidden(what) => (*what).to_owned(),
            Root::Module => match variable_at(plan, *at) {
                Some(name) => format!("the variable {name}"),
                None => "the variables of its module".to_owned(),
            },
        };
        format!("{root} leads to the word at {at:#x}, which is the address {address:#x} of {what}")
    }
}

fn out_of_time() -> Refusal {
    Refusal::with(
        Reason::SnapshotIncomplete,
        "the time for one window ended before its pointers were followed",
    )
}

/// The variable that holds an address.
fn variable_at(plan: &Plan, address: u64) -> Option<&str> {
    let region = plan.regions.iter().find(|region| region.contains(address))?;
    match &region.kind {
        RegionKind::Module(module) => module.part_at(address - region.base)?.name.as_deref(),
        RegionKind::Allocation | RegionKind::Mapping(_) => None,
    }
}
