//! The program: whether the loader takes part, and which runtime it would load without us.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::elf::{self, Elf};
use super::finding::{Finding, Subject};
use super::library::rocm_folders;
use super::loader::{self, Loaded};
use super::python;

/// Scripts that lead to scripts are followed this far, as the kernel does.
const SCRIPTS: usize = 4;

/// Looks at the program and returns the libraries that the loader would map for it.
pub fn look(name: &OsString, shim: Option<&Elf>, findings: &mut Vec<Finding>) -> Vec<Loaded> {
    let Some(mut file) = resolve(name) else {
        let shown = name.to_string_lossy();
        let advice = if !shown.contains('/') && Path::new(name).exists() {
            format!("name it by its path: ./{shown}")
        } else {
            format!("ls -l {shown}; chmod +x {shown}")
        };
        findings.push(Finding::problem(
            Subject::Program,
            format!("{shown} is not found, or is not executable"),
            advice,
        ));
        return Vec::new();
    };
    for _ in 0..SCRIPTS {
        match interpreter(&file) {
            None => break,
            Some(interpreter) => {
                let text = format!("{} is a script for {}", file.display(), interpreter.display());
                findings.push(Finding::ok(Subject::Program, text));
                file = interpreter;
            }
        }
    }
    let elf = match elf::read(&file) {
        Ok(elf) => elf,
        Err(problem) => {
            findings.push(Finding::problem(
                Subject::Program,
                format!("{} {problem}", file.display()),
                format!("name a program for this machine: file {}", file.display()),
            ));
            return Vec::new();
        }
    };
    if !elf.is_dynamic {
        findings.push(Finding::problem(
            Subject::Program,
            format!("{} is statically linked", file.display()),
            "link it dynamically: the loader has no part in a static program, so nothing can be attached",
        ));
        return Vec::new();
    }
    if is_privileged(&file) {
        findings.push(Finding::problem(
            Subject::Program,
            format!("{} is set-user-ID or set-group-ID, or its file has capabilities", file.display()),
            format!(
                "cp {} /tmp/ and run the copy: the loader attaches nothing to such programs",
                file.display()
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
            format!("export LD_LIBRARY_PATH={}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}", folder.display())
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
                first.elf.path.display(),
                first.through.name()
            ),
            format!(
                "take it out of LD_PRELOAD, and name it: export HSA_REPLAY_RUNTIME={}",
                first.elf.path.display()
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
                file.display()
            ),
        ));
    };
    let through = runtime.through.name();
    let text = match runtime.needed_by.and_then(|index| loaded.get(index)) {
        Some(by) => format!(
            "{} would load {}, which {} needs and which is found through {through}",
            file.display(),
            runtime.elf.path.display(),
            by.elf.path.display()
        ),
        None => format!("{} would load {} through {through}", file.display(), runtime.elf.path.display()),
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

/// The file that execvp(3) would take.
fn resolve(name: &OsStr) -> Option<PathBuf> {
    let is_program = |path: &PathBuf| {
        fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if name.as_bytes().contains(&b'/') {
        return Some(PathBuf::from(name)).filter(is_program);
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(is_program)
}

/// The interpreter of a script, with `env NAME` seen through.
fn interpreter(file: &Path) -> Option<PathBuf> {
    let bytes = fs::read(file).ok()?;
    let line = bytes.strip_prefix(b"#!")?.split(|&byte| byte == b'\n').next()?;
    let mut words =
        line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(OsStr::from_bytes);
    let interpreter = PathBuf::from(words.next()?);
    if interpreter.file_name() == Some(OsStr::new("env")) {
        return words.find(|word| !word.as_bytes().starts_with(b"-")).and_then(resolve);
    }
    Some(interpreter)
}

/// Whether the loader gives the program no libraries of the user's: by its mode, or by capabilities of its file.
fn is_privileged(file: &Path) -> bool {
    let capabilities = rustix::fs::getxattr(file, "security.capability", &mut [0_u8; 64][..]);
    capabilities.is_ok() || fs::metadata(file).is_ok_and(|metadata| metadata.mode() & 0o6000 != 0)
}
