//! What can be wrong with a code object.

use thiserror::Error as ThisError;

/// Why a file could not be read as a code object.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
pub enum Error {
    /// The bytes are no 64-bit little-endian ELF file.
    #[error("not a 64-bit little-endian ELF file: {0}")]
    NotElf(&'static str),
    /// The ELF file is for another machine than AMDGPU (`EM_AMDGPU`, 224).
    #[error("ELF machine {0} is not AMDGPU (224)")]
    WrongMachine(u16),
    /// The ELF file is for another system than HSA (`ELFOSABI_AMDGPU_HSA`, 64).
    #[error("ELF OS ABI {0} is not AMDGPU HSA (64)")]
    WrongOsAbi(u8),
    /// A code object version that this crate does not know; versions 3 to 6 have ABI versions 1 to 4.
    #[error("code object with ELF ABI version {0}: only 1 to 4 (code object versions 3 to 6) are known")]
    UnknownVersion(u8),
    /// A header, section, segment or note points outside the file or is otherwise malformed.
    #[error("malformed {what}: {reason}")]
    Malformed {
        /// The part of the file.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// More program headers than any code object has.
    #[error("{count} program headers, more than the {limit} accepted")]
    TooManySegments {
        /// Program headers in the file.
        count: usize,
        /// Most accepted.
        limit: usize,
    },
    /// The names of the symbols add up to many times the file: they overlap each other.
    #[error("symbol names add up to more than {limit} bytes in a file of {size}")]
    NamesTooLong {
        /// Size of the file in bytes.
        size: usize,
        /// Most bytes of names accepted for this size.
        limit: usize,
    },
    /// No note of type `NT_AMDGPU_METADATA`.
    #[error("no AMDGPU metadata note")]
    NoMetadata,
    /// The metadata is not the MessagePack document that the ABI describes.
    #[error("malformed AMDGPU metadata: {0}")]
    Metadata(String),
    /// A kernel's descriptor symbol is in neither symbol table.
    #[error("kernel descriptor symbol {0} is not in the symbol tables")]
    MissingDescriptor(String),
    /// A kernel's descriptor does not lie in the file's contents of a LOAD segment.
    #[error("kernel descriptor {symbol} at {address:#x} lies outside the loaded file contents")]
    DescriptorOutside {
        /// Descriptor symbol.
        symbol: String,
        /// Its value.
        address: u64,
    },
}
