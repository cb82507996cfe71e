//! Which libraries the loader would map for a program, and through what it would find each (ld.so(8)).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::cache::Cache;
use super::elf::{self, Elf};

/// Where the loader looks when nothing else helps, on the distributions that ROCm runs on.
pub const DEFAULT_FOLDERS: [&str; 6] =
    ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"];

/// More libraries than this are no program's own: stop looking.
const MOST: usize = 2000;

/// Through what a library is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    /// The program itself, or a name with a slash.
    Path,
    /// `LD_PRELOAD`.
    Preload,
    /// `DT_RPATH` of the library that needs it or of one that led to it.
    Rpath,
    /// `LD_LIBRARY_PATH`.
    LibraryPath,
    /// `DT_RUNPATH` of the library that needs it.
    Runpath,
    /// The loader's cache.
    Cache,
    /// The loader's own folders.
    Default,
    /// A Python package that the interpreter has, and that opens it when it is imported.
    Bundled,
}

impl Through {
    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Path => "its path",
            Self::Preload => "LD_PRELOAD",
            Self::Rpath => "RPATH",
            Self::LibraryPath => "LD_LIBRARY_PATH",
            Self::Runpath => "RUNPATH",
            Self::Cache => "the loader's cache",
            Self::Default => "the loader's own folders",
            Self::Bundled => "a Python package",
        }
    }
}

/// A library that would be mapped.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What it is.
    pub elf: Elf,
    /// The library that needs it: an index into the list.
    pub needed_by: Option<usize>,
    /// Through what it is found.
    pub through: Through,
}

/// The libraries of `program`, in the loader's order, and the names that it would not find.
pub fn libraries(program: Elf, preload: &[PathBuf], library_path: &str) -> (Vec<Loaded>, Vec<String>) {
    let search = Search { library_path: split(library_path), cache: Cache::read() };
    let mut loaded = vec![Loaded { elf: program, needed_by: None, through: Through::Path }];
    loaded.extend(preload.iter().filter_map(|path| elf::read(path).ok()).map(|elf| Loaded {
        elf,
        needed_by: None,
        through: Through::Preload,
    }));
    let mut names: HashMap<String, bool> =
        loaded.iter().filter_map(|library| library.elf.soname.clone()).map(|name| (name, true)).collect();
    let mut missing = Vec::new();
    let mut next = 0;
    while next < loaded.len() && loaded.len() < MOST {
        for name in loaded[next].elf.needed.clone() {
            if names.contains_key(&name) {
                continue;
            }
            match search.find(&name, &loaded, next) {
                Some((elf, through)) => {
                    let soname = elf.soname.clone();
                    let known = soname.as_ref().is_some_and(|soname| names.contains_key(soname));
                    names.extend(soname.map(|soname| (soname, true)));
                    if known && loaded.iter().any(|other| other.elf.path == elf.path) {
                        names.insert(name, true);
                        continue;
                    }
                    names.insert(name, true);
                    loaded.push(Loaded { elf, needed_by: Some(next), through });
                }
                None => {
                    missing.push(name.clone());
                    names.insert(name, false);
                }
            }
        }
        next += 1;
    }
    (loaded, missing)
}

struct Search {
    library_path: Vec<String>,
    cache: Cache,
}

impl Search {
    fn find(&self, name: &str, loaded: &[Loaded], by: usize) -> Option<(Elf, Through)> {
        if name.contains('/') {
            return elf::read(Path::new(name)).ok().map(|elf| (elf, Through::Path));
        }
        let own = &loaded[by].elf;
        let in_folder = |folder: &str, through| {
            let elf = elf::read(&Path::new(folder).join(name)).ok()?;
            Some((elf, through))
        };
        rpaths(loaded, by)
            .iter()
            .find_map(|folder| in_folder(folder, Through::Rpath))
            .or_else(|| self.library_path.iter().find_map(|folder| in_folder(folder, Through::LibraryPath)))
            .or_else(|| {
                let folders =
                    own.runpath.as_deref().map(|runpath| expand(runpath, &own.path)).unwrap_or_default();
                folders.iter().find_map(|folder| in_folder(folder, Through::Runpath))
            })
            .or_else(|| {
                let files = self.cache.look_up(name);
                files.iter().find_map(|file| elf::read(file).ok()).map(|elf| (elf, Through::Cache))
            })
            .or_else(|| DEFAULT_FOLDERS.iter().find_map(|folder| in_folder(folder, Through::Default)))
    }
}

/// The `DT_RPATH` folders that count for a library: its own and those of what led to it; none if it has a runpath.
fn rpaths(loaded: &[Loaded], by: usize) -> Vec<String> {
    if loaded[by].elf.runpath.is_some() {
        return Vec::new();
    }
    let mut folders = Vec::new();
    let mut next = Some(by);
    while let Some(index) = next {
        let elf = &loaded[index].elf;
        if let Some(rpath) = elf.rpath.as_deref().filter(|_| elf.runpath.is_none()) {
            folders.extend(expand(rpath, &elf.path));
        }
        next = loaded[index].needed_by;
    }
    folders
}

/// Splits a list of folders and expands what the loader expands in it.
fn expand(list: &str, file: &Path) -> Vec<String> {
    let origin = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let origin = origin.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
    split(list)
        .into_iter()
        .map(|folder| {
            let mut folder = folder;
            for (token, value) in
                [("ORIGIN", origin.as_str()), ("LIB", "lib/x86_64-linux-gnu"), ("PLATFORM", "x86_64")]
            {
                folder = folder.replace(&format!("${{{token}}}"), value).replace(&format!("${token}"), value);
            }
            folder
        })
        .collect()
}

fn split(list: &str) -> Vec<String> {
    list.split([':', ';']).filter(|folder| !folder.is_empty()).map(str::to_owned).collect()
}
