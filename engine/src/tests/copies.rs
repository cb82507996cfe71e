//! Copies of the application beside windows.

use super::rig::{COUNT, Rig, SCALE};
use crate::fake::{Fault, GPU, HOST, Operation, PEER};
use crate::handles::{Agent, Signal};
use crate::runtime::{Copy, Runtime, RuntimeError};
use crate::shared_memory::signal_value;
use crate::{Access, AsyncCopy};
use hsa_replay_contract::{Outcome, Reason};
use std::sync::Arc;
use std::time::Duration;

/// The application copies 64 bytes of `byte` from host memory to device memory.
fn copy(rig: &Rig, to: u64, byte: u8, order: u64, dependencies: &[Signal]) -> Signal {
    copy_between(rig, &[GPU, HOST], to, byte, order, dependencies)
}

/// The same with these agents in its call.
fn copy_between(
    rig: &Rig,
    agents: &[Agent],
    to: u64,
    byte: u8,
    order: u64,
    dependencies: &[Signal],
) -> Signal {
    let from = rig.fake.allocate_host(64).expect("host memory");
    for at in (from..from + 64).step_by(8) {
        rig.fake.store_word(at, u64::from_ne_bytes([byte; 8]));
    }
    let completion = rig.fake.new_signal(1);
    let call = AsyncCopy { agents, dependencies, completion, bytes: 64, order };
    let fake = Arc::clone(&rig.fake);
    let submit = move || {
        let copy = Copy { to, to_agent: GPU, from, from_agent: HOST, bytes: 64 };
        fake.submit_copy(&copy, completion)
    };
    rig.engine.async_copy(&call, submit, Vec::new).expect("accepted");
    completion
}

fn bytes(rig: &Rig, address: u64) -> Vec<u8> {
    rig.fake.machine(|machine| machine.read(address, 64))
}

/// A rig in which `scale` does nothing and only `count` is selected.
fn rig(options: &[(&str, &str)]) -> Rig {
    let rig = Rig::with(&[&[("KERNEL", "count")], options].concat());
    rig.fake.kernel(rig.kernel(SCALE), |_, _| {});
    rig
}

#[test]
fn a_copy_goes_to_the_runtime_at_once_when_no_window_is_open() {
    let rig = rig(&[]);
    let target = rig.allocate(64);
    let _queue = rig.queue(16);
    let done = copy(&rig, target, 7, 0, &[]);
    rig.fake.wait_for_signal(done);
    assert_eq!(bytes(&rig, target), [7; 64]);
    rig.finish();
}

#[test]
fn a_copy_during_a_window_returns_at_once_runs_after_it_and_is_not_undone() {
    let rig = rig(&[("CHECK", "0")]);
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let done = copy(&rig, target, 7, 0, &[]);
    assert_eq!((signal_value(done), bytes(&rig, target)), (1, vec![0; 64]));
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    assert_eq!((signal_value(counted), bytes(&rig, target)), (0, vec![7; 64]));
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}

/// The other GPU comes first, so that its gate, which is open, is the first one looked at.
#[test]
fn a_copy_between_two_gpus_waits_for_a_window_of_either() {
    let rig = Rig::beside_another_gpu(&[("KERNEL", "count")]);
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let done = copy_between(&rig, &[PEER, GPU], target, 7, 0, &[]);
    let back = copy_between(&rig, &[GPU, PEER], target, 7, 1, &[]);
    let beside = copy_between(&rig, &[PEER], target, 0, 2, &[]);
    rig.fake.wait_for_signal(beside);
    assert_eq!((signal_value(done), signal_value(back), bytes(&rig, target)), (1, 1, vec![0; 64]));
    rig.fake.release();
    [done, back].into_iter().for_each(|signal| rig.fake.wait_for_signal(signal));
    assert_eq!((signal_value(counted), bytes(&rig, target)), (0, vec![7; 64]));
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}

#[test]
fn a_window_waits_for_copies_in_flight_and_the_next_ones_decline_at_once_until_they_move() {
    let rig = rig(&[("TIMEOUT", "1")]);
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    rig.fake.fault(Operation::CopyToDevice, 0, Fault::Hold);
    let done = copy(&rig, target, 7, 0, &[]);
    queue.run(COUNT, &[out]);
    queue.run(COUNT, &[out]);
    rig.fake.release();
    rig.fake.wait_for_signal(done);
    queue.run(COUNT, &[out]);
    assert_eq!((rig.u32(out), bytes(&rig, target)), (3, vec![7; 64]));
    refused_once_in_vain_and_once_at_once(&rig.finish().0);
}

/// The first of three has waited for a copy, the second need not, and the third comes after it.
fn refused_once_in_vain_and_once_at_once(records: &[hsa_replay_contract::Dispatch]) {
    for (record, detail) in records.iter().zip(["did not end in time", "is still under way"]) {
        assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::CopyInFlight)));
        assert!(record.detail.as_ref().is_some_and(|said| said.ends_with(detail)), "{:?}", record.detail);
    }
    assert_eq!((records.len(), records[2].outcome), (3, Outcome::Replayed));
}

#[test]
fn a_copy_that_waits_for_a_candidate_does_not_keep_its_window_from_draining() {
    let rig = rig(&[]);
    let (out, target) = (rig.allocate(64), rig.allocate(64));
    let queue = rig.queue(16);
    let counted = rig.fake.new_signal(1);
    let done = copy(&rig, target, 7, 0, &[counted]);
    assert_eq!(signal_value(done), 1);
    queue.submit(queue.packet(COUNT, &[out], counted));
    rig.fake.wait_for_signal(done);
    assert_eq!((signal_value(counted), rig.u32(out), bytes(&rig, target)), (0, 1, vec![7; 64]));
    let (records, _) = rig.finish();
    assert_eq!(records[0].outcome, Outcome::Replayed);
}

#[test]
fn copies_of_one_order_keep_it_and_others_pass() {
    let rig = rig(&[]);
    let (first, second) = (rig.allocate(64), rig.allocate(64));
    let _queue = rig.queue(16);
    let hosts = rig.fake.new_signal(1);
    let held = copy(&rig, first, 1, 5, &[hosts]);
    let behind = copy(&rig, first, 2, 5, &[]);
    let beside = copy(&rig, second, 3, 6, &[]);
    rig.fake.wait_for_signal(beside);
    let as_before = || {
        assert_eq!((signal_value(held), signal_value(behind), bytes(&rig, first)), (1, 1, vec![0; 64]));
    };
    as_before();
    // One that the worker submits later: by then it has had a look at those before it.
    let others = rig.fake.new_signal(1);
    let later = copy(&rig, second, 4, 7, &[others]);
    rig.fake.store_signal(others, 0);
    rig.fake.wait_for_signal(later);
    as_before();
    rig.fake.store_signal(hosts, 0);
    rig.fake.wait_for_signal(behind);
    assert_eq!(bytes(&rig, first), [2; 64], "in the order of the calls");
    rig.finish();
}

#[test]
fn a_copy_of_nothing_is_passed_through() {
    let rig = rig(&[]);
    let _queue = rig.queue(16);
    let unmet = rig.fake.new_signal(1);
    let completion = rig.fake.new_signal(1);
    let call = AsyncCopy { agents: &[GPU], dependencies: &[unmet], completion, bytes: 0, order: 0 };
    let error = RuntimeError { call: "hsa_amd_memory_async_copy", status: 0x1001 };
    assert_eq!(
        rig.engine.async_copy(&call, move || Err(error), Vec::new),
        Err(error),
        "made at once, by this thread"
    );
    assert_eq!(signal_value(completion), 1);
    rig.finish();
}

#[test]
fn a_refused_copy_is_refused_to_the_application_or_shows_in_its_signal() {
    let rig = rig(&[]);
    let _queue = rig.queue(16);
    let error = RuntimeError { call: "hsa_amd_memory_async_copy", status: 0x1001 };
    let hosts = rig.fake.new_signal(1);
    let completion = rig.fake.new_signal(1);
    let call = |dependencies| AsyncCopy { agents: &[GPU], dependencies, completion, bytes: 64, order: 0 };
    assert_eq!(rig.engine.async_copy(&call(&[]), move || Err(error), Vec::new), Err(error));
    assert_eq!(signal_value(completion), 1);
    assert_eq!(rig.engine.async_copy(&call(&[hosts]), move || Err(error), Vec::new), Ok(()));
    rig.fake.store_signal(hosts, 0);
    rig.fake.wait_for_signal(completion);
    assert_eq!(signal_value(completion), -1);
    rig.finish();
}

#[test]
fn a_synchronous_copy_waits_for_the_end_of_a_window() {
    let rig = rig(&[]);
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    std::thread::scope(|scope| {
        let copying = scope.spawn(|| {
            let copy = rig.engine.sync_copy(Some(&[GPU, HOST]), None, true);
            let seen = signal_value(counted);
            drop(copy);
            seen
        });
        assert!(!copying.is_finished());
        rig.fake.release();
        assert_eq!(copying.join().expect("no panic"), 0, "the copy began before the window had ended");
    });
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}

#[test]
fn a_window_waits_for_a_synchronous_copy() {
    let rig = rig(&[("TIMEOUT", "1")]);
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    let copy = rig.engine.sync_copy(None, None, true);
    queue.run(COUNT, &[out]);
    // Another that comes and goes says nothing of the first.
    drop(rig.engine.sync_copy(None, None, true));
    queue.run(COUNT, &[out]);
    drop(copy);
    queue.run(COUNT, &[out]);
    refused_once_in_vain_and_once_at_once(&rig.finish().0);
}

#[test]
fn a_thread_that_may_not_wait_ends_the_window_instead() {
    let rig = rig(&[]);
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    drop(rig.engine.sync_copy(Some(&[GPU]), None, false));
    rig.fake.release();
    queue.wait(counted);
    assert_eq!(rig.u32(out), 1);
    let (records, _) = rig.finish();
    let record = &records[0];
    assert_eq!(
        (record.outcome, record.reason, record.passes.len()),
        (Outcome::Declined, Some(Reason::CopyInFlight), 1)
    );
}

/// The event thread fills memory while the window of `COUNT` puts memory back, and gives its bytes or drops them.
fn intrude(rig: &Rig, target: u64, give: bool) -> (hsa_replay_contract::Dispatch, Vec<u8>) {
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    // With the snapshot in host memory the first copy to the device is a restore's.
    rig.fake.set_device_memory(0, 1 << 30);
    rig.fake.pause(Operation::CopyToDevice, 0);
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    let mut copy = rig.engine.sync_copy(None, Some(target..target + 64), false);
    rig.fake.machine(|machine| machine.write(target, &[7; 64]));
    if give && copy.wants_bytes() {
        copy.keep(&[7; 64]);
    }
    drop(copy);
    rig.fake.resume();
    queue.wait(counted);
    assert_eq!(rig.u32(out), 1);
    let record = rig.records().into_iter().find_map(|record| match record {
        hsa_replay_contract::Record::Dispatch(dispatch) => Some(*dispatch),
        _ => None,
    });
    (record.expect("written before its completion"), bytes(rig, target))
}

#[test]
fn a_copy_of_a_thread_that_may_not_wait_outlives_the_restore_it_falls_into() {
    for check in ["0", "1"] {
        let rig = rig(&[("CHECK", check)]);
        let target = rig.allocate(64);
        let (record, left) = intrude(&rig, target, true);
        assert_eq!(left, [7; 64], "the copy was undone");
        assert_eq!(
            (record.outcome, record.passes.len()),
            (Outcome::Replayed, 2),
            "the window goes no further"
        );
        assert_eq!(record.deterministic, None, "nobody knows what the kernel itself wrote");
        assert!(record.detail.expect("said").starts_with("copy_in_flight"));
        rig.finish();
    }
}

/// The memory has a second address, at which the agent may only read: the copy was made there, by the host for example.
#[test]
fn a_copy_by_an_address_that_the_agent_may_not_write_is_written_again_where_it_may() {
    const BYTES: u64 = 4096;
    let rig = rig(&[("CHECK", "0")]);
    let (captured, alias) = (rig.map(1), rig.map(1));
    drop(rig.engine.memory_closing(alias, BYTES, GPU, true));
    rig.engine.memory_access(alias, BYTES, Access { agent: GPU, writes: false }, true);
    rig.fake.break_memory(alias..alias + BYTES);
    let (record, _) = intrude(&rig, alias + 8, true);
    let left = rig.fake.machine(|machine| machine.read(captured, 80));
    assert_eq!((&left[..8], &left[8..72], &left[72..]), (&[0; 8][..], &[7; 64][..], &[0; 8][..]));
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 2), "{record:?}");
    rig.finish();
}

#[test]
fn a_copy_whose_bytes_may_have_been_undone_taints_the_window() {
    let rig = rig(&[("CHECK", "0")]);
    let target = rig.allocate(64);
    let (record, _) = intrude(&rig, target, false);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::CopyInFlight)));
    rig.finish();
}

#[test]
fn copies_kept_in_software_reach_the_runtime_when_the_engine_stops() {
    let rig = rig(&[]);
    let target = rig.allocate(64);
    let _queue = rig.queue(16);
    let hosts = rig.fake.new_signal(1);
    let done = copy(&rig, target, 7, 0, &[hosts]);
    rig.engine.stop();
    rig.fake.wait_for_signal(done);
    rig.finish();
}

#[test]
fn a_copy_call_that_takes_its_time_holds_up_no_other_call() {
    let rig = rig(&[]);
    let _queue = rig.queue(16);
    let hosts = rig.fake.new_signal(1);
    let (entered, called) = std::sync::mpsc::channel();
    let (done, other_returned) = std::sync::mpsc::channel();
    let dependencies = [hosts];
    let call = |order| AsyncCopy {
        agents: &[GPU],
        dependencies: &dependencies,
        completion: Signal::NONE,
        bytes: 64,
        order,
    };
    let in_time = Arc::new(std::sync::Mutex::new(None));
    let result = Arc::clone(&in_time);
    let slow = move || {
        entered.send(()).expect("the test waits");
        *result.lock().expect("unpoisoned") =
            Some(other_returned.recv_timeout(Duration::from_secs(10)).is_ok());
        Ok(())
    };
    rig.engine.async_copy(&call(0), slow, Vec::new).expect("accepted");
    let unmet = rig.fake.new_signal(1);
    rig.fake.store_signal(hosts, 0);
    called.recv().expect("the worker submits it");
    let behind = AsyncCopy { dependencies: &[unmet], ..call(1) };
    rig.engine.async_copy(&behind, || Ok(()), Vec::new).expect("accepted");
    done.send(()).expect("the slow call waits");
    rig.finish();
    assert_eq!(*in_time.lock().expect("unpoisoned"), Some(true), "the other call waited for the first");
}
