//! Our library and the real runtime: where each is, and whether they fit.

use hsa_replay_contract::text::name_of;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use hsa_replay_contract::Settings;

use super::cache::Cache;
use super::elf::{self, Elf};
use super::finding::{Finding, Subject};
use super::loader::{DEFAULT_FOLDERS, Loaded, Through};
use super::program::is_runtime;
use crate::attach;
use crate::run::libraries;

/// The names of the runtime in a folder.
const NAMES: [&str; 2] = ["libhsa-runtime64.so.1", "libhsa-runtime64.so"];

/// Names listed before "and N more".
const SHOWN: usize = 6;

/// Finds and judges our library.
pub fn ours(settings: &Settings, findings: &mut Vec<Finding>) -> Option<Elf> {
    let library = match attach::find(settings) {
        Ok(library) => library,
        Err(problem) => {
            findings.push(Finding::problem(
                Subject::Library,
                problem,
                "install hsa-replay's package, or name the library: export HSA_REPLAY_SHIM=/path/to/lib/hsa-replay",
            ));
            return None;
        }
    };
    let shape = if library.installed_folder().is_some() { "installed" } else { "build tree" };
    findings.push(Finding::ok(Subject::Library, format!("{} ({shape})", name_of(&library.file))));
    match elf::read(&library.file) {
        Ok(elf) => Some(elf),
        Err(problem) => {
            findings.push(Finding::problem(
                Subject::Library,
                format!("{} {problem}", name_of(&library.file)),
                "install it again",
            ));
            None
        }
    }
}

/// Finds the real runtime in the order in which our library does, and compares what the two export.
pub fn runtime(asked: Option<&Path>, loaded: &[Loaded], shim: Option<&Elf>, findings: &mut Vec<Finding>) {
    if let Some(path) = asked {
        match libraries::runtime(path) {
            Ok(elf) => return judge(&elf, "HSA_REPLAY_RUNTIME", shim, findings),
            Err(problem) => findings.push(Finding::problem(
                Subject::Runtime,
                format!("HSA_REPLAY_RUNTIME={} {problem}", name_of(&path)),
                "name the real libhsa-runtime64.so.1, or have it searched for: unset HSA_REPLAY_RUNTIME",
            )),
        }
    }
    for (path, place) in candidates(loaded) {
        if let Ok(elf) = elf::read(&path)
            && !elf.is_ours
            && is_runtime(elf.soname.as_deref())
        {
            return judge(&elf, &place, shim, findings);
        }
    }
    findings.push(Finding::problem(
        Subject::Runtime,
        "no HSA runtime is found",
        "install ROCm's hsa-rocr (Debian: apt-get install libhsa-runtime64-1), or name the library: \
         export HSA_REPLAY_RUNTIME=/path/to/libhsa-runtime64.so.1",
    ));
}

/// Files to look at, each with the place that led to it.
fn candidates(loaded: &[Loaded]) -> Vec<(PathBuf, String)> {
    let mut files: Vec<(PathBuf, String)> = loaded
        .iter()
        .filter(|library| is_runtime(library.elf.soname.as_deref()))
        .map(|library| {
            (library.elf.path.clone(), format!("the program's own, by {}", library.through.name()))
        })
        .collect();
    // A runtime that Python packages bring is mapped by its package before anything is looked for.
    files.extend(
        loaded
            .iter()
            .filter(|library| library.through == Through::Bundled)
            .map(|library| (library.elf.path.clone(), "a Python package".to_owned())),
    );
    let mut folders: Vec<(PathBuf, String)> = loaded
        .iter()
        .filter(|library| {
            library.elf.soname.as_deref().is_some_and(|name| name.starts_with("libamdhip64.so"))
        })
        .filter_map(|library| Some((library.elf.path.parent()?.to_owned(), "beside libamdhip64".to_owned())))
        .collect();
    if let Some(list) = std::env::var_os("LD_LIBRARY_PATH") {
        folders.extend(std::env::split_paths(&list).map(|folder| (folder, "LD_LIBRARY_PATH".to_owned())));
    }
    if let Some(rocm) = std::env::var_os("ROCM_PATH").filter(|path| !path.is_empty()) {
        folders.push((Path::new(&rocm).join("lib"), "ROCM_PATH".to_owned()));
    }
    folders.extend(rocm_folders().into_iter().map(|folder| (folder, "/opt".to_owned())));
    files.extend(in_folders(folders));
    let cache = Cache::read();
    files.extend(
        NAMES.iter().flat_map(|name| cache.look_up(name)).map(|path| (path, "the loader's cache".to_owned())),
    );
    files.extend(in_folders(
        DEFAULT_FOLDERS.iter().map(|folder| (PathBuf::from(folder), (*folder).to_owned())),
    ));
    files
}

fn in_folders(
    folders: impl IntoIterator<Item = (PathBuf, String)>,
) -> impl Iterator<Item = (PathBuf, String)> {
    folders.into_iter().flat_map(|(folder, place)| NAMES.map(|name| (folder.join(name), place.clone())))
}

/// `/opt/rocm/lib` and `/opt/rocm-*/lib`, newest first.
pub fn rocm_folders() -> Vec<PathBuf> {
    let mut versions: Vec<(Vec<u32>, PathBuf)> = std::fs::read_dir("/opt")
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name();
            let version = name.to_str()?.strip_prefix("rocm-")?;
            let numbers = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
            Some((numbers, entry.path().join("lib")))
        })
        .collect();
    versions.sort();
    let newest_first = versions.into_iter().rev().map(|(_, folder)| folder);
    std::iter::once(PathBuf::from("/opt/rocm/lib")).chain(newest_first).collect()
}

fn judge(runtime: &Elf, place: &str, shim: Option<&Elf>, findings: &mut Vec<Finding>) {
    let file = runtime.path.canonicalize().unwrap_or_else(|_| runtime.path.clone());
    let version = file
        .file_name()
        .and_then(OsStr::to_str)
        .and_then(|name| name.split_once(".so."))
        .map_or_else(String::new, |(_, version)| format!(", version {version}"));
    findings.push(Finding::ok(Subject::Runtime, format!("{} ({place}{version})", name_of(&file))));
    if let Some(register) = runtime.needed.iter().find(|name| name.starts_with("librocprofiler-register")) {
        findings.push(Finding::note(
            Subject::Runtime,
            format!("it needs {register}: a profiler that registers there sees each pass as a dispatch"),
        ));
    }
    let Some(shim) = shim.filter(|shim| !shim.exports.is_empty()) else { return };
    let lacking = difference(&runtime.exports, &shim.exports);
    if lacking.is_empty() {
        findings.push(Finding::ok(
            Subject::Runtime,
            format!("hsa-replay exports all {} names of its interface", runtime.exports.len()),
        ));
    } else {
        findings.push(Finding::problem(
            Subject::Runtime,
            format!("hsa-replay lacks names of it: {}", listed(&lacking)),
            format!(
                "take a newer hsa-replay, or build it for this runtime, since a program that needs these does not load: \
                 HSA_REPLAY_BUILD_RUNTIME={} cargo build --release --workspace",
                name_of(&file)
            ),
        ));
    }
    let surplus = difference(&shim.exports, &runtime.exports);
    if !surplus.is_empty() {
        findings.push(Finding::note(
            Subject::Runtime,
            format!(
                "it lacks names that hsa-replay has, which then fail with a status: {}",
                listed(&surplus)
            ),
        ));
    }
}

fn difference<'a>(all: &'a [String], without: &[String]) -> Vec<&'a str> {
    all.iter().filter(|name| without.binary_search(name).is_err()).map(String::as_str).collect()
}

fn listed(names: &[&str]) -> String {
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(SHOWN) {
        None | Some(0) => shown,
        Some(more) => format!("{shown} and {more} more"),
    }
}
