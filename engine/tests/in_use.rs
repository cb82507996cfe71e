//! Every interleaving of copies of a region and the free of its memory: a free that waits sees no copy under way, one that does
//! not wait is done exactly once, and no copy begins after it.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

/// The engine's names for locks and atomics, as the model checker has them.
mod sync {
    pub use loom::sync::Arc;
    pub use loom::sync::atomic::{AtomicUsize, Ordering};
    use std::ops::{Deref, DerefMut};

    /// The interface of the engine's lock.
    #[derive(Debug)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    /// Empty only while it waits.
    pub struct MutexGuard<'a, T>(Option<loom::sync::MutexGuard<'a, T>>);

    #[derive(Debug)]
    pub struct Condvar(loom::sync::Condvar);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect("no thread panics")))
        }
    }

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_deref().expect("is not waiting")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_deref_mut().expect("is not waiting")
        }
    }

    impl Condvar {
        pub fn new() -> Self {
            Self(loom::sync::Condvar::new())
        }

        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take().expect("is not waiting");
            guard.0 = Some(self.0.wait(held).expect("no thread panics"));
        }

        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}

#[allow(dead_code, reason = "the engine uses more of it")]
#[path = "../src/inventory/in_use.rs"]
mod in_use;

use in_use::{InUse, Later};
use sync::Ordering;

/// A region whose memory is there while `there` is one, and what copies it.
struct Memory {
    in_use: InUse,
    there: AtomicUsize,
}

impl Memory {
    fn new() -> Arc<Self> {
        Arc::new(Self { in_use: InUse::new(), there: AtomicUsize::new(1) })
    }

    fn copy(&self) -> bool {
        let begun = self.in_use.begin_copy();
        if begun {
            assert_eq!(self.there.load(Ordering::Relaxed), 1, "copied after it was freed");
            self.in_use.end_copy();
        }
        begun
    }

    /// Frees it: no copy may be at it any more.
    fn free(&self) {
        assert!(!self.in_use.is_being_copied());
        assert_eq!(self.there.swap(0, Ordering::Relaxed), 1, "freed twice");
    }
}

fn copier(memory: &Arc<Memory>) -> thread::JoinHandle<()> {
    let memory = Arc::clone(memory);
    thread::spawn(move || {
        memory.copy();
    })
}

#[test]
fn a_free_waits_for_the_copies_under_way() {
    loom::model(|| {
        let memory = Memory::new();
        let copiers = [copier(&memory), copier(&memory)];
        memory.in_use.retire();
        memory.free();
        assert!(!memory.copy());
        copiers.into_iter().for_each(|copier| copier.join().expect("no panic"));
    });
}

#[test]
fn a_free_that_may_not_wait_is_done_once_when_the_last_copy_has_ended() {
    // Three threads and two regions: all orders with few interruptions, of which a mistake needs no more.
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let memories = [Memory::new(), Memory::new()];
        let copiers = memories.each_ref().map(copier);
        memories.iter().for_each(|memory| memory.in_use.retire_at_once());
        let freed = memories.clone();
        Later::act(memories.iter().map(|memory| &memory.in_use), move || {
            freed.iter().for_each(|memory| memory.free());
        });
        copiers.into_iter().for_each(|copier| copier.join().expect("no panic"));
        assert!(memories.iter().all(|memory| memory.there.load(Ordering::Relaxed) == 0), "never freed");
        assert!(!memories.iter().any(|memory| memory.copy()));
    });
}

#[test]
fn a_change_of_rights_waits_for_the_window_that_is_about_to_put_memory_back() {
    loom::model(|| {
        let memory = Memory::new();
        let window = thread::spawn({
            let memory = Arc::clone(&memory);
            move || {
                if memory.in_use.pin() {
                    assert!(memory.copy(), "pinned memory goes");
                    memory.in_use.unpin();
                }
            }
        });
        memory.in_use.retire_unpinned();
        memory.free();
        assert!(!memory.in_use.pin());
        window.join().expect("no panic");
    });
}
