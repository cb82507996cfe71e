//! What work that is already on the hardware will still do to the application's signals.
//!
//! A packet that waits for a signal may go to the hardware at once when everything that the signal still needs is there
//! already: then the wait ends by itself. It stays in software otherwise, so that a hardware queue never waits for something
//! that a window holds back. For each completion signal of a forwarded packet this keeps the value it had then and how many
//! decrements were under way.
//!
//! Whoever writes a signal by other means starts it anew: its entry is forgotten. An entry that is missing or too low only
//! makes a packet wait in software until the signal really has its value.

use crate::handles::Signal;
use crate::shared_memory::signal_value;
use crate::sync::Mutex;
use std::collections::HashMap;

const SHARDS: usize = 16;
/// Entries of a shard above which those without outstanding decrements are dropped.
const TIDY: usize = 1024;

/// Decrements under way, by signal.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    shards: [Mutex<HashMap<u64, Promise>>; SHARDS],
}

#[derive(Clone, Copy, Debug)]
struct Promise {
    /// The signal's value when the entry was made.
    value: i64,
    /// Decrements that were under way then.
    count: i64,
}

impl Promise {
    /// How many of the decrements have not happened at the value `now`.
    fn outstanding(self, now: i64) -> i64 {
        let happened = self.value.saturating_sub(now);
        // A higher value was written since: whoever did that knew the signal idle.
        if happened < 0 { 0 } else { self.count.saturating_sub(happened).max(0) }
    }
}

impl Promises {
    /// A packet or copy that will decrement the signal once is about to go to the hardware.
    pub(crate) fn note(&self, signal: Signal) {
        if signal.is_none() {
            return;
        }
        let mut shard = self.shard(signal);
        let now = signal_value(signal);
        let outstanding = shard.get(&signal.0).map_or(0, |promise| promise.outstanding(now));
        shard.insert(signal.0, Promise { value: now, count: outstanding + 1 });
        if shard.len() > TIDY {
            shard.retain(|&signal, promise| promise.outstanding(signal_value(Signal(signal))) > 0);
        }
    }

    /// The engine decrements the signal itself.
    pub(crate) fn decremented(&self, signal: Signal) {
        if let Some(promise) = self.shard(signal).get_mut(&signal.0) {
            promise.value -= 1;
        }
    }

    /// The application wrote the signal, or destroyed it.
    pub(crate) fn forget(&self, signal: Signal) {
        self.shard(signal).remove(&signal.0);
    }

    /// The value that the signal will have when all that is on the hardware has ended.
    pub(crate) fn settled_value(&self, signal: Signal) -> i64 {
        let shard = self.shard(signal);
        let now = signal_value(signal);
        let outstanding = shard.get(&signal.0).map_or(0, |promise| promise.outstanding(now));
        now.saturating_sub(outstanding)
    }

    /// Whether nothing that is on the hardware will decrement the signal any more.
    pub(crate) fn is_settled(&self, signal: Signal) -> bool {
        let shard = self.shard(signal);
        shard.get(&signal.0).is_none_or(|promise| promise.outstanding(signal_value(signal)) == 0)
    }

    fn shard(&self, signal: Signal) -> crate::sync::MutexGuard<'_, HashMap<u64, Promise>> {
        // Signals are blocks of at least 64 bytes.
        let shard = usize::try_from((signal.0 >> 6) % SHARDS as u64).unwrap_or(0);
        self.shards[shard].lock()
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
        promises.decremented(signal);
        fake.store_signal(signal, 2);
        assert_eq!(promises.settled_value(signal), 1);
        fake.stop();
    }
}
