//! Where the real runtime is looked for, in this order:
//!
//! 1. another copy of this library that the loader mapped before us: it acts, we hand our calls on to it, and nothing
//!    is done twice;
//! 2. the library that `HSA_REPLAY_RUNTIME`, or `runtime` in the config file, names;
//! 3. a runtime that is mapped already, with or without `.1` in its name;
//! 4. beside a mapped `libamdhip64`;
//! 5. the folders of `LD_LIBRARY_PATH` after our own, then those before it;
//! 6. `ROCM_PATH`, `/opt/rocm` and `/opt/rocm-*`, newest first;
//! 7. the dynamic loader's cache and its default folders.
//!
//! Apart from the first, libraries that carry our marker are passed over, at whatever path they lie.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use hsa_replay_contract::{OptionId, Settings, Source};
use libloading::os::unix::{Library, RTLD_NOW};

use super::candidate::{self, Refusal};
use super::{Runtime, ld_cache, mapped};
use crate::{log, settings};

/// Names of the runtime inside a folder.
const FILES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];
/// The variable that names the real library.
const VARIABLE: &str = "HSA_REPLAY_RUNTIME";
/// `RTLD_NOLOAD` of glibc's `<dlfcn.h>`: open only what is mapped already.
const RTLD_NOLOAD: i32 = libc::RTLD_NOLOAD;

/// Searches and opens.
///
/// # Errors
/// One line for the user when nothing was found.
pub fn runtime(settings: &Settings) -> Result<Runtime, String> {
    let libraries = mapped::libraries();
    if let Some(first) = earlier_copy(&libraries) {
        return Ok(first);
    }
    let mut search = Search::default();
    let mut substitute = false;
    if let Some(path) = settings.runtime.as_deref() {
        match search.attempt(path) {
            Ok(runtime) => return Ok(runtime),
            Err(refusal) => {
                let place = match settings.source_of(OptionId::Runtime) {
                    Some(Source::File(file)) => format!("{}: runtime = ", file.display()),
                    _ => format!("{VARIABLE}="),
                };
                let off = if settings.armed() { "replay is off; " } else { "" };
                log::say(format_args!(
                    "{place}{}: {refusal}; {off}looking for the runtime elsewhere",
                    path.display()
                ));
                substitute = true;
            }
        }
    }
    let mapped_runtimes = libraries.iter().filter(|path| mapped::is_runtime_name(path)).cloned();
    for path in mapped_runtimes
        .chain(folders(&libraries).into_iter().flat_map(files_in))
        .chain(ld_cache::runtimes(&FILES))
    {
        if let Some(runtime) = search.consider(&path) {
            return Ok(Runtime { substitute, ..runtime });
        }
    }
    for path in DEFAULT_FOLDERS.iter().map(PathBuf::from).flat_map(files_in) {
        if let Some(runtime) = search.consider(&path) {
            return Ok(Runtime { substitute, ..runtime });
        }
    }
    let hint =
        search.unloadable.map_or(String::new(), |(path, refusal)| format!("; {} {refusal}", path.display()));
    Err(format!(
        "no HSA runtime found, HSA calls fail: set {VARIABLE} to the path of the real libhsa-runtime64.so.1{hint}"
    ))
}

/// The loader's built-in folders on the distributions that ROCm runs on.
const DEFAULT_FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// What was looked at so far.
#[derive(Default)]
struct Search {
    seen: HashSet<(u64, u64)>,
    /// The first real runtime that the loader refused: the most useful thing to tell when the search fails.
    unloadable: Option<(PathBuf, Refusal)>,
}

impl Search {
    fn attempt(&mut self, path: &Path) -> Result<Runtime, Refusal> {
        candidate::inspect(path)?;
        // A path without a slash would make the loader search by name, and find us.
        let path = std::path::absolute(path).map_err(Refusal::Unreadable)?;
        Runtime::open(&path)
    }

    /// Opens the library if it can be the real one, and notes why not otherwise. Each file is looked at once.
    fn consider(&mut self, path: &Path) -> Option<Runtime> {
        let metadata = path.metadata().ok()?;
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            return None;
        }
        match self.attempt(path) {
            Ok(runtime) => Some(runtime),
            Err(refusal) => {
                if refusal.concerns_a_file() {
                    tracing::debug!("passing over {}: it {refusal}", path.display());
                }
                if matches!(refusal, Refusal::Unloadable(_)) && self.unloadable.is_none() {
                    self.unloadable = Some((path.to_owned(), refusal));
                }
                None
            }
        }
    }
}

/// A copy of this library that comes before us in the loader's list. The order makes the relation one-way.
fn earlier_copy(libraries: &[PathBuf]) -> Option<Runtime> {
    let ours = mapped::this_library()?;
    let before = libraries.iter().take_while(|path| **path != ours);
    for path in before {
        if !matches!(candidate::inspect(path), Err(Refusal::Ourselves)) {
            continue;
        }
        // SAFETY: the library is mapped already; nothing is loaded and no constructor runs.
        let Ok(library) = (unsafe { Library::open(Some(path), RTLD_NOW | RTLD_NOLOAD) }) else { continue };
        tracing::info!(
            "{} is a copy of hsa-replay and came first: it acts, this one only forwards",
            path.display()
        );
        return Some(Runtime { path: path.clone(), library, real: false, substitute: false });
    }
    None
}

/// The folders of steps 4 to 6.
fn folders(libraries: &[PathBuf]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for hip in libraries.iter().filter(|path| mapped::is_hip_name(path)) {
        folders.extend(hip.parent().map(Path::to_owned));
        folders.extend(hip.canonicalize().ok().and_then(|path| path.parent().map(Path::to_owned)));
    }
    folders.extend(library_path(
        settings::variable("LD_LIBRARY_PATH").as_deref(),
        mapped::this_library().as_deref(),
    ));
    folders.extend(
        settings::variable("ROCM_PATH").into_iter().flat_map(|root| library_folders(Path::new(&root))),
    );
    for root in installations(Path::new("/opt")) {
        folders.extend(library_folders(&root));
    }
    folders
}

/// The folders of `LD_LIBRARY_PATH` (colons or semicolons between them, an empty one being the current folder): first
/// those after the one that this library was loaded from, then those before it.
fn library_path(value: Option<&OsStr>, this_library: Option<&Path>) -> Vec<PathBuf> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Vec::new() };
    let own = this_library.and_then(Path::parent).and_then(|folder| folder.canonicalize().ok());
    let mut list: Vec<PathBuf> = value
        .as_bytes()
        .split(|byte| matches!(byte, b':' | b';'))
        .map(|part| PathBuf::from(if part.is_empty() { OsStr::new(".") } else { OsStr::from_bytes(part) }))
        .collect();
    if let Some(position) = list.iter().position(|folder| own.is_some() && folder.canonicalize().ok() == own)
    {
        list.rotate_left(position + 1);
    }
    list
}

/// `/opt/rocm`, then the folders `/opt/rocm-VERSION` from the newest on.
fn installations(opt: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<OsString> = opt
        .read_dir()
        .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect())
        .unwrap_or_default();
    versions.retain(|name| name.as_bytes().starts_with(b"rocm-"));
    versions.sort_by_key(|name| Reverse(version_numbers(name)));
    std::iter::once(OsString::from("rocm")).chain(versions).map(|name| opt.join(name)).collect()
}

fn version_numbers(name: &OsStr) -> Vec<u32> {
    let name = name.to_string_lossy();
    name.split(|character: char| !character.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

fn library_folders(root: &Path) -> [PathBuf; 2] {
    [root.join("lib"), root.join("lib64")]
}

fn files_in(folder: PathBuf) -> impl Iterator<Item = PathBuf> {
    FILES.into_iter().map(move |file| folder.join(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn library_path_starts_after_our_own_folder_and_wraps_around() {
        let root = tempfile::tempdir().expect("a temporary folder");
        for folder in ["first", "ours", "last"] {
            std::fs::create_dir(root.path().join(folder)).expect("a folder");
        }
        let path = |folder: &str| root.path().join(folder);
        let value = std::env::join_paths([path("first"), path("ours"), path("last")]).expect("plain names");
        let list = library_path(Some(&value), Some(&path("ours/libhsa-runtime64.so.1")));
        assert_eq!(list, [path("last"), path("first"), path("ours")]);
    }

    #[test]
    fn library_path_takes_semicolons_and_empty_entries_as_the_loader_does() {
        let list = library_path(Some(OsStr::new("/a;/b::/c")), None);
        assert_eq!(list, ["/a", "/b", ".", "/c"].map(PathBuf::from));
    }

    #[test]
    fn newer_installations_come_first() {
        let opt = tempfile::tempdir().expect("a temporary folder");
        for folder in ["rocm-5.7.1", "rocm-6.10.0", "rocm-6.9.2", "other"] {
            std::fs::create_dir(opt.path().join(folder)).expect("a folder");
        }
        let expected = ["rocm", "rocm-6.10.0", "rocm-6.9.2", "rocm-5.7.1"].map(|name| opt.path().join(name));
        assert_eq!(installations(opt.path()), expected);
    }
}
