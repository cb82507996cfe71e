//! What can be decided about a dispatch before anything is touched.

use super::hostcall::HostcallBuffer;
use super::untracked::is_read_only;
use super::{Refusal, Window};
use crate::copy::{Copied, Mover};
use crate::endless::Endless;
use crate::host_memory::HostMemory;
use crate::inventory::{Exclusion, Region};
use crate::shared_memory::HostBlock;
use crate::sync::Arc;
use code_object::{HiddenKind, HostCalls, ValueKind};
use hsa_replay_contract::{Allow, Reason};

/// What the argument block of an accepted dispatch tells.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) pointers: Vec<Pointer>,
    /// What the language runtime has given to a kernel that may talk to the host: the heap of device-side `malloc`, for example.
    pub(super) hidden: Vec<(&'static str, u64)>,
    /// Set where only a pass can show whether the kernel talks to the host.
    pub(super) hostcall: Option<HostcallBuffer>,
}

/// A pointer among the explicit arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    /// 0-based index of the explicit argument.
    pub(super) argument: u32,
    pub(super) address: u64,
    /// The compiler has proved, or the program says, that the kernel does not write through it.
    pub(super) is_read_only: bool,
}

impl Window<'_> {
    /// Refuses what cannot be replayed, and gives what the arguments tell.
    pub(super) fn decide(&mut self) -> Result<Arguments, Refusal> {
        if self.process.is_exiting() {
            return Err(Refusal::new(Reason::ShuttingDown));
        }
        if let Some(why) = self.process.disarmed() {
            return Err(Refusal::with(Reason::ReplayOff, why));
        }
        self.refuse_endless()?;
        if self.queue.is_cooperative() && !self.allow(Allow::Cooperative) {
            return Err(Refusal::new(Reason::Cooperative));
        }
        let modules = self.process.code.regions(self.agent.agent);
        let modules = modules.map_err(|problem| Refusal::with(Reason::EnumerationFailed, problem))?;
        if let Some(segment) = self.process.code.oversized(self.agent.agent) {
            let detail =
                format!("{} bytes of module variables at {:#x} are not captured", segment.size, segment.base);
            self.refuse_unless_allowed(detail)?;
        }
        self.refuse_over_budget(&modules)?;
        let kernel = Arc::clone(&self.kernel);
        let Some(loaded) = &kernel.loaded else {
            return Err(Refusal::new(Reason::UnknownKernel));
        };
        let metadata = &loaded.kernel;
        if metadata.host_calls() == HostCalls::Yes && !self.allow(Allow::Hostcall) {
            return Err(Refusal::new(Reason::Hostcall));
        }
        // What it enqueued in one pass would stay in the program's queues and run after the window, once for each pass.
        if kernel.enqueues && metadata.hidden_argument(&HiddenKind::MultigridSyncArg).is_none() {
            return Err(Refusal::new(Reason::DeviceEnqueue));
        }
        let kernarg = self.read_kernarg(metadata.kernarg_segment_size)?;
        self.record.arguments = Some(self.describe_arguments(metadata, &kernarg, &modules));
        // HIP 5.7 leaves whatever lies in the slot of a kernel that is not launched cooperatively.
        let exact = metadata.lists_exact_hidden_arguments();
        let hidden_multigrid = metadata.hidden_argument(&HiddenKind::MultigridSyncArg).filter(|_| exact);
        let multigrid = hidden_multigrid.and_then(|argument| word(&kernarg, argument.offset));
        if multigrid.is_some_and(|address| address != 0) && !self.allow(Allow::Cooperative) {
            return Err(Refusal::new(Reason::Cooperative));
        }
        self.refuse_unfollowed(metadata, &kernarg)?;
        let pointers = pointers(metadata, &kernarg);
        self.refuse_untracked(&pointers, &modules)?;
        let unclear = metadata.host_calls() == HostCalls::Unknown;
        let hostcall = match unclear.then(|| self.hostcall_buffer(metadata, &kernarg)) {
            // Without a look at the buffer the kernel might be heard once a pass.
            Some(Err(address)) if !self.allow(Allow::Hostcall) => {
                let detail = format!("the buffer for host calls at {address:#x} cannot be looked at");
                return Err(Refusal::with(Reason::Hostcall, detail));
            }
            Some(Ok(buffer)) => buffer,
            Some(Err(_)) | None => None,
        };
        let talks = metadata.host_calls() != HostCalls::No;
        let hidden = if talks && self.process.settings.allow.contains(&Allow::Hostcall) {
            hidden_pointers(metadata, &kernarg)
        } else {
            Vec::new()
        };
        Ok(Arguments { pointers, hidden, hostcall })
    }

    /// Arguments that stand for memory whose addresses are in a structure of the language runtime's. An image that is only read
    /// needs no look.
    fn refuse_unfollowed(&mut self, metadata: &code_object::Kernel, kernarg: &[u8]) -> Result<(), Refusal> {
        for (number, argument) in (0..).zip(metadata.explicit_arguments()) {
            let what = match &argument.value_kind {
                ValueKind::Image if is_read_only(argument) => continue,
                ValueKind::Image => "an image",
                ValueKind::Pipe => "a pipe",
                ValueKind::Queue => "a device queue",
                ValueKind::Other(_) => "of a kind that is not known",
                _ => continue,
            };
            if word(kernarg, argument.offset) == Some(0) {
                continue;
            }
            let named = self.argument(number);
            if argument.value_kind == ValueKind::Queue {
                let detail =
                    format!("{named} is {what}: what the kernel enqueues there would run once a pass");
                return Err(Refusal::with(Reason::DeviceEnqueue, detail));
            }
            self.refuse_unless_allowed(format!("{named} is {what}, whose memory is not found"))?;
        }
        Ok(())
    }

    /// Kernels that wait for others, this one or those on the agent and in its queues.
    pub(super) fn refuse_endless(&mut self) -> Result<(), Refusal> {
        if let Some(kind) = self.kernel.endless
            && !(kind == Endless::Collective && self.allow(Allow::Collective))
        {
            return Err(Refusal::new(kind.reason()));
        }
        if let Some(kind) = self.agent.endless.any(&self.process.promises) {
            return Err(Refusal::with(kind.reason(), "such a kernel is in flight"));
        }
        match self.agent.queues().iter().find_map(|queue| queue.parked_endless()) {
            Some(Endless::Collective) => {
                Err(Refusal::with(Reason::Collective, "such a kernel waits for this one or its window"))
            }
            Some(Endless::Waiting) | None => Ok(()),
        }
    }

    /// Without a comparison all memory is put back, and with it what the host has just written for a kernel of another queue, where
    /// nothing tells that memory from any other before its first use.
    pub(super) fn refuse_unmarked_arguments(&self) -> Result<(), Refusal> {
        let puts_all_back = !self.process.settings.check && self.plan.most() > 1;
        if puts_all_back && self.process.inventory.has_unmarked_arguments() {
            let detail = "kernel arguments lie in device memory that no call marks as such, and without --check those of other queues \
                          could be overwritten: HIP_FORCE_DEV_KERNARG=0 has HIP keep them in host memory";
            return Err(Refusal::with(Reason::UntrackedMemory, detail));
        }
        Ok(())
    }

    /// The packet's argument block, from wherever it lies.
    fn read_kernarg(&self, bytes: u64) -> Result<Vec<u8>, Refusal> {
        if bytes == 0 {
            return Ok(Vec::new());
        }
        let address = self.packet.kernarg_address();
        let unreadable = |why: &str| {
            Refusal::with(Reason::KernargUnreadable, format!("{bytes} bytes at {address:#x}: {why}"))
        };
        let end = address.checked_add(bytes).ok_or_else(|| unreadable("past the end of memory"))?;
        let known = self.process.inventory.find(address);
        if let Some(record) = known.filter(|record| record.exclusion() != Some(Exclusion::Locked)) {
            if end > record.region.end() {
                return Err(unreadable("they end outside their allocation"));
            }
            if self.process.inventory.is_gpu(record.region.owner) {
                return self
                    .read_device(&record.region, address, bytes)
                    .ok_or_else(|| unreadable("copy failed"));
            }
        }
        match self.host_address(address, bytes) {
            Some(address) => HostMemory::open()
                .read(address, bytes)
                .ok_or_else(|| unreadable("the program has freed them")),
            None => Err(unreadable("no known memory that the host can read")),
        }
    }

    /// Where the host sees a range of memory, if it is known as host memory.
    pub(super) fn host_address(&self, address: u64, bytes: u64) -> Option<u64> {
        let end = address.checked_add(bytes)?;
        // Locked memory may have one address for agents and another for the host.
        let known = self.process.inventory.find(address);
        if let Some(record) = known.filter(|record| record.exclusion() != Some(Exclusion::Locked)) {
            let host = match record.exclusion() {
                Some(Exclusion::Host | Exclusion::Kernarg) => {
                    !self.process.inventory.is_gpu(record.region.owner)
                }
                Some(Exclusion::Managed) => true,
                _ => false,
            };
            return (host && end <= record.region.end()).then_some(address);
        }
        // Memory that no hook has seen, for example locked by `hsa_amd_memory_lock`.
        let facts = self.process.runtime.pointer_facts(address).ok()?;
        let offset = address.checked_sub(facts.base).filter(|_| facts.kind != 0 && facts.host_base != 0)?;
        (offset + bytes <= facts.size).then_some(facts.host_base + offset)
    }

    /// Bytes of device memory, by way of a block that is kept from window to window.
    fn read_device(&self, region: &Arc<Region>, address: u64, bytes: u64) -> Option<Vec<u8>> {
        let kept = &mut self.agent.workspace.lock().arguments;
        if kept.as_ref().is_none_or(|block| block.bytes() < bytes) {
            *kept = Some(HostBlock::new(&self.process.runtime, bytes.next_multiple_of(4096)).ok()?);
        }
        let block = kept.as_ref()?;
        let mover = Mover::new(self.process, self.agent.agent, self.deadline);
        let owner = std::slice::from_ref(region);
        match mover.run(&[mover.to_host(owner, address, block.address(), bytes)])[..] {
            [Copied::Done] => Some(block.slice(0..bytes).to_vec()),
            [Copied::Stuck] => {
                kept.take().into_iter().for_each(HostBlock::leak);
                None
            }
            _ => None,
        }
    }
}

pub(super) fn word(kernarg: &[u8], offset: u64) -> Option<u64> {
    let offset = usize::try_from(offset).ok()?;
    let bytes = kernarg.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The hidden arguments that are addresses of memory which the kernel may write.
fn hidden_pointers(metadata: &code_object::Kernel, kernarg: &[u8]) -> Vec<(&'static str, u64)> {
    let kinds = [
        (HiddenKind::HeapV1, "the heap of device-side malloc"),
        (HiddenKind::HostcallBuffer, "the buffer for host calls"),
        (HiddenKind::PrintfBuffer, "the buffer of printf"),
        (HiddenKind::DefaultQueue, "the device queue"),
        (HiddenKind::CompletionAction, "the completion action"),
    ];
    let address = |kind: &HiddenKind| word(kernarg, metadata.hidden_argument(kind)?.offset);
    let given = kinds.into_iter().filter_map(|(kind, what)| Some((what, address(&kind)?)));
    given.filter(|&(_, address)| address != 0).collect()
}

/// The explicit arguments that are addresses, and each word of those passed by value, which may be one. A packed structure
/// has its pointers anywhere, so every offset is looked at.
fn pointers(metadata: &code_object::Kernel, kernarg: &[u8]) -> Vec<Pointer> {
    let mut pointers = Vec::new();
    for (argument, explicit) in (0..).zip(metadata.explicit_arguments()) {
        let step = match explicit.value_kind {
            ValueKind::GlobalBuffer => 8,
            ValueKind::ByValue => 1,
            _ => continue,
        };
        let end = explicit.offset.saturating_add(explicit.size).min(kernarg.len() as u64);
        let words = (explicit.offset..).step_by(step).take_while(|offset| offset + 8 <= end);
        let addresses = words.filter_map(|offset| word(kernarg, offset)).filter(|&address| address != 0);
        let is_read_only = is_read_only(explicit);
        pointers.extend(addresses.map(|address| Pointer { argument, address, is_read_only }));
    }
    pointers
}
