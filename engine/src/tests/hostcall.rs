//! Kernels that may talk to the host.

use super::rig::{COUNT, Rig};
use crate::handles::{Executable, Signal};
use crate::runtime::Runtime;
use crate::{Allocation, Source};
use code_object::{HiddenKind, HostCalls};
use hsa_replay_contract::{Dispatch, Outcome, Reason};

/// One kernel whose metadata lists every hidden argument there is.
const UNOPTIMISED: &[u8] = include_bytes!("../../../code-object/tests/data/unoptimised-v5.co");

/// Runs the unoptimised kernel once; it moves the host call buffer if `talks`.
fn run(options: &[(&str, &str)], talks: bool) -> (Dispatch, u64) {
    run_with(options, talks, true)
}

/// The same; with `known` unset nobody has seen where the buffer lies.
fn run_with(options: &[(&str, &str)], talks: bool, known: bool) -> (Dispatch, u64) {
    let rig = Rig::with(options);
    let (kernel, object) = rig.load_other(Executable(2), UNOPTIMISED);
    assert_eq!(kernel.host_calls(), HostCalls::Unknown);
    let buffer = rig.fake.allocate_host(4096).expect("host memory");
    let source = Source::Pool { pool: crate::fake::KERNARG_POOL, flags: 0 };
    rig.engine.memory_allocated(&Allocation { address: buffer, bytes: 4096, source });
    let out = rig.allocate(64);
    let offset = kernel.hidden_argument(&HiddenKind::HostcallBuffer).expect("listed").offset / 8;
    let mut arguments = vec![0; usize::try_from(offset).expect("small") + 1];
    arguments[0] = out;
    arguments[usize::try_from(offset).expect("small")] = if known { buffer } else { 0x4000_0000 };
    let fake = std::sync::Arc::downgrade(&rig.fake);
    rig.fake.kernel(object, move |machine, _| {
        machine.add_u32(out, 1);
        if let Some(fake) = fake.upgrade().filter(|_| talks) {
            fake.store_word(buffer + 24, fake.load_word(buffer + 24) + 1);
        }
    });
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(1);
    let mut packet = queue.packet(COUNT, &arguments, signal);
    packet[4] = object;
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    assert_eq!(rig.u32(out), 1);
    let calls = rig.fake.load_word(buffer + 24);
    (rig.finish().0.remove(0), calls)
}

#[test]
fn an_unoptimised_kernel_that_keeps_silent_is_replayed() {
    let (record, _) = run(&[], false);
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 3));
}

#[test]
fn a_kernel_that_talks_to_the_host_is_heard_once() {
    let (record, calls) = run(&[], true);
    assert_eq!(
        (record.outcome, record.reason, record.passes.len(), calls),
        (Outcome::Declined, Some(Reason::Hostcall), 1, 1)
    );
}

#[test]
fn a_talking_kernel_is_replayed_when_that_is_allowed() {
    let (record, calls) = run(&[("ALLOW", "hostcall")], true);
    assert_eq!((record.outcome, record.passes.len(), calls), (Outcome::Replayed, 3, 3));
}

#[test]
fn a_buffer_that_cannot_be_looked_at_declines_unless_host_calls_are_allowed() {
    let (record, _) = run_with(&[], false, false);
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::Hostcall)));
    let (record, _) = run_with(&[("ALLOW", "hostcall")], false, false);
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 3));
}

#[test]
fn what_the_heap_of_device_side_malloc_leads_to_is_followed_where_the_kernel_may_use_it() {
    for (options, expected) in
        [(&[("ALLOW", "hostcall")][..], Some(Reason::UntrackedMemory)), (&[][..], None)]
    {
        let rig = Rig::with(options);
        let (kernel, object) = rig.load_other(Executable(2), UNOPTIMISED);
        let (out, heap) = (rig.allocate(64), rig.allocate(64));
        let host = rig.arguments(&[]);
        rig.fake.machine(|machine| machine.write(heap + 8, &host.to_le_bytes()));
        let offset = kernel.hidden_argument(&HiddenKind::HeapV1).expect("listed").offset / 8;
        let mut arguments = vec![0; usize::try_from(offset).expect("small") + 1];
        arguments[0] = out;
        arguments[usize::try_from(offset).expect("small")] = heap;
        rig.fake.kernel(object, |_, _| {});
        let queue = rig.queue(16);
        let signal = rig.fake.new_signal(1);
        let mut packet = queue.packet(COUNT, &arguments, signal);
        packet[4] = object;
        queue.submit(packet);
        queue.wait(signal);
        let record = rig.finish().0.remove(0);
        assert_eq!(record.reason, expected, "{options:?}");
        if expected.is_some() {
            assert!(record.detail.expect("said").starts_with("the heap of device-side malloc leads to"));
        }
    }
}
