//! Events: what programs sleep on until the device has something to say.
//!
//! The rules are the driver's: a waiter is woken by a set that comes after it began to wait, or at once if the event
//! is set already; an auto-reset event that wakes someone stays clear; every set makes the event one older, and a
//! waiter that names an age sees at once that it missed a set.

use core::time::Duration;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::{Condvar, Mutex};

use crate::Refusal;
use crate::memory::{Fault, Reason};

/// Most signal events a process may have (`KFD_SIGNAL_EVENT_LIMIT`).
pub const SIGNAL_EVENT_LIMIT: u32 = 4096;

/// First identifier of events that are not signal events.
const FIRST_SYSTEM_EVENT: u32 = 0x4000_0000;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Set by signals that complete, and by the program.
    Signal,
    /// Set by memory faults.
    Memory,
    /// Set by device errors.
    HardwareException,
    /// Others, which this device never sets by itself.
    Other,
}

/// A memory fault as told to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryException {
    /// The driver's number of the GPU.
    pub gpu_id: u32,
    /// The access that failed.
    pub fault: Fault,
}

/// What a finished wait found out about one event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// The event was set.
    pub set: bool,
    /// The event's age, for events waited for with an age.
    pub age: Option<u64>,
    /// The fault, for memory events that were set.
    pub memory: Option<MemoryException>,
    /// The driver's number of the GPU that hangs, for hardware exceptions that were set.
    pub hang: Option<u32>,
}

/// One event to wait for.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// The event.
    pub id: u32,
    /// The age that the waiter saw last; zero to ignore ages.
    pub age: u64,
}

#[derive(Debug)]
struct Event {
    kind: Kind,
    auto_reset: bool,
    set: bool,
    age: u64,
    memory: Option<MemoryException>,
    hang: Option<u32>,
    waiters: Vec<(u64, usize)>,
}

#[derive(Debug)]
struct Waiter {
    activated: Vec<bool>,
    gone: bool,
    bell: Arc<Condvar>,
}

#[derive(Debug, Default)]
struct Table {
    events: HashMap<u32, Event>,
    waiters: HashMap<u64, Waiter>,
    next_waiter: u64,
    next_signal: u32,
    next_system: u32,
}

/// All events of a process.
#[derive(Debug, Default)]
pub struct Events {
    table: Mutex<Table>,
}

impl Events {
    /// Makes an event and answers its identifier; for signal events, that is also its slot.
    ///
    /// # Errors
    /// All slots are taken.
    pub fn create(&self, kind: Kind, auto_reset: bool) -> Result<u32, Refusal> {
        let mut table = self.table.lock();
        let id = if kind == Kind::Signal {
            let from = table.next_signal;
            // Slot 0 is left out: a signal without an event carries the number zero.
            let free = (0..SIGNAL_EVENT_LIMIT)
                .map(|i| (from + i) % SIGNAL_EVENT_LIMIT)
                .find(|id| *id != 0 && !table.events.contains_key(id))
                .ok_or(Refusal::NoSlot)?;
            table.next_signal = free + 1;
            free
        } else {
            table.next_system += 1;
            FIRST_SYSTEM_EVENT + table.next_system
        };
        let event =
            Event { kind, auto_reset, set: false, age: 1, memory: None, hang: None, waiters: Vec::new() };
        table.events.insert(id, event);
        Ok(id)
    }

    /// Destroys an event; whoever waits for it is told that the wait failed.
    ///
    /// # Errors
    /// There is no such event.
    pub fn destroy(&self, id: u32) -> Result<(), Refusal> {
        let mut table = self.table.lock();
        let event = table.events.remove(&id).ok_or(Refusal::NotFound)?;
        for (waiter, _) in event.waiters {
            if let Some(waiter) = table.waiters.get_mut(&waiter) {
                waiter.gone = true;
                waiter.bell.notify_all();
            }
        }
        Ok(())
    }

    /// Sets an event.
    ///
    /// # Errors
    /// There is no such event.
    pub fn set(&self, id: u32) -> Result<(), Refusal> {
        self.table.lock().set(id)
    }

    /// Clears an event.
    ///
    /// # Errors
    /// There is no such event.
    pub fn reset(&self, id: u32) -> Result<(), Refusal> {
        let mut table = self.table.lock();
        let event = table.events.get_mut(&id).ok_or(Refusal::NotFound)?;
        event.set = false;
        Ok(())
    }

    /// Tells every memory event of a fault.
    pub fn raise_memory_fault(&self, exception: MemoryException) {
        self.raise(Kind::Memory, |event| event.memory = Some(exception));
    }

    /// Tells every hardware exception event that a GPU hangs.
    pub fn raise_hang(&self, gpu_id: u32) {
        self.raise(Kind::HardwareException, |event| event.hang = Some(gpu_id));
    }

    fn raise(&self, kind: Kind, note: impl Fn(&mut Event)) {
        let mut table = self.table.lock();
        let ids: Vec<_> = table.events.iter().filter(|(_, e)| e.kind == kind).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(event) = table.events.get_mut(&id) {
                note(event);
            }
            // The event was found under this same lock.
            let _ = table.set(id);
        }
    }

    /// Waits until one event (or, with `all`, every event) is set, or the time is over (`None`: never).
    /// Answers what was found, and whether the wait was fulfilled.
    ///
    /// # Errors
    /// An event does not exist, or was destroyed during the wait.
    pub fn wait(
        &self,
        wants: &[Want],
        all: bool,
        timeout: Option<Duration>,
    ) -> Result<(Vec<Found>, bool), Refusal> {
        let deadline = timeout.and_then(|t| Instant::now().checked_add(t));
        let mut table = self.table.lock();
        if wants.iter().any(|want| !table.events.contains_key(&want.id)) {
            return Err(Refusal::NotFound);
        }
        let number = table.next_waiter;
        table.next_waiter += 1;
        let mut activated = Vec::with_capacity(wants.len());
        for (index, want) in wants.iter().enumerate() {
            let Some(event) = table.events.get_mut(&want.id) else { return Err(Refusal::NotFound) };
            let missed = event.kind == Kind::Signal && want.age != 0 && want.age != event.age;
            activated.push(event.set || missed);
            event.set &= !event.auto_reset;
            event.waiters.push((number, index));
        }
        let bell = Arc::new(Condvar::new());
        table.waiters.insert(number, Waiter { activated, gone: false, bell: bell.clone() });
        let fulfilled = loop {
            let Some(waiter) = table.waiters.get(&number) else { break false };
            let done =
                if all { waiter.activated.iter().all(|a| *a) } else { waiter.activated.iter().any(|a| *a) };
            if done || waiter.gone || timeout.is_some_and(|t| t.is_zero()) {
                break done;
            }
            match deadline {
                Some(deadline) => {
                    if bell.wait_until(&mut table, deadline).timed_out() {
                        let last = table.waiters.get(&number);
                        break last.is_some_and(|w| {
                            if all { w.activated.iter().all(|a| *a) } else { w.activated.iter().any(|a| *a) }
                        });
                    }
                }
                None => bell.wait(&mut table),
            }
        };
        let waiter = table.waiters.remove(&number).ok_or(Refusal::NotFound)?;
        let mut found = Vec::with_capacity(wants.len());
        for (want, set) in wants.iter().zip(&waiter.activated) {
            let Some(event) = table.events.get_mut(&want.id) else {
                found.push(Found::default());
                continue;
            };
            event.waiters.retain(|(other, _)| *other != number);
            let aged = event.kind == Kind::Signal && want.age != 0;
            let age = aged.then_some(if *set { event.age } else { want.age });
            let (memory, hang) = (event.memory.filter(|_| *set), event.hang.filter(|_| *set));
            found.push(Found { set: *set, age, memory, hang });
        }
        if waiter.gone {
            return Err(Refusal::NotFound);
        }
        Ok((found, fulfilled))
    }
}

impl Table {
    fn set(&mut self, id: u32) -> Result<(), Refusal> {
        let event = self.events.get_mut(&id).ok_or(Refusal::NotFound)?;
        event.set = !event.auto_reset || event.waiters.is_empty();
        event.age += 1;
        for (number, index) in &event.waiters {
            if let Some(waiter) = self.waiters.get_mut(number) {
                waiter.activated[*index] = true;
                waiter.bell.notify_all();
            }
        }
        Ok(())
    }
}

impl MemoryException {
    /// The driver's four failure words: not present, read only, no execute, imprecise.
    #[must_use]
    pub fn failure(&self) -> [u32; 4] {
        let is = |reason| u32::from(self.fault.reason == reason);
        [is(Reason::NotPresent) | is(Reason::Misaligned), is(Reason::ReadOnly), is(Reason::NoExecute), 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Access;

    fn want(id: u32) -> Want {
        Want { id, age: 0 }
    }

    const NOW: Option<Duration> = Some(Duration::ZERO);

    #[test]
    fn a_set_event_satisfies_one_wait_if_it_resets_itself() {
        let events = Events::default();
        let id = events.create(Kind::Signal, true).expect("slot");
        assert!(!events.wait(&[want(id)], false, NOW).expect("exists").1);
        events.set(id).expect("exists");
        assert!(events.wait(&[want(id)], false, NOW).expect("exists").1);
        assert!(!events.wait(&[want(id)], false, NOW).expect("exists").1);
    }

    #[test]
    fn a_manual_event_stays_set_until_reset() {
        let events = Events::default();
        let id = events.create(Kind::Signal, false).expect("slot");
        events.set(id).expect("exists");
        assert!(events.wait(&[want(id)], false, NOW).expect("exists").1);
        assert!(events.wait(&[want(id)], false, NOW).expect("exists").1);
        events.reset(id).expect("exists");
        assert!(!events.wait(&[want(id)], false, NOW).expect("exists").1);
    }

    #[test]
    fn waiting_for_all_needs_every_event() {
        let events = Events::default();
        let ids: Vec<_> = (0..3).map(|_| events.create(Kind::Signal, false).expect("slot")).collect();
        let wants: Vec<_> = ids.iter().map(|id| want(*id)).collect();
        events.set(ids[0]).expect("exists");
        events.set(ids[2]).expect("exists");
        let (found, done) = events.wait(&wants, true, NOW).expect("exist");
        assert!(!done);
        assert_eq!(found.iter().map(|f| f.set).collect::<Vec<_>>(), [true, false, true]);
        events.set(ids[1]).expect("exists");
        assert!(events.wait(&wants, true, NOW).expect("exist").1);
    }

    #[test]
    fn an_old_age_tells_of_a_missed_set() {
        let events = Events::default();
        let id = events.create(Kind::Signal, true).expect("slot");
        let (found, done) = events.wait(&[Want { id, age: 1 }], false, NOW).expect("exists");
        assert_eq!((found[0].age, done), (Some(1), false));
        events.set(id).expect("exists");
        assert!(events.wait(&[want(id)], false, NOW).expect("exists").1, "takes the set away");
        let (found, done) = events.wait(&[Want { id, age: 1 }], false, NOW).expect("exists");
        assert_eq!((found[0].age, done), (Some(2), true));
    }

    #[test]
    fn a_sleeping_waiter_is_woken() {
        let events = Arc::new(Events::default());
        let id = events.create(Kind::Signal, true).expect("slot");
        let sleeper = {
            let events = events.clone();
            std::thread::spawn(move || events.wait(&[want(id)], false, None).map(|(_, done)| done))
        };
        while events.table.lock().waiters.is_empty() {
            std::thread::yield_now();
        }
        events.set(id).expect("exists");
        assert_eq!(sleeper.join().expect("no panic"), Ok(true));
    }

    #[test]
    fn destroying_an_event_fails_its_waits() {
        let events = Arc::new(Events::default());
        let id = events.create(Kind::Signal, true).expect("slot");
        let sleeper = {
            let events = events.clone();
            std::thread::spawn(move || events.wait(&[want(id)], false, None))
        };
        while events.table.lock().waiters.is_empty() {
            std::thread::yield_now();
        }
        events.destroy(id).expect("exists");
        assert_eq!(sleeper.join().expect("no panic"), Err(Refusal::NotFound));
    }

    #[test]
    fn a_memory_fault_reaches_memory_events_with_its_data() {
        let events = Events::default();
        let id = events.create(Kind::Memory, false).expect("slot");
        let fault = Fault { address: 0x1234, access: Access::Write, reason: Reason::NotPresent };
        events.raise_memory_fault(MemoryException { gpu_id: 7, fault });
        let (found, done) = events.wait(&[want(id)], false, NOW).expect("exists");
        let memory = found[0].memory.expect("data");
        assert!(done);
        assert_eq!((memory.gpu_id, memory.fault.address, memory.failure()), (7, 0x1234, [1, 0, 0, 0]));
    }

    #[test]
    fn signal_events_run_out() {
        let events = Events::default();
        let ids: Vec<_> =
            (1..SIGNAL_EVENT_LIMIT).map(|_| events.create(Kind::Signal, true).expect("slot")).collect();
        assert_eq!(events.create(Kind::Signal, true), Err(Refusal::NoSlot));
        events.destroy(ids[100]).expect("exists");
        assert_eq!(events.create(Kind::Signal, true), Ok(ids[100]));
    }
}
