//! Copies between agent and host memory: chunked, a bounded number in flight, each region held while it is copied.
//!
//! A region's memory can be freed by the application at any time. The free waits for the chunks of it in flight, which are
//! bounded together, and later chunks find the region gone.

use crate::handles::Agent;
use crate::inventory::{Held, Region};
use crate::process::Process;
use crate::queue::SoftQueue;
use crate::runtime::Copy;
use crate::signals::Completion;
use crate::sync::Arc;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Largest single copy.
pub(crate) const CHUNK: u64 = 16 << 20;
/// Bytes in flight at once, beyond the first copy.
const IN_FLIGHT_BYTES: u64 = 4 * CHUNK;
const IN_FLIGHT_COPIES: usize = 32;

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    ToHost,
    ToDevice,
}

/// A copy of part of a region.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) region: Arc<Region>,
    /// Offset in the region.
    pub(crate) offset: u64,
    /// Address in host memory.
    pub(crate) host: u64,
    /// At most [`CHUNK`].
    pub(crate) bytes: u64,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    Done,
    /// The region was freed before.
    Gone,
    /// Two ways failed.
    Failed,
    /// It did not end in time; the device may still be at it.
    Stuck,
    /// It was not begun, since the queue or the process ends.
    GivenUp,
}

/// Copies for one agent.
pub(crate) struct Mover<'a> {
    process: &'a Process,
    agent: Agent,
    direction: Direction,
    /// Until when a copy may take.
    deadline: Instant,
    /// The queue without which the copies serve nothing.
    queue: Option<&'a SoftQueue>,
}

struct InFlight {
    at: usize,
    completion: Completion,
    held: Held,
    bytes: u64,
}

impl<'a> Mover<'a> {
    pub(crate) fn new(process: &'a Process, agent: Agent, direction: Direction, deadline: Instant) -> Self {
        Self { process, agent, direction, deadline, queue: None }
    }

    /// Copies that only a window of this queue needs: none is begun once the queue or the process ends, so that whoever
    /// destroys the queue waits for a few copies at most.
    pub(crate) fn given_up_with(self, queue: &'a SoftQueue) -> Self {
        Self { queue: Some(queue), ..self }
    }

    /// Does all jobs, several at a time, and tells how each ended. After a stuck copy the rest is not begun.
    pub(crate) fn run(&self, jobs: &[Job]) -> Vec<Copied> {
        let mut results = vec![Copied::Stuck; jobs.len()];
        let mut flying: VecDeque<InFlight> = VecDeque::new();
        let mut bytes = 0;
        for (at, job) in jobs.iter().enumerate() {
            while flying.len() == IN_FLIGHT_COPIES
                || (!flying.is_empty() && bytes + job.bytes > IN_FLIGHT_BYTES)
            {
                let Some(first) = flying.pop_front() else { break };
                bytes -= first.bytes;
                let at = first.at;
                results[at] = self.land(first, &jobs[at]);
                if results[at] == Copied::Stuck {
                    return self.land_all(flying, jobs, results);
                }
            }
            if self.queue.is_some_and(|queue| queue.is_dead() || self.process.is_exiting()) {
                results[at..].fill(Copied::GivenUp);
                break;
            }
            let Some(held) = job.region.hold() else {
                results[at] = Copied::Gone;
                continue;
            };
            match self.launch(job, false) {
                Some(completion) => {
                    bytes += job.bytes;
                    flying.push_back(InFlight { at, completion, held, bytes: job.bytes });
                }
                None => results[at] = self.second_try(job),
            }
        }
        self.land_all(flying, jobs, results)
    }

    fn land_all(&self, flying: VecDeque<InFlight>, jobs: &[Job], mut results: Vec<Copied>) -> Vec<Copied> {
        for copy in flying {
            let at = copy.at;
            results[at] = self.land(copy, &jobs[at]);
        }
        results
    }

    fn land(&self, copy: InFlight, job: &Job) -> Copied {
        let copied = match self.wait(&copy.completion) {
            Copied::Failed => self.second_try(job),
            other => other,
        };
        drop(copy.held);
        copied
    }

    /// The same copy once more, submitted as one between the agent and itself, for which the runtime takes another engine.
    fn second_try(&self, job: &Job) -> Copied {
        tracing::warn!(
            "a copy of {} bytes at {:#x} failed; trying another way",
            job.bytes,
            job.region.base + job.offset
        );
        self.launch(job, true).map_or(Copied::Failed, |completion| self.wait(&completion))
    }

    fn launch(&self, job: &Job, own_agent_only: bool) -> Option<Completion> {
        let host_agent = if own_agent_only { self.agent } else { self.process.host };
        let device = job.region.base + job.offset;
        let bytes = job.bytes;
        let copy = match self.direction {
            Direction::ToHost => {
                Copy { to: job.host, to_agent: host_agent, from: device, from_agent: self.agent, bytes }
            }
            Direction::ToDevice => {
                Copy { to: device, to_agent: self.agent, from: job.host, from_agent: host_agent, bytes }
            }
        };
        let mut completion = self.process.signals.take().ok()?;
        match self.process.runtime.submit_copy(&copy, completion.signal()) {
            Ok(()) => {
                completion.submitted();
                Some(completion)
            }
            Err(error) => {
                tracing::warn!("{error}");
                None
            }
        }
    }

    fn wait(&self, completion: &Completion) -> Copied {
        let left = self.deadline.saturating_duration_since(Instant::now());
        // Even after the deadline a copy that is done counts as done.
        match completion.wait(left.max(Duration::from_millis(1))) {
            0 => Copied::Done,
            value if value < 0 => Copied::Failed,
            _ => Copied::Stuck,
        }
    }
}
