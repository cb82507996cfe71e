//! Dispatches whose groups all have to be on the agent together.

use super::rig::{COUNT, Rig};
use crate::fake::{Event, GPU, Operation};
use crate::handles::{Executable, Signal};
use code_object::HiddenKind;
use hsa_replay_contract::{Allow, Dispatch, Outcome, Reason};

/// One kernel whose metadata lists every hidden argument there is.
const UNOPTIMISED: &[u8] = include_bytes!("../../../code-object/tests/data/unoptimised-v5.co");

/// The same kernel as an optimised build lists it: neither kernels of its own nor host calls.
fn optimised() -> Vec<u8> {
    let mut image = UNOPTIMISED.to_vec();
    for name in [&b"hidden_default_queue"[..], b"hidden_hostcall_buffer"] {
        let at = image.windows(name.len()).position(|window| window == name).expect("listed");
        image[at..at + name.len()].copy_from_slice(&[&b"hidden_"[..], &vec![b'x'; name.len() - 7]].concat());
    }
    image
}

/// Dispatches a kernel with a word in its slot for the cooperative launch.
fn with_grid(image: &[u8], options: &[(&str, &str)], grid: u64) -> Dispatch {
    let rig = Rig::with(options);
    let (kernel, object) = rig.load_other(Executable(2), image);
    rig.fake.kernel(object, |_, _| {});
    let out = rig.allocate(64);
    let offset = kernel.hidden_argument(&HiddenKind::MultigridSyncArg).expect("listed").offset / 8;
    let offset = usize::try_from(offset).expect("small");
    let mut arguments = vec![0; offset + 1];
    arguments[0] = out;
    arguments[offset] = grid;
    let queue = rig.queue(16);
    let mut packet = queue.packet(COUNT, &arguments, rig.fake.new_signal(1));
    packet[4] = object;
    queue.submit(packet);
    queue.wait(Signal(packet[7]));
    rig.finish().0.remove(0)
}

#[test]
fn a_kernel_that_joins_its_grid_runs_once_unless_that_is_allowed() {
    let record = with_grid(&optimised(), &[], 0x1234_5678);
    assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(Reason::Cooperative)));
    assert_eq!(record.passes.len(), 0);
    let record = with_grid(&optimised(), &[("ALLOW", "cooperative")], 0x1234_5678);
    assert_eq!((record.outcome, &record.allowed[..]), (Outcome::Replayed, &[Allow::Cooperative][..]));
    let record = with_grid(&optimised(), &[], 0);
    assert_eq!((record.outcome, record.reason), (Outcome::Replayed, None), "launched as any other");
}

#[test]
fn what_lies_in_a_slot_that_every_unoptimised_kernel_has_says_nothing() {
    let record = with_grid(UNOPTIMISED, &[], 0x1234_5678);
    assert_eq!((record.outcome, record.reason), (Outcome::Replayed, None));
}

#[test]
fn a_dispatch_of_a_cooperative_queue_runs_once_unless_that_is_allowed() {
    for (options, expected) in [
        (&[][..], (Outcome::Declined, Some(Reason::Cooperative))),
        (&[("ALLOW", "cooperative")][..], (Outcome::Replayed, None)),
    ] {
        let rig = Rig::with(options);
        let out = rig.allocate(64);
        let queue = rig.queue_of_kind(16, true);
        queue.run(COUNT, &[out]);
        assert_eq!(rig.u32(out), 1);
        assert!(
            rig.engine.wrap_queue(GPU, queue.real.handle(), true).is_ok_and(|again| again == queue.object)
        );
        let (records, _) = rig.finish();
        assert_eq!((records[0].outcome, records[0].reason), expected);
    }
}

/// The real queue is one for the whole process and is not stopped. The window is putting memory back for its second pass.
#[test]
fn no_pass_begins_once_a_cooperative_queue_has_been_destroyed() {
    let rig = Rig::with(&[("ALLOW", "cooperative")]);
    let out = rig.allocate(64);
    let queue = rig.queue_of_kind(16, true);
    rig.fake.set_device_memory(0, 1 << 30);
    rig.fake.pause(Operation::CopyToDevice, 0);
    queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    rig.engine.destroy_queue(queue.object, false).expect("is ours").expect("destroyed");
    rig.fake.resume();
    let fake = std::sync::Arc::clone(&rig.fake);
    let (records, _) = rig.finish();
    let ran = fake.events().iter().filter(|event| matches!(event, Event::Dispatch { .. })).count();
    assert_eq!((ran, records.len()), (1, 1));
    assert_eq!((records[0].outcome, records[0].reason), (Outcome::Faulted, Some(Reason::QueueError)));
}
