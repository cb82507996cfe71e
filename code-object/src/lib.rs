//! Reader of AMDGPU code objects: kernel metadata, symbols and writable segments.
//!
//! A code object is the ELF shared object that the loader of the HSA runtime places in an agent's memory. This crate
//! answers what a tool beside the loader must know of it without asking the device: which kernels it has, where their
//! descriptors lie, what their arguments mean, and which bytes of the loaded image a kernel can write.
//!
//! All addresses are virtual addresses of the ELF file; the loader's *load delta* turns them into device addresses.
//! Code object versions 3 to 6 are understood (LLVM, *User Guide for AMDGPU Backend*, sections "Code Object" and
//! "Code Object Metadata"). Input is not trusted: a malformed file is an [`Error`] that says what is wrong, and the work
//! done is proportional to the size of the file.

mod descriptor;
mod elf;
mod error;
mod kernel;
mod metadata;
mod name;
mod segment;
mod value_kind;

pub use descriptor::{DESCRIPTOR_SIZE, KernelDescriptor};
pub use error::Error;
pub use kernel::{Access, AddressSpace, Argument, HostCalls, Kernel};
pub use name::demangle;
pub use segment::{Segment, Variable};
pub use value_kind::{HiddenKind, ValueKind};

/// Code object version, from the ABI version byte of the ELF identification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Metadata in MessagePack, ELF ABI version 1.
    V3,
    /// Target properties as ELF flags, ELF ABI version 2.
    V4,
    /// Implicit arguments described one by one, ELF ABI version 3.
    V5,
    /// Generic targets, ELF ABI version 4.
    V6,
}

/// What one code object holds.
#[derive(Clone, Debug)]
pub struct CodeObject {
    version: Version,
    target: Option<String>,
    kernels: Vec<Kernel>,
    writable: Vec<Segment>,
    variables: Vec<Variable>,
}

impl CodeObject {
    /// Reads a code object from the bytes given to the loader.
    ///
    /// # Errors
    /// Any [`Error`]: the file is not a code object of a known version, or contradicts itself.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let file = elf::File::parse(bytes)?;
        let symbols = file.symbols()?;
        let metadata = metadata::parse(file.metadata_note()?)?;
        let kernels = metadata
            .kernels
            .into_iter()
            .map(|raw| Kernel::new(raw, &file, &symbols))
            .collect::<Result<_, _>>()?;
        let writable = segment::writable(&file)?;
        let variables = segment::variables(&symbols, &writable);
        Ok(Self { version: file.version(), target: metadata.target, kernels, writable, variables })
    }

    /// Version of the code object.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Target identifier, for example `amdgcn-amd-amdhsa--gfx942`; version 3 does not record one.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Kernels in the order of the metadata.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// The kernels alone, without copying them.
    pub fn into_kernels(self) -> Vec<Kernel> {
        self.kernels
    }

    /// Parts of the loaded image that a kernel can write: writable LOAD segments less what becomes read-only after
    /// relocation. Ascending, not empty, not overlapping.
    pub fn writable_segments(&self) -> &[Segment] {
        &self.writable
    }

    /// Variables that lie in the writable segments, by ascending address; those local to a function, a file or an
    /// anonymous namespace included when the file still has its `.symtab`.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }
}
