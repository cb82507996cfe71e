//! The files that describe the device: the driver's topology and the amdgpu module.

mod topology;

use crate::settings::settings;

/// What a path of ours is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A file with this text.
    File(String),
    /// A directory with these names; true for directories.
    Directory(Vec<(String, bool)>),
}

/// The device's PCI number: MI300X.
pub(crate) const DEVICE_ID: u32 = 0x74a1;

const TOPOLOGIES: [&str; 2] = ["/sys/devices/virtual/kfd/kfd/topology", "/sys/class/kfd/kfd/topology"];
const MODULE: &str = "/sys/module/amdgpu";

/// Whether `path` may be one of ours: a quick look for the callers of every open.
pub(crate) fn could_hold(path: &[u8]) -> bool {
    path.starts_with(b"/sys/")
        && (path.starts_with(MODULE.as_bytes()) || TOPOLOGIES.iter().any(|t| path.starts_with(t.as_bytes())))
}

/// The entry at `path`, if it is one of ours.
pub(crate) fn entry(path: &[u8]) -> Option<Entry> {
    let path = core::str::from_utf8(path).ok()?;
    let under = |root| parts(path, root);
    if let Some(rest) = TOPOLOGIES.iter().find_map(|root| under(*root)) {
        return topology::entry(settings(), &rest);
    }
    match under(MODULE)?.as_slice() {
        [] => Some(Entry::Directory(vec![("initstate".to_owned(), false)])),
        ["initstate"] => Some(Entry::File("live\n".to_owned())),
        _ => None,
    }
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
        assert!(!could_hold(b"/home/user"));
    }
}
