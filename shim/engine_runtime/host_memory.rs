//! How much more host memory this process can take: what the machine has, and what its control groups leave of it. A job of a
//! scheduler or a container is ended by the system when it takes more than its group may.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that can be taken; `None` if the system does not say.
pub fn available() -> Option<u64> {
    let machine = machine(&fs::read_to_string("/proc/meminfo").ok()?)?;
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    Some(left_by_groups(&groups, Path::new("/sys/fs/cgroup")).map_or(machine, |left| left.min(machine)))
}

/// `MemAvailable` of `/proc/meminfo`.
fn machine(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// The least that a control group of the process, or one around it, has left; `None` without any limit. `groups` is the text of
/// `/proc/self/cgroup`, of version 1 or 2 (cgroups(7)).
fn left_by_groups(groups: &str, mounted: &Path) -> Option<u64> {
    let (folder, path, names) = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let relative = path.trim_start_matches('/').to_owned();
        if controllers.split(',').any(|controller| controller == "memory") {
            Some((mounted.join("memory"), relative, &VERSION_1))
        } else {
            // Both versions can be mounted at once; then memory belongs to one of them.
            let has_memory = controllers.is_empty() && !groups.contains(":memory:");
            has_memory.then(|| (mounted.to_owned(), relative, &VERSION_2))
        }
    })?;
    // Inside a namespace the path may lead out of what is mounted; the mounted root is the group then.
    let inside = folder.join(&path);
    let group = if inside.is_dir() { inside } else { folder.clone() };
    group
        .ancestors()
        .take_while(|group| group.starts_with(&folder))
        .filter_map(|group| names.left(group))
        .min()
}

/// The files of a group's folder.
struct Names {
    limit: &'static str,
    used: &'static str,
    /// In `memory.stat`: memory that counts as used and is given up without harm.
    cached: &'static str,
}

const VERSION_1: Names =
    Names { limit: "memory.limit_in_bytes", used: "memory.usage_in_bytes", cached: "total_inactive_file" };
const VERSION_2: Names = Names { limit: "memory.max", used: "memory.current", cached: "inactive_file" };

impl Names {
    /// What the group has left; `None` without a limit.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name: &str| number(&group.join(name));
        let limit = number(self.limit)?;
        let stat = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let cached = stat.lines().find_map(|line| line.strip_prefix(self.cached)?.trim().parse().ok());
        let used = number(self.used).unwrap_or(0).saturating_sub(cached.unwrap_or(0_u64));
        Some(limit.saturating_sub(used))
    }
}

/// A number in a file; `max` is none.
fn number(path: &PathBuf) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(root: &Path, path: &str, files: &[(&str, &str)]) {
        fs::create_dir_all(root.join(path)).expect("a folder");
        for (name, text) in files {
            fs::write(root.join(path).join(name), text).expect("a file");
        }
    }

    #[test]
    fn what_the_machine_has_is_read_in_bytes() {
        assert_eq!(machine("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(machine("MemTotal: 9 kB\n"), None);
        assert_eq!(machine("MemAvailable: many\n"), None);
    }

    #[test]
    fn the_tightest_of_nested_groups_counts_and_cached_files_are_no_use() {
        let root = tempfile::tempdir().expect("a folder");
        let outer =
            [("memory.max", "1000\n"), ("memory.current", "900\n"), ("memory.stat", "inactive_file 300\n")];
        group(root.path(), "job", &outer);
        group(root.path(), "job/step", &[("memory.max", "max\n"), ("memory.current", "800\n")]);
        assert_eq!(left_by_groups("0::/job/step\n", root.path()), Some(400));
        group(root.path(), "job/step", &[("memory.max", "850\n")]);
        assert_eq!(left_by_groups("0::/job/step\n", root.path()), Some(50));
        group(root.path(), "job/step", &[("memory.max", "700\n")]);
        assert_eq!(left_by_groups("0::/job/step\n", root.path()), Some(0), "it holds more than it may");
    }

    #[test]
    fn the_first_version_is_known_also_beside_the_second() {
        let root = tempfile::tempdir().expect("a folder");
        let files = [("memory.limit_in_bytes", "500\n"), ("memory.usage_in_bytes", "100\n")];
        group(root.path(), "memory/slurm/7", &files);
        let groups = "11:cpu,cpuacct:/slurm/7\n4:memory:/slurm/7\n0::/user\n";
        assert_eq!(left_by_groups(groups, root.path()), Some(400));
        assert_eq!(left_by_groups("0::/user\n4:memory:/slurm/7\n", root.path()), Some(400));
    }

    #[test]
    fn a_container_whose_path_lies_outside_has_the_mounted_groups_limit() {
        let root = tempfile::tempdir().expect("a folder");
        group(root.path(), "", &[("memory.max", "64\n"), ("memory.current", "60\n")]);
        assert_eq!(left_by_groups("0::/../../docker/4711\n", root.path()), Some(4));
        assert_eq!(left_by_groups("0::/\n", root.path()), Some(4));
    }

    #[test]
    fn without_a_limit_or_groups_there_is_none() {
        let root = tempfile::tempdir().expect("a folder");
        group(root.path(), "free", &[("memory.max", "max\n"), ("memory.current", "800\n")]);
        for groups in ["0::/free\n", "", "nonsense\n", "1:name=systemd:/\n"] {
            assert_eq!(left_by_groups(groups, root.path()), None, "{groups}");
        }
    }
}
