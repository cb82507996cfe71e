//! Whether a kernel's arguments lead to memory that would not be put back between passes.
//!
//! A pass that changes such memory changes what the next one sees, so the dispatch runs once unless `--allow untracked` is
//! given. Pointers must lead to captured memory: an address that nobody knows counts against them. A word inside a structure
//! counts only when it lies in memory that is known, to us or to the runtime, and not captured, since it may be anything.
//! Memory that the kernel provably only reads needs no restore. A managed variable is reached through a pointer in its
//! module, so every kernel of that module may write it.

use super::decide::Pointer;
use super::{Refusal, Window};
use crate::inventory::{Exclusion, Record, Region};
use crate::sync::Arc;
use code_object::{Access, AddressSpace, Argument, ValueKind};
use hsa_replay_contract::{Allow, Reason};
use std::ops::Range;

/// Addresses that a program can have memory at: neither small numbers nor non-canonical words.
const USER_SPACE: Range<u64> = 0x1_0000..1 << 47;

impl Window<'_> {
    /// Refuses arguments that lead to memory which is not put back. Asked again when it is settled what is captured, since
    /// memory may be found out to be excluded in the meantime.
    pub(super) fn refuse_untracked(
        &mut self,
        pointers: &[Pointer],
        modules: &[Arc<Region>],
    ) -> Result<(), Refusal> {
        let kernel = Arc::clone(&self.kernel);
        let Some(loaded) = &kernel.loaded else {
            return Err(Refusal::new(Reason::UnknownKernel));
        };
        let managed =
            loaded.managed_variable().map(|name| format!("its module has the managed variable {name}"));
        let placed = || {
            self.process.code.defined(loaded.executable).into_iter().find_map(|address| {
                let what = self.unrestored(address, modules, true)?;
                Some(format!("a variable of its module is {what} at {address:#x}"))
            })
        };
        match managed.or_else(placed).or_else(|| self.untracked(&loaded.kernel, pointers, modules)) {
            Some(detail) => self.refuse_unless_allowed(detail),
            None => Ok(()),
        }
    }

    /// A kernel that may write to memory which is not put back runs once, unless that is allowed; the record says so then.
    pub(super) fn refuse_unless_allowed(&mut self, detail: String) -> Result<(), Refusal> {
        if !self.allow(Allow::Untracked) {
            return Err(Refusal::with(Reason::UntrackedMemory, detail));
        }
        self.record.detail.get_or_insert_with(|| {
            format!("allowed although {detail}: hashes and writes speak of captured memory only")
        });
        Ok(())
    }

    /// The first argument that leads to memory which is not put back, as a sentence for the record.
    fn untracked(
        &self,
        metadata: &code_object::Kernel,
        pointers: &[Pointer],
        modules: &[Arc<Region>],
    ) -> Option<String> {
        let explicit: Vec<&Argument> = metadata.explicit_arguments().collect();
        pointers.iter().find_map(|pointer| {
            let argument = *explicit.get(usize::try_from(pointer.argument).ok()?)?;
            if pointer.is_read_only {
                return None;
            }
            let what =
                self.unrestored(pointer.address, modules, argument.value_kind == ValueKind::GlobalBuffer)?;
            let named = self.argument(pointer.argument);
            Some(format!("{named} leads to {what} at {:#x}", pointer.address))
        })
    }

    /// What lies at an address, if it is not put back.
    fn unrestored(&self, address: u64, modules: &[Arc<Region>], is_pointer: bool) -> Option<&'static str> {
        let inside = |address: u64| {
            let record = self.process.inventory.find(address)?;
            Some(record.is_unrestored(self.agent.agent).then(|| describe_record(&record)))
        };
        let in_module = |address: u64| modules.iter().any(|region| region.contains(address)).then_some(None);
        let at = |address: u64| inside(address).or_else(|| in_module(address));
        // A pointer one past the end of an array belongs to the array.
        match at(address).or_else(|| at(address.wrapping_sub(1)).filter(|_| is_pointer)) {
            Some(known) => known,
            None if is_pointer => Some("memory that no call has shown"),
            None => self.is_known_below(address).then_some("memory that only the runtime knows"),
        }
    }

    /// Whether the runtime knows an address that no hook has seen, such as host memory that was locked for the agent.
    fn is_known_below(&self, address: u64) -> bool {
        USER_SPACE.contains(&address)
            && self.process.runtime.pointer_facts(address).is_ok_and(|facts| facts.kind != 0)
    }
}

pub(super) fn is_read_only(argument: &Argument) -> bool {
    argument.actual_access == Some(Access::ReadOnly)
        || argument.access == Some(Access::ReadOnly)
        || argument.address_space == Some(AddressSpace::Constant)
        || argument.is_const
}

/// What memory is that a window does not put back.
pub(super) fn describe_record(record: &Record) -> &'static str {
    match record.exclusion() {
        Some(Exclusion::NoAccess) | None => "memory of another agent",
        Some(exclusion) => describe(exclusion),
    }
}

pub(super) fn describe(exclusion: Exclusion) -> &'static str {
    match exclusion {
        Exclusion::Kernarg => "memory for kernel arguments",
        Exclusion::Host => "host memory",
        Exclusion::FineGrained => "fine-grained device memory",
        Exclusion::NoAccess => "a mapping that the agent may not write",
        Exclusion::Locked => "locked host memory",
        Exclusion::Managed => "managed memory",
        Exclusion::Import => "memory of another process",
        Exclusion::Interop => "memory of another interface",
        Exclusion::SharedOut => "memory that others may write",
        Exclusion::Program => "memory that the program leaves out",
        Exclusion::FailedFree => "memory that could not be freed",
        Exclusion::Unknown => "memory that the runtime knows differently",
    }
}
