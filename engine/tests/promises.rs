//! Every interleaving of threads that note decrements of one signal while the hardware makes them: each note is worth one.

use loom::sync::Arc;
use loom::sync::atomic::AtomicI64;
use loom::thread;

/// The engine's names for locks and atomics, as the model checker has them.
mod sync {
    pub use loom::sync::MutexGuard;
    pub use loom::sync::atomic::{AtomicU64, Ordering};

    /// The interface of the engine's lock.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no thread panics")
        }
    }
}

#[path = "../src/addresses.rs"]
mod addresses;

#[allow(dead_code, reason = "the engine uses more of it")]
#[path = "../src/promises/shard.rs"]
mod shard;

use shard::{Shard, SignalWrite};
use sync::Ordering;

const SIGNAL: u64 = 0x1000;
const OTHER: u64 = 0x2000;
const START: i64 = 8;

/// A signal, and the entries of its shard.
struct State {
    value: AtomicI64,
    shard: Shard,
}

impl State {
    fn new() -> Arc<Self> {
        Arc::new(Self { value: AtomicI64::new(START), shard: Shard::default() })
    }

    fn read(&self) -> i64 {
        self.value.load(Ordering::Acquire)
    }

    fn note(&self) {
        self.shard.note(SIGNAL, true, || self.read());
    }

    /// What the hardware does when a packet completes.
    fn decrement(&self) {
        self.value.fetch_sub(1, Ordering::Release);
    }

    /// What the application does.
    fn subtract(&self) {
        let write = SignalWrite::Add(-1);
        self.shard.write(SIGNAL, write, || self.read(), || self.value.fetch_sub(1, Ordering::Release));
    }

    fn settled(&self) -> i64 {
        self.shard.settled_value(SIGNAL, || self.read())
    }
}

#[test]
fn a_note_beside_others_that_are_kept_meanwhile_makes_none_of_them_look_done() {
    loom::model(|| {
        let state = State::new();
        let other = Arc::clone(&state);
        let thread = thread::spawn(move || {
            other.note();
            other.decrement();
            other.note();
        });
        state.note();
        thread.join().expect("no panic");
        assert_eq!(state.settled(), START - 3);
    });
}

#[test]
fn a_signal_never_settles_above_what_was_noted_before() {
    loom::model(|| {
        let state = State::new();
        state.note();
        let other = Arc::clone(&state);
        let thread = thread::spawn(move || {
            other.decrement();
            other.note();
        });
        let settled = state.settled();
        assert!((START - 2..START).contains(&settled), "settles at {settled}");
        thread.join().expect("no panic");
        assert_eq!(state.settled(), START - 2);
    });
}

#[test]
fn changes_for_another_signal_of_the_shard_keep_nobody_from_noting() {
    loom::model(|| {
        let state = State::new();
        let other = Arc::clone(&state);
        let thread = thread::spawn(move || {
            other.shard.note(OTHER, true, || START);
            drop(other.shard.change());
        });
        state.note();
        thread.join().expect("no panic");
        assert_eq!(state.settled(), START - 1);
        assert_eq!(state.shard.settled_value(OTHER, || START), START - 1);
    });
}

#[test]
fn a_write_of_the_applications_neither_hides_nor_invents_what_is_under_way() {
    loom::model(|| {
        let state = State::new();
        state.note();
        let other = Arc::clone(&state);
        let thread = thread::spawn(move || other.subtract());
        let settled = state.settled();
        assert!((START - 2..START).contains(&settled), "settles at {settled}");
        let outstanding = state.shard.outstanding(SIGNAL, || state.read());
        assert_eq!(outstanding, 1);
        state.decrement();
        thread.join().expect("no panic");
        assert_eq!((state.settled(), state.shard.outstanding(SIGNAL, || state.read())), (START - 2, 0));
    });
}
