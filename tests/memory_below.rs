//! Windows on hardware whose memory is less convenient than it looks: stores that stay in a cache until they are released, and
//! hardware queues whose rings lie in device memory.

mod rocm;

use rocm::report::replayed;
use rocm::{Launch, Release, Victim};

const PASSES: usize = 3;

on_both_releases! { what_a_cache_holds_back_is_in_snapshots_comparisons_and_copies }

/// Copy engines see what a release of system scope has written back, and nothing else.
fn what_a_cache_holds_back_is_in_snapshots_comparisons_and_copies(release: Release) {
    for (name, kernel, count) in [("saxpy", "saxpy", 4), ("streams", "add", 8), ("increment", "increment", 1)]
    {
        let victim = Victim::hip(name, release);
        let run = victim.replayed(&["--passes", "3"]).variable("MODEL_GPU_CACHE", "1").run();
        run.same_as(victim.plain().well());
        for dispatch in run.report().complete().of_kernel(kernel, count) {
            replayed(dispatch, PASSES);
        }
    }
}

/// Older releases have no such rings. The host writes into them, so all device memory is in its reach.
#[test]
fn packets_reach_a_hardware_queue_whose_ring_lies_in_device_memory() {
    let there = |launch: Launch| {
        launch.variable("HSA_ALLOCATE_QUEUE_DEV_MEM", "1").variable("MODEL_GPU_STRICT_VRAM", "0").run()
    };
    let ring = Victim::hsa("queue_ring", "increment", Release::Newest);
    assert_eq!(there(ring.alone()).well().stdout, "GPU\n");
    for (name, kernel, count) in [("saxpy", "saxpy", 4), ("streams", "add", 8), ("graph", "add", 6)] {
        let victim = Victim::hip(name, Release::Newest);
        let run = there(victim.replayed(&["--passes", "3"]));
        run.same_as(victim.plain().well());
        for dispatch in run.report().complete().of_kernel(kernel, count) {
            replayed(dispatch, PASSES);
        }
    }
}
