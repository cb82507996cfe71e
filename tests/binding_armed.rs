//! An armed process: every call about a queue is mapped between the object that the application holds and the hardware's,
//! everything else arrives as it was made, and whatever is wrong with arming leaves the application alone.

mod support;

use support::device::Device;

#[test]
fn a_queue_is_ours_and_keeps_the_real_id() {
    let device = Device::new();
    let commands = ["init", "create", "destroy", "shutdown"];
    assert_eq!(
        device.armed(&commands).quiet(),
        ["init 0", "create 0 ours id same", "destroy 0 1", "shutdown 0"]
    );
}

#[test]
fn not_armed_the_application_holds_the_real_queue_and_no_report_is_made() {
    let device = Device::new();
    let lines = device.run(&[], &["init", "create", "ring", "indices", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[1..3], ["create 0 real id same", "rung 54 packets 54"]);
    assert!(!device.report().exists());
}

#[test]
fn every_way_of_ringing_the_doorbell_forwards_the_packet() {
    let device = Device::new();
    let lines = device.armed(&["init", "create", "ring", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[2], "rung 54 packets 54");
}

#[test]
fn all_index_calls_act_on_the_indices_of_our_ring() {
    let device = Device::new();
    let lines =
        device.armed(&["init", "create", "indices", "ring", "indices", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[2..5], ["indices right", "rung 54 packets 54", "indices right"]);
}

#[test]
fn properties_are_those_of_the_real_queue_and_its_doorbell_stays_hidden() {
    let device = Device::new();
    let lines = device.armed(&["init", "create", "properties", "inactivate", "destroy"]).quiet();
    let expected = "info 0 agent 2 doorbell 0x1001 newer 0x1001 priority 2 mask 37 5 profiling 1 1";
    assert_eq!(lines[2..], [expected, "inactivate 0", "destroy 0 1"]);
}

#[test]
fn the_error_callback_names_the_queue_that_the_application_holds_once() {
    let device = Device::new();
    let lines = device.armed(&["init", "create", "fail", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[2..], ["fail called back 1 for the queue we hold", "destroy 0 1", "shutdown 0"]);
}

#[test]
fn calls_about_memory_arrive_with_their_arguments_and_statuses() {
    let device = Device::new();
    let expected = "memory 0 0 0 0 0 0 0 0 0 0x1001 5";
    assert_eq!(device.run(&[], &["init", "memory"]).quiet()[1], expected);
    assert_eq!(device.armed(&["init", "memory", "shutdown"]).quiet()[1], expected);
}

#[test]
fn a_failed_creation_fails_as_without_us() {
    let device = Device::new();
    assert_eq!(device.armed(&["init", "create-on-cpu"]).quiet()[1], "create-on-cpu 0x1001");
}

#[test]
fn the_session_is_reported_from_the_first_init_to_the_last_shut_down() {
    let device = Device::new();
    device.armed(&["init", "init", "create", "shutdown", "ring", "destroy", "shutdown"]).quiet();
    let lines = device.report_lines();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with(r#"{"record":"session""#) && lines[0].contains(r#""name":"gfx942""#),
        "{lines:?}"
    );
    assert!(lines[1].starts_with(r#"{"record":"summary""#), "{lines:?}");
}

#[test]
fn a_process_that_never_shuts_down_still_ends_its_report() {
    let device = Device::new();
    device.armed(&["init", "create", "ring"]).quiet();
    let lines = device.report_lines();
    assert!(lines.last().is_some_and(|line| line.starts_with(r#"{"record":"summary""#)), "{lines:?}");
}

#[test]
fn queues_made_in_an_unknown_way_end_replay_loudly_and_work() {
    let device = Device::new();
    let outcome = device.armed(&["init", "create", "counted", "shutdown"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("hsa_amd_counted_queue_acquire makes queues"), "{outcome:#?}");
    assert_eq!(outcome.well()[2], "counted 0 real");
}

#[test]
fn a_queue_making_call_that_the_runtime_lacks_fails_and_replay_goes_on() {
    let device = Device::new();
    let outcome = device.armed(&["init", "sdma", "create", "destroy", "shutdown"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(
        outcome.errors[0].contains("hsa_amd_sdma_queue_create is not in the HSA runtime"),
        "{outcome:#?}"
    );
    assert_eq!(outcome.well()[1..3], ["sdma 0x1000", "create 0 ours id same"]);
}

#[test]
fn a_child_forked_after_init_is_disarmed_and_one_forked_before_is_armed() {
    let device = Device::new();
    let after = device.armed(&["init", "create", "fork", "create", "destroy"]);
    assert_eq!(
        after.quiet(),
        ["init 0", "create 0 ours id same", "create 0 real id same", "destroy 0 1", "child 0"]
    );
    let before = device.armed(&["fork", "init", "create", "destroy"]);
    assert_eq!(before.quiet(), ["init 0", "create 0 ours id same", "destroy 0 1", "child 0"]);
}

#[test]
fn a_bad_setting_is_one_line_and_the_application_runs_without_us() {
    let device = Device::new();
    let missing = device.stage.path("missing.toml");
    let missing = missing.to_str().expect("a plain path");
    let cases = [
        (vec![("HSA_REPLAY_PASSES", "0")], "HSA_REPLAY_PASSES=0"),
        (vec![("HSA_REPLAY_PASSES", "2"), ("HSA_REPLAY_KERNEL", "(")], "HSA_REPLAY_KERNEL=("),
        (vec![("HSA_REPLAY_PASSES", "2"), ("HSA_REPLAY_CONFIG", missing)], "missing.toml"),
    ];
    for (variables, why) in cases {
        let outcome = device.run(&variables, &["init", "create", "ring", "destroy", "shutdown"]);
        assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
        assert!(
            outcome.errors[0].contains(why) && outcome.errors[0].contains("replay is off"),
            "{outcome:#?}"
        );
        assert_eq!(outcome.well()[1], "create 0 real id same");
        assert!(!device.report().exists());
    }
}

#[test]
fn a_report_that_cannot_be_opened_is_one_line_and_the_application_runs_without_us() {
    let device = Device::new();
    std::fs::create_dir(device.report()).expect("a folder in the way");
    let outcome = device.armed(&["init", "create", "ring", "destroy", "shutdown"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("report.jsonl"), "{outcome:#?}");
    assert_eq!(outcome.well()[1], "create 0 real id same");
}

#[test]
fn passes_in_the_config_file_arm_as_well() {
    let device = Device::new();
    let file = device.stage.path("replay.toml");
    std::fs::write(&file, "passes = 3\n").expect("a file");
    let variables = [("HSA_REPLAY_CONFIG", file.to_str().expect("a plain path"))];
    assert_eq!(
        device.run(&variables, &["init", "create", "destroy", "shutdown"]).quiet()[1],
        "create 0 ours id same"
    );
}

#[test]
fn a_second_life_of_the_runtime_works_like_the_first() {
    let device = Device::new();
    let life = ["init", "create", "ring", "destroy", "shutdown"];
    let commands: Vec<_> = life.into_iter().chain(life).collect();
    let lines = device.armed(&commands).quiet();
    assert_eq!(lines[5..8], ["init 0", "create 0 ours id same", "rung 54 packets 54"]);
}
