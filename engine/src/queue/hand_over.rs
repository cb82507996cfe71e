//! Work that any thread may ask for and one thread at a time does.
//!
//! Who asks leaves a note and tries the lock; who fails goes away, since the holder looks at the note after it let go. No
//! request is lost between the last look and the release, and nobody waits: `tests/hand_over.rs` tries all interleavings.

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence};

/// The state that the work needs, and the note.
pub(crate) struct HandOver<T> {
    state: Mutex<T>,
    asked: AtomicBool,
}

impl<T> HandOver<T> {
    pub(crate) fn new(state: T) -> Self {
        Self { state: Mutex::new(state), asked: AtomicBool::new(false) }
    }

    /// Does the work, or leaves it to the thread that is at it. `work` runs under the lock; when it gives true, `after` runs
    /// without it.
    pub(crate) fn ask(&self, mut work: impl FnMut(&mut T) -> bool, mut after: impl FnMut()) {
        // A note that this one overwrites is read, and so what its writer had published is seen.
        self.asked.swap(true, Ordering::SeqCst);
        loop {
            // The note must be visible before the lock is looked at (and below, the lock free before the note is).
            fence(Ordering::SeqCst);
            let Some(mut state) = self.state.try_lock() else {
                return;
            };
            // Reads the note and so sees what was written before it.
            self.asked.swap(false, Ordering::SeqCst);
            let more = work(&mut state);
            drop(state);
            if more {
                after();
            }
            fence(Ordering::SeqCst);
            if !self.asked.load(Ordering::SeqCst) {
                return;
            }
        }
    }

    /// Waits for the lock. Whoever does must ask [`HandOver::was_asked`] after letting it go.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock()
    }

    /// The lock itself, for other ways to take it.
    pub(crate) fn state(&self) -> &Mutex<T> {
        &self.state
    }

    /// The holder of the lock is about to do all that was asked for until now.
    pub(crate) fn take_note(&self) {
        self.asked.swap(false, Ordering::SeqCst);
    }

    /// Whether somebody asked while the lock was held; looked at after letting it go.
    pub(crate) fn was_asked(&self) -> bool {
        fence(Ordering::SeqCst);
        self.asked.load(Ordering::SeqCst)
    }
}
