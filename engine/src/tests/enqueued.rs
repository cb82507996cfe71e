//! Packets that kernels put into a queue: the doorbell that they ring is heard by nobody on the host.

use super::rig::{COUNT, Rig, SCALE};
use crate::handles::{Executable, Signal};
use hsa_replay_contract::Outcome;

/// The kernel of HIP's and OpenCL's runtime that moves packets from a program's queue on the device to the hardware's.
const SCHEDULER: &str = "__amd_rocclr_scheduler__";

#[test]
fn packets_of_a_kernel_go_on_although_the_host_rings_no_more() {
    let rig = Rig::with(&[("KERNEL", "count")]);
    let scheduler = rig.load_renamed(Executable(2), SCHEDULER);
    rig.fake.kernel(scheduler, |_, _| {});
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    let mut packet = queue.packet(COUNT, &[0], rig.fake.new_signal(1));
    packet[4] = scheduler;
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    // What the kernel writes, without a ring.
    let (scaled, counted) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
    queue.write(queue.packet(SCALE, &[], scaled));
    queue.wait(scaled);
    queue.write(queue.packet(COUNT, &[out], counted));
    queue.wait(counted);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}
