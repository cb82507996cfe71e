//! What an armed process hears of the application's calls, whatever thread or callback they come from.

mod support;

use support::device::Device;

#[test]
fn memory_is_known_by_every_call_that_makes_shares_or_frees_it() {
    let device = Device::new();
    let lines = device.armed(&["init", "heard", "shutdown"]).quiet();
    let expected = [
        "pool captured captured unknown",
        "executable left-out",
        "host left-out",
        "region captured unknown",
        "peer left-out",
        "ipc-create left-out",
        "dmabuf left-out",
        "dmabuf-v2 left-out",
        "ipc-attach left-out unknown",
        "interop left-out unknown",
        "lock left-out unknown",
        "svm left-out",
        "vmem left-out captured left-out left-out unknown",
        "vmem-export captured left-out",
        "vmem-import left-out",
    ];
    assert_eq!(lines[1..=expected.len()], expected);
}

#[test]
fn a_copy_that_waits_keeps_what_its_call_named_and_the_applications_signal() {
    let device = Device::new();
    let forms = ["late-copy", "late-copy-on-engine", "late-copy-rect"];
    let commands = [&["init", "create"], &forms[..], &["destroy", "shutdown"]].concat();
    let lines = device.armed(&commands).quiet();
    assert_eq!(lines[2..5], ["copy 0 waited copied with its dependency and its signal"; 3]);
}

#[test]
fn what_is_made_inside_a_callback_of_the_runtime_is_known() {
    let device = Device::new();
    let lines = device.armed(&["init", "create", "free-with-callback", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[2], "callback unknown captured ours");
}

/// A tool below us runs inside the store that rings the hardware's doorbell.
#[test]
fn a_doorbell_rung_inside_the_ring_of_the_hardware_is_heard_and_blocks_nobody() {
    let device = Device::new();
    let lines = device.armed(&["init", "create", "ring-in-ring", "destroy", "shutdown"]).quiet();
    assert_eq!(lines[2], "both rings heard");
}

#[test]
fn copies_in_an_unknown_form_end_replay_loudly_and_are_made() {
    let device = Device::new();
    let outcome = device.armed(&["init", "create", "batch-copy", "destroy", "shutdown"]);
    assert_eq!(outcome.errors.len(), 1, "{outcome:#?}");
    assert!(outcome.errors[0].contains("hsa_amd_memory_async_batch_copy copies memory"), "{outcome:#?}");
    assert_eq!(outcome.well()[2], "batch-copy 0");
}
