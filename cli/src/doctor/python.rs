//! Runtimes that Python packages bring: wheels such as PyTorch's hold libraries of their own and name them by an RPATH, so
//! nothing in the environment but `LD_PRELOAD` comes before them.

use hsa_replay_contract::text::name_of;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Subject};
use super::loader::{Loaded, Through};
use crate::doctor::elf;

/// Packages are looked into this deep: `torch/lib/`, `_rocm_sdk_core/lib/`, `NAME.libs/`.
const DEPTH: usize = 2;

/// Folders looked at, at most: an environment with more is not walked to its end.
const MOST: usize = 20_000;

/// Whether a program is a Python interpreter, by its name.
pub fn is_interpreter(file: &Path) -> bool {
    let name = file.file_name().unwrap_or_default().as_bytes();
    name.strip_prefix(b"python")
        .or_else(|| name.strip_prefix(b"pypy"))
        .is_some_and(|version| version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.'))
}

/// Adds the runtimes of the interpreter's packages to what it would load.
pub fn look(interpreter: &Path, loaded: &mut Vec<Loaded>, findings: &mut Vec<Finding>) {
    let mut left = MOST;
    for folder in package_folders(interpreter) {
        let mut found = Vec::new();
        walk(&folder, DEPTH, &mut left, &mut found);
        found.sort();
        for file in found {
            let Ok(elf) = elf::read(&file) else { continue };
            let package =
                file.strip_prefix(&folder).ok().and_then(|path| path.iter().next()).unwrap_or_default();
            let package = package.to_string_lossy().into_owned();
            let text = format!("the Python package {package} brings its own runtime, {}", name_of(&file));
            findings.push(if elf.is_ours {
                Finding::note(Subject::Program, format!("{text}, which is hsa-replay"))
            } else {
                Finding::ok(
                    Subject::Program,
                    format!("{text}; its libraries ask for it by RPATH, and get hsa-replay by LD_PRELOAD all the same"),
                )
            });
            loaded.push(Loaded { elf, needed_by: None, through: Through::Bundled });
        }
    }
}

/// The folders of packages: of the virtual environment or installation that the interpreter belongs to, and of the environment's
/// variables. Not canonical: a virtual environment's interpreter is a link to another installation's.
fn package_folders(interpreter: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> =
        std::env::var_os("PYTHONPATH").iter().flat_map(std::env::split_paths).collect();
    let real = interpreter.canonicalize().ok();
    let own = [Some(interpreter), real.as_deref()].into_iter().flatten().filter_map(prefix_of);
    let user = std::env::var_os("HOME").map(|home| Path::new(&home).join(".local"));
    for prefix in own.chain(user).chain([PathBuf::from("/usr/local")]) {
        for lib in ["lib", "lib64", "local/lib"] {
            folders.extend(
                children(&prefix.join(lib))
                    .filter(|folder| {
                        folder.file_name().is_some_and(|name| name.as_bytes().starts_with(b"python3"))
                    })
                    .flat_map(|folder| ["site-packages", "dist-packages"].map(|name| folder.join(name)))
                    .filter(|folder| folder.is_dir()),
            );
        }
    }
    let mut seen = std::collections::HashSet::new();
    folders.retain(|folder| folder.canonicalize().is_ok_and(|folder| seen.insert(folder)));
    folders
}

/// The prefix that a program in `bin/` is installed at.
fn prefix_of(program: &Path) -> Option<PathBuf> {
    Some(program.parent()?.parent()?.to_owned())
}

fn walk(folder: &Path, depth: usize, left: &mut usize, found: &mut Vec<PathBuf>) {
    for path in children(folder) {
        let name = path.file_name().unwrap_or_default();
        if is_runtime_file(name) {
            found.push(path);
        } else if depth > 0 && *left > 0 && path.is_dir() {
            *left -= 1;
            walk(&path, depth - 1, left, found);
        }
    }
}

fn is_runtime_file(name: &OsStr) -> bool {
    name.as_bytes().starts_with(b"libhsa-runtime64")
        && memchr::memmem::find(name.as_bytes(), b".so").is_some()
}

fn children(folder: &Path) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
}
