//! The files that describe the device: the driver's topology and the amdgpu module.

pub(crate) mod topology;

use crate::settings::settings;

/// What a path of ours is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A file with this text.
    File(String),
    /// A directory with these names; true for directories.
    Directory(Vec<(String, bool)>),
}

const TOPOLOGIES: [&str; 2] = ["/sys/devices/virtual/kfd/kfd/topology", "/sys/class/kfd/kfd/topology"];
const MODULE: &str = "/sys/module/amdgpu";

/// The list of loaded modules, which older versions of rocminfo read.
const MODULES: &str = "/proc/modules";

/// Whether `path` may be one of ours: a quick look for the callers of every open.
pub(crate) fn could_hold(path: &[u8]) -> bool {
    if path.starts_with(b"/proc/") {
        return path == MODULES.as_bytes();
    }
    path.starts_with(b"/sys/")
        && (path.starts_with(MODULE.as_bytes()) || TOPOLOGIES.iter().any(|t| path.starts_with(t.as_bytes())))
}

/// The entry at `path`, if it is one of ours.
pub(crate) fn entry(path: &[u8]) -> Option<Entry> {
    let path = core::str::from_utf8(path).ok()?;
    if path == MODULES {
        return Some(Entry::File(modules(&std::fs::read_to_string(MODULES).unwrap_or_default())));
    }
    let under = |root| parts(path, root);
    if let Some(rest) = TOPOLOGIES.iter().find_map(|root| under(*root)) {
        return topology::entry(settings(), &rest);
    }
    match under(MODULE)?.as_slice() {
        [] => {
            let names = [("initstate", false), ("refcnt", false), ("holders", true)];
            Some(Entry::Directory(names.map(|(name, directory)| (name.to_owned(), directory)).into()))
        }
        ["refcnt"] => Some(Entry::File("0\n".to_owned())),
        ["holders"] => Some(Entry::Directory(Vec::new())),
        ["initstate"] => Some(Entry::File("live\n".to_owned())),
        _ => None,
    }
}

/// The machine's loaded modules and the driver, in the format of `/proc/modules`: name, size, users, by whom, state,
/// address.
fn modules(loaded: &str) -> String {
    let has_driver = loaded.lines().any(|line| line.split(' ').next() == Some("amdgpu"));
    let driver = if has_driver { "" } else { "amdgpu 1 0 - Live 0x0000000000000000\n" };
    format!("{driver}{loaded}")
}

/// The names in `path` below `root`.
fn parts<'p>(path: &'p str, root: &str) -> Option<Vec<&'p str>> {
    let rest = path.strip_prefix(root)?;
    (rest.is_empty() || rest.starts_with('/'))
        .then(|| rest.split('/').filter(|part| !part.is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_our_paths_are_not_ours() {
        assert!(entry(b"/sys/module/amdgpu/initstate").is_some());
        assert!(entry(b"/sys/module/amdgpux").is_none());
        assert!(entry(b"/sys/module/amdgpu/nothing").is_none());
        assert!(entry(b"/sys/devices/virtual/kfd/kfd/topology/nodes/").is_some());
        assert!(!could_hold(b"/sys/devices/system/cpu"));
        assert!(!could_hold(b"/proc/self/maps"));
        assert!(!could_hold(b"/home/user"));
    }

    #[test]
    fn the_driver_is_among_the_loaded_modules_once() {
        assert!(could_hold(b"/proc/modules"));
        let one = "amdgpu 1 0 - Live 0x0000000000000000\n";
        assert_eq!(modules(""), one);
        assert_eq!(modules(one), one);
        let other = "amdgpu_helper 4096 0 - Live 0x0\n";
        assert_eq!(modules(other), format!("{one}{other}"));
    }
}
