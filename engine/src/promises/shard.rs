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
    /// They need not come by what is on the hardware alone, or a write may have swallowed some: nothing is promised of them, but
    /// they count as under way.
    pub(super) unsure: bool,
    /// When it was made: no other entry, made later for the signal, is equal to it.
    pub(super) turn: u64,
}

/// What the application, or the engine for it, does to a signal's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalWrite {
    /// It is changed by this much.
    Add(i64),
    /// It becomes this, whatever it was.
    Set(i64),
    /// It becomes the second value if it is the first.
    Swap(i64, i64),
    /// Only these bits stay.
    And(i64),
    /// These bits are set.
    Or(i64),
    /// These bits change.
    Xor(i64),
}

impl SignalWrite {
    /// What it makes of a value.
    fn of(self, now: i64) -> i64 {
        match self {
            Self::Add(more) => now.wrapping_add(more),
            Self::Set(value) => value,
            Self::Swap(expected, value) if now == expected => value,
            Self::Swap(..) => now,
            Self::And(bits) => now & bits,
            Self::Or(bits) => now | bits,
            Self::Xor(bits) => now ^ bits,
        }
    }
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
    ///
    /// `sure`: what is on the hardware is enough for it to come.
    pub(super) fn note(&self, signal: u64, sure: bool, read: impl Fn() -> i64) -> bool {
        let (mut table, now) = self.look(signal, read);
        self.changed(&table);
        let known = table.promises.get(&signal);
        let before = known.map_or(0, |promise| promise.outstanding(now));
        let unsure = !sure || (before > 0 && known.is_some_and(|promise| promise.unsure));
        let turn = self.changes.load(Ordering::Relaxed);
        table.promises.insert(signal, Promise { value: now, count: before + 1, unsure, turn });
        let crowded = table.promises.len() > table.crowded;
        if crowded {
            table.crowded = 2 * table.promises.len();
        }
        crowded
    }

    /// The value that a signal will have when all that is under way has ended.
    pub(super) fn settled_value(&self, signal: u64, read: impl Fn() -> i64) -> i64 {
        let (table, now) = self.look(signal, read);
        let promise = table.promises.get(&signal).filter(|promise| !promise.unsure);
        now.saturating_sub(promise.map_or(0, |promise| promise.outstanding(now)))
    }

    /// Decrements of a signal that are under way. It goes with its entry, so it is read under the lock, without which it may be gone.
    pub(super) fn outstanding(&self, signal: u64, read: impl Fn() -> i64) -> i64 {
        let table = self.entries();
        table.promises.get(&signal).map_or(0, |promise| promise.outstanding(read()))
    }

    /// Somebody other than the hardware writes the signal, which `make` does: what is under way stays under way. Nobody looks between
    /// the write and the change of the entry, so a signal for which something is under way is written under the lock.
    pub(super) fn write<R>(
        &self,
        signal: u64,
        write: SignalWrite,
        read: impl Fn() -> i64,
        make: impl FnOnce() -> R,
    ) -> R {
        let (mut table, now) = self.look(signal, read);
        let Some(promise) = table.promises.get(&signal).copied() else {
            drop(table);
            return make();
        };
        self.changed(&table);
        let count = promise.outstanding(now);
        if count == 0 {
            table.promises.remove(&signal);
            drop(table);
            return make();
        }
        let result = make();
        // Any but a sum may have swallowed a decrement.
        let unsure = promise.unsure || !matches!(write, SignalWrite::Add(_));
        let turn = self.changes.load(Ordering::Relaxed);
        table.promises.insert(signal, Promise { value: write.of(now), count, unsure, turn });
        // Who looked at the entries' state before the write, and at the signal too, looks again.
        self.changed(&table);
        result
    }

    /// One decrement that was noted does not come.
    pub(super) fn retract(&self, signal: u64) {
        let mut table = self.change();
        if let Some(promise) = table.promises.get_mut(&signal) {
            promise.count -= 1;
            if promise.count <= 0 {
                table.promises.remove(&signal);
            }
        }
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
