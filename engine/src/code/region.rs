//! Writable segments of a loaded code object and the variables in them.

use crate::handles::{Agent, Executable};
use crate::runtime::LoadedCodeObject;
use code_object::{CodeObject, Segment, Variable};

/// Largest segment that is captured, in bytes.
pub const MAX_SEGMENT: u64 = 1 << 30;

/// A writable segment of a code object in an agent's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleRegion {
    /// The agent it was loaded on.
    pub agent: Agent,
    /// The executable that owns it.
    pub executable: Executable,
    /// Which loading this is; no two in a process are equal.
    pub generation: u64,
    /// Device address of its first byte.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// The region cut into variables and what lies between them: ascending and complete.
    pub parts: Vec<Part>,
}

/// A variable, or the bytes between two of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Offset from the region's base in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Readable name of the variable; `None` for bytes that no symbol names.
    pub name: Option<String>,
}

/// A segment that is left out of snapshots because of its size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OversizedSegment {
    /// The agent it was loaded on.
    pub agent: Agent,
    /// Device address of its first byte.
    pub base: u64,
    /// Size in bytes, over [`MAX_SEGMENT`].
    pub size: u64,
}

impl ModuleRegion {
    /// The part that holds an offset.
    pub fn part_at(&self, offset: u64) -> Option<&Part> {
        let behind = self.parts.partition_point(|part| part.offset <= offset);
        self.parts[..behind].last().filter(|part| offset < part.offset + part.size)
    }

    /// Address behind the last byte.
    pub fn end(&self) -> u64 {
        self.base + self.size
    }
}

/// Where the loader put a segment, if that lies within the memory it reports for the code object.
pub(super) fn device_address(loaded: &LoadedCodeObject, segment: &Segment) -> Option<u64> {
    let base = segment.address.checked_add_signed(loaded.load_delta)?;
    let end = base.checked_add(segment.size)?;
    let loaded_end = loaded.load_base.checked_add(loaded.load_size)?;
    (base >= loaded.load_base && end <= loaded_end).then_some(base)
}

/// Cuts a segment at its variables. Of symbols that overlap, the one that begins first counts.
pub(super) fn parts(object: &CodeObject, segment: &Segment) -> Vec<Part> {
    let inside = |variable: &&Variable| segment.contains(variable.address, variable.size);
    let mut parts = Vec::new();
    let mut at = segment.address;
    for variable in object.variables().iter().filter(inside) {
        if variable.address < at {
            continue;
        }
        if variable.address > at {
            parts.push(Part { offset: at - segment.address, size: variable.address - at, name: None });
        }
        parts.push(Part {
            offset: variable.address - segment.address,
            size: variable.size,
            name: Some(code_object::demangle(&variable.name)),
        });
        at = variable.address + variable.size;
    }
    if at < segment.end() {
        parts.push(Part { offset: at - segment.address, size: segment.end() - at, name: None });
    }
    parts
}
