//! Whether a file can be the real runtime, found out without loading it.

use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use object::{Architecture, Object as _, ObjectKind, ObjectSymbol as _, ReadCache};

use super::mapped;
use crate::identity::MARKER;

/// Why a library is not taken.
#[derive(Debug)]
pub enum Refusal {
    /// The file cannot be looked at: missing, or not for us to read.
    Unreadable(io::Error),
    /// A folder was named instead of the library in it.
    Folder,
    /// Not an ELF shared library.
    NotALibrary,
    /// An ELF library for another machine.
    OtherMachine(Architecture),
    /// This library, or a copy of it.
    Ourselves,
    /// It has no `hsa_init`.
    NoRuntime,
    /// The dynamic loader refused it, for this reason.
    Unloadable(String),
}

impl Refusal {
    /// The loader's own words, which name the file themselves, on one line.
    pub fn unloadable(error: libloading::Error) -> Self {
        let text = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        Self::Unloadable(text.replace('\n', " "))
    }

    /// Whether there is a file of that name at all, so that passing it over deserves a word.
    pub fn concerns_a_file(&self) -> bool {
        !matches!(self, Self::Unreadable(error) if error.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Folder => f.write_str("is a folder, not a library"),
            Self::NotALibrary => f.write_str("is not an ELF shared library"),
            Self::OtherMachine(machine) => {
                write!(f, "is a library for another machine ({machine:?}), not for x86-64")
            }
            Self::Ourselves => f.write_str("is hsa-replay itself, not a real HSA runtime"),
            Self::NoRuntime => f.write_str("is not an HSA runtime: it has no hsa_init"),
            Self::Unloadable(why) => write!(f, "cannot be loaded: {why}"),
        }
    }
}

/// Looks at the file: an x86-64 library that exports `hsa_init` and not our marker.
///
/// A library whose symbol table cannot be read this way (its section headers are stripped) passes; it is asked again
/// once it is loaded.
///
/// # Errors The reason not to load it.
pub fn inspect(path: &Path) -> Result<(), Refusal> {
    let file = File::open(path).map_err(Refusal::Unreadable)?;
    let metadata = file.metadata().map_err(Refusal::Unreadable)?;
    if metadata.is_dir() {
        return Err(Refusal::Folder);
    }
    if is_this_file(&metadata) {
        return Err(Refusal::Ourselves);
    }
    if !metadata.is_file() {
        return Err(Refusal::NotALibrary);
    }
    let cache = ReadCache::new(file);
    let Ok(elf) = object::File::parse(&cache) else { return Err(Refusal::NotALibrary) };
    if elf.format() != object::BinaryFormat::Elf || elf.kind() != ObjectKind::Dynamic {
        return Err(Refusal::NotALibrary);
    }
    if elf.architecture() != Architecture::X86_64 {
        return Err(Refusal::OtherMachine(elf.architecture()));
    }
    let mut any = false;
    let mut runtime = false;
    for symbol in elf.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
        let Ok(name) = symbol.name_bytes() else { continue };
        any = true;
        if name == MARKER.to_bytes() {
            return Err(Refusal::Ourselves);
        }
        runtime |= name == b"hsa_init";
    }
    if any && !runtime { Err(Refusal::NoRuntime) } else { Ok(()) }
}

fn is_this_file(metadata: &Metadata) -> bool {
    mapped::this_library()
        .and_then(|path| path.metadata().ok())
        .is_some_and(|ours| ours.dev() == metadata.dev() && ours.ino() == metadata.ino())
}
