//! What the software GPU offers to the real stack, beyond kernels that are right: memory of every kind, several processes,
//! several agents, faults.

mod rocm;

use rocm::{Release, Run, Victim};

fn memory_of_every_kind_is_written_by_kernels(release: Release) {
    Victim::hip("memory_kinds", release).alone().run().well();
}

fn two_processes_share_memory_and_an_event(release: Release) {
    Victim::hip("ipc", release).alone().run().well();
}

fn two_processes_share_a_signal(release: Release) {
    let run = Victim::hsa("ipc_signal", "increment", release).alone().run();
    assert_eq!(run.well().stdout, "the other process stored 7\n", "{run}");
}

fn the_runtime_starts_again_and_exported_memory_outlives_its_handle(release: Release) {
    Victim::hsa("virtual_memory", "increment", release).alone().run().well();
}

/// The runtime asks for releases of system scope wherever somebody else looks next.
fn correct_programs_give_the_same_with_a_write_back_cache(release: Release) {
    for name in ["saxpy", "reduction", "streams"] {
        let victim = Victim::hip(name, release);
        victim.alone().variable("MODEL_GPU_CACHE", "1").run().same_as(victim.plain().well());
    }
}

fn on_two_agents(release: Release, words: &[&str]) -> Run {
    let victim =
        Victim { arguments: words.iter().map(Into::into).collect(), ..Victim::hip("peer_access", release) };
    victim.alone().variable("MODEL_GPU_AGENTS", "2").run()
}

fn peers_copy_and_read_each_others_memory(release: Release) {
    on_two_agents(release, &[]).well();
}

fn memory_of_a_peer_is_out_of_reach_without_access(release: Release) {
    let run = on_two_agents(release, &["alone"]);
    assert!(run.stderr.contains("model-gpu: memory fault on agent 1: Read of 0x"), "{run}");
    match release {
        // HIP 5 ends the process, HIP 7 tells the caller.
        Release::Oldest | Release::Stable => {
            assert!(run.stderr.contains("Memory access fault by GPU node-2"), "{run}")
        }
        Release::Testing | Release::Newest => assert_eq!(run.stdout, "a fault\n", "{run}"),
    }
}

fn failing(release: Release, way: &str) -> Run {
    let victim = Victim { arguments: vec![way.into()], ..Victim::hip("faults", release) };
    victim.alone().run()
}

/// The device says `ours`; HIP 5 ends the process with `stable`, HIP 7 tells the caller `newest`.
#[track_caller]
fn fails(release: Release, way: &str, ours: &str, stable: &str, newest: &str) {
    let run = failing(release, way);
    assert!(run.stderr.contains(ours), "{run}");
    match release {
        Release::Oldest | Release::Stable => assert!(run.stderr.contains(stable), "{run}"),
        Release::Testing | Release::Newest => {
            assert!(run.code == Some(0) && run.stdout.trim_end().ends_with(newest), "{run}")
        }
    }
}

fn a_store_to_a_wild_address_is_a_memory_fault(release: Release) {
    let ours = "memory fault on agent 0: Write of 0x123450000";
    fails(release, "wild", ours, "Memory access fault by GPU", "hipErrorIllegalAddress");
}

fn a_store_to_registered_memory_that_is_gone_is_a_memory_fault(release: Release) {
    fails(release, "gone", "memory fault on agent 0", "Memory access fault by GPU", "hipErrorIllegalAddress");
}

fn an_illegal_instruction_and_a_trap_are_errors_of_the_queue(release: Release) {
    let illegal =
        ("illegal instruction at pc", "HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION", "hipErrorLaunchFailure");
    fails(release, "illegal", illegal.0, illegal.1, illegal.2);
    fails(release, "trap", "trap 2 at pc", "HSA_STATUS_ERROR_EXCEPTION", "hipErrorLaunchFailure");
}

fn packets_that_no_device_can_execute_have_their_status(release: Release) {
    let run = Victim::hsa("packet_errors", "increment", release).alone().run();
    let expected = "a packet of no known type: 0x1009\nno dimensions: 0x100d\nan empty work-group: 0x1001\n\
        an absurd grid: 0x1001\nan empty grid: 0x100d\nno kernel: 0x1010\na kernel that is nowhere: 0x1010\n\
        a thousand packets went through a ring of 64\n";
    assert_eq!(run.well().stdout, expected, "{run}");
}

on_both_releases! {
    memory_of_every_kind_is_written_by_kernels
    two_processes_share_memory_and_an_event
    two_processes_share_a_signal
    the_runtime_starts_again_and_exported_memory_outlives_its_handle
    correct_programs_give_the_same_with_a_write_back_cache
    peers_copy_and_read_each_others_memory
    memory_of_a_peer_is_out_of_reach_without_access
    a_store_to_a_wild_address_is_a_memory_fault
    a_store_to_registered_memory_that_is_gone_is_a_memory_fault
    an_illegal_instruction_and_a_trap_are_errors_of_the_queue
    packets_that_no_device_can_execute_have_their_status
}
