//! A kernel and its arguments.

use crate::descriptor::{DESCRIPTOR_SIZE, KernelDescriptor};
use crate::elf::{File, Symbols};
use crate::metadata::{Flag, RawArgument, RawKernel};
use crate::{Error, HiddenKind, ValueKind, demangle};

/// A kernel of a code object.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    name: String,
    symbol: String,
    descriptor_address: u64,
    descriptor: KernelDescriptor,
    has_rpc_client: bool,
    /// Size of the kernarg segment in bytes.
    pub kernarg_segment_size: u64,
    /// Alignment of the kernarg segment in bytes.
    pub kernarg_segment_align: u64,
    /// Fixed group memory of a work group in bytes.
    pub group_segment_fixed_size: u64,
    /// Fixed private memory of a work item in bytes.
    pub private_segment_fixed_size: u64,
    /// Work items of a wavefront.
    pub wavefront_size: u32,
    /// Most work items of a work group.
    pub max_flat_workgroup_size: u32,
    /// Whether private memory beyond the fixed size may be used.
    pub uses_dynamic_stack: bool,
    /// Source language, for example `OpenCL C` (HIP says that too).
    pub language: Option<String>,
    /// Version of the source language, major and minor.
    pub language_version: Vec<u32>,
    /// Arguments in the order of the metadata: explicit ones first, hidden ones after them.
    pub arguments: Vec<Argument>,
}

/// An argument of a kernel, explicit or hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Offset in the kernarg segment in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Meaning.
    pub value_kind: ValueKind,
    /// Name in the source, where the compiler recorded it.
    pub name: Option<String>,
    /// Type in the source, where the compiler recorded it.
    pub type_name: Option<String>,
    /// Address space of a pointer.
    pub address_space: Option<AddressSpace>,
    /// Access that the source declares.
    pub access: Option<Access>,
    /// Access that the compiler found the code to make.
    pub actual_access: Option<Access>,
    /// Points to const data.
    pub is_const: bool,
    /// Is declared restrict.
    pub is_restrict: bool,
    /// Points to volatile data.
    pub is_volatile: bool,
}

/// Address space of a pointer argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressSpace {
    /// Private memory of a work item.
    Private,
    /// Global memory.
    Global,
    /// Global memory that the kernel only reads.
    Constant,
    /// Group memory.
    Local,
    /// Any of private, group and global memory.
    Generic,
    /// A part of global memory.
    Region,
    /// A word that this crate does not know.
    Other(String),
}

/// Access to a pointer argument.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Access {
    /// Only read.
    ReadOnly,
    /// Only written.
    WriteOnly,
    /// Both.
    ReadWrite,
    /// A word that this crate does not know.
    Other(String),
}

/// Whether a kernel asks the host for services (printf, assert, device malloc) while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HostCalls {
    /// The metadata has no buffer for them: it cannot.
    No,
    /// The metadata names a buffer for them and omits hidden arguments that this kernel does not use: it does. Also every
    /// kernel of an object that holds the client of LLVM's remote calls, as OpenMP programs do.
    Yes,
    /// The metadata lists hidden arguments whether they are used or not, as unoptimised builds do: it cannot be told.
    Unknown,
}

impl Kernel {
    pub(crate) fn new(raw: RawKernel, file: &File<'_>, symbols: &Symbols) -> Result<Self, Error> {
        let Some(&address) = symbols.descriptors.get(&raw.symbol) else {
            return Err(Error::MissingDescriptor(raw.symbol));
        };
        let bytes: Option<&[u8; 64]> =
            file.loaded_bytes(address, DESCRIPTOR_SIZE).and_then(|bytes| bytes.try_into().ok());
        let Some(bytes) = bytes else {
            return Err(Error::DescriptorOutside { symbol: raw.symbol, address });
        };
        let descriptor = KernelDescriptor::decode(bytes);
        Ok(Self {
            name: raw.name,
            symbol: raw.symbol,
            descriptor_address: address,
            descriptor,
            has_rpc_client: symbols.has_rpc_client,
            kernarg_segment_size: raw.kernarg_segment_size,
            kernarg_segment_align: raw.kernarg_segment_align,
            group_segment_fixed_size: raw.group_segment_fixed_size,
            private_segment_fixed_size: raw.private_segment_fixed_size,
            wavefront_size: raw.wavefront_size,
            max_flat_workgroup_size: raw.max_flat_workgroup_size,
            uses_dynamic_stack: Flag::is_set(raw.uses_dynamic_stack) || descriptor.uses_dynamic_stack(),
            language: raw.language,
            language_version: raw.language_version.unwrap_or_default(),
            arguments: raw.args.into_iter().map(Argument::from).collect(),
        })
    }

    /// Name in the metadata: for C++ the mangled name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Symbol of the kernel descriptor: the mangled name with `.kd`.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// Mangled name: the descriptor's symbol without `.kd`.
    pub fn mangled(&self) -> &str {
        self.symbol.strip_suffix(".kd").unwrap_or(&self.symbol)
    }

    /// Signature in the source language. Computed at each call.
    pub fn demangled(&self) -> String {
        demangle(self.mangled())
    }

    /// Virtual address of the kernel descriptor; with the load delta it is the packet's kernel object.
    pub fn descriptor_address(&self) -> u64 {
        self.descriptor_address
    }

    /// The kernel descriptor.
    pub fn descriptor(&self) -> &KernelDescriptor {
        &self.descriptor
    }

    /// Arguments that the program passes, in its order.
    pub fn explicit_arguments(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.value_kind.is_hidden())
    }

    /// The hidden argument of a kind.
    pub fn hidden_argument(&self, kind: &HiddenKind) -> Option<&Argument> {
        self.arguments
            .iter()
            .find(|argument| matches!(&argument.value_kind, ValueKind::Hidden(hidden) if hidden == kind))
    }

    /// Whether the hidden arguments listed are those that the kernel uses. Unoptimised builds list every one there is, and
    /// a language runtime may leave anything in the slots of those that a launch has no value for.
    pub fn lists_exact_hidden_arguments(&self) -> bool {
        // No kernel both joins a grid over several agents and enqueues kernels.
        let of_every_kind =
            [HiddenKind::MultigridSyncArg, HiddenKind::DefaultQueue, HiddenKind::CompletionAction];
        !of_every_kind.iter().all(|kind| self.hidden_argument(kind).is_some())
    }

    /// Whether the kernel asks the host for services.
    pub fn host_calls(&self) -> HostCalls {
        let lists = |kind| self.hidden_argument(&kind).is_some();
        if self.has_rpc_client {
            HostCalls::Yes
        } else if !lists(HiddenKind::HostcallBuffer) && !lists(HiddenKind::PrintfBuffer) {
            HostCalls::No
        } else if self.lists_exact_hidden_arguments() && !lists(HiddenKind::MultigridSyncArg) {
            // LLVM 15 lists both, and nothing that tells more, where it does not know what the kernel uses.
            HostCalls::Yes
        } else {
            HostCalls::Unknown
        }
    }
}

impl From<RawArgument> for Argument {
    fn from(raw: RawArgument) -> Self {
        Self {
            offset: raw.offset,
            size: raw.size,
            value_kind: ValueKind::from_metadata(&raw.value_kind),
            name: raw.name,
            type_name: raw.type_name,
            address_space: raw.address_space.map(AddressSpace::from_metadata),
            access: raw.access.map(Access::from_metadata),
            actual_access: raw.actual_access.map(Access::from_metadata),
            is_const: Flag::is_set(raw.is_const),
            is_restrict: Flag::is_set(raw.is_restrict),
            is_volatile: Flag::is_set(raw.is_volatile),
        }
    }
}

impl AddressSpace {
    fn from_metadata(word: String) -> Self {
        match word.as_str() {
            "private" => Self::Private,
            "global" => Self::Global,
            "constant" => Self::Constant,
            "local" => Self::Local,
            "generic" => Self::Generic,
            "region" => Self::Region,
            _ => Self::Other(word),
        }
    }
}

impl Access {
    fn from_metadata(word: String) -> Self {
        match word.as_str() {
            "read_only" => Self::ReadOnly,
            "write_only" => Self::WriteOnly,
            "read_write" => Self::ReadWrite,
            _ => Self::Other(word),
        }
    }
}
