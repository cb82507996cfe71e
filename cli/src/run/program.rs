//! Whether the program can be started, found out before anything of an earlier run is emptied.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hsa_replay_contract::text::name_of;
use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

use crate::doctor::elf;
use crate::script::{FirstLine, split_for_env, start_of};

/// Where `execvp` looks without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Interpreters in a row that the kernel follows (`fs/exec.c`, `exec_binprm`).
const IN_A_ROW: usize = 5;

/// Fails as `execvp` would where it finds no file of this name that may be executed, or only such whose interpreter cannot be: that
/// of a script's first line, or the loader that an ELF file names.
pub fn check(name: &OsStr) -> io::Result<()> {
    check_in(name, &search_path())
}

fn search_path() -> std::ffi::OsString {
    env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into())
}

fn check_in(name: &OsStr, path: &OsStr) -> io::Result<()> {
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return startable(Path::new(name), path);
    }
    let mut problem = io::Error::from(Errno::NOENT);
    // An empty entry is the working directory.
    for candidate in env::split_paths(path).map(|folder| PathBuf::from(".").join(folder).join(name)) {
        match startable(&candidate, path) {
            Ok(()) => return Ok(()),
            Err(error) => match error.kind() {
                io::ErrorKind::PermissionDenied => problem = error,
                // The search goes on also where it is the interpreter that is missing; that is worth saying if nothing is found.
                io::ErrorKind::NotFound if error.raw_os_error().is_none() => problem = error,
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {}
                _ => return Err(error),
            },
        }
    }
    Err(problem)
}

fn startable(path: &Path, search: &OsStr) -> io::Result<()> {
    executable(path)?;
    let mut file = path.to_owned();
    for _ in 0..IN_A_ROW {
        let start = start_of(&file);
        let Some(line) = FirstLine::of(&start) else {
            return match elf::loader_of(&start) {
                Some(loader) => interpreter(&loader, "it needs the loader"),
                None => Ok(()),
            };
        };
        let next = PathBuf::from(line.interpreter);
        let says = if file == path {
            "its first line names the interpreter".to_owned()
        } else {
            format!("the first line of {} names the interpreter", name_of(&file))
        };
        interpreter(&next, &says)?;
        if line.is_env() {
            return found_by_env(line.argument, search);
        }
        file = next;
    }
    Ok(())
}

/// What env(1) would not find. Only where it gets one plain name: an option can change where it looks.
fn found_by_env(argument: &[u8], search: &OsStr) -> io::Result<()> {
    let Ok(env) = split_for_env(argument) else { return Ok(()) };
    if env.folder.is_some() || env.clears || !env.changes.is_empty() || argument.contains(&b' ') {
        return Ok(());
    }
    let found = |path: &Path| executable(path).is_ok();
    let program = &env.program;
    let there = if program.as_bytes().contains(&b'/') {
        found(Path::new(program))
    } else {
        env::split_paths(search).any(|folder| found(&PathBuf::from(".").join(folder).join(program)))
    };
    if there {
        return Ok(());
    }
    let problem = if program.as_bytes().contains(&b'/') { "is not there" } else { "is not in PATH" };
    let says = "its first line has env look for the interpreter";
    Err(missing(io::ErrorKind::NotFound, program, says, problem))
}

/// Fails if the file cannot be run in the place of another.
fn interpreter(path: &Path, says: &str) -> io::Result<()> {
    executable(path).map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => {
            missing(error.kind(), path.as_os_str(), says, "may not be executed")
        }
        kind => missing(kind, path.as_os_str(), says, "does not exist"),
    })
}

fn missing(kind: io::ErrorKind, name: &OsStr, says: &str, problem: &str) -> io::Error {
    io::Error::new(kind, format!("{says} {}, which {problem}", super::shown(name)))
}

fn executable(path: &Path) -> io::Result<()> {
    match accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS) {
        // A filter of system calls that does not know this one, or an old kernel: the start itself will tell.
        Ok(()) | Err(Errno::PERM | Errno::NOSYS) => {}
        Err(error) => return Err(error.into()),
    }
    if path.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "is a directory: name a program"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_are_looked_for_as_execvp_does() {
        let root = tempfile::tempdir().expect("folder");
        for (file, mode) in [("plain/tool", 0o644), ("good/tool", 0o755), ("plain/other", 0o644)] {
            let file = root.path().join(file);
            fs::create_dir_all(file.parent().expect("folder")).expect("folder");
            fs::write(&file, "").expect("file");
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).expect("mode");
        }
        fs::create_dir_all(root.path().join("good/folder")).expect("folder");
        let path = env::join_paths(
            ["plain/tool", "missing", "plain", "good"].map(|folder| root.path().join(folder)),
        )
        .expect("path");
        let found = |name: &str| check_in(name.as_ref(), &path).map_err(|error| error.kind());
        assert_eq!(found("tool"), Ok(()));
        assert_eq!(found("other"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(found("folder"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(found("none"), Err(io::ErrorKind::NotFound));
        assert_eq!(found(""), Err(io::ErrorKind::NotFound));
        assert_eq!(found("/"), Err(io::ErrorKind::PermissionDenied));
        assert_eq!(found("/bin/sh"), Ok(()));
    }
}
