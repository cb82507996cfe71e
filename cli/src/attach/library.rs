//! Where our library is: `HSA_REPLAY_SHIM` or `--shim`, beside the command, or `../lib/hsa-replay/`.

use hsa_replay_contract::text::name_of;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use hsa_replay_contract::{OptionId, Settings, Source};

use super::folder::BOTH_NAMES;

/// The name that cargo gives the library.
const BUILD_NAME: &str = "libhsa_runtime64.so";

/// The folder of an installed library, below the prefix that has the command in `bin/`.
const INSTALLED: &str = "lib/hsa-replay";

/// The symbol by which every build of our library is known.
const MARKER: &[u8] = b"hsa_replay_interface_version";

/// Our library, found and looked at.
#[derive(Debug, PartialEq, Eq)]
pub struct Library {
    /// Its file, absolute.
    pub file: PathBuf,
}

impl Library {
    /// The folder that holds the library under both of the runtime's names, if its own does.
    pub fn installed_folder(&self) -> Option<&Path> {
        let folder = self.file.parent()?;
        let canonical = self.file.canonicalize().ok()?;
        let is_ours = |name: &str| folder.join(name).canonicalize().is_ok_and(|file| same(&file, &canonical));
        BOTH_NAMES.iter().all(|name| is_ours(name)).then_some(folder)
    }
}

/// The same file, or a copy of it under the other name.
fn same(one: &Path, other: &Path) -> bool {
    one == other || (is_library(one).is_ok() && one.parent() == other.parent())
}

/// Finds our library; the error is one line that says where it was looked for.
pub fn find(settings: &Settings) -> Result<Library, String> {
    if let Some(given) = &settings.shim {
        let place = match settings.source_of(OptionId::Shim) {
            Some(Source::Environment) => format!("HSA_REPLAY_SHIM={}", name_of(&given)),
            _ => format!("--shim {}", name_of(&given)),
        };
        let file = if given.is_dir() {
            candidates(given).into_iter().find(|file| file.is_file()).ok_or_else(|| {
                format!("{place}: the folder holds neither {} nor {BUILD_NAME}", BOTH_NAMES[0])
            })?
        } else {
            given.clone()
        };
        is_library(&file).map_err(|problem| format!("{place}: {problem}"))?;
        return Ok(Library { file: absolute(&file) });
    }
    let command =
        std::env::current_exe().map_err(|error| format!("cannot find the command's own file: {error}"))?;
    let beside = command.parent().unwrap_or(Path::new("/"));
    // The command's own path is free of links, so its folder's parent is the prefix.
    let places = [beside.to_owned(), beside.parent().unwrap_or(beside).join(INSTALLED)];
    places
        .iter()
        .flat_map(|folder| candidates(folder))
        .find(|file| is_library(file).is_ok())
        .map(|file| Library { file: absolute(&file) })
        .ok_or_else(|| {
            format!(
                "cannot find hsa-replay's library in {} or {}: build it (cargo build --release) or name it with \
                 --shim FILE",
                name_of(&places[0]),
                name_of(&places[1])
            )
        })
}

fn candidates(folder: &Path) -> [PathBuf; 2] {
    [folder.join(BOTH_NAMES[0]), folder.join(BUILD_NAME)]
}

fn absolute(file: &Path) -> PathBuf {
    // Not canonical: a symbolic link may be the only way with a name the loader can take.
    std::path::absolute(file).unwrap_or_else(|_| file.to_owned())
}

/// Checks that `file` is a build of our library for this machine.
fn is_library(file: &Path) -> Result<(), String> {
    const HEADER: usize = 20;
    const MACHINE: u16 = 62; // EM_X86_64
    let kind = file.metadata().map_err(|error| error.to_string())?;
    if !kind.is_file() {
        return Err("is not a file".to_owned());
    }
    let mut bytes = Vec::new();
    File::open(file).and_then(|mut file| file.read_to_end(&mut bytes)).map_err(|error| error.to_string())?;
    if bytes.len() < HEADER || !bytes.starts_with(b"\x7fELF") {
        return Err("is not a library (no ELF header)".to_owned());
    }
    if u16::from_le_bytes([bytes[18], bytes[19]]) != MACHINE {
        return Err("is a library for another machine than x86-64".to_owned());
    }
    if memchr::memmem::find(&bytes, MARKER).is_none() {
        return Err("is not hsa-replay's library (it lacks hsa_replay_interface_version)".to_owned());
    }
    Ok(())
}
