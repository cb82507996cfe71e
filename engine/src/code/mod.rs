//! Code objects that the loader has placed on the agents.
//!
//! A dispatch packet carries only the address of a kernel descriptor; [`Modules`] says which kernel that is and what its
//! arguments mean. It also knows the module variables: memory that kernels write and that no allocation call ever showed.
//! Asking the runtime for variables would miss those that are `static`, in an anonymous namespace or local to a kernel,
//! so a snapshot takes the writable segments of each loaded code object whole.
//!
//! Code objects come and go with their executables, so every [`ModuleRegion`] has a generation, never used again, by which
//! a restore tells the captured memory from what was loaded at the same address since.

mod modules;
mod region;

#[cfg(test)]
mod tests;

pub use modules::{EnumerationError, Frozen, LoadedKernel, Modules};
pub use region::{MAX_SEGMENT, ModuleRegion, OversizedSegment, Part};
