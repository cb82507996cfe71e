//! Copies that were kept in software, and whose call is refused or fails when their turn comes.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{GPU, HOST};
use crate::handles::Signal;
use crate::runtime::{Copy, Runtime, RuntimeError, RuntimeResult};
use crate::shared_memory::signal_value;
use crate::{AsyncCopy, OtherWay};
use hsa_replay_contract::Outcome;
use std::sync::Arc;

const REFUSED: RuntimeResult<()> = Err(RuntimeError { call: "hsa_amd_memory_async_copy", status: 0x1001 });

/// Only `count` is selected; `scale` does nothing.
fn rig() -> Rig {
    let rig = Rig::with(&[("KERNEL", "count")]);
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig
}

fn call(dependencies: &[Signal], completion: Signal, order: u64) -> AsyncCopy<'_> {
    AsyncCopy { agents: &[GPU, HOST], dependencies, completion, bytes: 64, order }
}

/// A call that copies 64 bytes of sevens.
fn submit(rig: &Rig, to: u64, completion: Signal) -> impl FnOnce() -> RuntimeResult<()> + Send + 'static {
    let from = rig.fake.allocate_host(64).expect("host memory");
    for at in (from..from + 64).step_by(8) {
        rig.fake.store_word(at, u64::from_ne_bytes([7; 8]));
    }
    let fake = Arc::clone(&rig.fake);
    move || fake.submit_copy(&Copy { to, to_agent: GPU, from, from_agent: HOST, bytes: 64 }, completion)
}

/// One that has copied when it returns.
fn copy_now(rig: &Rig, to: u64, completion: Signal) -> impl FnOnce() -> RuntimeResult<()> + Send + 'static {
    let fake = Arc::clone(&rig.fake);
    move || {
        fake.machine(|machine| machine.write(to, &[7; 64]));
        fake.subtract_signal(completion, 1);
        Ok(())
    }
}

fn bytes(rig: &Rig, address: u64) -> Vec<u8> {
    rig.fake.machine(|machine| machine.read(address, 64))
}

#[test]
fn a_copy_that_is_refused_late_is_made_in_another_way() {
    let rig = rig();
    let target = rig.allocate(64);
    let _queue = rig.queue(16);
    let (hosts, completion) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
    let plain = submit(&rig, target, completion);
    let others = || vec![OtherWay::submitting(plain)];
    assert_eq!(rig.engine.async_copy(&call(&[hosts], completion, 0), || REFUSED, others), Ok(()));
    rig.fake.store_signal(hosts, 0);
    rig.fake.wait_for_signal(completion);
    assert_eq!((signal_value(completion), bytes(&rig, target)), (0, vec![7; 64]));
    rig.finish();
}

/// The runtime would wait for what the copy depends on; a call that has copied when it returns does not.
#[test]
fn a_copy_that_no_asynchronous_call_makes_is_made_when_what_it_depends_on_has_happened() {
    let rig = rig();
    let (first, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(SCALE));
    let produced = queue.dispatch(SCALE, &[]);
    rig.fake.wait_for_held(rig.kernel(SCALE));
    let hosts = rig.fake.new_signal(1);
    let [before, completion, beside] = [(); 3].map(|()| rig.fake.new_signal(1));
    rig.engine
        .async_copy(&call(&[hosts], before, 0), submit(&rig, first, before), Vec::new)
        .expect("it waits in software");
    let now = copy_now(&rig, target, completion);
    let others = || vec![OtherWay::submitting(|| REFUSED), OtherWay::waiting(now)];
    let dependencies = [produced];
    let late = call(&dependencies, completion, 0);
    assert_eq!(rig.engine.async_copy(&late, || REFUSED, others), Ok(()), "behind the one before");
    rig.engine
        .async_copy(&call(&[hosts], beside, 1), submit(&rig, first, beside), Vec::new)
        .expect("it waits in software");
    rig.fake.store_signal(hosts, 0);
    [before, beside].into_iter().for_each(|signal| rig.fake.wait_for_signal(signal));
    // By now the worker has had a look at it, or does so before it looks at this one.
    let looked = rig.fake.new_signal(1);
    rig.engine
        .async_copy(&call(&[produced], looked, 0), submit(&rig, first, looked), Vec::new)
        .expect("behind it");
    assert_eq!((signal_value(completion), bytes(&rig, target)), (1, vec![0; 64]), "its input is not there");
    rig.fake.release();
    rig.fake.wait_for_signal(looked);
    assert_eq!(
        (signal_value(completion), bytes(&rig, target)),
        (0, vec![7; 64]),
        "in the order of the calls"
    );
    rig.finish();
}

#[test]
fn a_copy_that_is_refused_in_every_way_shows_in_its_signal() {
    for at_the_end in [false, true] {
        let rig = rig();
        let _queue = rig.queue(16);
        let (hosts, completion) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
        let others = || vec![OtherWay::submitting(|| REFUSED), OtherWay::waiting(|| REFUSED)];
        assert_eq!(rig.engine.async_copy(&call(&[hosts], completion, 0), || REFUSED, others), Ok(()));
        if at_the_end {
            rig.engine.stop();
        } else {
            rig.fake.store_signal(hosts, 0);
            rig.fake.wait_for_signal(completion);
        }
        assert_eq!(signal_value(completion), -1, "whoever waits for it waits for ever");
        rig.finish();
    }
}

#[test]
fn a_call_that_panics_costs_neither_the_other_copies_nor_the_windows() {
    let rig = rig();
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    let hosts = rig.fake.new_signal(1);
    let (failed, done) = (rig.fake.new_signal(1), rig.fake.new_signal(1));
    let panics = || panic!("told to");
    rig.engine.async_copy(&call(&[hosts], failed, 0), panics, Vec::new).expect("accepted");
    rig.engine.async_copy(&call(&[hosts], done, 1), submit(&rig, target, done), Vec::new).expect("accepted");
    rig.fake.store_signal(hosts, 0);
    [failed, done].into_iter().for_each(|signal| rig.fake.wait_for_signal(signal));
    assert_eq!((signal_value(failed), signal_value(done), bytes(&rig, target)), (-1, 0, vec![7; 64]));
    queue.run(COUNT, &[out]);
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed);
}
