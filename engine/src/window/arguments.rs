//! The explicit arguments as the record shows them: decoded by the code object's metadata, pointers resolved.

use super::Window;
use super::decide::word;
use crate::inventory::{Exclusion, Region, RegionKind};
use crate::sync::Arc;
use code_object::ValueKind;
use hsa_replay_contract::record::{
    Argument, ArgumentKind, MAX_TARGETS, MemoryClass, Target, argument_bytes, parameter_types, scalar,
};

impl Window<'_> {
    /// What the dispatch was given. Costs a look at the inventory for each pointer; the runtime is asked only about pointers
    /// that nobody knows.
    pub(super) fn describe_arguments(
        &self,
        metadata: &code_object::Kernel,
        kernarg: &[u8],
        modules: &[Arc<Region>],
    ) -> Vec<Argument> {
        let explicit: Vec<&code_object::Argument> = metadata.explicit_arguments().collect();
        let types = parameter_types(&self.record.kernel);
        // A signature that has other parameters than the metadata, such as empty structures, tells nothing.
        let types = if types.len() == explicit.len() { types } else { Vec::new() };
        (0..)
            .zip(explicit)
            .map(|(index, argument)| {
                let kind = kind(&argument.value_kind);
                let in_signature = usize::try_from(index).ok().and_then(|index: usize| types.get(index));
                let type_name =
                    argument.type_name.clone().or_else(|| in_signature.map(|name| (*name).to_owned()));
                let bytes = slice(kernarg, argument.offset, argument.size);
                let address =
                    bytes.filter(|_| kind == ArgumentKind::Pointer).and_then(|bytes| word(bytes, 0));
                let value = match address {
                    Some(address) => Some(format!("{address:#x}")),
                    None => bytes.zip(type_name.as_deref()).and_then(|(bytes, name)| scalar(name, bytes)),
                };
                let points_to = match (kind, bytes) {
                    (ArgumentKind::Pointer, Some(_)) => address
                        .and_then(|address| self.target(0, address, modules, true))
                        .into_iter()
                        .collect(),
                    (ArgumentKind::Value, Some(bytes)) => self.targets_in(bytes, modules),
                    _ => Vec::new(),
                };
                Argument {
                    index,
                    name: argument.name.clone(),
                    type_name,
                    kind,
                    offset: argument.offset,
                    size: argument.size,
                    bytes: bytes.map(argument_bytes),
                    value,
                    points_to,
                }
            })
            .collect()
    }

    /// The words of a value that lie in known memory.
    fn targets_in(&self, bytes: &[u8], modules: &[Arc<Region>]) -> Vec<Target> {
        (0..bytes.len().saturating_sub(7) as u64)
            .filter_map(|at| self.target(at, word(bytes, at)?, modules, false))
            .take(MAX_TARGETS)
            .collect()
    }

    fn target(&self, at: u64, address: u64, modules: &[Arc<Region>], is_pointer: bool) -> Option<Target> {
        if address == 0 {
            return None;
        }
        let known = |address| self.allocated(address).or_else(|| variable(address, modules));
        // A pointer one past the end of an array belongs to the array.
        let found = known(address).or_else(|| known(address - 1).filter(|_| is_pointer));
        let (class, name, base, size) =
            found.or_else(|| is_pointer.then(|| self.unseen(address)).flatten())?;
        Some(Target { at, class, name, base, size, offset: address - base })
    }

    fn allocated(&self, address: u64) -> Option<(MemoryClass, Option<String>, u64, u64)> {
        let record = self.process.inventory.find(address)?;
        let class = match record.exclusion() {
            Some(exclusion) => class(exclusion),
            None if record.region.owner != self.agent.agent => MemoryClass::OtherAgent,
            None if record.region.physical().is_some() => MemoryClass::VirtualMemory,
            None => MemoryClass::Device,
        };
        Some((class, None, record.region.base, record.region.bytes))
    }

    /// What the runtime says of memory that no hook has seen.
    fn unseen(&self, address: u64) -> Option<(MemoryClass, Option<String>, u64, u64)> {
        let facts = self.process.runtime.pointer_facts(address).ok().filter(|facts| facts.kind != 0)?;
        let offset = address.checked_sub(facts.base)?;
        (offset <= facts.size).then_some((MemoryClass::Unseen, None, facts.base, facts.size))
    }
}

/// The module variable at an address.
fn variable(address: u64, modules: &[Arc<Region>]) -> Option<(MemoryClass, Option<String>, u64, u64)> {
    let region = modules.iter().find(|region| region.contains(address))?;
    let RegionKind::Module(module) = &region.kind else {
        return None;
    };
    let (name, base, size) = match module.part_at(address - region.base) {
        Some(part) => (part.name.clone(), region.base + part.offset, part.size),
        None => (None, region.base, region.bytes),
    };
    Some((MemoryClass::ModuleVariable, name, base, size))
}

fn slice(kernarg: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    kernarg.get(start..start.checked_add(usize::try_from(size).ok()?)?)
}

fn kind(kind: &ValueKind) -> ArgumentKind {
    match kind {
        ValueKind::ByValue => ArgumentKind::Value,
        ValueKind::GlobalBuffer => ArgumentKind::Pointer,
        ValueKind::DynamicSharedPointer => ArgumentKind::Lds,
        ValueKind::Image => ArgumentKind::Image,
        ValueKind::Sampler => ArgumentKind::Sampler,
        ValueKind::Pipe => ArgumentKind::Pipe,
        ValueKind::Queue => ArgumentKind::Queue,
        _ => ArgumentKind::Other,
    }
}

fn class(exclusion: Exclusion) -> MemoryClass {
    match exclusion {
        Exclusion::Kernarg => MemoryClass::Kernarg,
        Exclusion::Host | Exclusion::Locked => MemoryClass::Host,
        Exclusion::FineGrained => MemoryClass::FineGrained,
        Exclusion::NoAccess => MemoryClass::NoAccess,
        Exclusion::Managed => MemoryClass::Managed,
        Exclusion::Import => MemoryClass::Import,
        Exclusion::Interop => MemoryClass::Interop,
        Exclusion::SharedOut => MemoryClass::SharedOut,
        Exclusion::FailedFree => MemoryClass::FailedFree,
        Exclusion::Unknown => MemoryClass::Unseen,
        Exclusion::Program => MemoryClass::Excluded,
    }
}
