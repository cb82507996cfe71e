//! How packets start, wait, complete and fail; each test steps the processor itself.

use core::time::Duration;

use super::*;
use crate::QueueKind;
use crate::events::{Kind, Want};
use crate::testing::{Bench, TestQueue, hold_meanwhile};

const KERNEL: u16 = 2;
const BARRIER_AND: u16 = 3;
const BARRIER_OR: u16 = 5;
const VENDOR: u16 = 0;

struct Rig {
    bench: Bench,
    test: TestQueue,
}

impl Rig {
    fn new() -> Self {
        let bench = Bench::new();
        let test = bench.queue(QueueKind::Aql, 16 * PACKET);
        Self { bench, test }
    }

    fn processor(&self) -> Processor<'_> {
        Processor::new(&self.bench.machine, &self.test.queue)
    }

    /// Writes the words of packet `index` (offset, value), then its header.
    fn publish(&self, index: u64, header: u16, words: &[(u64, u64)]) {
        let at = self.test.queue.spec.ring + index % 16 * PACKET;
        let view = self.bench.view();
        for offset in (8..PACKET).step_by(8) {
            view.store(at + offset, 0u64).expect("mapped");
        }
        view.store(at + 4, 0u32).expect("mapped");
        for (offset, value) in words {
            view.store(at + offset, *value).expect("mapped");
        }
        view.store(at, header).expect("mapped");
    }

    fn vendor(&self, index: u64, format: u8, words: &[(u64, u64)]) {
        self.publish(index, 1, words);
        let at = self.test.queue.spec.ring + index % 16 * PACKET;
        self.bench.view().store(at + 2, format).expect("mapped");
        self.bench.view().store(at, VENDOR).expect("mapped");
    }

    fn ring(&self, index: u64) {
        self.test.queue.ring(index, index + 1);
    }

    fn value(&self, signal: Signal) -> i64 {
        signal.value(&self.bench.view()).expect("mapped")
    }

    fn load(&self, address: u64) -> u64 {
        self.bench.view().load(address).expect("mapped")
    }
}

#[test]
fn packets_start_only_up_to_the_rung_doorbell() {
    let rig = Rig::new();
    let signals: Vec<_> = (0..3).map(|_| rig.bench.signal(1)).collect();
    for (i, signal) in (0..).zip(&signals) {
        rig.publish(i, BARRIER_AND, &[(56, signal.0)]);
    }
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Idle);
    rig.ring(1);
    assert_eq!([processor.step(), processor.step(), processor.step()], [Step::Done, Step::Done, Step::Idle]);
    assert_eq!(signals.iter().map(|s| rig.value(*s)).collect::<Vec<_>>(), [0, 0, 1]);
    rig.ring(2);
    assert_eq!(processor.step(), Step::Done);
}

#[test]
fn a_lower_ring_after_a_higher_one_takes_nothing_back() {
    let rig = Rig::new();
    rig.publish(0, BARRIER_AND, &[]);
    rig.publish(1, BARRIER_AND, &[]);
    rig.test.queue.ring(1, 2);
    rig.test.queue.ring(0, 2);
    assert_eq!(rig.test.queue.limit(), 2);
}

#[test]
fn a_ring_hidden_by_a_lower_one_counts_a_little_later() {
    let rig = Rig::new();
    // Packets 0 and 1 were reserved; the ring of 1 came first and was overwritten by the ring of 0.
    rig.test.queue.ring(0, 2);
    assert!(rig.test.queue.may_owe_a_ring());
    while rig.test.queue.limit() < 2 {
        std::thread::yield_now();
    }
    assert!(!rig.test.queue.may_owe_a_ring());
}

#[test]
fn only_complete_packets_of_several_producers_may_owe_a_ring() {
    // (type of the queue, packet 1 is complete, it may count later): SINGLE is 1, MULTI is 0.
    for (queue_type, complete, owed) in [(0u32, true, true), (0, false, false), (1, true, false)] {
        let rig = Rig::new();
        let TestQueue { queue, amd, .. } = &rig.test;
        rig.bench.view().store(*amd, queue_type).expect("mapped");
        rig.publish(0, BARRIER_AND, &[]);
        if complete {
            rig.publish(1, BARRIER_AND, &[]);
        }
        rig.bench.view().store(queue.spec.write_pointer, 2u64).expect("mapped");
        let memory = &rig.bench.machine.memory;
        let doorbell = memory.backing().host(memory.doorbell_offset(0) + u64::from(queue.slot) * 8);
        // SAFETY: the doorbell page is mapped as long as the machine lives.
        unsafe { crate::shared::Span::new(doorbell, 8) }.store(0, 0u64);
        assert!(crate::queues::doorbells::look(&rig.bench.machine, queue));
        assert_eq!(queue.limit(), 1);
        assert_eq!(queue.may_owe_a_ring(), owed, "type {queue_type}, complete {complete}");
    }
}

#[test]
fn a_rung_slot_that_is_not_published_is_waited_for() {
    let rig = Rig::new();
    rig.ring(0);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Waiting);
    rig.publish(0, BARRIER_AND, &[]);
    assert_eq!(processor.step(), Step::Done);
}

#[test]
fn a_finished_packet_frees_its_slot_and_moves_the_read_index() {
    let rig = Rig::new();
    let mut processor = rig.processor();
    for index in 0..20 {
        rig.publish(index, BARRIER_AND, &[]);
        rig.ring(index);
        assert_eq!(processor.step(), Step::Done);
        assert_eq!(rig.load(rig.test.queue.spec.read_pointer), index + 1);
        assert_eq!(rig.load(rig.test.queue.spec.ring + index % 16 * PACKET) & 0xffff, 1);
    }
}

#[test]
fn barrier_and_waits_until_every_signal_is_exactly_zero() {
    let rig = Rig::new();
    let (a, b, done) = (rig.bench.signal(1), rig.bench.signal(-1), rig.bench.signal(1));
    rig.publish(0, BARRIER_AND, &[(8, a.0), (40, b.0), (56, done.0)]);
    rig.ring(0);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Waiting);
    rig.bench.view().store(a.0 + 8, 0u64).expect("mapped");
    assert_eq!(processor.step(), Step::Waiting, "-1 is not zero");
    rig.bench.view().store(b.0 + 8, 0u64).expect("mapped");
    assert_eq!(processor.step(), Step::Done);
    assert_eq!(rig.value(done), 0);
}

#[test]
fn barrier_or_waits_for_one_signal_and_passes_without_any() {
    let rig = Rig::new();
    let (a, b) = (rig.bench.signal(1), rig.bench.signal(1));
    rig.publish(0, BARRIER_OR, &[(8, a.0), (16, b.0)]);
    rig.publish(1, BARRIER_OR, &[]);
    rig.ring(1);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Waiting);
    rig.bench.view().store(b.0 + 8, 0u64).expect("mapped");
    assert_eq!([processor.step(), processor.step()], [Step::Done, Step::Done]);
}

#[test]
fn barrier_value_compares_the_masked_value() {
    let rig = Rig::new();
    let signal = rig.bench.signal(0x35);
    // (condition, reference, mask, met)
    let cases =
        [(0, 5, 0xf, true), (0, 6, 0xf, false), (1, 6, 0xf, true), (2, 6, 0xf, true), (2, 5, 0xf, false)];
    let more = [(3, 5, 0xf, true), (3, 6, 0xf, false), (3, 0x35, u64::MAX, true)];
    for (condition, reference, mask, met) in cases.into_iter().chain(more) {
        let mut processor = rig.processor();
        let index = processor.next;
        rig.vendor(index, 2, &[(8, signal.0), (16, reference), (24, mask), (32, condition)]);
        rig.ring(index);
        let expected = if met { Step::Done } else { Step::Waiting };
        assert_eq!(
            processor.step(),
            expected,
            "condition {condition} with {reference:#x} and mask {mask:#x}"
        );
        if !met {
            rig.publish(index, BARRIER_AND, &[]);
            assert_eq!(processor.step(), Step::Done);
        }
    }
}

#[test]
fn pm4_writes_data_and_skips_cache_commands_and_padding() {
    let rig = Rig::new();
    let (buffer, target, done) = (rig.bench.take(256), rig.bench.take(16), rig.bench.signal(1));
    let low = u32::try_from(target & 0xffff_ffff).expect("32 bits");
    let high = u32::try_from(target >> 32).expect("32 bits");
    let commands = [
        [0xffff_1000].as_slice(),
        &[0xc006_5800, 0, 0, 0, 0, 0, 0, 0],
        &[0xc003_3700, 5 << 8, low, high, 0xdead_beef],
        &[0xc000_1000, 0],
    ]
    .concat();
    for (i, word) in (0..).zip(&commands) {
        rig.bench.view().store(buffer + 4 * i, *word).expect("mapped");
    }
    let jump = 0xc002_3f00 | (buffer & 0xffff_ffff) << 32;
    let size = buffer >> 32 | (commands.len() as u64 | 1 << 23) << 32;
    rig.vendor(0, 1, &[(56, done.0)]);
    let at = rig.test.queue.spec.ring;
    rig.bench.view().store(at + 4, jump).expect("mapped");
    rig.bench.view().store(at + 12, size).expect("mapped");
    rig.ring(0);
    assert_eq!(rig.processor().step(), Step::Done);
    assert_eq!((rig.load(target), rig.value(done)), (0xdead_beef, 0));
}

#[test]
fn ticks_are_written_only_with_profiling_on() {
    let rig = Rig::new();
    let (plain, timed) = (rig.bench.signal(1), rig.bench.signal(1));
    rig.publish(0, BARRIER_AND, &[(56, plain.0)]);
    rig.publish(1, BARRIER_AND, &[(56, timed.0)]);
    rig.ring(1);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Done);
    rig.bench.view().store(rig.test.amd + 180, 1u32 << 3).expect("mapped");
    assert_eq!(processor.step(), Step::Done);
    assert_eq!((rig.load(plain.0 + 32), rig.load(plain.0 + 40)), (0, 0));
    let (start, end) = (rig.load(timed.0 + 32), rig.load(timed.0 + 40));
    assert!(0 < start && start <= end && end <= clock::ticks());
}

#[test]
fn an_unknown_packet_raises_an_exception_where_the_runtime_asked_for_it() {
    let rig = Rig::new();
    let event = rig.bench.machine.events.create(Kind::Signal, true).expect("slot");
    let payload = rig.bench.take(8);
    rig.bench.view().store(rig.test.save_area + 24, payload).expect("mapped");
    rig.bench.view().store(rig.test.save_area + 32, event).expect("mapped");
    rig.publish(0, 9, &[]);
    rig.publish(1, BARRIER_AND, &[]);
    rig.ring(1);
    let mut processor = rig.processor();
    assert_eq!([processor.step(), processor.step()], [Step::Halted, Step::Halted]);
    assert_eq!(rig.load(payload), 1 << 19);
    let want = [Want { id: event, age: 0 }];
    assert!(rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists").1);
    assert_eq!(rig.load(rig.test.queue.spec.read_pointer), 0, "the packet stays at the head");
}

#[test]
fn without_exceptions_an_error_is_the_inactive_signals_value() {
    let rig = Rig::new();
    rig.vendor(0, 77, &[]);
    rig.ring(0);
    assert_eq!(rig.processor().step(), Step::Halted);
    let inactive = Signal(rig.load(rig.test.amd + 192));
    assert_eq!(rig.value(inactive), 256);
}

#[test]
fn a_signal_out_of_reach_is_a_memory_fault() {
    let rig = Rig::new();
    let event = rig.bench.machine.events.create(Kind::Memory, false).expect("slot");
    rig.publish(0, BARRIER_AND, &[(8, 0x1000)]);
    rig.ring(0);
    assert_eq!(rig.processor().step(), Step::Halted);
    let want = [Want { id: event, age: 0 }];
    let (found, _) = rig.bench.machine.events.wait(&want, false, Some(Duration::ZERO)).expect("exists");
    assert_eq!(found[0].memory.expect("data").fault.address, 0x1008);
}

#[test]
fn a_suspended_queue_starts_nothing() {
    let rig = Rig::new();
    rig.publish(0, BARRIER_AND, &[]);
    rig.ring(0);
    rig.test.queue.update(0, 7);
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Halted);
    rig.test.queue.update(100, 7);
    assert_eq!(processor.step(), Step::Done);
}

#[test]
fn a_packet_that_meets_whoever_suspends_the_queue_does_not_start() {
    let rig = Rig::new();
    let signal = rig.bench.signal(1);
    rig.publish(0, BARRIER_AND, &[(56, signal.0)]);
    rig.ring(0);
    let mut processor = rig.processor();
    assert_eq!(hold_meanwhile(&rig.test.queue, move || processor.step()), Step::Halted);
    assert_eq!(rig.value(signal), 1);
    assert_eq!(rig.load(rig.test.queue.spec.read_pointer), 0);
}

#[test]
fn missing_scratch_is_asked_for_once_and_waited_for() {
    let rig = Rig::new();
    // 16 bytes of private memory, and a kernel object that is none: the error comes once there is scratch.
    rig.publish(0, KERNEL, &[(24, 16)]);
    rig.bench.view().store(rig.test.queue.spec.ring + 2, 1u16).expect("mapped");
    rig.bench.view().store(rig.test.queue.spec.ring + 4, 0x0001_0001_0001_0040u64).expect("mapped");
    rig.bench.view().store(rig.test.queue.spec.ring + 12, 1u32).expect("mapped");
    rig.ring(0);
    let inactive = Signal(rig.load(rig.test.amd + 192));
    let mut processor = rig.processor();
    assert_eq!(processor.step(), Step::Waiting);
    assert_eq!(rig.value(inactive), 1);
    assert_eq!(processor.step(), Step::Waiting);
    let view = rig.bench.view();
    view.store(rig.test.amd + 140, 1u32 << 12 | 4).expect("mapped");
    view.store(rig.test.amd + 160, rig.bench.take(4096)).expect("mapped");
    view.store(rig.test.amd + 168, 4096u64).expect("mapped");
    view.store(rig.test.amd + 176, 16u32).expect("mapped");
    view.store(inactive.0 + 8, 0u64).expect("mapped");
    drop(view);
    assert_eq!(processor.step(), Step::Halted);
    assert_eq!(rig.value(inactive), 8, "no kernel descriptor");
    assert_eq!(rig.load(rig.test.amd + 184), 0, "packet 0 used main scratch last");
}

#[test]
fn a_runtime_of_the_second_version_limits_who_uses_scratch() {
    let rig = Rig::new();
    let (amd, events) = (rig.test.amd, &rig.bench.machine.events);
    let view = rig.bench.view();
    view.store(amd + 40, 2u32).expect("mapped");
    view.store(amd + 140, 1u32 << 12 | 4).expect("mapped");
    view.store(amd + 160, 0x4000u64).expect("mapped");
    view.store(amd + 176, 16u32).expect("mapped");
    view.store(amd + 184, 6u64).expect("mapped");
    view.store(rig.test.queue.spec.ring + 24, 16u32).expect("mapped");
    let packet = Dispatch::read(&view, rig.test.queue.spec.ring).expect("mapped");
    let queue = AmdQueue::of(&rig.test.queue);
    let mut keeper = ScratchKeeper::default();
    let grant = keeper.acquire(&view, &queue, events, &packet, 6).expect("mapped");
    assert!(matches!(grant, Grant::Ready(Some(scratch)) if scratch.waves == 4));
    assert_eq!(view.load(amd + 256), Ok(6u64), "last use");
    let grant = keeper.acquire(&view, &queue, events, &packet, 7).expect("mapped");
    assert!(matches!(grant, Grant::Asked));
    assert_eq!(view.load(amd + 184), Ok(6u64), "the limit is the runtime's");
}

#[test]
fn single_use_scratch_is_given_back_and_the_mark_awaited() {
    let rig = Rig::new();
    let (amd, events) = (rig.test.amd, &rig.bench.machine.events);
    let view = rig.bench.view();
    let queue = AmdQueue::of(&rig.test.queue);
    let packet = Dispatch::read(&view, rig.test.queue.spec.ring).expect("mapped");
    let mut keeper = ScratchKeeper::default();
    view.store(amd + 180, 1u32 << 4).expect("mapped");
    keeper.after(&view, &queue, events).expect("mapped");
    let inactive = Signal(rig.load(amd + 192));
    assert_eq!(rig.value(inactive), 512);
    view.store(inactive.0 + 8, 0u64).expect("mapped");
    assert!(matches!(keeper.acquire(&view, &queue, events, &packet, 0), Ok(Grant::Asked)));
    view.store(amd + 180, 0u32).expect("mapped");
    assert!(matches!(keeper.acquire(&view, &queue, events, &packet, 0), Ok(Grant::Ready(None))));
}

#[test]
fn the_queue_says_that_scratch_can_be_reclaimed() {
    let rig = Rig::new();
    let _ = rig.processor();
    assert_eq!(rig.load(rig.test.amd + 40) & 1, 1);
}
