//! Whether the program can be started, found out before anything of an earlier run is emptied.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;

/// Where `execvp` looks without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Fails as `execvp` would where it finds no file of this name that may be executed. What the file holds is not looked at.
pub fn check(name: &OsStr) -> io::Result<()> {
    check_in(name, &env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into()))
}

fn check_in(name: &OsStr, path: &OsStr) -> io::Result<()> {
    if name.is_empty() || name.as_bytes().contains(&b'/') {
        return Ok(executable(Path::new(name))?);
    }
    let mut problem = Errno::NOENT;
    // An empty entry is the working directory.
    for candidate in env::split_paths(path).map(|folder| PathBuf::from(".").join(folder).join(name)) {
        match executable(&candidate) {
            Ok(()) => return Ok(()),
            Err(Errno::ACCESS) => problem = Errno::ACCESS,
            Err(Errno::NOENT | Errno::NOTDIR) => {}
            Err(other) => return Err(other.into()),
        }
    }
    Err(problem.into())
}

fn executable(path: &Path) -> Result<(), Errno> {
    accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS)?;
    if path.is_dir() { Err(Errno::ACCESS) } else { Ok(()) }
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
