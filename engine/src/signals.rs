//! Signals of the engine's own, kept for the next use.

use crate::handles::Signal;
use crate::runtime::{Runtime, RuntimeResult};
use crate::shared_memory::{set_ticks, signal_value};
use crate::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Time for which a polled signal is looked at without a pause.
const SPIN: Duration = Duration::from_micros(100);
/// Pause between two looks after that.
const PAUSE: Duration = Duration::from_micros(20);

/// Signals that are not in use.
pub(crate) struct SignalPool {
    runtime: Arc<dyn Runtime>,
    /// Those on which a thread can sleep.
    waking: Kept,
    /// Those that are looked at, without an interrupt.
    polled: Kept,
}

#[derive(Default)]
struct Kept {
    free: Mutex<Vec<Signal>>,
    /// Signals given up while a device could still write to them.
    lent: Mutex<Vec<Signal>>,
}

impl std::fmt::Debug for Completion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Completion").field(&self.signal).finish()
    }
}

/// A signal in use, at one until what it was given to is done. It returns to the pool when dropped.
pub(crate) struct Completion {
    pool: Arc<SignalPool>,
    signal: Signal,
    polled: bool,
    idle: bool,
}

impl SignalPool {
    pub(crate) fn new(runtime: Arc<dyn Runtime>) -> Self {
        Self { runtime, waking: Kept::default(), polled: Kept::default() }
    }

    /// A signal with the value one, on which a thread can sleep.
    pub(crate) fn take(self: &Arc<Self>) -> RuntimeResult<Completion> {
        self.take_kind(false)
    }

    /// A signal with the value one that costs no interrupt: waiting for it means looking at it again and again.
    pub(crate) fn take_polled(self: &Arc<Self>) -> RuntimeResult<Completion> {
        self.take_kind(true)
    }

    fn take_kind(self: &Arc<Self>, polled: bool) -> RuntimeResult<Completion> {
        let kept = self.kept(polled);
        kept.reclaim();
        let free = kept.free.lock().pop();
        let signal = match free {
            Some(signal) => {
                // What a kernel that writes none leaves must not be those of the one before.
                set_ticks(signal, [0, 0]);
                self.runtime.store_signal(signal, 1);
                signal
            }
            None if polled => self.runtime.create_polled_signal(1)?,
            None => self.runtime.create_signal(1)?,
        };
        Ok(Completion { pool: Arc::clone(self), signal, polled, idle: true })
    }

    /// Destroys what is not in use any more.
    pub(crate) fn clear(&self) {
        for kept in [&self.waking, &self.polled] {
            kept.reclaim();
            for signal in kept.free.lock().drain(..) {
                if let Err(error) = self.runtime.destroy_signal(signal) {
                    tracing::warn!("a signal stays: {error}");
                }
            }
        }
    }

    fn kept(&self, polled: bool) -> &Kept {
        if polled { &self.polled } else { &self.waking }
    }
}

impl Kept {
    fn reclaim(&self) {
        let mut lent = self.lent.lock();
        let mut free = self.free.lock();
        lent.retain(|&signal| {
            let busy = signal_value(signal) > 0;
            if !busy {
                free.push(signal);
            }
            busy
        });
    }
}

impl Completion {
    pub(crate) fn signal(&self) -> Signal {
        self.signal
    }

    /// The signal has been given to something that will complete it: it is not used again before that has happened.
    pub(crate) fn submitted(&mut self) {
        self.idle = false;
    }

    /// The value now: one while under way, zero when done, below zero when the runtime reports a failure.
    pub(crate) fn value(&self) -> i64 {
        signal_value(self.signal)
    }

    /// Sleeps until it is done, at most for `timeout`, and gives the value.
    pub(crate) fn wait(&self, timeout: Duration) -> i64 {
        if !self.polled {
            return self.pool.runtime.wait_signal_below(self.signal, 1, timeout);
        }
        let start = Instant::now();
        loop {
            let value = self.value();
            let waited = start.elapsed();
            if value < 1 || waited >= timeout {
                return value;
            }
            if waited < SPIN {
                std::thread::yield_now();
            } else {
                std::thread::sleep(PAUSE.min(timeout - waited));
            }
        }
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        let done = self.idle || self.value() <= 0;
        let kept = self.pool.kept(self.polled);
        let list = if done { &kept.free } else { &kept.lent };
        list.lock().push(self.signal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::Fake;
    use crate::shared_memory::ticks;

    #[test]
    fn a_signal_used_again_has_no_ticks_of_its_former_use() {
        let fake = Fake::new();
        let runtime: Arc<dyn Runtime> = Arc::<Fake>::clone(&fake);
        let pool = Arc::new(SignalPool::new(runtime));
        let first = pool.take().expect("a signal");
        let signal = first.signal();
        set_ticks(signal, [5, 6]);
        drop(first);
        let second = pool.take().expect("a signal");
        assert_eq!((second.signal(), ticks(signal)), (signal, [0, 0]));
        fake.stop();
    }
}
