//! Memory and signals that go, or are still in use, while a window is open.

use super::rig::{COUNT, Rig};
use crate::fake::{Fake, GPU, Operation, PEER};
use crate::handles::Executable;
use crate::inventory::Exclusion;
use crate::runtime::Runtime;
use crate::signals::SignalPool;
use crate::{Access, Unmapped};
use hsa_replay_contract::{Outcome, Reason};
use std::sync::Arc;

const MODULE_BYTES: u64 = 0x5000;

/// Puts other memory where something was.
fn replace(rig: &Rig, address: u64, bytes: u64) {
    rig.fake.machine(|machine| {
        machine.free(address);
        machine.allocate_at(address, bytes);
        machine.write(address, &vec![0xaa; usize::try_from(bytes).expect("small")]);
    });
}

fn is_untouched(rig: &Rig, address: u64, bytes: u64) -> bool {
    rig.fake.machine(|machine| machine.read(address, bytes)).iter().all(|byte| *byte == 0xaa)
}

#[test]
fn memory_of_a_module_unloaded_during_a_window_is_left_alone() {
    for check in ["0", "1"] {
        let rig = Rig::with(&[("CHECK", check)]);
        let out = rig.allocate(64);
        let module = rig.fake.machine(|machine| machine.allocate(MODULE_BYTES));
        rig.load(Executable(2), module);
        let queue = rig.queue(16);
        rig.fake.hold_kernel(rig.kernel(COUNT));
        let counted = queue.dispatch(COUNT, &[out]);
        rig.fake.wait_for_held(rig.kernel(COUNT));
        rig.engine.executable_destroying(Executable(2), true);
        replace(&rig, module, MODULE_BYTES);
        rig.fake.release();
        queue.wait(counted);
        assert_eq!(rig.u32(out), 1);
        assert!(is_untouched(&rig, module, MODULE_BYTES));
        let (records, _) = rig.finish();
        assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
    }
}

/// The call returns although the window is open: the program may map other memory there at once.
#[test]
fn a_mapping_taken_away_during_a_window_is_left_alone() {
    const BYTES: u64 = 4096;
    let rig = Rig::with(&[("CHECK", "0")]);
    let (out, mapping) = (rig.allocate(64), rig.map(1));
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let unmapping = rig.engine.memory_unmapping(mapping, BYTES, true);
    replace(&rig, mapping, BYTES);
    rig.engine.memory_unmapped(&unmapping, Unmapped::Done);
    rig.fake.release();
    queue.wait(counted);
    assert_eq!(rig.u32(out), 1);
    assert!(is_untouched(&rig, mapping, BYTES));
    let (records, _) = rig.finish();
    assert_eq!((records[0].outcome, records[0].passes.len()), (Outcome::Replayed, 3));
}

/// The memory is still there by its other address, and cannot be put back by the one it was captured by.
#[test]
fn memory_that_stays_by_another_mapping_ends_the_window() {
    let rig = Rig::new();
    let (first, _second) = (rig.map(1), rig.map(1));
    let out = rig.allocate(64);
    let queue = rig.queue(16);
    rig.fake.hold_kernel(rig.kernel(COUNT));
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_held(rig.kernel(COUNT));
    let unmapping = rig.engine.memory_unmapping(first, 4096, true);
    rig.fake.machine(|machine| machine.free(first));
    rig.engine.memory_unmapped(&unmapping, Unmapped::Done);
    rig.fake.release();
    queue.wait(counted);
    assert_eq!(rig.u32(out), 1);
    let record = rig.finish().0.remove(0);
    assert_eq!(
        (record.outcome, record.reason, record.passes.len()),
        (Outcome::Declined, Some(Reason::UntrackedMemory), 1)
    );
    assert!(record.detail.expect("said").contains("stays mapped"));
}

/// The snapshot goes on without a mapping that a call is about to take away, and then the call is refused: there is nothing that
/// could be put back.
#[test]
fn a_call_that_is_refused_during_a_window_ends_it_and_nothing_is_put_back_there() {
    const BYTES: u64 = 4096;
    for (unmaps, check) in [(true, "0"), (true, "1"), (false, "0"), (false, "1")] {
        let rig = Rig::with(&[("CHECK", check)]);
        // With the snapshot in host memory its copies are to the host; the first is of the module's variables.
        rig.fake.set_device_memory(0, 1 << 30);
        let (out, mapping) = (rig.allocate(64), rig.map(1));
        rig.fake.machine(|machine| machine.write(mapping, &[0xaa; 4096]));
        let queue = rig.queue(16);
        rig.fake.hold_kernel(rig.kernel(COUNT));
        rig.fake.pause(Operation::CopyToHost, 0);
        let counted = queue.dispatch(COUNT, &[out]);
        rig.fake.wait_for_pause();
        let unmapping = unmaps.then(|| rig.engine.memory_unmapping(mapping, BYTES, true));
        let closing = (!unmaps).then(|| rig.engine.memory_closing(mapping, BYTES, GPU, true));
        rig.fake.resume();
        rig.fake.wait_for_held(rig.kernel(COUNT));
        if let Some(unmapping) = unmapping {
            rig.engine.memory_unmapped(&unmapping, Unmapped::Refused);
        }
        if let Some(closing) = closing {
            rig.engine.memory_not_closed(&closing);
        }
        rig.fake.release();
        queue.wait(counted);
        assert_eq!(rig.u32(out), 1);
        assert!(is_untouched(&rig, mapping, BYTES), "what was never saved was put back");
        queue.run(COUNT, &[out]);
        the_first_is_declined_and_the_second_replayed(rig);
    }
}

fn the_first_is_declined_and_the_second_replayed(rig: Rig) {
    let (records, _) = rig.finish();
    assert_eq!(
        (records[0].outcome, records[0].reason, records[0].passes.len()),
        (Outcome::Declined, Some(Reason::UntrackedMemory), 1)
    );
    assert_eq!((records[1].outcome, records[1].passes.len()), (Outcome::Replayed, 3), "captured again");
}

/// While the call is under way nobody knows whether the memory stays.
#[test]
fn an_unmapping_that_is_refused_after_the_window_leaves_the_memory_as_one_pass() {
    const BYTES: u64 = 4096;
    for check in ["0", "1"] {
        let rig = Rig::with(&[("CHECK", check)]);
        let mapping = rig.map(1);
        let queue = rig.queue(16);
        rig.fake.hold_kernel(rig.kernel(COUNT));
        let counted = queue.dispatch(COUNT, &[mapping]);
        rig.fake.wait_for_held(rig.kernel(COUNT));
        let unmapping = rig.engine.memory_unmapping(mapping, BYTES, true);
        rig.fake.release();
        queue.wait(counted);
        rig.engine.memory_unmapped(&unmapping, Unmapped::Refused);
        assert_eq!(rig.u32(mapping), 1);
        queue.run(COUNT, &[mapping]);
        assert_eq!(rig.u32(mapping), 2);
        the_first_is_declined_and_the_second_replayed(rig);
    }
}

/// On a thread that may not wait, while the mapping is put back.
#[test]
fn an_unmapping_that_may_not_wait_is_made_when_the_memory_is_put_back() {
    const BYTES: u64 = 4096;
    let rig = Rig::with(&[("CHECK", "0")]);
    let mapping = rig.map(1);
    rig.fake.set_device_memory(0, 1 << 30);
    rig.fake.pause(Operation::CopyToDevice, 0);
    let queue = rig.queue(16);
    let counted = queue.dispatch(COUNT, &[mapping]);
    rig.fake.wait_for_pause();
    let unmapping = rig.engine.memory_unmapping(mapping, BYTES, false);
    assert!(unmapping.is_late());
    let (made, has_been_made) = std::sync::mpsc::channel();
    let fake = Arc::clone(&rig.fake);
    rig.engine.unmap_later(unmapping, move || {
        made.send(fake.machine(|machine| machine.read_u32(mapping))).expect("the test waits");
        Unmapped::Refused
    });
    assert!(has_been_made.try_recv().is_err(), "it is still being put back");
    rig.fake.resume();
    assert_eq!(has_been_made.recv().expect("made"), 0, "it was put back as a whole");
    queue.wait(counted);
    assert_eq!(rig.u32(mapping), 1);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 2));
    assert!(record.detail.expect("said").contains("stays mapped"));
}

/// Opens the memory that a window is putting back, and has others write there as soon as the call has returned. They write the rest of
/// a line of which the kernel writes the beginning.
fn opened_while_it_is_put_back(open: fn(&Rig, u64)) {
    for check in ["0", "1"] {
        let rig = Rig::beside_another_gpu(&[("CHECK", check)]);
        rig.fake.set_device_memory(0, 1 << 30);
        let out = rig.map(1);
        rig.fake.pause(Operation::CopyToDevice, 0);
        let queue = rig.queue(16);
        let counted = queue.dispatch(COUNT, &[out]);
        rig.fake.wait_for_pause();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                open(&rig, out);
                rig.fake.machine(|machine| machine.write(out + 32, &[7; 4]));
            });
            rig.fake.wait_for("the call's mark", |_| {
                let record = rig.engine.process.inventory.find(out).expect("is known");
                record.exclusion() == Some(Exclusion::SharedOut)
            });
            // Enough for the others, if nothing keeps them.
            for _ in 0..10_000 {
                std::thread::yield_now();
            }
            rig.fake.resume();
        });
        queue.wait(counted);
        assert_eq!((rig.u32(out), rig.u32(out + 32)), (1, 0x0707_0707), "what others wrote was undone");
        let record = rig.finish().0.remove(0);
        assert_eq!((record.outcome, record.passes.len()), (Outcome::Replayed, 2));
        assert!(record.detail.expect("said").contains("became memory that others may write"));
    }
}

#[test]
fn memory_opened_to_others_while_it_is_put_back_is_theirs_when_that_has_ended() {
    opened_while_it_is_put_back(|rig, out| rig.engine.memory_exported(out, true));
    opened_while_it_is_put_back(|rig, out| rig.engine.memory_opened(out, PEER, true));
    opened_while_it_is_put_back(|rig, out| {
        rig.engine.memory_access(out, 4096, Access { agent: PEER, writes: true }, true);
    });
}

/// On a thread that may not wait: they may write at once, and what they write may be undone.
#[test]
fn memory_opened_to_others_while_it_is_put_back_by_a_thread_that_may_not_wait_taints() {
    let rig = Rig::new();
    let out = rig.allocate(64);
    rig.fake.pause(Operation::CopyToDevice, 0);
    let queue = rig.queue(16);
    let counted = queue.dispatch(COUNT, &[out]);
    rig.fake.wait_for_pause();
    rig.engine.memory_exported(out, false);
    rig.fake.resume();
    queue.wait(counted);
    let record = rig.finish().0.remove(0);
    assert_eq!((record.outcome, record.reason), (Outcome::Tainted, Some(Reason::ForeignWrite)));
    assert!(record.detail.expect("said").contains("opened to others while it was put back"));
}

/// A pass or a barrier that outlasts its window still decrements it.
#[test]
fn a_signal_given_up_in_use_is_used_again_only_when_it_has_completed() {
    let fake = Fake::new();
    let runtime: Arc<dyn Runtime> = Arc::<Fake>::clone(&fake);
    let pool = Arc::new(SignalPool::new(runtime));
    let mut given_up = pool.take().expect("a signal");
    given_up.submitted();
    let signal = given_up.signal();
    drop(given_up);
    let other = pool.take().expect("a signal");
    assert_ne!(other.signal(), signal);
    // The hardware is done with it.
    fake.store_signal(signal, 0);
    assert_eq!(pool.take().expect("a signal").signal(), signal);
    fake.stop();
    fake.check();
}
