//! What each packet of the copy engine does; each test steps the processor itself.

use core::time::Duration;

use super::*;
use crate::QueueKind;
use crate::events::{Kind, Want};
use crate::testing::{Bench, TestQueue, hold_meanwhile};

const RING: u64 = 1024;

struct Rig {
    bench: Bench,
    test: TestQueue,
    written: core::cell::Cell<u64>,
}

impl Rig {
    fn new() -> Self {
        let bench = Bench::new();
        let test = bench.queue(QueueKind::Sdma, RING);
        Self { bench, test, written: core::cell::Cell::new(0) }
    }

    fn processor(&self) -> Processor<'_> {
        Processor::new(&self.bench.machine, &self.test.queue)
    }

    /// Writes a packet and rings.
    fn submit(&self, words: &[u32]) {
        let mut at = self.written.get();
        for word in words {
            self.bench.view().store(self.test.queue.spec.ring + at % RING, *word).expect("mapped");
            at += 4;
        }
        self.written.set(at);
        self.test.queue.ring(at, at);
    }

    /// Submits a packet and executes it.
    fn run(&self, words: &[u32]) -> Step {
        self.submit(words);
        self.processor().step()
    }
}

fn low(address: u64) -> u32 {
    u32::try_from(address & 0xffff_ffff).expect("32 bits")
}

fn high(address: u64) -> u32 {
    u32::try_from(address >> 32).expect("32 bits")
}

#[test]
fn nothing_starts_before_the_doorbell() {
    let rig = Rig::new();
    rig.bench.view().store(rig.test.queue.spec.ring, 0u32).expect("mapped");
    assert_eq!(rig.processor().step(), Step::Idle);
}

#[test]
fn a_linear_copy_moves_exactly_its_bytes() {
    let rig = Rig::new();
    let (from, to) = (rig.bench.take(64), rig.bench.take(64));
    rig.bench.view().write(from, &[7; 64]).expect("mapped");
    assert_eq!(rig.run(&[1, 32, 0, low(from), high(from), low(to), high(to)]), Step::Done);
    let mut back = [0; 64];
    rig.bench.view().read(to, &mut back).expect("mapped");
    assert_eq!((back[32], back[33]), (7, 0));
    assert_eq!(rig.bench.machine.counters.sdma_copied.get(), 33);
}

#[test]
fn a_rectangle_copy_keeps_the_pitches() {
    let rig = Rig::new();
    let (from, to) = (rig.bench.take(256), rig.bench.take(256));
    let bytes: Vec<u8> = (0..=255).collect();
    rig.bench.view().write(from, &bytes).expect("mapped");
    // 4 x 2 x 2 elements of 2 bytes, from (1, 1, 0) with pitch 8 and slice 32, to (0, 0, 0) with pitch 4, slice 8.
    let words = [
        1 | 4 << 8 | 1 << 29,
        low(from),
        high(from),
        1 | 1 << 16,
        7 << 13,
        31,
        low(to),
        high(to),
        0,
        3 << 13,
        7,
        3 | 1 << 16,
        1,
    ];
    assert_eq!(rig.run(&words), Step::Done);
    let mut back = [0; 32];
    rig.bench.view().read(to, &mut back).expect("mapped");
    let row = |start: u8| (start..start + 8).collect::<Vec<_>>();
    assert_eq!(back.to_vec(), [row(18), row(34), row(82), row(98)].concat());
}

#[test]
fn write_fence_fill_and_atomic_change_memory() {
    let rig = Rig::new();
    let at = rig.bench.take(64);
    assert_eq!(rig.run(&[2, low(at), high(at), 1, 0x11, 0x22]), Step::Done);
    assert_eq!(rig.run(&[5, low(at + 8), high(at), 0x33]), Step::Done);
    assert_eq!(rig.run(&[11 | 2 << 30, low(at + 16), high(at), 0x4444, 4]), Step::Done);
    let minus_one = [10 | 47 << 25, low(at), high(at), u32::MAX, u32::MAX, 0, 0, 0];
    assert_eq!(rig.run(&minus_one), Step::Done);
    let view = rig.bench.view();
    assert_eq!(view.load::<u64>(at), Ok(0x22_0000_0010));
    assert_eq!(view.load::<u64>(at + 8), Ok(0x33));
    assert_eq!(view.load::<u64>(at + 16), Ok(0x4444_0000_4444));
    assert_eq!(view.load::<u64>(at + 24), Ok(0));
}

#[test]
fn a_poll_waits_for_its_condition() {
    let rig = Rig::new();
    let at = rig.bench.take(8);
    rig.bench.view().store(at, 0x1fu32).expect("mapped");
    rig.submit(&[8 | 3 << 28 | 1 << 31, low(at), high(at), 4, 0xf, 0]);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Waiting);
    rig.bench.view().store(at, 0x14u32).expect("mapped");
    assert_eq!(processor.step(), Step::Done);
}

#[test]
fn a_trap_sets_its_event_and_a_timestamp_is_now() {
    let rig = Rig::new();
    let event = rig.bench.machine.events.create(Kind::Signal, true).expect("slot");
    assert_eq!(rig.run(&[6, event]), Step::Done);
    let want = [Want { id: event, age: 0 }];
    assert!(rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists").1);
    let at = rig.bench.take(8);
    let before = clock::ticks();
    assert_eq!(rig.run(&[13 | 2 << 8, low(at), high(at)]), Step::Done);
    let time = rig.bench.view().load::<u64>(at).expect("mapped");
    assert!(before <= time && time <= clock::ticks());
}

#[test]
fn packets_wrap_around_the_ring() {
    let rig = Rig::new();
    let at = rig.bench.take(8);
    let mut processor = rig.processor();
    for value in 0..200 {
        rig.submit(&[5, low(at), high(at), value]);
        rig.submit(&[1 << 16, 0]);
        assert_eq!([processor.step(), processor.step()], [Step::Done, Step::Done]);
        assert_eq!(rig.bench.view().load::<u32>(at), Ok(value));
    }
    assert_eq!(rig.bench.view().load::<u64>(rig.test.queue.spec.read_pointer), Ok(200 * 24));
}

#[test]
fn an_unknown_packet_stops_the_engine_and_reports_a_hang() {
    let rig = Rig::new();
    let event = rig.bench.machine.events.create(Kind::HardwareException, false).expect("slot");
    assert_eq!(rig.run(&[0x7e]), Step::Halted);
    let want = [Want { id: event, age: 0 }];
    let (found, _) = rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists");
    assert_eq!(found[0].hang, Some(2));
    assert_eq!(rig.processor().step(), Step::Halted);
}

#[test]
fn a_packet_cut_off_by_the_write_index_is_refused() {
    let rig = Rig::new();
    assert_eq!(rig.run(&[1, 3, 0]), Step::Halted);
}

#[test]
fn a_copy_to_unmapped_memory_is_a_memory_fault() {
    let rig = Rig::new();
    let event = rig.bench.machine.events.create(Kind::Memory, false).expect("slot");
    let from = rig.bench.take(64);
    assert_eq!(rig.run(&[1, 63, 0, low(from), high(from), 0x1000, 0]), Step::Halted);
    let want = [Want { id: event, age: 0 }];
    let (found, _) = rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists");
    assert_eq!(found[0].memory.map(|m| (m.gpu_id, m.fault.address)), Some((2, 0x1000)));
}

#[test]
fn the_fault_plan_fails_or_stalls_a_copy() {
    for (plan, hang) in [("copy#2=fail", true), ("copy#2=stall", false)] {
        let rig = Rig { bench: Bench::with_faults(plan), ..Rig::new() };
        let rig = Rig { test: rig.bench.queue(QueueKind::Sdma, RING), ..rig };
        let event = rig.bench.machine.events.create(Kind::HardwareException, false).expect("slot");
        let (from, to) = (rig.bench.take(64), rig.bench.take(64));
        let copy = [1, 32, 0, low(from), high(from), low(to), high(to)];
        assert_eq!(rig.run(&copy), Step::Done, "{plan}");
        assert_ne!(rig.run(&copy), Step::Done, "{plan}");
        assert_eq!(rig.processor().step(), Step::Halted, "{plan}");
        let want = [Want { id: event, age: 0 }];
        let (found, _) = rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists");
        assert_eq!(found[0].hang.is_some(), hang, "{plan}");
    }
}

#[test]
fn a_packet_that_meets_whoever_suspends_the_queue_does_not_start() {
    for copies in [false, true] {
        let rig = Rig::new();
        let (at, from) = (rig.bench.take(8), rig.bench.take(8));
        rig.bench.view().store(from, 7u32).expect("mapped");
        if copies {
            rig.submit(&[1, 3, 0, low(from), high(from), low(at), high(at)]);
        } else {
            rig.submit(&[5, low(at), high(at), 7]);
        }
        let mut processor = rig.processor();
        assert_eq!(hold_meanwhile(&rig.test.queue, move || processor.step()), Step::Halted);
        assert_eq!(rig.bench.view().load::<u32>(at), Ok(0));
    }
}
