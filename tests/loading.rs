//! The shim is attached in every way that applications allow, and finds the real runtime wherever it lies.

mod support;

use std::ffi::OsString;

use support::{PLAIN_NAME, SONAME, Stage};

/// Logging of the file that was taken.
fn info() -> (&'static str, OsString) {
    ("HSA_REPLAY_LOG", "info".into())
}

#[test]
fn ld_library_path_attaches_and_the_rest_of_it_has_the_runtime() {
    let stage = Stage::new();
    let outcome = stage.run([stage.library_path(&["shim", "real"])], &["through", "runtime"]);
    let through = format!("through {}", stage.path("shim").join(SONAME).display());
    assert_eq!(outcome.quiet(), [through.as_str(), "runtime real"]);
}

#[test]
fn a_runtime_before_our_folder_is_found_after_the_ones_behind_it() {
    let stage = Stage::new();
    stage.fake_runtime("other", &[]);
    let preload = || stage.preload();
    let outcome = stage.run([preload(), stage.library_path(&["real", "shim", "other"])], &["runtime"]);
    assert_eq!(outcome.quiet(), ["runtime other"]);
    let outcome = stage.run([preload(), stage.library_path(&["real", "shim"])], &["runtime"]);
    assert_eq!(outcome.quiet(), ["runtime real"]);
}

#[test]
fn preloading_is_stronger_than_dt_rpath() {
    let stage = Stage::new();
    let rpath = format!("-Wl,--disable-new-dtags,-rpath,{}", stage.path("real").display());
    stage.client("wheel", &[&rpath]);
    let by_path = stage.run_program("wheel", [stage.library_path(&["shim"])], &["through", "runtime"]);
    assert_eq!(by_path.quiet(), ["through nothing", "runtime real"], "DT_RPATH comes before LD_LIBRARY_PATH");
    // The runtime lies where only the program's DT_RPATH leads; a library that is mapped from there says where.
    let hip = stage.path("real/libamdhip64.so.6");
    support::compile("hip.c", &hip, ["-shared", "-fPIC"].into_iter());
    let open = format!("mapping={}", hip.display());
    let preloaded = stage.run_program("wheel", [stage.preload()], &[&open, "through", "runtime"]);
    let through = format!("through {}", stage.path("shim").join(SONAME).display());
    assert_eq!(preloaded.quiet(), [through.as_str(), "runtime real"]);
}

#[test]
fn a_local_dlopen_works_as_from_python() {
    let stage = Stage::new();
    stage.client_without_runtime("plain");
    let open = format!("local={}", stage.path("shim").join(SONAME).display());
    let outcome =
        stage.run_program("plain", [stage.library_path(&["real"])], &[&open, "signatures", "runtime"]);
    assert_eq!(outcome.quiet(), ["signatures right", "runtime real"]);
}

#[test]
fn python_loads_it_by_ctypes() {
    let stage = Stage::new();
    let program = format!(
        "import ctypes; hsa = ctypes.CDLL({:?}); print(hsa.hsa_init(), hsa.hsa_replay_interface_version())",
        stage.path("shim").join(SONAME)
    );
    let python = std::process::Command::new("python3")
        .args(["-c", &program])
        .env("LD_LIBRARY_PATH", stage.path("real"))
        .output();
    match python {
        Ok(output) => assert_eq!(String::from_utf8_lossy(&output.stdout), "0 1\n", "{output:?}"),
        // Without Python the same loading is proved by `a_local_dlopen_works_as_from_python`.
        Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::NotFound),
    }
}

#[test]
fn the_name_without_a_version_leads_to_the_shim_as_well() {
    let stage = Stage::new();
    stage.client_without_runtime("plain");
    let open = format!("local={PLAIN_NAME}");
    let environment = [stage.library_path(&["shim", "real"])];
    let outcome = stage.run_program("plain", environment, &[&open, "through", "runtime"]);
    let through = format!("through {}", stage.path("shim").join(PLAIN_NAME).display());
    assert_eq!(outcome.quiet(), [through.as_str(), "runtime real"]);
}

#[test]
fn nothing_is_loaded_before_the_first_call() {
    let stage = Stage::new();
    let real = format!("mapped={}", stage.path("real").display());
    let outcome = stage.run([stage.library_path(&["shim", "real"])], &[&real, "status=hsa_init", &real]);
    assert_eq!(outcome.quiet(), ["mapped 0", "hsa_init 0", "mapped 1"]);
}

#[test]
fn the_file_that_was_taken_is_logged_and_nothing_is_by_default() {
    let stage = Stage::new();
    let taken = stage.path("real").join(SONAME).display().to_string();
    let outcome = stage.run([stage.library_path(&["shim", "real"]), info()], &["status=hsa_init"]);
    assert!(
        outcome.errors.iter().any(|line| line.contains(&format!("forwarding to {taken}"))),
        "{outcome:#?}"
    );
    stage.run([stage.library_path(&["shim", "real"])], &["status=hsa_init"]).quiet();
}

#[test]
fn the_variable_names_the_runtime_before_all_other_places() {
    let stage = Stage::new();
    let chosen = stage.fake_runtime("chosen", &[]);
    let environment = [stage.library_path(&["shim", "real"]), ("HSA_REPLAY_RUNTIME", chosen.into())];
    assert_eq!(stage.run(environment, &["runtime"]).quiet(), ["runtime chosen"]);
}

#[test]
fn a_relative_path_without_a_folder_is_a_file_of_the_current_folder() {
    let stage = Stage::new();
    let chosen = stage.fake_runtime("chosen", &[]);
    std::fs::rename(chosen, stage.path("mine.so")).expect("a new name");
    let environment = [stage.library_path(&["shim", "real"]), ("HSA_REPLAY_RUNTIME", "mine.so".into())];
    assert_eq!(stage.run(environment, &["runtime"]).quiet(), ["runtime chosen"]);
}

#[test]
fn the_config_file_names_the_runtime_and_a_bad_one_is_said_with_its_place() {
    let stage = Stage::new();
    let chosen = stage.fake_runtime("chosen", &[]);
    let file = stage.path("replay.toml");
    let run = |runtime: &str| {
        std::fs::write(&file, format!("runtime = {runtime:?}\n")).expect("a file");
        let environment = [stage.library_path(&["shim", "real"]), ("HSA_REPLAY_CONFIG", file.clone().into())];
        stage.run(environment, &["runtime"])
    };
    assert_eq!(run(chosen.to_str().expect("a plain path")).quiet(), ["runtime chosen"]);
    let outcome = run("/nowhere/at-all.so");
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("replay.toml: runtime = /nowhere/at-all.so"), "{outcome:#?}");
    assert_eq!(outcome.well(), ["runtime real"]);
}

#[test]
fn a_runtime_that_is_mapped_already_is_taken() {
    let stage = Stage::new();
    stage.client_without_runtime("plain");
    let other = stage.fake_runtime("other", &[]);
    let (mapping, open) = (
        format!("mapping={}", other.display()),
        format!("local={}", stage.path("shim").join(SONAME).display()),
    );
    let outcome = stage.run_program("plain", [stage.library_path(&["real"])], &[&mapping, &open, "runtime"]);
    assert_eq!(outcome.quiet(), ["runtime other"]);
}

#[test]
fn a_runtime_beside_the_mapped_hip_is_taken() {
    let stage = Stage::new();
    stage.fake_runtime("rocm", &[]);
    let hip = stage.path("rocm/libamdhip64.so.6");
    support::compile("hip.c", &hip, ["-shared", "-fPIC"].into_iter());
    let mapping = format!("mapping={}", hip.display());
    let outcome = stage.run([stage.library_path(&["shim", "real"])], &[&mapping, "runtime"]);
    assert_eq!(outcome.quiet(), ["runtime rocm"]);
}

#[test]
fn rocm_path_is_searched() {
    let stage = Stage::new();
    stage.fake_runtime("install/lib", &[]);
    let environment = [stage.library_path(&["shim"]), ("ROCM_PATH", stage.path("install").into())];
    assert_eq!(stage.run(environment, &["runtime"]).quiet(), ["runtime install/lib"]);
}

#[test]
fn each_bad_runtime_variable_is_one_line_and_the_application_is_unharmed() {
    let stage = Stage::new();
    let shim = stage.path("shim").join(SONAME);
    let copy = stage.copy_shim("copy");
    let alias = stage.path("alias.so");
    std::os::unix::fs::symlink(&shim, &alias).expect("a symbolic link");
    let text = stage.path("text.so");
    std::fs::write(&text, "not a library\n").expect("a file");
    let foreign = stage.path("foreign.so");
    let mut elf = std::fs::read(stage.path("real").join(SONAME)).expect("the fake runtime");
    elf[18] = 183; // e_machine: EM_AARCH64
    std::fs::write(&foreign, elf).expect("a file");
    let unrelated = stage.path("unrelated.so");
    support::compile("hip.c", &unrelated, ["-shared", "-fPIC"].into_iter());
    let unloadable =
        stage.fake_runtime("unloadable", &["-Wl,--no-as-needed", stage.needed_then_lost().as_str()]);

    let cases = [
        (stage.path("real"), "is a folder"),
        (stage.path("nowhere.so"), "cannot be read"),
        (text, "is not an ELF shared library"),
        (foreign, "another machine (Aarch64)"),
        (shim, "hsa-replay itself"),
        (alias, "hsa-replay itself"),
        (copy, "hsa-replay itself"),
        (unrelated, "no hsa_init"),
        (unloadable, "cannot be loaded"),
    ];
    for (value, why) in cases {
        let environment =
            [stage.library_path(&["shim", "real"]), ("HSA_REPLAY_RUNTIME", value.clone().into_os_string())];
        let outcome = stage.run(environment, &["signatures", "runtime"]);
        assert_eq!(outcome.errors.len(), 1, "{value:?}: {outcome:#?}");
        let line = &outcome.errors[0];
        assert!(line.contains(why) && line.contains(&value.display().to_string()), "{value:?}: {line}");
        assert_eq!(outcome.well(), ["signatures right", "runtime real"], "{value:?}");
    }
}

#[test]
fn copies_of_the_shim_on_the_way_are_passed_over() {
    let stage = Stage::new();
    stage.copy_shim("copy");
    stage.install("second");
    let outcome =
        stage.run([stage.library_path(&["shim", "copy", "second", "real"])], &["signatures", "runtime"]);
    assert_eq!(outcome.quiet(), ["signatures right", "runtime real"]);
}

#[test]
fn of_two_shims_in_one_process_the_first_acts_and_the_second_hands_on() {
    let stage = Stage::new();
    let copy = stage.copy_shim("copy");
    let open = format!("local={}", copy.display());
    // The program's own calls go to the preloaded shim; after `local` they go to the copy.
    let commands = ["status=hsa_init", "count", &open, "status=hsa_init", "count", "signatures", "runtime"];
    let outcome = stage.run([stage.preload(), stage.library_path(&["real"]), info()], &commands);
    let taken: Vec<_> = outcome.errors.iter().filter(|line| line.contains("forwarding to")).collect();
    assert_eq!(taken.len(), 2, "{outcome:#?}");
    assert!(taken[0].contains(&stage.path("real").display().to_string()), "{outcome:#?}");
    assert!(taken[1].contains(&stage.path("shim").display().to_string()), "{outcome:#?}");
    let expected = ["hsa_init 0", "count 1", "hsa_init 0", "count 2", "signatures right", "runtime real"];
    assert_eq!(outcome.well(), expected);
}

#[test]
fn two_shims_act_once_also_when_the_later_one_is_called_first() {
    let stage = Stage::new();
    stage.client_without_runtime("plain");
    let copy = stage.copy_shim("copy");
    let first = format!("mapping={}", stage.path("shim").join(SONAME).display());
    let (second, back) =
        (format!("local={}", copy.display()), format!("local={}", stage.path("shim").join(SONAME).display()));
    let commands = [&first, &second, "status=hsa_init", "count", &back, "status=hsa_init", "count"];
    let outcome = stage.run_program("plain", [stage.library_path(&["real"])], &commands);
    assert_eq!(outcome.quiet(), ["hsa_init 0", "count 1", "hsa_init 0", "count 2"]);
}

#[test]
fn without_any_runtime_every_call_fails_with_a_status_and_one_line_is_said() {
    let stage = Stage::new();
    let vanish = format!("vanish={}", stage.folder("empty").display());
    let commands =
        [&vanish, "status=hsa_init", "status=hsa_shut_down", "status=hsa_iterate_agents", "runtime"];
    let outcome = stage.run([stage.library_path(&["shim", "real"])], &commands);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("no HSA runtime found"), "{outcome:#?}");
    assert!(outcome.errors[0].contains("HSA_REPLAY_RUNTIME"), "{outcome:#?}");
    let expected = [
        "hsa_init 0x1008",
        "hsa_shut_down 0x100b",
        "hsa_iterate_agents 0x100b",
        "runtime hsa-replay: there is no HSA runtime to explain this status",
    ];
    assert_eq!(outcome.well(), expected);
}
