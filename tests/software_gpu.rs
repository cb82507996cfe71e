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

fn the_runtime_starts_again_and_exported_memory_outlives_its_handle(release: Release) {
    Victim::hsa("runtime_again", "increment", release).alone().run().well();
}

fn on_two_agents(release: Release, words: &[&str]) -> Run {
    let victim =
        Victim { arguments: words.iter().map(Into::into).collect(), ..Victim::hip("peers", release) };
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
        Release::Stable => assert!(run.stderr.contains("Memory access fault by GPU node-2"), "{run}"),
        Release::Newest => assert_eq!(run.stdout, "a fault\n", "{run}"),
    }
}

on_both_releases! {
    memory_of_every_kind_is_written_by_kernels
    two_processes_share_memory_and_an_event
    the_runtime_starts_again_and_exported_memory_outlives_its_handle
    peers_copy_and_read_each_others_memory
    memory_of_a_peer_is_out_of_reach_without_access
}
