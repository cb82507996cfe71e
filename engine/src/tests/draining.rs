//! What goes on while an agent drains, and what a drain does not wait for.

use super::rig::{AppQueue, COUNT, Rig, SCALE};
use crate::fake::Operation;
use crate::handles::Signal;
use crate::queue::Stuck;
use crate::runtime::Runtime;
use crate::shared_memory::signal_value;
use hsa_replay_contract::{Dispatch, Outcome, Reason};

/// Only `count` is selected; `scale` does nothing, and does not end before it is released. A drain that waits for it does so
/// longer than the test.
fn rig(timeout: &'static str) -> Rig {
    let rig = Rig::with(&[("KERNEL", "count"), ("TIMEOUT", timeout)]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig.fake.hold_kernel(rig.kernel(SCALE));
    rig
}

fn outcome(record: &Dispatch) -> (Outcome, Option<Reason>, usize) {
    (record.outcome, record.reason, record.passes.len())
}

/// Waits until the drain has put its barrier behind the one packet of a queue.
fn wait_for_the_barrier(rig: &Rig, queue: &AppQueue<'_>) {
    rig.fake.wait_for("the drain's barrier", |_| rig.fake.queue_write_index(queue.real.handle()) == 2);
}

/// The host may wait for them before it lets the kernel end that is drained.
#[test]
fn barriers_of_every_kind_go_on_while_an_agent_drains() {
    let rig = rig("1000");
    let out = rig.allocate(64);
    let (running, other, queue) = (rig.queue(16), rig.queue(16), rig.queue(16));
    let ended = running.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    let counted = queue.dispatch(COUNT, &[out]);
    wait_for_the_barrier(&rig, &running);
    let (met, passed) = (rig.fake.new_signal(0), rig.fake.new_signal(3));
    let and = 3 | 1 << 8;
    let or = 5 | 1 << 8;
    other.submit([and, met.0, 0, 0, 0, 0, 0, passed.0]);
    other.submit([or, met.0, 0, 0, 0, 0, 0, passed.0]);
    // Equal to zero under a mask of all bits.
    let value = 2 << 16 | 1 << 8;
    other.submit([value, met.0, 0, u64::MAX, 0, 0, 0, passed.0]);
    other.wait(passed);
    assert_eq!((signal_value(ended), signal_value(counted)), (1, 1), "the agent still drains");
    rig.fake.release();
    queue.wait(counted);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Replayed, None, 3));
}

/// The agent is quiet then; a signal that changes under a pass could let somebody else go on.
#[test]
fn under_a_pass_not_even_a_barrier_goes_on() {
    let rig = Rig::with(&[("KERNEL", "count")]);
    let out = rig.allocate(64);
    let (other, queue) = (rig.queue(16), rig.queue(16));
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let passed = rig.fake.new_signal(1);
    other.submit(AppQueue::barrier(Signal::NONE, passed));
    assert_eq!((other.forwarded(), signal_value(passed)), (0, 1), "the doorbell forwards what may go on");
    rig.fake.release();
    other.wait(passed);
    queue.wait(counted);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Replayed, None, 3));
}

/// One of the queues was full once, so its read index is looked at before the agent drains; meanwhile the program makes another.
#[test]
fn a_queue_that_is_made_just_before_an_agent_drains_is_drained() {
    let rig = rig("1000");
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    rig.engine.agents[0].queues()[0].set_stuck(Stuck::Full(u64::MAX));
    rig.fake.pause(Operation::ReadIndex, 0);
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    let late = rig.queue(16);
    let ended = late.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    rig.fake.resume();
    wait_for_the_barrier(&rig, &late);
    assert_eq!((signal_value(ended), signal_value(counted)), (1, 1), "a pass ran beside it");
    rig.fake.release();
    queue.wait(counted);
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Replayed, None, 3));
}

#[test]
fn a_dispatch_behind_a_drain_waits_in_software() {
    let rig = rig("1000");
    let out = rig.allocate(64);
    let (running, other, queue) = (rig.queue(16), rig.queue(16), rig.queue(16));
    running.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    let counted = queue.dispatch(COUNT, &[out]);
    wait_for_the_barrier(&rig, &running);
    let late = other.dispatch(SCALE, &[]);
    assert_eq!(other.forwarded(), 0);
    rig.fake.release();
    other.wait(late);
    queue.wait(counted);
    rig.finish();
}

/// The barrier of such a queue never completes.
#[test]
fn a_queue_that_failed_is_left_out_of_a_drain() {
    for fails_before in [true, false] {
        let rig = rig("1000");
        let out = rig.allocate(64);
        let (failed, queue) = (rig.queue(16), rig.queue(16));
        failed.dispatch(SCALE, &[]);
        rig.fake.wait_for_held(rig.kernel(SCALE));
        if fails_before {
            rig.engine.queue_failed(failed.object);
        }
        let counted = queue.dispatch(COUNT, &[out]);
        if !fails_before {
            wait_for_the_barrier(&rig, &failed);
            rig.engine.queue_failed(failed.object);
        }
        queue.wait(counted);
        assert_eq!(rig.u32(out), 1);
        rig.fake.release();
        let (records, _) = rig.finish();
        assert_eq!(outcome(&records[0]), (Outcome::Replayed, None, 3), "fails before: {fails_before}");
    }
}

#[test]
fn a_drain_ends_when_the_process_does() {
    let rig = rig("1000");
    let out = rig.allocate(64);
    let (running, queue) = (rig.queue(16), rig.queue(16));
    let ended = running.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    let counted = queue.dispatch(COUNT, &[out]);
    wait_for_the_barrier(&rig, &running);
    rig.engine.begin_exit();
    queue.wait(counted);
    assert_eq!((signal_value(ended), rig.u32(out)), (1, 1));
    rig.fake.release();
    let (records, _) = rig.finish();
    assert_eq!(outcome(&records[0]), (Outcome::Declined, Some(Reason::ShuttingDown), 0));
}

/// There is no room for the barrier: the queue counts as stuck until its hardware has taken a packet.
#[test]
fn a_hardware_ring_that_stays_full_is_a_queue_that_does_not_drain() {
    let rig = rig("1");
    let out = rig.allocate(64);
    let (full, queue) = (rig.queue(4), rig.queue(16));
    let done = rig.fake.new_signal(5);
    // One has left its slot, four fill the ring.
    full.submit(full.packet(SCALE, &[], done));
    rig.fake.wait_for_held(rig.kernel(SCALE));
    for _ in 0..4 {
        full.submit(full.packet(SCALE, &[], done));
    }
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    rig.fake.release();
    full.wait(done);
    queue.run(COUNT, &[out]);
    assert_eq!(rig.u32(out), 3);
    let id = full.real.id;
    let (records, _) = rig.finish();
    let declined = (Outcome::Declined, Some(Reason::DrainTimeout), 0);
    assert_eq!((outcome(&records[0]), outcome(&records[1])), (declined, declined));
    assert_eq!(records[1].detail, Some(format!("queue {id} is still stuck")));
    assert_eq!(outcome(&records[2]), (Outcome::Replayed, None, 3));
}

#[test]
fn a_thread_that_does_not_return_from_a_doorbell_is_waited_for_once() {
    let rig = Rig::with(&[("TIMEOUT", "1")]);
    let out = rig.allocate(64);
    let (other, queue) = (rig.queue(16), rig.queue(16));
    let id = other.real.id;
    let soft = rig.engine.agents[0].queues().into_iter().find(|soft| soft.hardware().id() == id);
    let soft = soft.expect("listed");
    let forwarder = soft.lock();
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    drop(forwarder);
    queue.run(COUNT, &[out]);
    drop(soft);
    assert_eq!(rig.u32(out), 3);
    let (records, _) = rig.finish();
    let declined = (Outcome::Declined, Some(Reason::DrainTimeout), 0);
    assert_eq!((outcome(&records[0]), outcome(&records[1])), (declined, declined));
    let waited = format!("a thread did not return from the doorbell of queue {id} in time");
    assert_eq!(records[0].detail, Some(waited));
    assert_eq!(records[1].detail, Some(format!("queue {id} is still stuck")));
    assert_eq!(outcome(&records[2]), (Outcome::Replayed, None, 3));
}

/// The simulation calls a look at a queue that is destroyed a violation.
#[test]
fn a_stuck_queue_is_not_destroyed_while_its_read_index_is_looked_at() {
    let rig = rig("1");
    let out = rig.allocate(64);
    let (full, queue) = (rig.queue(4), rig.queue(16));
    let done = rig.fake.new_signal(5);
    full.submit(full.packet(SCALE, &[], done));
    rig.fake.wait_for_held(rig.kernel(SCALE));
    for _ in 0..4 {
        full.submit(full.packet(SCALE, &[], done));
    }
    queue.run(COUNT, &[out]);
    rig.fake.pause(Operation::ReadIndex, 0);
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    full.destroy();
    rig.fake.resume();
    queue.wait(counted);
    rig.fake.release();
    rig.finish();
}
