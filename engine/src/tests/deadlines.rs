//! Copies at the end of a window's time: slow is not stuck.

use super::rig::{COUNT, Rig};
use crate::copy::{Copied, Mover};
use crate::fake::{Fault, GPU, Operation};
use crate::inventory::{Region, RegionKind};
use crate::runtime::Runtime;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn region(rig: &Rig) -> [Arc<Region>; 1] {
    [Arc::new(Region::new(RegionKind::Allocation, rig.allocate(4096), 4096, GPU))]
}

#[test]
fn a_batch_that_is_in_flight_at_the_deadline_and_ends_soon_is_done() {
    let rig = Rig::new();
    let (region, host) = (region(&rig), rig.fake.allocate_host(4096).expect("host memory"));
    rig.fake.fault(Operation::CopyToHost, 0, Fault::Hold);
    let mover = Mover::new(&rig.engine.process, GPU, Instant::now() + Duration::from_millis(10));
    let batch = mover.launch(vec![mover.to_host(&region, region[0].base, host, 4096)]);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let later = Mover::new(&rig.engine.process, GPU, Instant::now() + Duration::from_millis(100));
            while !later.is_late() {
                std::thread::yield_now();
            }
            rig.fake.release();
        });
        assert_eq!(mover.land(batch), [Copied::Done]);
    });
    rig.finish();
}

#[test]
fn after_the_deadline_a_window_begins_no_copy_and_what_must_be_done_is_done() {
    let rig = Rig::new();
    let (region, host) = (region(&rig), rig.fake.allocate_host(4096).expect("host memory"));
    let queue = rig.queue(16);
    let soft = rig.engine.agents[0].queues().remove(0);
    let before = rig.fake.count(Operation::CopyToHost);
    let late = || Mover::new(&rig.engine.process, GPU, Instant::now());
    let mover = late().given_up_with(&soft);
    let jobs = vec![mover.to_host(&region, region[0].base, host, 4096); 300];
    assert_eq!(mover.run(&jobs), [Copied::Late; 300]);
    assert_eq!(rig.fake.count(Operation::CopyToHost), before);
    assert_eq!(late().run(&jobs), [Copied::Done; 300]);
    drop(soft);
    let out = rig.allocate(64);
    queue.run(COUNT, &[out]);
    rig.finish();
}
