//! Calls through the shim arrive at the runtime as they were made, whatever their signature and whoever makes the
//! first one.

mod support;

use support::Stage;

#[test]
fn signatures_of_all_kinds_survive_lazy_binding_and_later_calls() {
    let stage = Stage::new();
    let outcome =
        stage.run([stage.library_path(&["shim", "real"])], &["through", "signatures", "signatures"]);
    let through = format!("through {}", stage.path("shim").join(support::SONAME).display());
    assert_eq!(outcome.quiet(), [through.as_str(), "signatures right", "signatures right"]);
}

#[test]
fn first_calls_from_many_threads_at_once_all_bind() {
    let stage = Stage::new();
    for _ in 0..20 {
        let outcome = stage.run([stage.library_path(&["shim", "real"])], &["threads", "signatures"]);
        assert_eq!(outcome.quiet(), ["threads right", "signatures right"]);
    }
}

#[test]
fn a_name_that_the_runtime_lacks_fails_with_a_status_and_one_line() {
    let stage = Stage::new();
    let environment = [stage.library_path(&["shim", "real"])];
    let lacking = "status=hsa_amd_enable_logging";
    let outcome = stage.run(environment, &[lacking, lacking, "signatures"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("hsa_amd_enable_logging is not in the HSA runtime"), "{outcome:#?}");
    let failed = "hsa_amd_enable_logging 0x1000";
    assert_eq!(outcome.well(), [failed, failed, "signatures right"]);
}

#[test]
fn a_wait_that_the_runtime_lacks_satisfies_no_signal() {
    let stage = Stage::new();
    let outcome = stage.run([stage.library_path(&["shim", "real"])], &["status=hsa_amd_signal_wait_all"]);
    assert_eq!(outcome.well(), ["hsa_amd_signal_wait_all 0xffffffff"]);
}

#[test]
fn forks_before_and_after_the_first_call_bind_in_the_child_too() {
    let stage = Stage::new();
    let environment = || [stage.library_path(&["shim", "real"])];
    let before = stage.run(environment(), &["fork", "signatures"]);
    assert_eq!(before.quiet(), ["signatures right", "child 0", "signatures right"]);
    let after = stage.run(environment(), &["status=hsa_init", "fork", "signatures"]);
    assert_eq!(after.quiet(), ["hsa_init 0", "signatures right", "child 0", "signatures right"]);
}

#[test]
fn an_hsa_call_by_a_constructor_of_the_runtime_fails_instead_of_recursing() {
    let stage = Stage::new();
    stage.fake_runtime("early", &["-DFAKE_CALLS_ITSELF_WHEN_LOADED"]);
    let environment = [stage.preload(), stage.library_path(&["early"])];
    // The program needs the library by its SONAME, which the preloaded shim has: the runtime is loaded by the shim alone.
    let outcome = stage.run(environment, &["status=hsa_init", "status=hsa_amd_spm_acquire", "count"]);
    assert_eq!(outcome.well(), ["hsa_init 0", "hsa_amd_spm_acquire 0x1008", "count 1"]);
}

#[test]
fn a_debugger_finds_the_structure_that_a_runtime_below_a_global_shim_fills() {
    let stage = Stage::new();
    let outcome =
        stage.run([stage.library_path(&["shim", "real"])], &["status=hsa_init", "freeze=0xabc", "debugger"]);
    assert_eq!(outcome.quiet()[1], "debugger 10 0xabc 0x1234, one structure");
}

#[test]
fn a_debugger_finds_the_same_contents_below_a_local_shim() {
    let stage = Stage::new();
    stage.client_without_runtime("plain");
    let open = format!("local={}", stage.path("shim").join(support::SONAME).display());
    let commands = [open.as_str(), "status=hsa_init", "freeze=0xabc", "debugger", "freeze=0", "debugger"];
    let lines = stage.run_program("plain", [stage.library_path(&["real"])], &commands).quiet();
    assert_eq!(
        lines[1..],
        ["debugger 10 0xabc 0x1234, two structures", "debugger 10 0 0x1234, two structures"]
    );
}
