//! Turns the export lists of `symbols/` into code: the forwarding table, the table of hooks and the linker's version
//! map.
//!
//! Each list is the dynamic symbol table of one ROCr release, a line `TYPE NAME` a symbol (`TYPE` as nm prints it).
//! The shim exports their union. A runtime that is installed when the shim is built adds the names it has beyond
//! them, so that its own HIP finds every name; `HSA_REPLAY_BUILD_RUNTIME` names it, otherwise `/opt/rocm/lib` is
//! looked at. A runtime that cannot be read adds nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use object::{Object as _, ObjectSymbol as _, SymbolKind};

/// Exported data: defined by hand in `shim/debugger.rs`, not forwarded.
const DATA: &str = "_amdgpu_r_debug";
/// Names that the shim itself adds, at a version node of their own.
const OURS: [&str; 13] = [
    "hsa_replay_exclude_memory",
    "hsa_replay_include_memory",
    "hsa_replay_interface_version",
    "hsa_replay_last_record",
    "hsa_replay_pause",
    "hsa_replay_range_pop",
    "hsa_replay_range_push",
    "hsa_replay_resume",
    "hsa_replay_select_kernels",
    "hsa_replay_set_passes",
    "hsa_replay_status_string",
    "hsa_replay_version",
    "hsa_replay_is_armed",
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=symbols");
    println!("cargo::rerun-if-env-changed=HSA_REPLAY_BUILD_RUNTIME");
    println!("cargo::rerun-if-changed=hsa-sys/src/bindings.rs");

    let mut names = stored_names(Path::new("symbols"));
    names.extend(installed_names());
    let names: Vec<String> = names.into_iter().collect();

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    write(&out.join("forward.rs"), &forwarding_table(&names));
    write(&out.join("hooked.rs"), &hook_table(&names, &read(Path::new("symbols/hooks.txt"))));
    write(&out.join("names.txt"), &(names.join("\n") + "\n"));
    let map = out.join("rocr.map");
    write(&map, &version_map(&names));

    // lld, because it alone accepts a second, named version script beside the anonymous one that rustc passes.
    let script = format!("-Wl,--version-script={}", map.display());
    // nodelete: our trampolines, fork handler and log stay valid whatever the application closes.
    for arg in ["-fuse-ld=lld", "-Wl,-soname,libhsa-runtime64.so.1", "-Wl,-z,nodelete", &script] {
        println!("cargo::rustc-cdylib-link-arg={arg}");
    }
}

/// The functions of all stored lists.
fn stored_names(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("symbols/ lies beside build.rs") {
        let path = entry.expect("symbols/ can be listed").path();
        if !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("rocr-")) {
            continue;
        }
        for line in read(&path).lines() {
            match line.split_once(' ') {
                Some(("T", name)) => drop(names.insert(name.to_owned())),
                Some((_, DATA)) => {}
                _ => panic!("{}: '{line}' is neither a function nor {DATA}", path.display()),
            }
        }
    }
    names
}

/// The functions of the runtime installed on the building machine, if there is one.
fn installed_names() -> BTreeSet<String> {
    let path = match env::var_os("HSA_REPLAY_BUILD_RUNTIME") {
        Some(path) if path.is_empty() => return BTreeSet::new(),
        Some(path) => PathBuf::from(path),
        None => PathBuf::from("/opt/rocm/lib/libhsa-runtime64.so.1"),
    };
    let Ok(data) = fs::read(&path) else { return BTreeSet::new() };
    println!("cargo::rerun-if-changed={}", path.display());
    let Ok(file) = object::File::parse(&*data) else {
        println!("cargo::warning={} is not an ELF library: no names taken from it", path.display());
        return BTreeSet::new();
    };
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global() && symbol.kind() == SymbolKind::Text)
        .filter_map(|symbol| symbol.name().ok().map(str::to_owned))
        .filter(|name| name.starts_with("hsa_") && !name.starts_with("hsa_replay_"))
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'))
        .collect()
}

fn forwarding_table(names: &[String]) -> String {
    let mut code = String::from("forward! {\n");
    for (slot, name) in names.iter().enumerate() {
        writeln!(code, "    {slot} {name},").expect("writing to a string");
    }
    code + "}\n"
}

/// `hook_of`: the function that stands in for an export, its signature checked against the bindings where they know it.
fn hook_table(names: &[String], hooks: &str) -> String {
    let slots: BTreeMap<&str, usize> =
        names.iter().enumerate().map(|(slot, name)| (name.as_str(), slot)).collect();
    let bindings = read(Path::new("hsa-sys/src/bindings.rs"));
    let listed: Vec<&str> = hooks.lines().filter(|line| !line.is_empty()).collect();
    assert!(listed.is_sorted(), "symbols/hooks.txt is not sorted");

    let mut code = String::from(
        "/// The hook of a slot, `None` for names that are only forwarded.\n\
         pub fn hook_of(slot: usize) -> Option<*mut c_void> {\n    match slot {\n",
    );
    for name in listed {
        let slot =
            slots.get(name).unwrap_or_else(|| panic!("symbols/hooks.txt: {name} is not an exported name"));
        let hook = if bindings.contains(&format!("pub type {name} =")) {
            format!("{{ let hook: hsa_sys::{name} = hooks::{name}; hook as *mut c_void }}")
        } else {
            format!("hooks::{name} as *mut c_void")
        };
        writeln!(code, "        {slot} => Some({hook}),").expect("writing to a string");
    }
    code + "        _ => None,\n    }\n}\n"
}

fn version_map(names: &[String]) -> String {
    format!(
        "ROCR_1 {{ global: {DATA}; {}; }};\nHSA_REPLAY_1 {{ global: {}; }};\n",
        names.join("; "),
        OURS.join("; ")
    )
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}
