//! The worker of one agent: it takes over queues whose head must wait, runs windows, and resumes what a gate held back.
//!
//! It never sleeps on one queue while another could go on, except inside a window, when nothing of the agent may go on.

use crate::agent::{AgentState, Task};
use crate::queue::{SoftQueue, Stop};
use crate::sync::Arc;
use crate::window;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// Time for which queues that wait for room or a signal are looked at without a pause.
const SPIN: Duration = Duration::from_micros(50);
/// Shortest and longest pause after that.
const PAUSE: std::ops::RangeInclusive<Duration> = Duration::from_micros(50)..=Duration::from_millis(1);

/// Why no window opens any more after a panic.
const FAILED: &str = "the engine failed inside; please report the message above";

/// What is to be done with a queue after the worker looked at it.
enum Next {
    /// Nothing: the next doorbell forwards.
    Rest,
    /// Another look soon: its head waits for room or a signal.
    Poll,
    /// Another look after the other queues had theirs.
    Again,
}

/// The worker's thread.
pub(crate) fn run(agent: &Arc<AgentState>) {
    agent.process.runtime.enter_thread();
    let mut waiting: Vec<Arc<SoftQueue>> = Vec::new();
    let mut pace = Pace::new();
    loop {
        let polled = !waiting.is_empty() || agent.fence.is_waiting() || agent.expects_unheard_packets();
        // A queue that the application keeps busy is handed over again and again: those that wait get their looks all the same.
        let task =
            if polled && pace.is_due() { Task::Poll } else { agent.next_task(polled.then(|| pace.pause())) };
        match task {
            Task::Queue(queue) => {
                flush_copies(agent);
                waiting.retain(|other| !Arc::ptr_eq(other, &queue));
                attend(&queue, &mut waiting);
                pace.hurry();
            }
            Task::Poll => {
                flush_copies(agent);
                let before = waiting.len();
                let mut looked_at = std::mem::take(&mut waiting);
                if agent.expects_unheard_packets() {
                    let others = agent.queues();
                    looked_at.retain(|queue| !others.iter().any(|other| Arc::ptr_eq(other, queue)));
                    looked_at.extend(others);
                }
                for queue in looked_at {
                    attend(&queue, &mut waiting);
                }
                pace.looked();
                if waiting.len() < before {
                    pace.hurry();
                }
            }
            Task::Stop => {
                for queue in agent.queues() {
                    window::leave(&queue);
                }
                return;
            }
        }
    }
}

/// Submits copies that waited. A panic there must not cost the application its packets either.
fn flush_copies(agent: &AgentState) {
    if catch_unwind(AssertUnwindSafe(|| agent.fence.flush(&agent.process))).is_err() {
        agent.process.disarm(FAILED);
    }
}

/// How often the worker looks at waiting queues: all the time at first, then ever more seldom.
struct Pace {
    spin_until: Instant,
    pause: Duration,
    /// When it has to look at them whatever else there is to do.
    due: Instant,
}

impl Pace {
    fn new() -> Self {
        let now = Instant::now();
        Self { spin_until: now + SPIN, pause: *PAUSE.start(), due: now + *PAUSE.start() }
    }

    fn pause(&mut self) -> Duration {
        if Instant::now() < self.spin_until {
            return Duration::ZERO;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(*PAUSE.end());
        pause
    }

    /// Something went on, so what waits may soon go on too.
    fn hurry(&mut self) {
        self.spin_until = Instant::now() + SPIN;
        self.pause = *PAUSE.start();
    }

    fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    fn looked(&mut self) {
        self.due = Instant::now() + *PAUSE.end();
    }
}

/// Looks at a queue. A panic in the engine must not cost the application a packet: windows end for good, and what is
/// parked is forwarded.
fn attend(queue: &Arc<SoftQueue>, waiting: &mut Vec<Arc<SoftQueue>>) {
    let next = catch_unwind(AssertUnwindSafe(|| service(queue))).unwrap_or_else(|_| {
        let agent = queue.agent();
        agent.process.disarm(FAILED);
        catch_unwind(AssertUnwindSafe(|| window::recover(queue))).unwrap_or_else(|_| queue.kill());
        Next::Again
    });
    match next {
        Next::Rest => {}
        Next::Poll => waiting.push(Arc::clone(queue)),
        Next::Again => queue.agent().hand_over(queue),
    }
}

fn service(queue: &Arc<SoftQueue>) -> Next {
    // A thread that does not return from a doorbell keeps its own queue back and no other.
    let Some(mut forwarder) = queue.lock_until(Instant::now() + *PAUSE.end()) else {
        return Next::Poll;
    };
    let next = match queue.forward_on_worker(&mut forwarder) {
        Stop::Idle | Stop::Gate => Next::Rest,
        Stop::Dead => {
            window::close(queue, &mut forwarder);
            Next::Rest
        }
        Stop::Full | Stop::Signal => Next::Poll,
        Stop::Candidate => {
            if window::run(queue, &mut forwarder) {
                Next::Again
            } else {
                Next::Poll
            }
        }
    };
    drop(forwarder);
    if queue.is_doomed() {
        let agent = queue.agent();
        if agent.remove(queue).is_some()
            && let Err(error) = agent.process.runtime.destroy_queue(queue.hardware().queue())
        {
            tracing::warn!("a queue that the application has destroyed stays: {error}");
        }
        return Next::Rest;
    }
    match next {
        // The holder of the lock looks at the note after letting go, like every other.
        Next::Rest if queue.was_rung() => Next::Again,
        next => next,
    }
}
