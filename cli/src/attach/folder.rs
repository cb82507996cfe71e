//! The folder that the loader searches: it holds the library under both of the runtime's names.

use hsa_replay_contract::text::name_of;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
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
            return Ok(Self::at(folder.to_owned()));
        }
        Self::temporary(library)
    }

    /// The same, for programs that start when this command has ended: the links are in a folder that stays.
    pub fn lasting(library: &Library) -> Result<Self, String> {
        if let Some(folder) = library.installed_folder().filter(|folder| safe_for_loader(folder)) {
            return Ok(Self::at(folder.to_owned()));
        }
        let Some(folder) = cache_folder(&library.file) else {
            return Err(format!(
                "{}: the loader needs a folder of links to it, and there is no usable cache for one: set XDG_CACHE_HOME to a \
                 path without spaces, ':', ';' or '$'",
                name_of(&library.file)
            ));
        };
        let made = fs::create_dir_all(&folder).and_then(|()| {
            BOTH_NAMES.iter().try_for_each(|name| {
                if fs::read_link(folder.join(name)).is_ok_and(|target| target == library.file) {
                    return Ok(());
                }
                // By way of a rename: others may be loading it now.
                let fresh = folder.join(format!(".{name}-{}", std::process::id()));
                symlink(&library.file, &fresh).and_then(|()| fs::rename(&fresh, folder.join(name)))
            })
        });
        made.map_err(|error| format!("cannot link the library into {}: {error}", name_of(&folder)))?;
        Ok(Self::at(folder))
    }

    fn at(folder: PathBuf) -> Self {
        Self { preload: folder.join(BOTH_NAMES[0]), search: folder, _temporary: None }
    }

    fn temporary(library: &Library) -> Result<Self, String> {
        let temporary = temporary_folder()
            .map_err(|error| format!("cannot make a temporary folder for the library: {error}"))?;
        let search = temporary.path().to_owned();
        for name in BOTH_NAMES {
            symlink(&library.file, search.join(name))
                .map_err(|error| format!("cannot link the library into {}: {error}", name_of(&search)))?;
        }
        // The library itself where that can be: a process that outlives the folder can still start others.
        let preload =
            if safe_for_loader(&library.file) { library.file.clone() } else { search.join(BOTH_NAMES[0]) };
        Ok(Self { preload, search, _temporary: Some(temporary) })
    }
}

/// A folder that lasts, made once for each library and kept in the user's cache; `None` where there is no cache or its name is
/// one that the loader cannot take.
fn cache_folder(library: &Path) -> Option<PathBuf> {
    let home = |name: &str, below: &str| {
        std::env::var_os(name).filter(|value| !value.is_empty()).map(|value| Path::new(&value).join(below))
    };
    let cache = home("XDG_CACHE_HOME", "").or_else(|| home("HOME", ".cache"))?;
    let mut hasher = DefaultHasher::new();
    library.hash(&mut hasher);
    let folder = cache.join("hsa-replay/attach").join(format!("{:016x}", hasher.finish()));
    (folder.is_absolute() && safe_for_loader(&folder)).then_some(folder)
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
