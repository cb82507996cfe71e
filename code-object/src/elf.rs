//! The ELF side: identification, LOAD segments, the metadata note, symbols.

use std::collections::HashMap;

use object::LittleEndian;
use object::elf::{self, FileHeader64, PF_W, PT_GNU_RELRO, PT_LOAD, ProgramHeader64, SHT_DYNSYM, SHT_SYMTAB};
use object::read::elf::{FileHeader, ProgramHeader, SectionTable, Sym};

use crate::{Error, Version};

/// `ELFOSABI_AMDGPU_HSA` (User Guide for AMDGPU Backend, "ELF Header").
const OS_ABI_AMDGPU_HSA: u8 = 64;
/// `NT_AMDGPU_METADATA` (same, "Note Records", code object version 3 and above).
const NOTE_AMDGPU_METADATA: u32 = 32;
/// Code objects have about ten program headers; the bound keeps interval arithmetic over them cheap.
const MAX_PROGRAM_HEADERS: usize = 1024;
/// Symbol names may share their tails, so their sum may exceed the file, but not by much in an honest one.
const NAME_BYTES_PER_FILE_BYTE: usize = 8;
/// Suffix of a kernel descriptor's symbol.
const DESCRIPTOR_SUFFIX: &[u8] = b".kd";
/// The variable through which LLVM's GPU libc asks the host for services.
const RPC_CLIENT: &[u8] = b"__llvm_rpc_client";

type Endian = LittleEndian;
const ENDIAN: Endian = LittleEndian;

/// A code object's ELF file whose identification has been checked.
pub(crate) struct File<'data> {
    bytes: &'data [u8],
    version: Version,
    header: &'data FileHeader64<Endian>,
    program_headers: &'data [ProgramHeader64<Endian>],
}

/// An address range that a program header describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

/// A symbol of kind OBJECT that is defined in the file.
pub(crate) struct DataSymbol {
    pub(crate) name: String,
    pub(crate) address: u64,
    pub(crate) size: u64,
}

/// The symbols that matter here.
pub(crate) struct Symbols {
    /// Values of the kernel descriptors' symbols.
    pub(crate) descriptors: HashMap<String, u64>,
    /// Data symbols of `.dynsym`, then those of `.symtab`.
    pub(crate) data: Vec<DataSymbol>,
    /// Whether the object brings LLVM's own means of calling the host, as OpenMP programs do.
    pub(crate) has_rpc_client: bool,
}

impl<'data> File<'data> {
    pub(crate) fn parse(bytes: &'data [u8]) -> Result<Self, Error> {
        let header = FileHeader64::<Endian>::parse(bytes)
            .map_err(|_| Error::NotElf("the header is cut short, or class, encoding or version differ"))?;
        if !header.is_little_endian() {
            return Err(Error::NotElf("big-endian"));
        }
        let machine = header.e_machine(ENDIAN);
        if machine != elf::EM_AMDGPU {
            return Err(Error::WrongMachine(machine.0));
        }
        let ident = header.e_ident();
        if ident.os_abi.0 != OS_ABI_AMDGPU_HSA {
            return Err(Error::WrongOsAbi(ident.os_abi.0));
        }
        let version = match ident.abi_version {
            1 => Version::V3,
            2 => Version::V4,
            3 => Version::V5,
            4 => Version::V6,
            other => return Err(Error::UnknownVersion(other)),
        };
        let program_headers = header.program_headers(ENDIAN, bytes).map_err(malformed("program headers"))?;
        if program_headers.len() > MAX_PROGRAM_HEADERS {
            return Err(Error::TooManySegments { count: program_headers.len(), limit: MAX_PROGRAM_HEADERS });
        }
        Ok(Self { bytes, version, header, program_headers })
    }

    pub(crate) fn version(&self) -> Version {
        self.version
    }

    /// Contents of the metadata note.
    pub(crate) fn metadata_note(&self) -> Result<&'data [u8], Error> {
        for segment in self.program_headers {
            let Some(mut notes) = segment.notes(ENDIAN, self.bytes).map_err(malformed("note segment"))?
            else {
                continue;
            };
            while let Some(note) = notes.next().map_err(malformed("note"))? {
                if note.name() == b"AMDGPU" && note.n_type(ENDIAN).0 == NOTE_AMDGPU_METADATA {
                    return Ok(note.desc());
                }
            }
        }
        Err(Error::NoMetadata)
    }

    /// Writable LOAD segments as they lie in memory.
    pub(crate) fn writable_loads(&self) -> Result<Vec<Range>, Error> {
        self.ranges(|header| header.p_type(ENDIAN) == PT_LOAD && header.p_flags(ENDIAN).0 & PF_W.0 != 0)
    }

    /// What is read-only once relocations are done.
    pub(crate) fn relro(&self) -> Result<Vec<Range>, Error> {
        self.ranges(|header| header.p_type(ENDIAN) == PT_GNU_RELRO)
    }

    fn ranges(&self, wanted: impl Fn(&ProgramHeader64<Endian>) -> bool) -> Result<Vec<Range>, Error> {
        self.program_headers
            .iter()
            .filter(|header| wanted(header))
            .map(|header| {
                let start = header.p_vaddr(ENDIAN);
                let end = start.checked_add(header.p_memsz(ENDIAN)).ok_or(Error::Malformed {
                    what: "program header",
                    reason: "its address and size exceed 64 bits".to_owned(),
                })?;
                Ok(Range { start, end })
            })
            .collect()
    }

    /// File contents that a LOAD segment places at `address`, if one covers all of the range.
    pub(crate) fn loaded_bytes(&self, address: u64, size: u64) -> Option<&'data [u8]> {
        self.program_headers
            .iter()
            .filter(|header| header.p_type(ENDIAN) == PT_LOAD)
            .find_map(|header| header.data_range(ENDIAN, self.bytes, address, size).ok().flatten())
    }

    /// Descriptor and data symbols of both symbol tables. A stripped file has only `.dynsym`.
    pub(crate) fn symbols(&self) -> Result<Symbols, Error> {
        let sections = self.header.sections(ENDIAN, self.bytes).map_err(malformed("section headers"))?;
        let mut symbols = Symbols { descriptors: HashMap::new(), data: Vec::new(), has_rpc_client: false };
        let mut budget = NameBudget::new(self.bytes.len());
        for kind in [SHT_DYNSYM, SHT_SYMTAB] {
            self.collect(&sections, kind, &mut symbols, &mut budget)?;
        }
        Ok(symbols)
    }

    fn collect(
        &self,
        sections: &SectionTable<'data, FileHeader64<Endian>>,
        kind: elf::SectionType,
        symbols: &mut Symbols,
        budget: &mut NameBudget,
    ) -> Result<(), Error> {
        let table = sections.symbols(ENDIAN, self.bytes, kind).map_err(malformed("symbol table"))?;
        for symbol in table.iter() {
            if symbol.st_type() != elf::STT_OBJECT || symbol.is_undefined(ENDIAN) {
                continue;
            }
            let name = table.symbol_name(ENDIAN, symbol).map_err(malformed("symbol name"))?;
            budget.spend(name.len())?;
            let is_descriptor = name.ends_with(DESCRIPTOR_SUFFIX);
            symbols.has_rpc_client |= name == RPC_CLIENT;
            let name = String::from_utf8_lossy(name).into_owned();
            let address = symbol.st_value(ENDIAN);
            if is_descriptor {
                symbols.descriptors.entry(name).or_insert(address);
            } else {
                symbols.data.push(DataSymbol { name, address, size: symbol.st_size(ENDIAN) });
            }
        }
        Ok(())
    }
}

/// Bounds the names copied out of a file whose symbols all point at one long string.
struct NameBudget {
    size: usize,
    limit: usize,
    left: usize,
}

impl NameBudget {
    fn new(size: usize) -> Self {
        let limit = size.saturating_mul(NAME_BYTES_PER_FILE_BYTE);
        Self { size, limit, left: limit }
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Error> {
        self.left =
            self.left.checked_sub(bytes).ok_or(Error::NamesTooLong { size: self.size, limit: self.limit })?;
        Ok(())
    }
}

/// Names the part of the file in which the ELF reader found a fault.
fn malformed(what: &'static str) -> impl Fn(object::read::Error) -> Error {
    move |error| Error::Malformed { what, reason: error.to_string() }
}
