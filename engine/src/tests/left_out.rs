//! Arguments that are no plain pointers, and memory that the program leaves out.

use super::rig::{Rig, SCALE};
use super::untracked::{scale, words};
use crate::Named;
use crate::handles::Executable;
use hsa_replay_contract::{Dispatch, Outcome, Reason};

/// Runs `scale` with its pointers declared as something else.
fn with_kind(kind: &str, first: u64, options: &[(&str, &str)]) -> Dispatch {
    let rig = Rig::with(options);
    let object = rig.load_with_kind(Executable(2), kind);
    rig.fake.kernel(object, |_, _| {});
    let queue = rig.queue(16);
    let signal = rig.fake.new_signal(1);
    let mut packet = queue.packet(SCALE, &[first, 0], signal);
    packet[4] = object;
    queue.submit(packet);
    queue.wait(signal);
    rig.finish().0.remove(0)
}

#[test]
fn images_queues_and_what_is_not_known_among_the_arguments_decline_and_are_named() {
    for (kind, reason, what) in [
        ("image", Reason::UntrackedMemory, "is an image"),
        ("queue", Reason::DeviceEnqueue, "is a device queue"),
        ("thing", Reason::UntrackedMemory, "is of a kind that is not known"),
    ] {
        let record = with_kind(kind, 0x4000_0000, &[]);
        assert_eq!((record.outcome, record.reason), (Outcome::Declined, Some(reason)), "{kind}");
        let detail = record.detail.expect("names the argument");
        assert!(detail.starts_with("argument 0") && detail.contains(what), "{detail}");
        assert_eq!(with_kind(kind, 0, &[]).outcome, Outcome::Replayed, "{kind}: there is none");
        let allowed = with_kind(kind, 0x4000_0000, &[("ALLOW", "untracked")]);
        assert_eq!(allowed.outcome == Outcome::Replayed, reason == Reason::UntrackedMemory, "{kind}");
    }
}

/// The program leaves memory out, and `scale` takes it or finds its address.
fn with_memory_left_out(arguments: impl FnOnce(&Rig, u64) -> [u64; 2]) -> Dispatch {
    let rig = Rig::new();
    let memory = rig.allocate(64);
    let arguments = arguments(&rig, memory);
    assert_eq!(rig.engine.capture(memory + 8, false), Named::Done);
    scale(rig, arguments[0], arguments[1])
}

#[test]
fn memory_that_the_program_leaves_out_gives_no_verdict_where_the_kernel_may_write_it() {
    for (record, said) in [
        (with_memory_left_out(|_, memory| [memory + 8, 0]), "argument 0"),
        (with_memory_left_out(|_, memory| [memory + 64, 0]), "argument 0"),
        (with_memory_left_out(|rig, memory| [words(rig, &[0, memory + 8]), 0]), "leads to the word at"),
    ] {
        assert_eq!((record.outcome, record.deterministic), (Outcome::Replayed, None), "{record:?}");
        let detail = record.detail.expect("says what is not covered");
        assert!(detail.contains(said) && detail.contains("memory that the program leaves out"), "{detail}");
        assert!(detail.ends_with("hashes and writes speak of captured memory only"), "{detail}");
    }
}

#[test]
fn memory_that_the_program_leaves_out_is_no_matter_to_other_kernels() {
    for record in [
        with_memory_left_out(|_, memory| [0, memory]),
        with_memory_left_out(|rig, memory| {
            words(rig, &[memory]);
            [rig.allocate(64), 0]
        }),
    ] {
        let ended = (record.outcome, record.deterministic, record.detail.clone());
        assert_eq!(ended, (Outcome::Replayed, Some(true), None), "{record:?}");
    }
}
