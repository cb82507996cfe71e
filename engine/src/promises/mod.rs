//! What work that is already on the hardware will still do to the application's signals.
//!
//! A packet that waits for a signal may go to the hardware at once when everything that the signal still needs is there
//! already: then the wait ends by itself. It stays in software otherwise, so that a hardware queue never waits for something
//! that a window holds back. For each completion signal of a forwarded packet this keeps the value it had then and how many
//! decrements were under way.
//!
//! Two ask, and each must not be wrong in one direction. A packet that waits is promised nothing that may not come: an entry that
//! is missing or unsure only makes it wait in software until the signal really has its value. A window takes no copy for done that
//! is under way: whoever else writes the signal, what is under way stays, and its entry moves with the value.
//!
//! A signal that the caller knows to be there is not read under a lock: its page may take its time, and other signals of the shard
//! have nothing to do with it (see [`shard`]).

mod shard;

use crate::handles::Signal;
use crate::host_memory::HostMemory;
use crate::shared_memory::{signal_value, signal_value_address};
pub use shard::SignalWrite;
use shard::{Promise, Shard, TIDY};

const SHARDS: usize = 16;

/// Decrements under way, by signal.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    shards: [Shard; SHARDS],
}

impl Promises {
    /// A packet or copy that will decrement the signal once is about to go to the hardware.
    pub(crate) fn note(&self, signal: Signal) {
        self.add(signal, true);
    }

    /// The same of a copy that waits for what need not come from the hardware.
    pub(crate) fn note_unsure(&self, signal: Signal) {
        self.add(signal, false);
    }

    fn add(&self, signal: Signal, sure: bool) {
        if signal.is_none() {
            return;
        }
        let crowded = self.shard(signal).note(signal.0, sure, || signal_value(signal));
        if crowded {
            self.tidy(signal);
        }
    }

    /// What was noted last was refused and will not decrement the signal.
    pub(crate) fn retract(&self, signal: Signal) {
        self.shard(signal).retract(signal.0);
    }

    /// Somebody other than the hardware writes the signal; `make` does it.
    pub(crate) fn write<R>(&self, signal: Signal, write: SignalWrite, make: impl FnOnce() -> R) -> R {
        self.shard(signal).write(signal.0, write, || signal_value(signal), make)
    }

    /// The application destroyed the signal.
    pub(crate) fn forget(&self, signal: Signal) {
        self.shard(signal).change().promises.remove(&signal.0);
    }

    /// The value that the signal will have when all that is on the hardware has ended, as far as that is sure.
    pub(crate) fn settled_value(&self, signal: Signal) -> i64 {
        self.shard(signal).settled_value(signal.0, || signal_value(signal))
    }

    /// How often something that is under way will still decrement the signal.
    pub(crate) fn outstanding(&self, signal: Signal) -> i64 {
        self.shard(signal).outstanding(signal.0, || signal_value(signal))
    }

    /// Whether nothing that is under way will decrement the signal any more.
    pub(crate) fn is_settled(&self, signal: Signal) -> bool {
        self.outstanding(signal) == 0
    }

    /// Drops the entries of a signal's shard that have nothing outstanding. Their signals may be destroyed, unseen; of one that the
    /// kernel does not read, which may also lie in memory of a driver, the entry stays: this is a doorbell's thread.
    fn tidy(&self, signal: Signal) {
        let memory = HostMemory::open();
        if !memory.is_safe() {
            return;
        }
        let promises: Vec<(u64, Promise)> = self
            .shard(signal)
            .entries()
            .promises
            .iter()
            .map(|(&signal, &promise)| (signal, promise))
            .collect();
        let is_over = |(signal, promise): &(u64, Promise)| {
            let read = memory.read_by_kernel(signal_value_address(Signal(*signal)), 8);
            let value = read.and_then(|bytes| Some(i64::from_ne_bytes(bytes.try_into().ok()?)));
            value.is_some_and(|now| promise.outstanding(now) == 0)
        };
        let over: Vec<(u64, Promise)> = promises.into_iter().filter(is_over).collect();
        let mut table = self.shard(signal).change();
        for (signal, promise) in over {
            // Not one that was made meanwhile, be it for a signal that looks the same: each is of another turn.
            if table.promises.get(&signal) == Some(&promise) {
                table.promises.remove(&signal);
            }
        }
        table.crowded = TIDY.max(2 * table.promises.len());
    }

    fn shard(&self, signal: Signal) -> &Shard {
        // Signals are blocks of at least 64 bytes.
        &self.shards[usize::try_from((signal.0 >> 6) % SHARDS as u64).unwrap_or(0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::runtime::Runtime;

    #[test]
    fn a_signal_settles_at_its_value_less_what_is_under_way() {
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(3);
        assert_eq!(promises.settled_value(signal), 3);
        promises.note(signal);
        promises.note(signal);
        assert_eq!(promises.settled_value(signal), 1);
        fake.store_signal(signal, 2);
        assert_eq!(promises.settled_value(signal), 1, "one of two has happened");
        fake.store_signal(signal, 1);
        assert_eq!(promises.settled_value(signal), 1);
        fake.stop();
    }

    #[test]
    fn a_signal_used_again_starts_anew() {
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(1);
        promises.note(signal);
        fake.store_signal(signal, 0);
        fake.store_signal(signal, 1);
        promises.forget(signal);
        assert_eq!(promises.settled_value(signal), 1);
        promises.note(signal);
        fake.store_signal(signal, 5);
        assert_eq!(promises.settled_value(signal), 5, "a higher value was written behind our back");
        fake.stop();
    }

    #[test]
    fn the_engines_own_decrement_is_not_taken_for_one_of_the_hardware() {
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(3);
        promises.note(signal);
        promises.write(signal, SignalWrite::Add(-1), || fake.subtract_signal(signal, 1));
        assert_eq!(promises.settled_value(signal), 1);
        fake.stop();
    }

    #[test]
    fn whoever_writes_a_signal_what_is_under_way_stays_under_way() {
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(1);
        promises.note(signal);
        promises.write(signal, SignalWrite::Add(1), || fake.store_signal(signal, 2));
        promises.note(signal);
        assert_eq!((promises.outstanding(signal), promises.settled_value(signal)), (2, 0));
        fake.subtract_signal(signal, 1);
        promises.write(signal, SignalWrite::Add(-1), || fake.subtract_signal(signal, 1));
        assert_eq!((promises.outstanding(signal), promises.settled_value(signal)), (1, -1));
        promises.note(signal);
        promises.retract(signal);
        assert_eq!(promises.outstanding(signal), 1, "only the refused one does not come");
        promises.write(signal, SignalWrite::Set(1), || fake.store_signal(signal, 1));
        assert_eq!((promises.outstanding(signal), promises.settled_value(signal)), (1, 1), "not promised");
        fake.subtract_signal(signal, 1);
        assert!(promises.is_settled(signal));
        fake.stop();
    }

    #[test]
    fn what_need_not_come_is_under_way_and_not_promised() {
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(2);
        promises.note_unsure(signal);
        promises.note(signal);
        assert_eq!((promises.outstanding(signal), promises.settled_value(signal)), (2, 2));
        fake.subtract_signal(signal, 2);
        promises.write(signal, SignalWrite::Set(1), || fake.store_signal(signal, 1));
        promises.note(signal);
        assert_eq!(promises.settled_value(signal), 0, "started anew");
        fake.stop();
    }

    #[test]
    fn among_many_signals_those_that_have_ended_are_dropped_and_one_that_cannot_be_read_stays() {
        let fake = Fake::new();
        let promises = Promises::default();
        // Signals of one shard, with one that lies nowhere among them.
        let block = fake.allocate_host(64 * SHARDS as u64 * (TIDY as u64 + 2)).expect("memory");
        let signals: Vec<Signal> = (block..).step_by(64 * SHARDS).take(TIDY).map(Signal).collect();
        let gone = Signal(0x4000_0000);
        promises
            .shard(gone)
            .change()
            .promises
            .insert(gone.0, Promise { value: 1, count: 1, unsure: false, turn: 0 });
        for &signal in &signals {
            fake.store_word(signal_value_address(signal), 1);
            promises.note(signal);
            if signal.0 % (128 * SHARDS as u64) == 0 {
                fake.store_word(signal_value_address(signal), 0);
            }
        }
        let last = Signal(block + 64 * SHARDS as u64 * TIDY as u64);
        fake.store_word(signal_value_address(last), 1);
        promises.note(last);
        let kept = promises.shard(last).entries().promises.len();
        assert_eq!(kept, TIDY / 2 + 2, "half of them have ended");
        assert!(
            promises.shard(gone).entries().promises.contains_key(&gone.0),
            "it may be in memory of a driver"
        );
        assert!(!promises.is_settled(last));
        let unsettled = signals.iter().filter(|&&signal| signal_value(signal) == 1);
        assert!(unsettled.clone().all(|&signal| !promises.is_settled(signal)));
        fake.stop();
    }

    #[test]
    fn notes_of_several_threads_are_all_counted_while_the_hardware_decrements() {
        const EACH: i64 = 2000;
        let fake = Fake::new();
        let promises = Promises::default();
        let signal = fake.new_signal(4 * EACH);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..EACH).for_each(|_| promises.note(signal)));
            }
        });
        assert_eq!(promises.settled_value(signal), 2 * EACH);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..EACH).for_each(|_| fake.subtract_signal(signal, 1)));
            scope.spawn(|| (0..EACH).for_each(|_| promises.note(signal)));
        });
        assert_eq!(promises.settled_value(signal), EACH, "each note is worth one decrement");
        fake.stop();
    }
}
