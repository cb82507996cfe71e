//! The folder that the loader searches: it holds the library under both of the runtime's names.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::Library;

/// The names under which programs open the runtime: the first at link time, the second by `dlopen` in some libraries.
pub const BOTH_NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];

/// Bytes that have a meaning in the loader's variables and cannot be quoted there (ld.so(8)).
const PRELOAD_BREAKERS: &[u8] = b" \t\n:;$";

/// Whether the loader takes `path` in its variables as it is.
pub fn safe_for_loader(path: &Path) -> bool {
    !path.as_os_str().as_bytes().iter().any(|byte| PRELOAD_BREAKERS.contains(byte))
}

/// The library as the loader gets it. A temporary folder is removed when this is dropped.
#[derive(Debug)]
pub struct Folder {
    /// The library to preload.
    pub preload: PathBuf,
    /// The folder to search.
    pub search: PathBuf,
    _temporary: Option<TempDir>,
}

impl Folder {
    /// The folder of an installed library, or else a temporary one with two links to it: a build tree has the library
    /// under one name only, and a path with a space cannot be preloaded.
    pub fn new(library: &Library) -> Result<Self, String> {
        if let Some(folder) = library.installed_folder().filter(|folder| safe_for_loader(folder)) {
            return Ok(Self {
                preload: folder.join(BOTH_NAMES[0]),
                search: folder.to_owned(),
                _temporary: None,
            });
        }
        let temporary = temporary_folder()
            .map_err(|error| format!("cannot make a temporary folder for the library: {error}"))?;
        let search = temporary.path().to_owned();
        for name in BOTH_NAMES {
            symlink(&library.file, search.join(name))
                .map_err(|error| format!("cannot link the library into {}: {error}", search.display()))?;
        }
        // The library itself where that can be: a process that outlives the folder can still start others.
        let preload =
            if safe_for_loader(&library.file) { library.file.clone() } else { search.join(BOTH_NAMES[0]) };
        Ok(Self { preload, search, _temporary: Some(temporary) })
    }
}

fn temporary_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("hsa-replay-");
    let preferred = std::env::temp_dir();
    if preferred.is_absolute() && safe_for_loader(&preferred) {
        builder.tempdir_in(preferred)
    } else {
        builder.tempdir_in("/tmp")
    }
}
