//! The command and the library laid out as a package installs them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::release::{checkout, workspace};
use super::victim::copy_by_child;

/// Where the pieces are.
pub struct Installed {
    /// `bin/hsa-replay`.
    pub command: PathBuf,
    /// `lib/hsa-replay`, which holds the library under both of the runtime's names.
    pub folder: PathBuf,
}

impl Installed {
    /// Lays them out once a process, from what cargo built in release mode.
    pub fn get() -> &'static Self {
        static INSTALLED: OnceLock<Installed> = OnceLock::new();
        INSTALLED.get_or_init(|| {
            let command = workspace("installed/bin").join("hsa-replay");
            let folder = workspace("installed/lib/hsa-replay");
            copy("hsa-replay", &command);
            for name in ["libhsa-runtime64.so.1", "libhsa-runtime64.so"] {
                copy("libhsa_runtime64.so", &folder.join(name));
            }
            Self { command, folder }
        })
    }

    /// The library by its first name.
    pub fn library(&self) -> PathBuf {
        self.folder.join("libhsa-runtime64.so.1")
    }
}

/// Copies by way of a rename: another test process may be running the file that is there.
fn copy(built: &str, to: &Path) {
    let from = checkout().join("target/release").join(built);
    assert!(from.is_file(), "{} is missing: run cargo build --release --workspace", from.display());
    let part = to.with_extension(format!("part-{}", std::process::id()));
    assert!(copy_by_child(&from, &part), "{} cannot be written", part.display());
    std::fs::rename(&part, to).unwrap_or_else(|error| panic!("{}: {error}", to.display()));
}
