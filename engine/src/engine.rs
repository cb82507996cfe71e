//! The engine's life; the entry points that the hooks call are in the modules below.

mod copies;
mod executables;
mod memory;
mod queues;

pub use copies::AsyncCopy;
pub use executables::Destroying;
pub use memory::{Access, Allocation, Closing, Freeing, Source, Unmapped, Unmapping};

use crate::agent::AgentState;
use crate::handles::Agent;
use crate::inventory::{Classifier, Inventory};
use crate::process::Process;
use crate::report::Report;
use crate::runtime::{AgentFacts, Runtime, RuntimeError};
use crate::sync::{Arc, AtomicBool, Ordering};
use crate::tool::Tool;
use hsa_replay_contract::Settings;
use hsa_replay_contract::progress::Page;
use hsa_replay_contract::record;
use hsa_replay_contract::report::Writer;
use std::path::PathBuf;
use std::time::Instant;

/// What may go with an engine.
#[derive(Debug, Default)]
pub struct Attachments {
    /// The page on which `run` reads what the engine is at.
    pub progress: Option<Page>,
    /// The user's tool.
    pub tool: Option<Box<dyn Tool>>,
    /// The folder for snapshots that fit nowhere else; without one they are never on disk.
    pub spill: Option<PathBuf>,
}

/// Why the engine could not start; the process then runs as if not armed.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The agents or pools could not be listed.
    #[error("cannot list the agents and memory pools: {0}; replay is off")]
    Enumeration(#[from] RuntimeError),
    /// Copies need a host agent to name.
    #[error("the runtime lists no host agent; replay is off")]
    NoHost,
}

/// The replay engine of one process, from the first `hsa_init` to the last `hsa_shut_down`.
pub struct Engine {
    pub(crate) process: Arc<Process>,
    pub(crate) agents: Vec<Arc<AgentState>>,
    /// The end has begun; until `stopped` the hooks work as before.
    stopping: AtomicBool,
    stopped: AtomicBool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("agents", &self.agents.len()).finish_non_exhaustive()
    }
}

/// Life.
impl Engine {
    /// Starts the engine once the runtime is initialised: after the first `hsa_init` of an armed process returned success.
    /// Writes the session record to the report.
    ///
    /// # Errors
    /// When agents and pools cannot be listed. The caller logs the error and stays disarmed.
    pub fn start(
        runtime: Arc<dyn Runtime>,
        mut settings: Settings,
        report: Writer,
        attachments: Attachments,
    ) -> Result<Self, StartError> {
        let facts = runtime.agents()?;
        let host = facts.iter().find(|facts| !facts.gpu).ok_or(StartError::NoHost)?.agent;
        let gpus: Vec<&AgentFacts> = facts.iter().filter(|facts| facts.gpu).collect();
        let classifier = Classifier::new(runtime.pools()?, gpus.iter().map(|facts| facts.agent));
        let report = Report::new(report, std::process::id());
        let (path, version) = runtime.identity();
        let real = record::Runtime { path: known(path), version: known(version) };
        let listed = (0..).zip(&gpus).map(|(index, facts)| record::Agent {
            index,
            name: facts.name.clone(),
            node: Some(facts.node),
            uuid: known(facts.uuid.clone()),
        });
        report.session(real, listed.collect(), &settings);
        // The program may change its folder.
        if let Some(folder) = &mut settings.dump_writes
            && let Ok(absolute) = std::path::absolute(&*folder)
        {
            *folder = absolute;
        }
        let handles: Vec<Agent> = gpus.iter().map(|facts| facts.agent).collect();
        let inventory = Inventory::new(classifier);
        let process = Arc::new(Process::new(runtime, settings, report, inventory, host, attachments));
        let agents = (0..)
            .zip(handles)
            .map(|(index, agent)| Arc::new(AgentState::new(Arc::clone(&process), agent, index)))
            .collect();
        Ok(Self { process, agents, stopping: AtomicBool::new(false), stopped: AtomicBool::new(false) })
    }

    /// An earlier engine of this process has stopped and the runtime was initialised again: numbers of records and launches go
    /// on from there. Called before the first queue is made.
    pub fn continue_from(&self, earlier: &Self) {
        let earlier_launches = earlier.process.kernels.all_launches();
        self.process.report.continue_from(&earlier.process.report, earlier_launches);
        self.process.kernels.continue_from(&earlier.process.kernels);
        self.process.matching.store(earlier.process.matching.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    /// The runtime is about to be shut down for good: no new window opens, an open one ends after the running pass, forwarding
    /// goes on.
    pub fn begin_exit(&self) {
        self.process.begin_exit();
    }

    /// The process has begun to exit (an `atexit` handler): the same, and the tool is not called any more, since its static objects
    /// are destroyed soon. Waits for calls that run, at most for the time of a window.
    pub fn process_exits(&self) {
        self.process.begin_exit();
        if !self.process.tool_calls.end(Instant::now() + self.process.settings.timeout) {
            tracing::error!("the process ends although a callback of the tool has not returned");
        }
    }

    /// Something was done behind our back that makes windows unsafe (a queue made by a call we do not know, or a queue that
    /// could not be wrapped): no window opens any more, every further candidate is declined. `why` is logged once.
    pub fn disarm(&self, why: &str) {
        self.process.disarm(why);
    }

    /// Just before the last `hsa_shut_down`: stops the workers and gives back the engine's own signals and memory, then
    /// writes the summary. A callback of the tool that does not return is waited for at most for the time of a window; its worker
    /// is left there for good, with all that it uses. Every later call does nothing and recognises nothing. Not to be called on the event thread.
    pub fn stop(&self) {
        if !self.end() {
            // What a window works with goes with the runtime.
            self.process.tool_calls.abandon();
            return;
        }
        for agent in &self.agents {
            drop(agent.release_queues());
            agent.clear_workspace();
        }
        self.process.signals.clear();
    }

    /// The same at the end of a process that never shut the runtime down: threads that were left running may be in a queue,
    /// so all memory and signals stay.
    pub fn stop_at_exit(&self) {
        self.end();
    }

    /// Stops the workers and writes the summary. False: there is nothing to give back, since that has been done or a worker is left
    /// that still uses it.
    fn end(&self) -> bool {
        self.process.begin_exit();
        if self.stopping.swap(true, Ordering::SeqCst) {
            return false;
        }
        self.process.begin_stop();
        let deadline = Instant::now() + self.process.settings.timeout;
        let left = self.agents.iter().filter(|agent| !agent.stop(deadline)).count();
        if left > 0 {
            tracing::error!("replay ends although a callback of the tool has not returned");
        }
        // Not before: a free waits for the copies of a window, and a queue is not destroyed under one.
        self.stopped.store(true, Ordering::SeqCst);
        self.agents.iter().for_each(|agent| agent.fence.flush_all(&self.process));
        self.process.end_report();
        left == 0
    }

    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

fn known(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
    }
}
