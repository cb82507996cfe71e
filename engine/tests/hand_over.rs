//! Every interleaving of the threads that share a queue: nothing that was published stays behind, and a gate that was closed
//! is closed.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

/// The engine's names for locks and atomics, as the model checker has them.
mod sync {
    pub use loom::sync::MutexGuard;
    pub use loom::sync::atomic::{AtomicBool, Ordering, fence};

    /// What the engine's own comes to.
    pub fn fence_after_unlock() {
        fence(Ordering::SeqCst);
    }

    /// The interface of the engine's lock.
    pub struct Mutex<T>(loom::sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Self {
            Self(loom::sync::Mutex::new(value))
        }

        pub fn lock(&self) -> MutexGuard<'_, T> {
            self.0.lock().expect("no thread panics")
        }

        pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

#[allow(dead_code, reason = "the engine uses more of it")]
#[path = "../src/queue/hand_over.rs"]
mod hand_over;

use hand_over::HandOver;
use sync::Ordering;

#[derive(Default)]
struct Forwarder {
    forwarded: usize,
    parked: bool,
}

/// A ring of which only the number of published packets matters, and its forwarding.
struct Queue {
    published: AtomicUsize,
    hand_over: HandOver<Forwarder>,
}

impl Queue {
    fn new(parked: bool) -> Arc<Self> {
        let hand_over = HandOver::new(Forwarder { forwarded: 0, parked });
        Arc::new(Self { published: AtomicUsize::new(0), hand_over })
    }

    /// An application thread publishes a packet and rings.
    fn submit(&self) {
        self.published.fetch_add(1, Ordering::Release);
        self.hand_over.ask(
            |forwarder| {
                if !forwarder.parked {
                    forwarder.forwarded = self.published.load(Ordering::Acquire);
                }
                false
            },
            || {},
        );
    }

    /// The worker serves a parked queue.
    fn serve(&self) {
        loop {
            let mut forwarder = self.hand_over.lock();
            self.hand_over.drop_note();
            forwarder.parked = false;
            forwarder.forwarded = self.published.load(Ordering::Acquire);
            drop(forwarder);
            if !self.hand_over.take_note() {
                return;
            }
        }
    }
}

#[test]
fn what_two_threads_publish_at_once_is_forwarded() {
    loom::model(|| {
        let queue = Queue::new(false);
        let other = Arc::clone(&queue);
        let thread = thread::spawn(move || other.submit());
        queue.submit();
        thread.join().expect("no panic");
        assert_eq!(queue.hand_over.lock().forwarded, 2);
    });
}

#[test]
fn what_is_published_while_the_worker_takes_over_is_forwarded() {
    loom::model(|| {
        let queue = Queue::new(true);
        let worker = Arc::clone(&queue);
        let thread = thread::spawn(move || worker.serve());
        queue.submit();
        thread.join().expect("no panic");
        assert_eq!(queue.hand_over.lock().forwarded, 1);
    });
}

/// As `AgentState::narrow_gate` does it: the phase, then the lock of the queue once.
#[test]
fn nothing_passes_a_gate_once_it_is_closed() {
    loom::model(|| {
        let gate = Arc::new((AtomicUsize::new(0), AtomicUsize::new(0), HandOver::new(())));
        let forwarding = Arc::clone(&gate);
        let thread = thread::spawn(move || {
            let (closed, sent, queue) = &*forwarding;
            let forward = |(): &mut ()| {
                if closed.load(Ordering::SeqCst) == 0 {
                    sent.fetch_add(1, Ordering::SeqCst);
                }
                false
            };
            queue.ask(forward, || {});
            queue.ask(forward, || {});
        });
        let (closed, sent, queue) = &*gate;
        closed.store(1, Ordering::SeqCst);
        drop(queue.lock());
        let before = sent.load(Ordering::SeqCst);
        thread.join().expect("no panic");
        assert_eq!(sent.load(Ordering::SeqCst), before);
    });
}
