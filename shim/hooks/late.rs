//! Calls on mappings that are made later, since a window is at the memory and the calling thread may not wait.
//!
//! Their thread goes on as if they had succeeded. Another call for the same addresses has to come after them, so that one waits, on
//! whichever thread: for a few copies, or until a window has put that memory back.

use std::ops::Range;

use parking_lot::{Condvar, Mutex};

/// Ranges of addresses for which a call is still to be made.
static PENDING: Mutex<Vec<Range<u64>>> = Mutex::new(Vec::new());
static MADE: Condvar = Condvar::new();

/// A call that is still to be made; dropped when it has been.
pub struct Pending(Range<u64>);

impl Pending {
    pub fn new(range: Range<u64>) -> Self {
        PENDING.lock().push(range.clone());
        Self(range)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let mut pending = PENDING.lock();
        if let Some(at) = pending.iter().position(|range| *range == self.0) {
            pending.swap_remove(at);
        }
        drop(pending);
        MADE.notify_all();
    }
}

/// Waits until no call is pending that touches this range.
pub fn wait_for(range: &Range<u64>) {
    let touches = |other: &Range<u64>| other.start < range.end && range.start < other.end;
    let mut pending = PENDING.lock();
    while pending.iter().any(touches) {
        MADE.wait(&mut pending);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_call_for_the_same_addresses_comes_after_a_pending_one_and_others_pass() {
        let pending = Pending::new(0x1000..0x3000);
        wait_for(&(0x3000..0x4000));
        wait_for(&(0..0x1000));
        let (coming, made) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            let next = scope.spawn(|| {
                coming.store(true, Ordering::SeqCst);
                wait_for(&(0x2000..0x2001));
                made.load(Ordering::SeqCst)
            });
            while !coming.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            // Enough for one that does not wait, on a busy machine too.
            for _ in 0..10_000 {
                std::thread::yield_now();
            }
            made.store(true, Ordering::SeqCst);
            drop(pending);
            assert!(next.join().expect("no panic"), "it did not wait");
        });
    }
}
