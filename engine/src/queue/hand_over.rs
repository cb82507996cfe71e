//! Work that any thread may ask for and one thread at a time does.
//!
//! Who asks tries the lock; who fails leaves a note, tries once more and goes away, since the holder looks at the note after it let
//! go. No request is lost between the last look and the release, and nobody waits: `tests/hand_over.rs` tries all interleavings.

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, fence, fence_after_unlock};

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
    ///
    /// Only who finds the lock taken writes the note. Between that and the second try is a fence, and so there is between the
    /// holder's letting go and its look: either the look sees the note, or the second try sees the lock free, or taken by a later
    /// holder, who looks in turn. Whoever meets nobody pays for the lock alone.
    pub(crate) fn ask(&self, mut work: impl FnMut(&mut T) -> bool, mut after: impl FnMut()) {
        loop {
            let state = self.state.try_lock().or_else(|| {
                // A note that this one overwrites is read, and so what its writer had published is seen.
                self.asked.swap(true, Ordering::AcqRel);
                fence(Ordering::SeqCst);
                self.state.try_lock()
            });
            let Some(mut state) = state else {
                return;
            };
            let more = work(&mut state);
            drop(state);
            if more {
                after();
            }
            if !self.take_note() {
                return;
            }
        }
    }

    /// Waits for the lock. Whoever does must ask [`HandOver::take_note`] after letting it go, and act on it.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock()
    }

    /// The lock itself, for other ways to take it. Whoever does has the obligation of [`HandOver::lock`].
    pub(crate) fn state(&self) -> &Mutex<T> {
        &self.state
    }

    /// Takes the note, after letting the lock go. True: somebody asked, and what was published before that is seen. The caller
    /// does what was asked for under the lock, or asks itself.
    pub(crate) fn take_note(&self) -> bool {
        fence_after_unlock();
        self.asked.load(Ordering::Relaxed) && self.asked.swap(false, Ordering::AcqRel)
    }

    /// The holder of the lock is about to do all that was asked for until now.
    pub(crate) fn drop_note(&self) {
        self.asked.swap(false, Ordering::AcqRel);
    }
}
