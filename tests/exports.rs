//! What the built library exports: exactly the functions of all stored ROCr releases and our own, each at its version
//! node.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use object::read::elf::{ElfFile64, FileHeader as _};
use object::{Object as _, ObjectSymbol as _};

const OURS: [&str; 13] = [
    "hsa_replay_exclude_memory",
    "hsa_replay_include_memory",
    "hsa_replay_interface_version",
    "hsa_replay_is_armed",
    "hsa_replay_last_record",
    "hsa_replay_pause",
    "hsa_replay_range_pop",
    "hsa_replay_range_push",
    "hsa_replay_resume",
    "hsa_replay_select_kernels",
    "hsa_replay_set_passes",
    "hsa_replay_status_string",
    "hsa_replay_version",
];

/// Exported names of the built library, each with its version node and size.
fn exports() -> BTreeMap<String, (String, u64)> {
    let data = std::fs::read(support::built_library()).expect("the built library");
    let file = ElfFile64::<object::Endianness>::parse(&*data).expect("an ELF library");
    let endian = file.endian();
    let sections = file.elf_header().sections(endian, &*data).expect("its sections");
    let versions = sections.versions(endian, &*data).expect("its versions").expect("a version table");
    let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_definition());
    symbols
        .map(|symbol| {
            let name = symbol.name().expect("a plain name").to_owned();
            let index = versions.version_index(endian, symbol.index());
            assert!(!index.is_hidden(), "{name} is not the default version");
            let version = versions.version(index.into()).expect("a version that the table knows");
            let version =
                version.map_or(String::new(), |version| String::from_utf8_lossy(version.name()).into_owned());
            (name, (version, symbol.size()))
        })
        .collect()
}

/// Stored export lists by file name.
fn stored_lists() -> BTreeMap<String, BTreeSet<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("symbols");
    let files = std::fs::read_dir(folder).expect("symbols/").map(|entry| entry.expect("an entry").path());
    let lists: BTreeMap<_, _> = files
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rocr-")))
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("a list");
            let names =
                text.lines().map(|line| line.split_once(' ').expect("type and name").1.to_owned()).collect();
            (path.file_name().expect("a name").to_string_lossy().into_owned(), names)
        })
        .collect();
    assert!(lists.len() >= 5, "lists are missing: {:?}", lists.keys());
    lists
}

/// Functions that a runtime installed at build time added.
fn added_at_build() -> BTreeSet<String> {
    let union: BTreeSet<String> = stored_lists().into_values().flatten().collect();
    let built = include_str!(concat!(env!("OUT_DIR"), "/names.txt"));
    built.lines().map(str::to_owned).filter(|name| !union.contains(name)).collect()
}

#[test]
fn exports_are_the_union_of_all_releases_and_our_own() {
    let mut expected: BTreeSet<String> = stored_lists().into_values().flatten().collect();
    expected.extend(added_at_build());
    expected.extend(OURS.map(str::to_owned));
    let exported: BTreeSet<String> = exports().into_keys().filter(|name| !is_node(name)).collect();
    assert_eq!(exported, expected);
}

/// Version nodes are themselves (absolute) symbols.
fn is_node(name: &str) -> bool {
    matches!(name, "ROCR_1" | "HSA_REPLAY_1")
}

#[test]
fn each_release_is_a_subset() {
    let exported: BTreeSet<String> = exports().into_keys().collect();
    for (list, names) in stored_lists() {
        let missing: Vec<_> = names.difference(&exported).collect();
        assert!(missing.is_empty(), "{list}: {missing:?}");
    }
}

#[test]
fn every_export_is_at_its_version_node() {
    for (name, (version, _)) in exports().into_iter().filter(|(name, _)| !is_node(name)) {
        let node = if OURS.contains(&name.as_str()) { "HSA_REPLAY_1" } else { "ROCR_1" };
        assert_eq!(version, node, "{name}");
    }
}

#[test]
fn the_debugger_structure_has_the_size_of_the_real_one() {
    assert_eq!(exports()["_amdgpu_r_debug"].1, 40);
}

#[test]
fn hooked_names_are_sorted_exports() {
    let hooks: Vec<&str> = include_str!("../symbols/hooks.txt").lines().collect();
    let exported = exports();
    assert!(hooks.is_sorted_by(|left, right| left < right));
    for name in hooks {
        assert!(exported.contains_key(name), "{name}");
    }
}

/// Parts of names of calls through which memory is made, mapped, shared, freed or written, or work comes to an agent.
const DECIDED: [&str; 21] = [
    "memory",
    "vmem",
    "svm",
    "ipc",
    "interop",
    "dmabuf",
    "image",
    "copy",
    "fill",
    "pool",
    "_ais_",
    "_spm_",
    "_pcs_",
    "pointer",
    "executable",
    "code_object_reader",
    "queue_create",
    "queue_destroy",
    "counted",
    "sdma",
    "allow_access",
];

#[test]
fn every_call_that_makes_maps_shares_frees_or_writes_memory_has_a_decision() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("symbols");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a list");
    let (decisions, hooks) = (read("decisions.txt"), read("hooks.txt"));
    let hooks: BTreeSet<&str> = hooks.lines().collect();
    let mut decided = BTreeSet::new();
    for line in decisions.lines() {
        let (name, decision) = line.split_once(' ').expect("a name and a decision");
        assert!(decided.insert(name), "{name} is listed twice");
        match decision.split_once(' ').unwrap_or((decision, "")) {
            ("hook", "") => assert!(hooks.contains(name), "{name} has no hook"),
            ("forward" | "disarm", why) => assert!(!hooks.contains(name) && !why.is_empty(), "{line}"),
            _ => panic!("no decision: {line}"),
        }
    }
    let mut exported: BTreeSet<String> = stored_lists().into_values().flatten().collect();
    exported.extend(added_at_build());
    for name in exported.iter().filter(|name| DECIDED.iter().any(|part| name.contains(part))) {
        assert!(decided.contains(name.as_str()), "symbols/decisions.txt says nothing of {name}");
    }
    let gone: Vec<_> = decided.iter().filter(|name| !exported.contains(**name)).collect();
    assert!(gone.is_empty(), "no release exports {gone:?}");
}
