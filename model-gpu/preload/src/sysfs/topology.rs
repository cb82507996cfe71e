//! The driver's topology: one node for the host, one for each GPU, with memory, caches and links.

use core::fmt::Write;

use super::Entry;
use crate::interpose::FIRST_RENDER_MINOR;
use crate::product::product;
use crate::session::{COMPUTE_UNITS, COPY_ENGINES, FIRST_GPU_ID};
use crate::settings::Settings;

/// SIMDs in a compute unit.
pub(crate) const SIMDS: u32 = 4;

/// `HSA_MEM_HEAP_TYPE_*`: system memory, VRAM that the host can reach, VRAM that it cannot.
const HEAP_SYSTEM: u32 = 0;
const HEAP_PUBLIC: u32 = 1;
const HEAP_PRIVATE: u32 = 2;

/// `HSA_IOLINKTYPE_*`
const LINK_PCI: u32 = 2;
const LINK_XGMI: u32 = 11;

/// `CRAT_IOLINK_FLAGS_*`: a link that is there, and one that does not keep caches coherent. The driver marks those from the
/// host over PCIe so. Neither flag says that atomics are missing, so every link has them.
const LINK_ENABLED: u64 = 1;
const LINK_NON_COHERENT: u64 = 1 << 1;

/// `capability`: firmware that reports exceptions of queues (bit 29), shared memory by address (bit 27), debug traps
/// (bit 15), doorbells of 64 bits (value 2 in bits 13:12).
pub(crate) const CAPABILITY: u32 = 1 << 29 | 1 << 27 | 1 << 15 | 2 << 12;

/// `debug_prop`: what a debugger may ask of the GPU.
pub(crate) const DEBUG_PROPERTIES: u32 = 1495;

/// Version of the command processor's firmware.
pub(crate) const FIRMWARE: u32 = 550;

/// Waves that a SIMD keeps.
pub(crate) const WAVES_PER_SIMD: u32 = 8;

/// AMD's PCI vendor number.
pub(crate) const VENDOR: u32 = 0x1002;

/// Where an agent is on the PCI bus.
pub(crate) fn location(agent: u32) -> u32 {
    0x300 + 0x100 * agent
}

/// Number of a GPU's first SIMD.
const SIMD_BASE: u32 = 0x8000_1000;

/// The entry at `path`, given as names below the topology's directory.
pub(super) fn entry(settings: &Settings, path: &[&str]) -> Option<Entry> {
    let files = |names: &[&str]| Entry::Directory(names.iter().map(|n| ((*n).to_owned(), false)).collect());
    Some(match path {
        [] => Entry::Directory(vec![
            ("generation_id".to_owned(), false),
            ("system_properties".to_owned(), false),
            ("nodes".to_owned(), true),
        ]),
        ["generation_id"] => Entry::File("1\n".to_owned()),
        ["system_properties"] => Entry::File("platform_oem 0\nplatform_id 0\nplatform_rev 0\n".to_owned()),
        ["nodes"] => numbered(settings.agents + 1),
        ["nodes", node, rest @ ..] => {
            let node = Node::new(settings, node)?;
            match rest {
                [] => {
                    let mut names: Vec<_> =
                        ["gpu_id", "name", "properties"].map(|n| (n.to_owned(), false)).into();
                    names.extend(
                        ["mem_banks", "caches", "io_links", "p2p_links"].map(|n| (n.to_owned(), true)),
                    );
                    Entry::Directory(names)
                }
                ["gpu_id"] => Entry::File(format!("{}\n", node.gpu_id())),
                ["name"] => {
                    let name = if node.agent.is_some() { settings.target.name() } else { "" };
                    Entry::File(format!("{name}\n"))
                }
                ["properties"] => Entry::File(node.properties()),
                ["mem_banks"] => numbered(1),
                ["mem_banks", "0"] => files(&["properties"]),
                ["mem_banks", "0", "properties"] => Entry::File(node.memory()),
                ["caches"] => numbered(node.caches().len()),
                ["caches", n] => {
                    node.caches().get(n.parse::<usize>().ok()?).map(|_| files(&["properties"]))?
                }
                ["caches", n, "properties"] => {
                    Entry::File(node.caches().get(n.parse::<usize>().ok()?)?.clone())
                }
                ["io_links"] => numbered(node.links().len()),
                ["io_links", n] => {
                    node.links().get(n.parse::<usize>().ok()?).map(|_| files(&["properties"]))?
                }
                ["io_links", n, "properties"] => {
                    Entry::File(node.links().get(n.parse::<usize>().ok()?)?.clone())
                }
                ["p2p_links"] => numbered(0),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// A directory with subdirectories 0, 1, and so on.
fn numbered(count: usize) -> Entry {
    Entry::Directory((0..count).map(|n| (n.to_string(), true)).collect())
}

/// `name value` lines.
fn lines(pairs: &[(&str, u64)]) -> String {
    let mut text = String::new();
    for (name, value) in pairs {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {value}");
    }
    text
}

/// One node: the host, or an agent.
#[derive(Debug)]
struct Node<'s> {
    settings: &'s Settings,
    number: usize,
    agent: Option<u32>,
}

impl<'s> Node<'s> {
    fn new(settings: &'s Settings, name: &str) -> Option<Self> {
        let number: usize = name.parse().ok()?;
        let agent = number.checked_sub(1).and_then(|agent| u32::try_from(agent).ok());
        (number <= settings.agents).then_some(Self { settings, number, agent })
    }

    fn gpu_id(&self) -> u32 {
        self.agent.map_or(0, |agent| FIRST_GPU_ID + agent)
    }

    fn properties(&self) -> String {
        let (caches, links) = (self.caches().len() as u64, self.links().len() as u64);
        let Some(agent) = self.agent else {
            let cores = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
            return lines(&[
                ("cpu_cores_count", cores),
                ("simd_count", 0),
                ("mem_banks_count", 1),
                ("caches_count", caches),
                ("io_links_count", links),
                ("p2p_links_count", 0),
                ("cpu_core_id_base", 0),
                ("simd_id_base", 0),
                ("max_waves_per_simd", 0),
                ("lds_size_in_kb", 0),
                ("gds_size_in_kb", 0),
                ("num_gws", 0),
                ("wave_front_size", 0),
                ("array_count", 0),
                ("simd_arrays_per_engine", 0),
                ("cu_per_simd_array", 0),
                ("simd_per_cu", 0),
                ("max_slots_scratch_cu", 0),
                ("gfx_target_version", 0),
                ("vendor_id", 0),
                ("device_id", 0),
                ("location_id", 0),
                ("domain", 0),
                ("drm_render_minor", 0),
                ("hive_id", 0),
                ("num_sdma_engines", 0),
                ("num_sdma_xgmi_engines", 0),
                ("num_sdma_queues_per_engine", 0),
                ("num_cp_queues", 0),
                ("max_engine_clk_ccompute", 3000),
            ]);
        };
        let product = product(self.settings.target);
        lines(&[
            ("cpu_cores_count", 0),
            ("simd_count", (COMPUTE_UNITS * SIMDS).into()),
            ("mem_banks_count", 1),
            ("caches_count", caches),
            ("io_links_count", links),
            ("p2p_links_count", 0),
            ("cpu_core_id_base", 0),
            ("simd_id_base", SIMD_BASE.into()),
            ("max_waves_per_simd", WAVES_PER_SIMD.into()),
            ("lds_size_in_kb", 64),
            ("gds_size_in_kb", 0),
            ("num_gws", 64),
            ("wave_front_size", 64),
            ("array_count", 1),
            ("simd_arrays_per_engine", 1),
            ("cu_per_simd_array", COMPUTE_UNITS.into()),
            ("simd_per_cu", SIMDS.into()),
            ("max_slots_scratch_cu", 32),
            ("gfx_target_version", product.gfx_target_version.into()),
            ("vendor_id", VENDOR.into()),
            ("device_id", product.device_id.into()),
            ("location_id", location(agent).into()),
            ("domain", 0),
            ("drm_render_minor", (FIRST_RENDER_MINOR + agent).into()),
            // A hive of its own even for a single one: it is why runtimes offer fine-grained device memory.
            ("hive_id", 1),
            ("num_sdma_engines", COPY_ENGINES.into()),
            ("num_sdma_xgmi_engines", 0),
            ("num_sdma_queues_per_engine", 6),
            ("num_cp_queues", 8),
            ("max_engine_clk_fcompute", product.engine_mhz.into()),
            ("local_mem_size", 0),
            ("fw_version", FIRMWARE.into()),
            ("capability", CAPABILITY.into()),
            ("debug_prop", DEBUG_PROPERTIES.into()),
            ("sdma_fw_version", 20),
            ("unique_id", u64::from(agent) + 1),
            ("num_xcc", 1),
            ("max_engine_clk_ccompute", 3000),
            ("family_id", product.family),
        ])
    }

    fn memory(&self) -> String {
        let (heap, bytes, width, clock) = match self.agent {
            None => (HEAP_SYSTEM, host_memory(), 64, 3200),
            Some(_) => {
                let heap = if self.settings.strict_vram { HEAP_PRIVATE } else { HEAP_PUBLIC };
                (heap, self.settings.vram_bytes, 8192, product(self.settings.target).memory_mhz.into())
            }
        };
        lines(&[
            ("heap_type", heap.into()),
            ("size_in_bytes", bytes),
            ("flags", 0),
            ("width", width),
            ("mem_clk_max", clock),
        ])
    }

    fn caches(&self) -> Vec<String> {
        if self.agent.is_none() {
            return Vec::new();
        }
        // Data cache of a compute unit and the device's second level; type 9 is data and HSA-visible.
        [(1, 32), (2, 4096)]
            .map(|(level, kibibytes)| {
                let mut text = lines(&[
                    ("processor_id_low", SIMD_BASE.into()),
                    ("level", level),
                    ("size", kibibytes),
                    ("cache_line_size", 128),
                    ("cache_lines_per_tag", 1),
                    ("association", 16),
                    ("latency", 1),
                    ("type", 9),
                ]);
                text.push_str("sibling_map 1,1,1,1\n");
                text
            })
            .into()
    }

    /// Links lead where the node can reach memory: from the host to a GPU only if the host sees its VRAM, as the driver
    /// has it for a large BAR.
    fn links(&self) -> Vec<String> {
        let others = (0..=self.settings.agents)
            .filter(|other| *other != self.number && (self.number != 0 || !self.settings.strict_vram));
        others
            .map(|other| {
                let direct = self.number == 0 || other == 0;
                let (kind, weight) = if direct { (LINK_PCI, 20) } else { (LINK_XGMI, 15) };
                lines(&[
                    ("type", kind.into()),
                    ("version_major", 0),
                    ("version_minor", 0),
                    ("node_from", self.number as u64),
                    ("node_to", other as u64),
                    ("weight", weight),
                    ("min_latency", 0),
                    ("max_latency", 0),
                    ("min_bandwidth", 0),
                    ("max_bandwidth", 0),
                    ("recommended_transfer_size", 0),
                    ("recommended_sdma_engine_id_mask", 0),
                    ("flags", if self.number == 0 { LINK_ENABLED | LINK_NON_COHERENT } else { LINK_ENABLED }),
                ])
            })
            .collect()
    }
}

/// Bytes of the host's memory.
fn host_memory() -> u64 {
    // SAFETY: the structure is ours and all-zero is a value of it; the call fills it.
    let info = unsafe {
        let mut info: libc::sysinfo = core::mem::zeroed();
        libc::sysinfo(&raw mut info);
        info
    };
    info.totalram * u64::from(info.mem_unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model_gpu_core::Target;

    fn text(settings: &Settings, path: &[&str]) -> String {
        match entry(settings, path) {
            Some(Entry::File(text)) => text,
            other => panic!("{path:?} is {other:?}"),
        }
    }

    fn value(text: &str, name: &str) -> u64 {
        let line = text.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(' '));
        line.expect(name).parse().expect("a number")
    }

    #[test]
    fn counts_in_a_node_equal_its_directories() {
        let settings = Settings { agents: 3, ..Settings::default() };
        for node in ["0", "1", "2", "3"] {
            let properties = text(&settings, &["nodes", node, "properties"]);
            for (name, directory) in
                [("caches_count", "caches"), ("io_links_count", "io_links"), ("mem_banks_count", "mem_banks")]
            {
                let Some(Entry::Directory(names)) = entry(&settings, &["nodes", node, directory]) else {
                    panic!("{directory} of node {node}")
                };
                assert_eq!(value(&properties, name), names.len() as u64, "{directory} of node {node}");
            }
        }
        assert!(entry(&settings, &["nodes", "4"]).is_none());
    }

    #[test]
    fn strict_vram_is_memory_that_the_host_cannot_reach() {
        let heap_and_links = |strict_vram| {
            let settings = Settings { strict_vram, ..Settings::default() };
            let heap = value(&text(&settings, &["nodes", "1", "mem_banks", "0", "properties"]), "heap_type");
            let links = |node| value(&text(&settings, &["nodes", node, "properties"]), "io_links_count");
            (heap, links("0"), links("1"))
        };
        assert_eq!((heap_and_links(true), heap_and_links(false)), ((2, 0, 1), (1, 1, 1)));
    }

    #[test]
    fn links_from_the_host_are_not_coherent_and_all_have_atomics() {
        let settings = Settings { agents: 2, strict_vram: false, ..Settings::default() };
        for (node, link, kind, flags) in
            [("0", "0", 2, 3), ("0", "1", 2, 3), ("1", "0", 2, 1), ("1", "1", 11, 1), ("2", "1", 11, 1)]
        {
            let properties = text(&settings, &["nodes", node, "io_links", link, "properties"]);
            assert_eq!((value(&properties, "type"), value(&properties, "flags")), (kind, flags));
        }
    }

    #[test]
    fn a_node_is_of_the_target_that_was_chosen() {
        for (target, name, version) in
            [(Target::Gfx90a, "gfx90a\n", 90_010), (Target::Gfx942, "gfx942\n", 90_402)]
        {
            let settings = Settings { target, ..Settings::default() };
            assert_eq!(text(&settings, &["nodes", "1", "name"]), name);
            let properties = text(&settings, &["nodes", "1", "properties"]);
            assert_eq!(value(&properties, "gfx_target_version"), version);
        }
    }
}
