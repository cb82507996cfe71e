//! Copies to and from agent memory: in batches, a bounded number in flight, memory held while it is copied.
//!
//! A region's memory can be freed by the application at any time. The free waits for the batches of it in flight, which are
//! bounded, and later copies find the region gone.
//!
//! What a copy costs beyond its bytes is paid once a batch: all copies of a batch are submitted before the first is waited for,
//! and only the last one has a signal that wakes a sleeping thread (an interrupt on hardware). The others' are looked at after it.

use crate::handles::Agent;
use crate::inventory::{Held, Region};
use crate::process::Process;
use crate::queue::SoftQueue;
use crate::runtime::Copy;
use crate::signals::Completion;
use crate::sync::Arc;
use std::time::{Duration, Instant};

/// Largest single copy.
pub(crate) const CHUNK: u64 = 16 << 20;
/// Largest part that is read to be looked at: with the saved bytes beside it, and the next one on its way, about what a core's own
/// cache holds. On hardware 1 MiB takes some 20 µs over PCIe, and the next copies are submitted meanwhile.
pub(crate) const READ: u64 = 1 << 20;
/// Bytes of a batch, beyond its first copy. Two batches are in flight at most.
const BATCH_BYTES: u64 = 2 * CHUNK;
/// How long a batch that was begun in time may take beyond the deadline: much longer than a batch that is only slow.
const GRACE: Duration = Duration::from_secs(1);
/// Copies of a batch.
pub(crate) const BATCH_COPIES: usize = 256;

/// A copy of memory that others may free.
#[derive(Clone, Debug)]
pub(crate) struct Job<'a> {
    /// Whose memory is read or written: it stays until the copy is done.
    regions: &'a [Arc<Region>],
    copy: Copy,
}

/// How a copy ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    Done,
    /// A region was freed before.
    Gone,
    /// Two ways failed.
    Failed,
    /// It did not end in time; the device may still be at it.
    Stuck,
    /// It was not begun, since the queue or the process ends.
    GivenUp,
    /// It was not begun, since the time was over.
    Late,
}

/// Copies for one agent.
pub(crate) struct Mover<'a> {
    process: &'a Process,
    agent: Agent,
    /// Until when a copy may take.
    deadline: Instant,
    /// The queue without which the copies serve nothing.
    queue: Option<&'a SoftQueue>,
}

/// Copies under way. Dropped without [`Mover::land`] they go on, and their memory is not held any more.
#[derive(Debug)]
#[must_use = "copies must be waited for with Mover::land"]
pub(crate) struct Batch<'a> {
    jobs: Vec<Job<'a>>,
    flying: Vec<InFlight<'a>>,
    results: Vec<Copied>,
    /// When its copies, if they are not done, count as stuck.
    end: Instant,
}

#[derive(Debug)]
struct InFlight<'a> {
    at: usize,
    completion: Completion,
    held: Held<'a>,
}

impl<'a> Mover<'a> {
    pub(crate) fn new(process: &'a Process, agent: Agent, deadline: Instant) -> Self {
        Self { process, agent, deadline, queue: None }
    }

    /// Copies that only a window of this queue needs: none is begun once the queue or the process ends, so that whoever
    /// destroys the queue waits for a few copies at most, nor after the deadline. Others are done whatever the time, as long
    /// as none of them hangs.
    pub(crate) fn given_up_with(self, queue: &'a SoftQueue) -> Self {
        Self { queue: Some(queue), ..self }
    }

    /// Whether the copies serve nothing any more.
    pub(crate) fn is_given_up(&self) -> bool {
        self.queue.is_some_and(|queue| queue.is_dead() || self.process.is_exiting())
    }

    /// Whether the time for the copies is over.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.deadline
    }

    /// A copy of the agent's memory to host memory.
    pub(crate) fn to_host<'j>(
        &self,
        regions: &'j [Arc<Region>],
        device: u64,
        host: u64,
        bytes: u64,
    ) -> Job<'j> {
        let (agent, to_agent) = (self.agent, self.process.host);
        Job { regions, copy: Copy { to: host, to_agent, from: device, from_agent: agent, bytes } }
    }

    /// A copy of host memory to the agent's memory.
    pub(crate) fn to_device<'j>(
        &self,
        regions: &'j [Arc<Region>],
        device: u64,
        host: u64,
        bytes: u64,
    ) -> Job<'j> {
        let (agent, from_agent) = (self.agent, self.process.host);
        Job { regions, copy: Copy { to: device, to_agent: agent, from: host, from_agent, bytes } }
    }

    /// A copy from agent memory to agent memory.
    pub(crate) fn within_device<'j>(
        &self,
        regions: &'j [Arc<Region>],
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Job<'j> {
        Job { regions, copy: Copy { to, to_agent: self.agent, from, from_agent: self.agent, bytes } }
    }

    /// Does all jobs, many at a time, and tells how each ended. After a stuck copy the rest is not begun.
    pub(crate) fn run(&self, jobs: &[Job<'_>]) -> Vec<Copied> {
        let mut results = Vec::with_capacity(jobs.len());
        let mut flying = None;
        for jobs in batches(jobs) {
            let next = self.launch(jobs.to_vec());
            if let Some(before) = flying.replace(next) {
                results.extend(self.land(before));
            }
            if results.contains(&Copied::Stuck) {
                break;
            }
        }
        results.extend(flying.into_iter().flat_map(|last| self.land(last)));
        results.resize(jobs.len(), Copied::Stuck);
        results
    }

    /// Submits copies and does not wait for them.
    pub(crate) fn launch<'j>(&self, jobs: Vec<Job<'j>>) -> Batch<'j> {
        let end = self.end_of_one();
        let mut batch = Batch { results: vec![Copied::GivenUp; jobs.len()], jobs, flying: Vec::new(), end };
        for (at, job) in batch.jobs.iter().enumerate() {
            if self.is_given_up() {
                break;
            }
            if self.queue.is_some() && self.is_late() {
                batch.results[at..].fill(Copied::Late);
                break;
            }
            let Some(held) = Held::all(job.regions) else {
                batch.results[at] = Copied::Gone;
                continue;
            };
            let is_last = at + 1 == batch.jobs.len();
            match self.submit(&job.copy, !is_last) {
                Some(completion) => batch.flying.push(InFlight { at, completion, held }),
                None => batch.results[at] = self.second_try(&job.copy),
            }
        }
        batch
    }

    /// Waits for copies and tells how each ended.
    pub(crate) fn land(&self, batch: Batch<'_>) -> Vec<Copied> {
        let Batch { jobs, flying, mut results, end } = batch;
        // Engines take copies in order, so the others are likely to be done when the last one is.
        if let Some(last) = flying.last() {
            wait(&last.completion, end);
        }
        for InFlight { at, completion, held } in flying {
            results[at] = match wait(&completion, end) {
                Copied::Failed => self.second_try(&jobs[at].copy),
                other => other,
            };
            drop(held);
        }
        results
    }

    /// The same copy once more, submitted as one between the agent and itself, for which the runtime takes another engine.
    fn second_try(&self, copy: &Copy) -> Copied {
        tracing::warn!(
            "a copy of {} bytes from {:#x} to {:#x} failed; trying another way",
            copy.bytes,
            copy.from,
            copy.to
        );
        let again = Copy { from_agent: self.agent, to_agent: self.agent, ..*copy };
        let submitted = self.submit(&again, false);
        submitted.map_or(Copied::Failed, |completion| wait(&completion, self.end_of_one()))
    }

    fn submit(&self, copy: &Copy, polled: bool) -> Option<Completion> {
        let signals = &self.process.signals;
        let mut completion = if polled { signals.take_polled() } else { signals.take() }.ok()?;
        match self.process.runtime.submit_copy(copy, completion.signal()) {
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

    /// When copies that are begun now count as stuck.
    fn end_of_one(&self) -> Instant {
        Instant::now().max(self.deadline) + GRACE
    }
}

fn wait(completion: &Completion, end: Instant) -> Copied {
    let left = end.saturating_duration_since(Instant::now());
    // Even after the end a copy that is done counts as done.
    match completion.wait(left.max(Duration::from_millis(1))) {
        0 => Copied::Done,
        value if value < 0 => Copied::Failed,
        _ => Copied::Stuck,
    }
}

/// Cuts jobs into batches.
fn batches<'s, 'a>(jobs: &'s [Job<'a>]) -> impl Iterator<Item = &'s [Job<'a>]> {
    let mut rest = jobs;
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = |job: &&Job<'_>| {
            bytes += job.copy.bytes;
            bytes <= BATCH_BYTES
        };
        let count = rest.iter().take(BATCH_COPIES).take_while(fits).count().max(1).min(rest.len());
        let (batch, others) = rest.split_at(count);
        rest = others;
        (!batch.is_empty()).then_some(batch)
    })
}
