//! The log: off by default, whole lines in the file that was asked for, also from forked children and at exit.

mod support;

use std::ffi::OsString;

use support::Stage;

fn log(filter: &str) -> (&'static str, OsString) {
    ("HSA_REPLAY_LOG", filter.into())
}

#[test]
fn lines_are_appended_to_the_file_by_parent_and_child() {
    let stage = Stage::new();
    let file = stage.path("run.log");
    std::fs::write(&file, "kept\n").expect("a file");
    let environment =
        [stage.library_path(&["shim", "real"]), log("info"), ("HSA_REPLAY_LOG_FILE", file.clone().into())];
    let outcome = stage.run(environment, &["fork", "status=hsa_init"]);
    assert_eq!(outcome.quiet(), ["hsa_init 0", "child 0", "hsa_init 0"]);
    let text = std::fs::read_to_string(&file).expect("the log");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 3, "{text}");
    assert_eq!(lines[0], "kept");
    let process = |line: &str| line.split_once("hsa_runtime64::runtime[").map(|(_, rest)| rest.to_owned());
    assert!(process(lines[1]).is_some() && process(lines[2]).is_some(), "{text}");
    assert_ne!(process(lines[1]), process(lines[2]), "parent and child sign with their own process ids");
}

#[test]
fn a_line_comes_out_of_an_exit_handler() {
    let stage = Stage::new();
    let environment = [stage.library_path(&["shim", "real"]), log("info")];
    let outcome = stage.run(environment, &["status=hsa_init", "atexit"]);
    let late = outcome.errors.iter().filter(|line| line.contains("hsa_amd_enable_logging is not in")).count();
    assert_eq!(late, 2, "once for the user and once in the log: {outcome:#?}");
    assert_eq!(outcome.well(), ["hsa_init 0", "shut down 0", "late 0x1000"]);
}

#[test]
fn a_child_forked_after_the_first_call_logs_too() {
    let stage = Stage::new();
    let environment = [stage.library_path(&["shim", "real"]), log("info")];
    let outcome = stage.run(environment, &["status=hsa_init", "fork", "status=hsa_amd_enable_logging"]);
    let lines =
        outcome.errors.iter().filter(|line| line.contains("WARN") && line.contains("hsa_amd_enable_logging"));
    assert_eq!(lines.count(), 2, "parent and child: {outcome:#?}");
    outcome.well();
}

#[test]
fn the_config_file_sets_the_log_even_where_another_setting_is_bad() {
    let stage = Stage::new();
    let config = stage.path("replay.toml");
    let file = stage.path("it's a log \u{e9}");
    std::fs::write(&config, format!("passes = 3\nlog = \"info\"\nlog_file = \"{}\"\n", file.display()))
        .expect("a file");
    let environment = [
        stage.library_path(&["shim", "real"]),
        ("HSA_REPLAY_CONFIG", config.into()),
        ("HSA_REPLAY_TIMEOUT", "soon".into()),
    ];
    let outcome = stage.run(environment, &["signatures"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(
        outcome.errors[0].contains("HSA_REPLAY_TIMEOUT=soon") && outcome.errors[0].contains("replay is off")
    );
    assert_eq!(outcome.well(), ["signatures right"]);
    let text = std::fs::read_to_string(&file).expect("the log");
    assert!(text.contains("forwarding to"), "{text}");
}

#[test]
fn a_log_whose_folder_is_missing_makes_no_folder() {
    let stage = Stage::new();
    let file = stage.path("no/such/log");
    let environment =
        [stage.library_path(&["shim", "real"]), log("info"), ("HSA_REPLAY_LOG_FILE", file.clone().into())];
    let outcome = stage.run(environment, &["signatures"]);
    assert!(outcome.errors[0].contains("no/such/log"), "{outcome:#?}");
    outcome.well();
    assert!(!file.parent().is_some_and(std::path::Path::exists));
}

#[test]
fn a_full_disk_is_said_once() {
    let stage = Stage::new();
    let environment =
        [stage.library_path(&["shim", "real"]), log("info"), ("HSA_REPLAY_LOG_FILE", "/dev/full".into())];
    let outcome = stage.run(environment, &["status=hsa_init", "status=hsa_amd_enable_logging"]);
    let said =
        outcome.errors.iter().filter(|line| line.contains("the log is incomplete: No space left")).count();
    assert_eq!(said, 1, "{outcome:#?}");
    outcome.well();
}

#[test]
fn a_bad_filter_or_file_is_one_line_and_the_application_is_unharmed() {
    let stage = Stage::new();
    let folder: OsString = stage.path("real").into();
    let nowhere: OsString = stage.path("text/nowhere.log").into();
    std::fs::write(stage.path("text"), "in the way of a folder\n").expect("a file");
    let file = |value: &OsString| ("HSA_REPLAY_LOG_FILE", value.clone());
    let cases = [
        (vec![log("shim=loudest")], "HSA_REPLAY_LOG=shim=loudest: must be levels"),
        (vec![log("info"), file(&folder)], "is a folder"),
        (vec![log("info"), file(&nowhere)], "nowhere.log"),
    ];
    for (variables, why) in cases {
        let runtime = ("HSA_REPLAY_RUNTIME", stage.path("real").join(support::SONAME).into());
        let environment = variables.into_iter().chain([stage.library_path(&["shim"]), runtime]);
        let outcome = stage.run(environment, &["signatures"]);
        assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
        assert!(outcome.errors[0].contains(why), "{outcome:#?}");
        assert_eq!(outcome.well(), ["signatures right"]);
    }
}
