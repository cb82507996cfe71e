//! When a window did what, for the record.

use super::snapshot::nanoseconds;
use hsa_replay_contract::record::{Stage, StageTime, Window};
use std::time::{Instant, SystemTime};

/// Grows while the window is open.
#[derive(Clone, Debug)]
pub(super) struct Timeline {
    start: Instant,
    start_unix_ns: u64,
    stages: Vec<StageTime>,
}

impl Timeline {
    pub(super) fn new() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self { start: Instant::now(), start_unix_ns: nanoseconds(since_1970), stages: Vec::new() }
    }

    /// A stage that began at `start` ends now.
    pub(super) fn note(&mut self, stage: Stage, pass: Option<u32>, start: Instant) {
        let start_ns = nanoseconds(start.saturating_duration_since(self.start));
        self.stages.push(StageTime { stage, pass, start_ns, ns: nanoseconds(start.elapsed()) });
    }

    /// The window as it is for the record, which is about to be written.
    pub(super) fn take(&mut self) -> Window {
        Window {
            start_unix_ns: self.start_unix_ns,
            ns: nanoseconds(self.start.elapsed()),
            stages: std::mem::take(&mut self.stages),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_lie_within_their_window_in_order() {
        let mut timeline = Timeline::new();
        for stage in [Stage::Decide, Stage::Drain] {
            let start = Instant::now();
            std::hint::black_box(vec![0_u8; 1 << 16]);
            timeline.note(stage, None, start);
        }
        let window = timeline.take();
        let [decide, drain] = window.stages[..] else { panic!("{window:?}") };
        assert!(decide.start_ns + decide.ns <= drain.start_ns);
        assert!(drain.start_ns + drain.ns <= window.ns);
        assert!(window.start_unix_ns > 1_700_000_000_000_000_000);
    }
}
