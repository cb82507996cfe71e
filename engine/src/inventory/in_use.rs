//! Who is at the memory of a region: copies of it, which are counted, and windows that are about to put it back.
//!
//! A snapshot holds every region that it copies, and there may be ten thousands of them: that costs one change of one word and
//! no lock. Only where somebody waits for the last copy of a region does its end take the lock.

use crate::sync::{Arc, AtomicUsize, Condvar, Mutex, Ordering};

/// The memory has gone, or is about to: no copy of it begins any more.
const GONE: usize = 1;
/// Somebody waits for the last copy to end.
const AWAITED: usize = 2;
/// One copy, or one window that is about to put it back: the count is all above the flags.
const COPY: usize = 4;

/// The claims on one region.
#[derive(Debug)]
pub(crate) struct InUse {
    state: AtomicUsize,
    claims: Mutex<Claims>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Claims {
    /// Windows that are about to put it back, or at it.
    pins: usize,
    /// It goes when they are through; no more come.
    is_leaving: bool,
    /// What is done when the last copy has ended.
    then: Vec<Later>,
}

impl InUse {
    pub(crate) fn new() -> Self {
        Self { state: AtomicUsize::new(0), claims: Mutex::new(Claims::default()), changed: Condvar::new() }
    }

    /// Whether a copy may begin; then [`InUse::end_copy`] ends it.
    pub(crate) fn begin_copy(&self) -> bool {
        let begun = |state| (state & GONE == 0).then(|| state + COPY);
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, begun).is_ok()
    }

    pub(crate) fn end_copy(&self) {
        let before = self.state.fetch_sub(COPY, Ordering::AcqRel);
        if before & AWAITED != 0 && before / COPY == 1 {
            // Whoever waits has set the flag under the lock and waits or has left word by now.
            let then = std::mem::take(&mut self.claims.lock().then);
            self.changed.notify_all();
            then.iter().for_each(Later::settle);
        }
    }

    pub(crate) fn is_being_copied(&self) -> bool {
        self.state.load(Ordering::Acquire) >= COPY
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.state.load(Ordering::Acquire) & GONE != 0
    }

    /// No copy begins any more, and those under way are waited for.
    pub(crate) fn retire(&self) {
        let mut claims = self.claims.lock();
        self.state.fetch_or(GONE | AWAITED, Ordering::AcqRel);
        while self.is_being_copied() {
            self.changed.wait(&mut claims);
        }
    }

    /// No copy begins any more; some may still be under way.
    pub(crate) fn retire_at_once(&self) {
        self.state.fetch_or(GONE, Ordering::AcqRel);
    }

    /// As [`InUse::retire`], when no window is about to put it back.
    pub(crate) fn retire_unpinned(&self) {
        let mut claims = self.claims.lock();
        claims.is_leaving = true;
        while claims.pins > 0 {
            self.changed.wait(&mut claims);
        }
        drop(claims);
        self.retire();
    }

    /// No window begins to put it back any more, and when none is at it no copy begins either.
    pub(crate) fn leave_at_once(&self) {
        let mut claims = self.claims.lock();
        claims.is_leaving = true;
        if claims.pins == 0 {
            self.state.fetch_or(GONE, Ordering::AcqRel);
        }
    }

    /// Whether a window may put it back; then [`InUse::unpin`] says that this is over.
    pub(crate) fn pin(&self) -> bool {
        let mut claims = self.claims.lock();
        let stays = !claims.is_leaving && self.begin_copy();
        claims.pins += usize::from(stays);
        stays
    }

    pub(crate) fn unpin(&self) {
        let mut claims = self.claims.lock();
        claims.pins -= 1;
        if claims.pins == 0 && claims.is_leaving {
            self.state.fetch_or(GONE, Ordering::AcqRel);
        }
        drop(claims);
        self.changed.notify_all();
        self.end_copy();
    }
}

/// Something that is done when the last copy of several regions has ended, by whoever ends it: a free on a thread that may
/// not wait.
#[derive(Clone)]
pub(crate) struct Later(Arc<Postponed>);

struct Postponed {
    /// Regions that are being copied, and one more while they are counted.
    left: AtomicUsize,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Later").field(&self.0.left).finish()
    }
}

impl Later {
    /// Acts when no copy of these is under way and none is being put back, which may be now. Nothing of that begins: they are gone or
    /// leaving.
    pub(crate) fn act<'a>(all: impl IntoIterator<Item = &'a InUse>, act: impl FnOnce() + Send + 'static) {
        let act: Box<dyn FnOnce() + Send> = Box::new(act);
        let later = Self(Arc::new(Postponed { left: AtomicUsize::new(1), act: Mutex::new(Some(act)) }));
        for each in all {
            let mut claims = each.claims.lock();
            if each.state.fetch_or(AWAITED, Ordering::AcqRel) >= COPY {
                later.0.left.fetch_add(1, Ordering::AcqRel);
                claims.then.push(later.clone());
            }
        }
        later.settle();
    }

    fn settle(&self) {
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let act = self.0.act.lock().take();
            act.into_iter().for_each(|act| act());
        }
    }
}
