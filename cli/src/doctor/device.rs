//! The driver's device files and the agents in its topology. No GPU is needed to look.

use hsa_replay_contract::text::name_of;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use super::finding::{Finding, Subject};

const KFD: &str = "/dev/kfd";
const DRI: &str = "/dev/dri";
const TOPOLOGY: &str = "/sys/class/kfd/kfd/topology/nodes";

const CONTAINER: &str =
    "in a container: docker run --device=/dev/kfd --device=/dev/dri --group-add video --group-add render …";
const GROUPS: &str = "sudo usermod -aG render,video $USER, then log in again";

/// Looks at the device files and lists the GPU agents.
pub fn look(findings: &mut Vec<Finding>) {
    findings.push(kfd());
    findings.extend(render_nodes());
    findings.extend(agents());
}

fn kfd() -> Finding {
    match open(Path::new(KFD)) {
        Ok(()) => Finding::ok(Subject::Device, format!("{KFD} can be opened")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Finding::problem(
            Subject::Device,
            format!("there is no {KFD}: the amdgpu driver is not loaded, or not visible here"),
            format!("sudo modprobe amdgpu; {CONTAINER}"),
        ),
        Err(error) => {
            Finding::problem(Subject::Device, format!("{KFD} cannot be opened: {error}"), advice(KFD, &error))
        }
    }
}

/// What to do about a device that cannot be opened.
fn advice(device: &str, error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return format!("{GROUPS}; in a container: --group-add $(stat -c %g {device}), as the host has it");
    }
    format!("ls -l {device}; sudo dmesg | grep -i amdgpu")
}

/// The render nodes of the agents in the topology; where it names none, those that are there.
fn render_nodes() -> Vec<Finding> {
    let mut nodes: Vec<PathBuf> = topology()
        .iter()
        .filter_map(|(_, properties)| property(properties, "drm_render_minor").filter(|&minor| minor > 0))
        .map(|minor| PathBuf::from(format!("{DRI}/renderD{minor}")))
        .collect();
    if nodes.is_empty() {
        nodes = listed_render_nodes();
    }
    if nodes.is_empty() {
        return vec![
            Finding::note(Subject::Device, format!("there is no render node in {DRI}")).advise(CONTAINER),
        ];
    }
    nodes
        .iter()
        .map(|node| match open(node) {
            Ok(()) => Finding::ok(Subject::Device, format!("{} can be opened", name_of(&node))),
            Err(error) => Finding::problem(
                Subject::Device,
                format!("{} cannot be opened: {error}", name_of(&node)),
                advice(&name_of(&node).to_string(), &error),
            ),
        })
        .collect()
}

fn listed_render_nodes() -> Vec<PathBuf> {
    let mut nodes: Vec<PathBuf> = fs::read_dir(DRI)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name().to_string_lossy().starts_with("renderD"))
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_char_device()))
        .map(|entry| entry.path())
        .collect();
    nodes.sort();
    nodes
}

/// Opens and closes the device, as the runtime does first.
fn open(path: &Path) -> io::Result<()> {
    OpenOptions::new().read(true).write(true).open(path).map(drop)
}

/// The nodes of the driver's topology that are GPUs, with their properties.
fn topology() -> Vec<(u32, String)> {
    let mut nodes: Vec<u32> = fs::read_dir(TOPOLOGY)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect();
    nodes.sort_unstable();
    let properties = |node| fs::read_to_string(format!("{TOPOLOGY}/{node}/properties")).ok();
    nodes
        .into_iter()
        .filter_map(|node| Some((node, properties(node)?)))
        .filter(|(_, properties)| {
            property(properties, "gfx_target_version").is_some_and(|version| version > 0)
        })
        .collect()
}

fn agents() -> Vec<Finding> {
    let found: Vec<Finding> = topology()
        .into_iter()
        .filter_map(|(node, properties)| {
            let target = target(property(&properties, "gfx_target_version")?)?;
            let units = property(&properties, "simd_count").unwrap_or(0);
            Some(Finding::ok(Subject::Device, format!("agent {target}, node {node}, {units} SIMDs")))
        })
        .collect();
    if found.is_empty() {
        return vec![Finding::note(Subject::Device, "the driver's topology lists no GPU agent")];
    }
    found
}

fn property(properties: &str, name: &str) -> Option<u64> {
    properties.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

/// The name of a target from the driver's number: major, minor and stepping in decimal, two digits each.
fn target(version: u64) -> Option<String> {
    let (major, minor, stepping) = (version / 10_000, version / 100 % 100, version % 100);
    (major > 0).then(|| format!("gfx{major}{minor:x}{stepping:x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_named_as_the_compiler_names_them() {
        assert_eq!(target(90_402).as_deref(), Some("gfx942"));
        assert_eq!(target(90_010).as_deref(), Some("gfx90a"));
        assert_eq!(target(110_000).as_deref(), Some("gfx1100"));
        assert_eq!(target(0), None, "a CPU node");
    }

    #[test]
    fn properties_are_found_by_their_whole_name() {
        let properties = "simd_count_max 1\nsimd_count 1216\ngfx_target_version 90402\n";
        assert_eq!(property(properties, "simd_count"), Some(1216));
        assert_eq!(property(properties, "gfx"), None);
    }
}
