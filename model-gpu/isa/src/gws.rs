//! Global wave sync: barriers and semaphores across work-groups (`ds_gws_*`).
//!
//! The device has 64 resources. A wave that must wait is not blocked here: it gets a [`Ticket`], gives way to others and asks
//! again, so work-groups that share a thread cannot keep each other from arriving. CDNA3 manual, DS instructions "GWS only".

use std::sync::{Mutex, PoisonError};

/// Number of resources.
const RESOURCES: usize = 64;

#[derive(Debug, Clone, Copy, Default)]
struct Resource {
    /// Barrier: waves still expected before the last one. Semaphore: how many may pass.
    counter: u32,
    /// How often the barrier has opened.
    opened: u64,
    /// Waves that wait at the semaphore have numbers below `arrived`; those below `released` may pass.
    arrived: u64,
    released: u64,
}

/// What a waiting wave asks again with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ticket {
    /// Waits until the barrier has opened more often than this.
    Barrier(u64),
    /// The wave's number in the semaphore's line.
    Semaphore(u64),
}

/// The resources of global wave sync that a queue has. They keep their state from one dispatch to the next.
#[derive(Debug)]
pub struct Gws(Mutex<[Resource; RESOURCES]>);

impl Default for Gws {
    fn default() -> Self {
        Self(Mutex::new([Resource::default(); RESOURCES]))
    }
}

impl Gws {
    /// Resources in their first state.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<T>(&self, resource: usize, f: impl FnOnce(&mut Resource) -> T) -> T {
        // Nothing panics while the lock is held, so the state is sound whatever happened to its last owner.
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)[resource % RESOURCES])
    }

    /// Sets the counter: for a barrier the number of waves less one, for a semaphore how many may pass.
    pub(crate) fn init(&self, resource: usize, value: u32) {
        self.with(resource, |state| state.counter = value);
    }

    /// Arrives at the barrier; none for the last wave, which opens it and sets the counter for the next round.
    pub(crate) fn arrive(&self, resource: usize, value: u32) -> Option<Ticket> {
        self.with(resource, |state| {
            if state.counter == 0 {
                state.opened += 1;
                state.counter = value;
                return None;
            }
            state.counter -= 1;
            Some(Ticket::Barrier(state.opened))
        })
    }

    /// Takes one of the semaphore, or gets in line.
    pub(crate) fn take(&self, resource: usize) -> Option<Ticket> {
        self.with(resource, |state| {
            if state.counter > 0 {
                state.counter -= 1;
                return None;
            }
            state.arrived += 1;
            Some(Ticket::Semaphore(state.arrived - 1))
        })
    }

    /// Gives `count` to the semaphore: waves in line pass, first come first served; what is left stays.
    pub(crate) fn give(&self, resource: usize, count: u32) {
        self.with(resource, |state| {
            let waiting = state.arrived - state.released;
            let passing = waiting.min(count.into());
            state.released += passing;
            state.counter = state.counter.saturating_add(count - u32::try_from(passing).unwrap_or(count));
        });
    }

    /// Lets every wave in line pass.
    pub(crate) fn release_all(&self, resource: usize) {
        self.with(resource, |state| state.released = state.arrived);
    }

    /// Whether a waiting wave may go on.
    pub(crate) fn passes(&self, resource: usize, ticket: Ticket) -> bool {
        self.with(resource, |state| match ticket {
            Ticket::Barrier(opened) => state.opened > opened,
            Ticket::Semaphore(number) => state.released > number,
        })
    }
}
