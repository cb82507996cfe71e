//! What the loader needs to know of a file, read without running it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use object::elf::{DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, EM_X86_64, ET_DYN, FileHeader64, PT_INTERP};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol};

/// The marker of every build of our library.
const MARKER: &str = "hsa_replay_interface_version";

/// The function that every tool has.
const TOOL: &str = "hsa_replay_tool_start";

/// An ELF file for x86-64.
#[derive(Clone, Debug, Default)]
pub struct Elf {
    /// The file.
    pub path: PathBuf,
    /// The name that others need it by.
    pub soname: Option<String>,
    /// The libraries that it needs.
    pub needed: Vec<String>,
    /// Folders searched before `LD_LIBRARY_PATH`, unless there is a runpath.
    pub rpath: Option<String>,
    /// Folders searched after `LD_LIBRARY_PATH`.
    pub runpath: Option<String>,
    /// Whether the loader takes part: false for static programs.
    pub is_dynamic: bool,
    /// The names of the HSA interface that it defines, in order.
    pub exports: Vec<String>,
    /// Whether it is a build of our library.
    pub is_ours: bool,
    /// Whether it is a tool in the sense of `hsa_replay.h`.
    pub is_tool: bool,
}

impl Elf {
    /// Whether it defines a name of the HSA interface.
    pub fn defines(&self, name: &str) -> bool {
        self.exports.binary_search_by(|export| export.as_str().cmp(name)).is_ok()
    }
}

/// Reads `path`; the error completes the sentence "the file …".
pub fn read(path: &Path) -> Result<Elf, String> {
    let metadata = path.metadata().map_err(|error| format!("cannot be read: {error}"))?;
    if metadata.is_dir() {
        return Err("is a directory".to_owned());
    }
    if !metadata.is_file() {
        return Err("is not a regular file".to_owned());
    }
    let bytes = fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    parse(path, &bytes)
}

/// The loader that a program for this machine names, if `start` holds that much of it.
pub fn loader_of(start: &[u8]) -> Option<PathBuf> {
    let header = FileHeader64::<Endianness>::parse(start).ok()?;
    let endian = header.endian().ok()?;
    if header.e_machine(endian) != EM_X86_64 {
        return None;
    }
    let segments = header.program_headers(endian, start).ok()?;
    let segment = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP)?;
    let name = segment.data(endian, start).ok()?;
    let name = name.split(|&byte| byte == 0).next().filter(|name| name.starts_with(b"/"))?;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

fn parse(path: &Path, bytes: &[u8]) -> Result<Elf, String> {
    if !bytes.starts_with(b"\x7fELF") {
        return Err("is not an ELF file".to_owned());
    }
    let damaged = |error: object::Error| format!("is a damaged ELF file: {error}");
    if bytes.get(4) != Some(&2) {
        return Err("is for another machine than x86-64 (32 bits)".to_owned());
    }
    let file = ElfFile64::<Endianness>::parse(bytes).map_err(damaged)?;
    let endian = file.endian();
    let header: &FileHeader64<Endianness> = file.elf_header();
    if header.e_machine(endian) != EM_X86_64 {
        return Err(format!("is for another machine than x86-64 ({:?})", header.e_machine(endian)));
    }
    let segments = file.elf_program_headers();
    let interpreted = segments.iter().any(|segment| segment.p_type(endian) == PT_INTERP);
    let table = file.elf_dynamic_table().map_err(damaged)?;
    let mut elf = Elf { path: path.to_owned(), ..Elf::default() };
    for entry in &table {
        let text = || table.string(entry).map(|text| String::from_utf8_lossy(text).into_owned()).ok();
        match entry.tag {
            DT_NEEDED => elf.needed.extend(text()),
            DT_SONAME => elf.soname = text(),
            DT_RPATH => elf.rpath = text(),
            DT_RUNPATH => elf.runpath = text(),
            _ => {}
        }
    }
    // A static program that is position independent is of the type of libraries, too, but needs nothing.
    let is_library = header.e_type(endian) == ET_DYN && (elf.soname.is_some() || !elf.needed.is_empty());
    elf.is_dynamic = interpreted || is_library;
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
        if let Ok(name) = symbol.name() {
            elf.is_ours |= name == MARKER;
            elf.is_tool |= name == TOOL;
            if (name.starts_with("hsa_") || name.starts_with("_amdgpu_")) && !name.starts_with("hsa_replay_")
            {
                elf.exports.push(name.to_owned());
            }
        }
    }
    elf.exports.sort_unstable();
    elf.exports.dedup();
    Ok(elf)
}
