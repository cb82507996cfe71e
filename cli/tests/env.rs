//! `hsa-replay env`: lines that a shell executes.

#[allow(dead_code, reason = "each test file uses a part of the fixture")]
mod fixture;

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

use fixture::{Place, library, messages, refused};

/// A folder that holds the stand-in library as an installation does.
fn install(place: &Place) -> String {
    let folder = place.path("it's here");
    fs::create_dir(&folder).expect("folder");
    let folder = place.path("lib");
    fs::create_dir(&folder).expect("folder");
    fs::copy(library(), folder.join("libhsa-runtime64.so.1")).expect("copy");
    std::os::unix::fs::symlink("libhsa-runtime64.so.1", folder.join("libhsa-runtime64.so")).expect("link");
    folder.to_str().expect("text").to_owned()
}

/// Executes the lines in a strict shell and returns the variables of interest, in order of name.
fn evaluated(lines: &[u8], before: &[(&str, &str)]) -> Vec<u8> {
    let mut script = b"set -eu\n".to_vec();
    script.extend_from_slice(lines);
    script.extend_from_slice(
        b"\nenv -0 | LC_ALL=C sort -z | grep -zaE '^(HSA_REPLAY|LD_)' | grep -zav '^HSA_REPLAY_PARENT='\n",
    );
    let output = Command::new("sh")
        .arg("-c")
        .arg(OsStr::from_bytes(&script))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .envs(before.iter().copied())
        .output()
        .expect("sh");
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn the_lines_survive_the_shell_with_any_bytes_in_them() {
    let place = Place::new();
    let folder = install(&place);
    let kernel = "it's \"$HOME\" `x` \\ *\nnext";
    let mut command = place.command(["env", "--shim", &folder, "-n", "5", "-k", kernel, "-o"]);
    command.arg(OsStr::from_bytes(b"r \xff'.jsonl"));
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{output:?}");
    let here = fs::canonicalize(place.path(".")).expect("folder");
    let mut expected = Vec::new();
    for (name, value) in [
        ("HSA_REPLAY_KERNEL", kernel.as_bytes()),
        ("HSA_REPLAY_OUTPUT", &[here.as_os_str().as_bytes(), b"/r \xff'.jsonl"].concat()),
        ("HSA_REPLAY_PASSES", b"5"),
        ("LD_LIBRARY_PATH", folder.as_bytes()),
        ("LD_PRELOAD", format!("{folder}/libhsa-runtime64.so.1").as_bytes()),
    ] {
        expected.extend_from_slice(&[name.as_bytes(), b"=", value, b"\0"].concat());
    }
    let found = evaluated(&output.stdout, &[]);
    assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&expected));
}

#[test]
fn the_loaders_variables_are_extended_when_the_lines_are_executed() {
    let place = Place::new();
    let folder = install(&place);
    let output = place.command(["env", "--shim", &folder]).output().expect("runs");
    let found = evaluated(&output.stdout, &[("LD_LIBRARY_PATH", "/user"), ("LD_PRELOAD", "libm.so.6")]);
    let found = String::from_utf8(found).expect("text");
    assert!(found.contains(&format!("LD_LIBRARY_PATH={folder}:/user\0")), "{found}");
    assert!(found.contains(&format!("LD_PRELOAD=libm.so.6:{folder}/libhsa-runtime64.so.1\0")), "{found}");
    assert!(found.contains("HSA_REPLAY_PASSES=2\0"), "the lines arm the library: {found}");
}

#[test]
fn values_of_a_config_file_are_in_the_lines() {
    let place = Place::new();
    let folder = install(&place);
    place.write("c.toml", "passes = 9\n");
    let mut command = place.command(["env", "--shim", &folder]);
    command.env("HSA_REPLAY_CONFIG", "c.toml");
    let output = command.output().expect("runs");
    let found = evaluated(&output.stdout, &[("HSA_REPLAY_CONFIG", "c.toml")]);
    let found = String::from_utf8(found).expect("text");
    assert!(found.contains("HSA_REPLAY_PASSES=9\0") && !found.contains("HSA_REPLAY_CONFIG"), "{found}");
    place.write("other.toml", "passes = 8\nkernel = \"left over\"\n");
    let mut command = place.command(["env", "--shim", &folder, "--config", "c.toml"]);
    let output = command.env("HSA_REPLAY_CONFIG", "other.toml").output().expect("runs");
    let found = evaluated(&output.stdout, &[("HSA_REPLAY_CONFIG", "other.toml")]);
    let found = String::from_utf8(found).expect("text");
    assert!(found.contains("HSA_REPLAY_PASSES=9\0") && !found.contains("HSA_REPLAY_CONFIG"), "{found}");
}

/// A build tree has the library under one name only, and the loader cannot take every path.
#[test]
fn a_library_that_is_not_installed_is_attached_by_links_that_stay() {
    let place = Place::new();
    let odd = place.path("a b.so");
    fs::copy(library(), &odd).expect("copy");
    for shim in [library(), &odd] {
        let found: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                let mut command = place.command([OsStr::new("env"), "--shim".as_ref(), shim.as_os_str()]);
                let output = command.env("XDG_CACHE_HOME", place.path("cache")).output().expect("runs");
                assert_eq!(messages(&output), [""; 0]);
                evaluated(&output.stdout, &[])
            })
            .collect();
        assert_eq!(found[0], found[1]);
        let found = String::from_utf8(found[0].clone()).expect("text");
        let value =
            |name: &str| found.split('\0').find_map(|line| line.strip_prefix(name)).expect("variable");
        let folder = value("LD_LIBRARY_PATH=");
        assert_eq!(value("LD_PRELOAD="), format!("{folder}/libhsa-runtime64.so.1"));
        for name in ["libhsa-runtime64.so.1", "libhsa-runtime64.so"] {
            let target = fs::canonicalize(std::path::Path::new(folder).join(name)).expect("link");
            assert_eq!(target, fs::canonicalize(shim).expect("library"));
        }
    }
}

#[test]
fn what_the_loader_cannot_take_and_bad_settings_are_refused_in_one_line() {
    let place = Place::new();
    let mut command = place.command([OsStr::new("env"), "--shim".as_ref(), library().as_os_str()]);
    command.env("XDG_CACHE_HOME", place.path("a b"));
    let line = refused(command, 1);
    assert!(line.contains("XDG_CACHE_HOME"), "{line}");
    assert!(refused(place.command(["env", "--passes", "0"]), 2).contains("--passes 0"));
    assert!(refused(place.command(["env", "stray"]), 2).contains("stray: env takes options alone"));
}
