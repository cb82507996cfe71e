//! The promises of some signals under one lock, with a signal read before the lock is taken.
//!
//! The read counts if no entry of the shard was changed from before it until the lock was taken; after a first change it is enough
//! that the signal's own entry was not. An older read beside a newer entry would make what is under way look done. So a packet with
//! a signal costs one lock. `tests/promises.rs` tries all interleavings.

use crate::addresses::AddressMap;
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// Entries above which those without outstanding decrements are dropped, at first.
pub(super) const TIDY: usize = 1024;

/// Entries of some signals, on lines of the cache of its own: queues seldom share signals.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Shard {
    /// How often entries were changed; written under the lock.
    changes: AtomicU64,
    table: Mutex<Table>,
}

/// The entries.
#[derive(Debug)]
pub(super) struct Table {
    /// By the signal's handle.
    pub(super) promises: AddressMap<Promise>,
    /// Entries above which it is tidied.
    pub(super) crowded: usize,
}

/// What is under way for one signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Promise {
    /// The signal's value when the entry was made.
    pub(super) value: i64,
    /// Decrements that were under way then.
    pub(super) count: i64,
}

impl Default for Table {
    fn default() -> Self {
        Self { promises: AddressMap::default(), crowded: TIDY }
    }
}

impl Promise {
    /// How many of the decrements have not happened at the value `now`.
    pub(super) fn outstanding(self, now: i64) -> i64 {
        let happened = self.value.saturating_sub(now);
        // A higher value was written since: whoever did that knew the signal idle.
        if happened < 0 { 0 } else { self.count.saturating_sub(happened).max(0) }
    }
}

impl Shard {
    /// Counts one more decrement of a signal, whose value `read` gives. True: there are many entries, and whoever is told so
    /// tidies them; nobody else is told meanwhile.
    pub(super) fn note(&self, signal: u64, read: impl Fn() -> i64) -> bool {
        let (mut table, now) = self.look(signal, read);
        self.changed(&table);
        let promise = table.promises.entry(signal).or_insert(Promise { value: now, count: 0 });
        *promise = Promise { value: now, count: promise.outstanding(now) + 1 };
        let crowded = table.promises.len() > table.crowded;
        if crowded {
            table.crowded = 2 * table.promises.len();
        }
        crowded
    }

    /// The value that a signal will have when all that is under way has ended.
    pub(super) fn settled_value(&self, signal: u64, read: impl Fn() -> i64) -> i64 {
        let (table, now) = self.look(signal, read);
        now.saturating_sub(table.promises.get(&signal).map_or(0, |promise| promise.outstanding(now)))
    }

    /// The entries.
    pub(super) fn entries(&self) -> MutexGuard<'_, Table> {
        self.table.lock()
    }

    /// The entries, to be changed.
    pub(super) fn change(&self) -> MutexGuard<'_, Table> {
        let table = self.table.lock();
        self.changed(&table);
        table
    }

    /// The holder of the lock is about to change an entry. It has read the signal that the entry is made from, so that whoever
    /// acquires the new count and reads the signal then gets no older value.
    fn changed(&self, _held: &MutexGuard<'_, Table>) {
        self.changes.store(self.changes.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// The entries, and a value of the signal that is no older than its entry.
    fn look(&self, signal: u64, read: impl Fn() -> i64) -> (MutexGuard<'_, Table>, i64) {
        let mut before = None;
        loop {
            let changes = self.changes.load(Ordering::Acquire);
            let now = read();
            let table = self.table.lock();
            if self.changes.load(Ordering::Relaxed) == changes {
                return (table, now);
            }
            let promise = table.promises.get(&signal).copied();
            if before == Some(promise) {
                return (table, now);
            }
            before = Some(promise);
        }
    }
}
