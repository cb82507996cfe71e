//! How long one record waits for a full pipe: while its reader reads.

use std::time::{Duration, Instant};

/// The longest without the reader's taking a byte.
const STILL: Duration = Duration::from_secs(1);

/// The longest altogether.
const WHOLE: Duration = Duration::from_secs(30);

/// One record's wait.
#[derive(Debug)]
pub(super) struct Patience {
    begun: Instant,
    moved: Instant,
    queued: u64,
}

impl Patience {
    /// The wait begins now, with so many bytes in the pipe.
    pub(super) fn begin(queued: u64) -> Self {
        Self::begin_at(Instant::now(), queued)
    }

    fn begin_at(now: Instant, queued: u64) -> Self {
        Self { begun: now, moved: now, queued }
    }

    /// A part of the record was written: the reader has made room.
    pub(super) fn moved(&mut self) {
        self.moved = Instant::now();
    }

    /// When to look again.
    pub(super) fn deadline(&self) -> Instant {
        (self.moved + STILL).min(self.begun + WHOLE)
    }

    /// Whether to wait on, `queued` bytes being in the pipe: a reader may take less than would make room.
    pub(super) fn goes_on(&mut self, now: Instant, queued: u64) -> bool {
        if queued < self.queued {
            self.moved = now;
        }
        self.queued = queued;
        now < self.deadline()
    }

    /// Why it did not go on.
    pub(super) fn ended(&self) -> String {
        let (still, whole) = (STILL.as_secs(), WHOLE.as_secs());
        if self.deadline() < self.begun + WHOLE {
            format!("the pipe is full and its reader took nothing for {still} s")
        } else {
            format!("the pipe's reader is too slow: one record waited for {whole} s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_waits_as_long_as_the_reader_takes_bytes_but_not_for_ever() {
        let now = Instant::now();
        let after = |ms: u64| now + Duration::from_millis(ms);
        let mut patience = Patience::begin_at(now, 65_536);
        let mut queued = 65_536;
        for second in 1..30 {
            queued -= 300;
            assert!(patience.goes_on(after(second * 1000), queued), "after {second} s");
        }
        assert!(!patience.goes_on(after(30_000), queued - 300));
        assert!(patience.ended().contains("too slow"), "{}", patience.ended());

        let mut patience = Patience::begin_at(now, 65_536);
        assert!(patience.goes_on(after(999), 65_535));
        assert!(patience.goes_on(after(1998), 65_535));
        assert!(!patience.goes_on(after(1999), 65_535));
        assert!(patience.ended().contains("took nothing"), "{}", patience.ended());
    }
}
