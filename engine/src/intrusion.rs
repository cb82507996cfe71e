//! Copies that cannot wait for an open window, beside what the window itself writes to memory.
//!
//! A synchronous copy on the runtime's event thread, or one that has waited long enough, runs although a window is open. It is
//! noted first, and from then on the window puts nothing back any more. But a copy of the window's own may be under way at that
//! very moment, and end after the intruder's: so an intruder that finds one leaves its bytes here, and the worker writes them
//! once more when its own copies have ended. Nobody waits but the worker.
//!
//! Whoever opens memory to others comes here too, since those may write as soon as the call has returned: it waits until the window
//! has put that memory back. Where it may not wait, the window says that it may have undone what they wrote.

use crate::sync::{Condvar, Mutex};
use std::ops::Range;
use std::time::Instant;

/// The intruders of one agent's window.
#[derive(Debug, Default)]
pub(crate) struct Intrusions {
    state: Mutex<State>,
    delivered: Condvar,
    /// The window does not write any more.
    written: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Ordinal of the window, so that a late delivery is not taken for one of the next.
    window: u64,
    /// Somebody copied during this window.
    any: bool,
    /// Where, as far as that is known.
    ranges: Vec<Range<u64>>,
    /// It is not known of all.
    anywhere: bool,
    /// What the window is writing to now.
    writing: Vec<Range<u64>>,
    /// Intruders that have not yet left their bytes.
    expected: usize,
    kept: Vec<Kept>,
    /// Bytes of an intruder are not known, and may be undone.
    lost: bool,
    /// Memory was opened to others while it was being written.
    opened: bool,
    /// How often a window has ended to write.
    rounds: u64,
}

impl State {
    /// An empty range, of a call that only reads, overlaps nothing wherever it lies.
    fn writes_to(&self, range: &Range<u64>) -> bool {
        let overlaps = |writing: &Range<u64>| range.start.max(writing.start) < range.end.min(writing.end);
        self.writing.iter().any(overlaps)
    }

    fn stop_writing(&mut self) {
        self.writing.clear();
        self.rounds += 1;
    }
}

/// What an intruder copied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) address: u64,
    pub(crate) bytes: Vec<u8>,
}

/// What intruders did while the window wrote.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// They copied this, in this order: it has to be written again, and then asked for once more.
    Again(Vec<Kept>),
    /// Nothing, or nothing more.
    Nothing,
    /// What they copied is not known.
    Lost,
    /// Others may have written there, and nobody knows what.
    Opened,
}

/// The promise of an intruder to leave its bytes.
#[derive(Debug)]
pub(crate) struct Ticket {
    window: u64,
}

impl Intrusions {
    /// A window begins.
    pub(crate) fn begin_window(&self) {
        self.give_up();
        let mut state = self.state.lock();
        *state = State { window: state.window, rounds: state.rounds, ..State::default() };
    }

    /// The window does not write, or not any more: what intruders leave is not written again.
    pub(crate) fn give_up(&self) {
        let mut state = self.state.lock();
        // Their tickets are of a window that is over.
        state.window += 1;
        state.expected = 0;
        state.kept.clear();
        state.stop_writing();
        drop(state);
        self.written.notify_all();
    }

    /// Memory in a range was opened to others just now. Waits until the window does not write there; a thread that may not wait goes
    /// on at once.
    pub(crate) fn open(&self, range: &Range<u64>, may_wait: bool) {
        let mut state = self.state.lock();
        let round = state.rounds;
        // A window that begins to write later knows that it may not write there.
        while state.rounds == round && state.writes_to(range) {
            if !may_wait {
                state.opened = true;
                return;
            }
            self.written.wait(&mut state);
        }
    }

    /// Whether somebody copied during the window.
    pub(crate) fn any(&self) -> bool {
        self.state.lock().any
    }

    /// Where they copied; `None` if that is not known of all.
    pub(crate) fn ranges(&self) -> Option<Vec<Range<u64>>> {
        let state = self.state.lock();
        (!state.anywhere).then(|| state.ranges.clone())
    }

    /// Somebody is about to copy to a range, or nobody knows where. With a ticket what it copies may be undone unless its bytes
    /// are left here.
    pub(crate) fn intrude(&self, range: Option<&Range<u64>>) -> Option<Ticket> {
        let mut state = self.state.lock();
        state.any = true;
        state.ranges.extend(range.filter(|range| !range.is_empty()).cloned());
        state.anywhere |= range.is_none();
        let touched = range.map_or(!state.writing.is_empty(), |range| state.writes_to(range));
        touched.then(|| {
            state.expected += 1;
            Ticket { window: state.window }
        })
    }

    /// The bytes of an intruder, after its copy has ended; none if it copied nothing.
    pub(crate) fn deliver(&self, ticket: &Ticket, kept: Option<Kept>) {
        self.settle(ticket, |state| state.kept.extend(kept));
    }

    /// The bytes of an intruder are not to be had.
    pub(crate) fn lose(&self, ticket: &Ticket) {
        self.settle(ticket, |state| state.lost = true);
    }

    fn settle(&self, ticket: &Ticket, note: impl FnOnce(&mut State)) {
        let mut state = self.state.lock();
        if state.window == ticket.window {
            state.expected -= 1;
            note(&mut state);
        }
        drop(state);
        self.delivered.notify_all();
    }

    /// The window is about to write to these ranges; false, and nothing is noted, if somebody has copied meanwhile.
    pub(crate) fn begin_writing(&self, ranges: Vec<Range<u64>>) -> bool {
        let mut state = self.state.lock();
        if !state.any {
            state.writing = ranges;
        }
        !state.any
    }

    /// The window is about to write to these ranges, to which nobody has copied although somebody may have to others.
    pub(crate) fn go_on_writing(&self, ranges: Vec<Range<u64>>) {
        self.state.lock().writing = ranges;
    }

    /// The window's own copies have ended. Waits for intruders that are about to leave their bytes. Unless the answer is
    /// [`Written::Again`], the window counts as not writing any more.
    pub(crate) fn end_writing(&self, deadline: Instant) -> Written {
        let mut state = self.state.lock();
        while state.expected > 0 {
            if self.delivered.wait_until(&mut state, deadline).timed_out() && state.expected > 0 {
                state.lost = true;
                break;
            }
        }
        if !state.kept.is_empty() {
            let kept = std::mem::take(&mut state.kept);
            let ranges = kept.iter().map(|kept| kept.address..kept.address + kept.bytes.len() as u64);
            state.writing.extend(ranges);
            return Written::Again(kept);
        }
        state.stop_writing();
        let written = match (state.lost, state.opened) {
            (true, _) => Written::Lost,
            (false, true) => Written::Opened,
            (false, false) => Written::Nothing,
        };
        drop(state);
        self.written.notify_all();
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn somewhere() -> Vec<Range<u64>> {
        vec![0..5, 5..10]
    }

    fn now() -> Instant {
        Instant::now()
    }

    #[test]
    fn an_intruder_beside_a_write_leaves_its_bytes_until_the_write_has_ended() {
        let intrusions = Intrusions::default();
        intrusions.begin_window();
        assert!(intrusions.begin_writing(vec![0..10, 20..30]));
        assert!(intrusions.intrude(Some(&(10..20))).is_none(), "nothing is written there");
        let ticket = intrusions.intrude(Some(&(25..40))).expect("is wanted");
        intrusions.deliver(&ticket, Some(Kept { address: 25, bytes: vec![1] }));
        assert_eq!(intrusions.end_writing(now()), Written::Again(vec![Kept { address: 25, bytes: vec![1] }]));
        let ticket = intrusions.intrude(Some(&(0..1))).expect("it is being written again");
        intrusions.deliver(&ticket, None);
        assert_eq!(intrusions.end_writing(now()), Written::Nothing);
        assert_eq!(intrusions.ranges(), Some(vec![10..20, 25..40, 0..1]));
        assert!(intrusions.intrude(None).is_none());
        assert_eq!(intrusions.ranges(), None);
        assert!(intrusions.any() && !intrusions.begin_writing(somewhere()), "nothing is put back any more");
    }

    #[test]
    fn an_intruder_that_copies_nothing_touches_nothing() {
        let intrusions = Intrusions::default();
        intrusions.begin_window();
        assert!(intrusions.begin_writing(somewhere()));
        for nothing in [3..3, 5..5, 0..0] {
            assert!(intrusions.intrude(Some(&nothing)).is_none(), "{nothing:?}");
        }
        assert_eq!(intrusions.end_writing(now()), Written::Nothing);
        assert_eq!(intrusions.ranges(), Some(Vec::new()));
    }

    #[test]
    fn what_is_not_left_is_lost_in_this_window_only() {
        let intrusions = Intrusions::default();
        for leave in [true, false] {
            intrusions.begin_window();
            assert!(intrusions.begin_writing(somewhere()));
            let ticket = intrusions.intrude(None).expect("it may be anywhere");
            if leave {
                intrusions.lose(&ticket);
            }
            assert_eq!(intrusions.end_writing(now()), Written::Lost);
            intrusions.begin_window();
            intrusions.lose(&ticket);
            assert!(intrusions.begin_writing(somewhere()));
            assert_eq!(intrusions.end_writing(now()), Written::Nothing);
        }
    }

    #[test]
    fn memory_opened_on_a_thread_that_may_not_wait_is_said_if_it_was_being_written() {
        let intrusions = Intrusions::default();
        intrusions.begin_window();
        intrusions.open(&(0..10), false);
        assert!(intrusions.begin_writing(somewhere()));
        intrusions.open(&(10..20), false);
        assert_eq!(intrusions.end_writing(now()), Written::Nothing);
        assert!(intrusions.begin_writing(somewhere()), "opening memory is no copy");
        intrusions.open(&(9..20), false);
        assert_eq!(intrusions.end_writing(now()), Written::Opened);
        intrusions.begin_window();
        assert!(intrusions.begin_writing(somewhere()));
        assert_eq!(intrusions.end_writing(now()), Written::Nothing, "that was the window before");
    }

    #[test]
    fn what_is_left_for_a_window_that_gave_up_writing_is_not_written() {
        let intrusions = Intrusions::default();
        intrusions.begin_window();
        assert!(intrusions.begin_writing(somewhere()));
        let ticket = intrusions.intrude(Some(&(0..1))).expect("is wanted");
        intrusions.give_up();
        intrusions.deliver(&ticket, Some(Kept { address: 0, bytes: vec![1] }));
        intrusions.go_on_writing(somewhere());
        assert_eq!(intrusions.end_writing(now()), Written::Nothing);
    }

    /// Memory of four bytes: a window writes zeros over all of it unless it was opened to others, who write at once when it is.
    #[test]
    fn whenever_memory_is_opened_what_others_write_then_stays() {
        use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
        let intrusions = Intrusions::default();
        let memory: [AtomicU8; 4] = Default::default();
        let put = |value| {
            for byte in &memory {
                byte.store(value, Ordering::SeqCst);
                std::thread::yield_now();
            }
        };
        for round in 1..2000_u32 {
            let number = 1 + u8::try_from(round % 200).expect("small");
            intrusions.begin_window();
            let opened = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let opener = scope.spawn(|| {
                    opened.store(true, Ordering::Release);
                    intrusions.open(&(1..3), true);
                    put(number);
                });
                if round % 3 == 0 {
                    std::thread::yield_now();
                }
                assert!(intrusions.begin_writing(vec![0..2, 2..4]));
                if opened.load(Ordering::Acquire) {
                    intrusions.give_up();
                } else {
                    put(0);
                    assert_eq!(intrusions.end_writing(now()), Written::Nothing);
                }
                opener.join().expect("no panic");
            });
            assert!(memory.iter().all(|byte| byte.load(Ordering::SeqCst) == number), "in round {round}");
        }
    }

    /// Memory of four bytes: a window writes zeros over all of it, an intruder its own number over two of them, at any time.
    #[test]
    fn whenever_an_intruder_comes_its_bytes_are_there_at_the_end() {
        use std::sync::atomic::{AtomicU8, Ordering};
        let intrusions = Intrusions::default();
        let memory: [AtomicU8; 4] = Default::default();
        let put = |range: Range<usize>, value| {
            for byte in &memory[range] {
                byte.store(value, Ordering::SeqCst);
                std::thread::yield_now();
            }
        };
        for round in 1..2000_u32 {
            let number = 1 + u8::try_from(round % 200).expect("small");
            intrusions.begin_window();
            std::thread::scope(|scope| {
                let intruder = scope.spawn(|| {
                    let ticket = intrusions.intrude(Some(&(1..3)));
                    put(1..3, number);
                    if let Some(ticket) = ticket {
                        intrusions.deliver(&ticket, Some(Kept { address: 1, bytes: vec![number; 2] }));
                    }
                });
                if round % 3 == 0 {
                    std::thread::yield_now();
                }
                if intrusions.begin_writing(vec![0..4, 8..9]) {
                    put(0..4, 0);
                    while let Written::Again(copies) =
                        intrusions.end_writing(now() + std::time::Duration::from_secs(30))
                    {
                        copies.iter().for_each(|kept| put(1..3, kept.bytes[0]));
                    }
                }
                intruder.join().expect("no panic");
            });
            let left: Vec<u8> = memory.iter().map(|byte| byte.load(Ordering::SeqCst)).collect();
            assert_eq!(left[1..3], [number; 2], "in round {round}");
        }
    }
}
