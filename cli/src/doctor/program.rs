//! The program: whether the loader takes part, and which runtime it would load without us.

use hsa_replay_contract::text::name_of;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::elf::{self, Elf};
use super::finding::{Finding, Subject};
use super::library::rocm_folders;
use super::loader::{self, Loaded};
use super::{python, script};
use crate::report::units::shorten;

/// Looks at the program and returns the libraries that the loader would map for it.
pub fn look(name: &OsString, shim: Option<&Elf>, findings: &mut Vec<Finding>) -> Vec<Loaded> {
    let file = match resolve(name) {
        Ok(file) => file,
        Err(missing) => {
            findings.push(missing.finding(name));
            return Vec::new();
        }
    };
    let Some(file) = script::follow(file, findings) else { return Vec::new() };
    let elf = match elf::read(&file) {
        Ok(elf) => elf,
        Err(problem) => {
            findings.push(Finding::problem(
                Subject::Program,
                format!("{} {problem}", name_of(&file)),
                format!("name a program for this machine: file {}", name_of(&file)),
            ));
            return Vec::new();
        }
    };
    if !elf.is_dynamic {
        findings.push(Finding::problem(
            Subject::Program,
            format!("{} is statically linked", name_of(&file)),
            "link it dynamically: the loader has no part in a static program, so nothing can be attached",
        ));
        return Vec::new();
    }
    if is_privileged(&file) {
        findings.push(Finding::problem(
            Subject::Program,
            format!("{} is set-user-ID or set-group-ID, or its file has capabilities", name_of(&file)),
            format!(
                "cp {} /tmp/ and run the copy: the loader attaches nothing to such programs",
                name_of(&file)
            ),
        ));
        return Vec::new();
    }
    let preload = std::env::var("LD_PRELOAD").unwrap_or_default();
    let preload: Vec<PathBuf> =
        preload.split([' ', ':']).filter(|name| name.contains('/')).map(PathBuf::from).collect();
    let library_path = std::env::var("LD_LIBRARY_PATH").unwrap_or_default();
    let (mut loaded, missing) = loader::libraries(elf.clone(), &preload, &library_path);
    for name in &missing {
        findings.push(Finding::problem(
            Subject::Program,
            format!("{name} would not be found"),
            advice_for_missing(name),
        ));
    }
    findings.extend(runtime_of(&file, &loaded, !missing.is_empty()));
    if python::is_interpreter(&file) {
        python::look(&file, &mut loaded, findings);
    }
    if let Some(shim) = shim {
        findings.extend(attached(elf, &preload, &library_path, shim));
    }
    loaded
}

/// Where a library that the loader does not find is, if that can be said.
fn advice_for_missing(name: &str) -> String {
    let file = Path::new(name);
    if name.contains('/') {
        return format!("the program names it by its path, so it has to be there: ls -l {name}");
    }
    match rocm_folders().into_iter().find(|folder| folder.join(file).exists()) {
        Some(folder) => {
            format!("export LD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}", name_of(&folder))
        }
        None => {
            format!("install the package that has it: apt-file search {name}, or dnf provides '*/{name}'")
        }
    }
}

/// Whether our library gets in the way as it should when it is attached.
fn attached(program: Elf, preload: &[PathBuf], library_path: &str, shim: &Elf) -> Option<Finding> {
    let mut preload = preload.to_vec();
    preload.push(shim.path.clone());
    let folder = shim.path.parent().unwrap_or(Path::new("/")).display();
    let (loaded, _) = loader::libraries(program, &preload, &format!("{folder}:{library_path}"));
    let first = loaded.iter().find(|library| library.elf.is_ours || library.elf.defines("hsa_init"))?;
    (!first.elf.is_ours).then(|| {
        Finding::problem(
            Subject::Program,
            format!(
                "{} comes in front of hsa-replay, by {}: calls go there",
                name_of(&first.elf.path),
                first.through.name()
            ),
            format!(
                "take it out of LD_PRELOAD, and name it: export HSA_REPLAY_RUNTIME={}",
                name_of(&first.elf.path)
            ),
        )
    })
}

/// Which runtime the program would load, and why; `None` where that hangs on libraries that are not found.
fn runtime_of(file: &Path, loaded: &[Loaded], incomplete: bool) -> Option<Finding> {
    let Some(runtime) = loaded.iter().find(|library| is_runtime(library.elf.soname.as_deref())) else {
        if incomplete {
            return None;
        }
        return Some(Finding::note(
            Subject::Program,
            format!(
                "{} links to no HSA runtime: it may open one while it runs, as Python does; hsa-replay is there first",
                name_of(&file)
            ),
        ));
    };
    let through = runtime.through.name();
    let text = match runtime.needed_by.and_then(|index| loaded.get(index)) {
        Some(by) => format!(
            "{} would load {}, which {} needs and which is found through {through}",
            name_of(&file),
            name_of(&runtime.elf.path),
            name_of(&by.elf.path)
        ),
        None => format!("{} would load {} through {through}", name_of(&file), name_of(&runtime.elf.path)),
    };
    Some(if runtime.elf.is_ours {
        Finding::note(Subject::Program, format!("{text}; that is hsa-replay: it is attached already"))
    } else {
        Finding::ok(Subject::Program, format!("{text}; under hsa-replay it gets hsa-replay instead"))
    })
}

/// Whether this is the name of the HSA runtime.
pub fn is_runtime(soname: Option<&str>) -> bool {
    matches!(soname, Some("libhsa-runtime64.so.1" | "libhsa-runtime64.so"))
}

/// Why there is no file that execvp(3) would take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The name is empty.
    Nameless,
    /// It is the name of a directory.
    Directory,
    /// There is a file, which nobody may execute.
    NotExecutable,
    /// There is no such file.
    NotFound,
}

impl Missing {
    fn finding(self, name: &OsStr) -> Finding {
        let shown = shorten(&name_of(name).to_string(), 200);
        let in_path = !name.as_bytes().contains(&b'/');
        let (text, advice) = match self {
            Self::Nameless => (
                "no program is named: the word behind -- is empty".to_owned(),
                "hsa-replay doctor -- ./program; an empty variable may stand there".to_owned(),
            ),
            Self::Directory => (
                format!("{shown} is a directory, not a program"),
                format!("name a program in it: ls {shown}"),
            ),
            Self::NotExecutable => (format!("{shown} is not executable"), format!("chmod +x {shown}")),
            Self::NotFound if in_path && Path::new(name).is_file() => (
                format!("{shown} is not found in PATH"),
                format!("name it by its path: hsa-replay doctor -- ./{shown}"),
            ),
            Self::NotFound if is_several_words(name) => (
                format!("there is no program of the name \"{shown}\", which is one word"),
                format!("hsa-replay doctor -- {shown}"),
            ),
            Self::NotFound if in_path => (
                format!("there is no program {shown} in PATH"),
                format!("find / -name {} -type f -perm /111 2>/dev/null", quoted(name)),
            ),
            Self::NotFound => (format!("there is no file {shown}"), format!("ls -l {}", existing(name))),
        };
        Finding::problem(Subject::Program, text, advice)
    }
}

/// Whether this is a command line in one word: blanks, and no file of that name or folder to hold it.
fn is_several_words(name: &OsStr) -> bool {
    let has_blank = |name: &OsStr| name.as_bytes().iter().any(|byte| matches!(byte, b' ' | b'\t'));
    let folder = Path::new(name).parent().filter(|folder| has_blank(folder.as_os_str()));
    has_blank(name) && !folder.is_some_and(Path::is_dir)
}

/// The nearest folder on the way to a file that exists.
fn existing(name: &OsStr) -> String {
    let nearest = Path::new(name).ancestors().skip(1).find(|folder| folder.is_dir());
    nearest.map_or_else(|| ".".to_owned(), |folder| quoted(folder.as_os_str()))
}

/// A word as a shell takes it.
fn quoted(word: &OsStr) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,:@".contains(byte);
    let text = name_of(word).to_string();
    if text.bytes().all(|byte| is_plain(&byte)) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

/// Where execvp(3) looks without a `PATH`.
pub const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that execvp(3) would take.
pub fn resolve(name: &OsStr) -> Result<PathBuf, Missing> {
    resolve_in(name, &std::env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()))
}

/// The same with this `PATH`.
pub fn resolve_in(name: &OsStr, path: &OsStr) -> Result<PathBuf, Missing> {
    let look = |path: PathBuf| match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Err(Missing::Directory),
        Ok(metadata) if metadata.permissions().mode() & 0o111 != 0 => Ok(path),
        Ok(_) => Err(Missing::NotExecutable),
        Err(_) => Err(Missing::NotFound),
    };
    if name.is_empty() {
        return Err(Missing::Nameless);
    }
    if name.as_bytes().contains(&b'/') {
        return look(PathBuf::from(name));
    }
    let mut found = Missing::NotFound;
    for folder in std::env::split_paths(path) {
        match look(folder.join(name)) {
            Ok(file) => return Ok(file),
            Err(Missing::NotExecutable) => found = Missing::NotExecutable,
            Err(_) => {}
        }
    }
    Err(if found == Missing::NotFound && Path::new(name).is_dir() { Missing::Directory } else { found })
}

/// Whether the loader gives the program no libraries of the user's: by its mode, or by capabilities of its file.
fn is_privileged(file: &Path) -> bool {
    let capabilities = rustix::fs::getxattr(file, "security.capability", &mut [0_u8; 64][..]);
    capabilities.is_ok() || fs::metadata(file).is_ok_and(|metadata| metadata.mode() & 0o6000 != 0)
}
