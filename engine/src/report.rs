//! The report of the process: one record per candidate, and the counts.

use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};
use hsa_replay_contract::message::say;
use hsa_replay_contract::record::{Agent, Runtime};
use hsa_replay_contract::report::Writer;
use hsa_replay_contract::text::name_of;
use hsa_replay_contract::{Begin, Dispatch, Reason, Record, Session, Settings, Summary};
use std::collections::BTreeSet;
use std::path::Path;

/// Writes records and counts.
#[derive(Debug)]
pub(crate) struct Report {
    writer: Writer,
    pid: u32,
    next: AtomicU64,
    /// Dispatches under earlier engines of the process that were no candidates.
    filtered_before: AtomicU64,
    counts: Mutex<Counts>,
    /// The dispatch record that was written last.
    last: Mutex<Option<Record>>,
    dump_failed: AtomicBool,
}

#[derive(Debug)]
struct Counts {
    summary: Summary,
    /// Reasons that have had their line in the log.
    logged: BTreeSet<Reason>,
}

impl Report {
    pub(crate) fn new(writer: Writer, pid: u32) -> Self {
        let counts = Counts { summary: Summary::new(pid), logged: BTreeSet::new() };
        Self {
            writer,
            pid,
            next: AtomicU64::new(0),
            filtered_before: AtomicU64::new(0),
            counts: Mutex::new(counts),
            last: Mutex::default(),
            dump_failed: AtomicBool::new(false),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn session(&self, runtime: Runtime, agents: Vec<Agent>, settings: &Settings) {
        self.write(&Session::new(self.pid, runtime, agents, settings).into());
    }

    /// The number of the next dispatch record.
    pub(crate) fn next_id(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Numbers go on from those of an earlier engine of the process, under which `launches` were counted.
    pub(crate) fn continue_from(&self, earlier: &Self, launches: u64) {
        let candidates = earlier.next.load(Ordering::Relaxed);
        self.next.store(candidates, Ordering::Relaxed);
        self.filtered_before.store(launches.saturating_sub(candidates), Ordering::Relaxed);
    }

    /// The first pass of a dispatch is about to run.
    pub(crate) fn begin(&self, dispatch: &Dispatch) {
        let Dispatch { id, ref kernel, launch, grid, workgroup, ref arguments, .. } = *dispatch;
        let begin = Begin {
            pid: self.pid,
            id,
            kernel: kernel.clone(),
            launch,
            grid: Some(grid),
            workgroup: Some(workgroup),
            arguments: arguments.clone(),
        };
        self.write(&begin.into());
    }

    /// A candidate is done with.
    pub(crate) fn dispatch(&self, dispatch: Dispatch) {
        {
            let mut counts = self.counts.lock();
            counts.summary.count(&dispatch);
            if let Some(reason) = dispatch.reason
                && counts.logged.insert(reason)
            {
                let detail = dispatch.detail.as_deref().map_or(String::new(), |detail| format!(": {detail}"));
                tracing::warn!(
                    "{} of {}, {}{detail} (further ones are only counted)",
                    dispatch.outcome.name(),
                    dispatch.kernel,
                    reason.name()
                );
            }
        }
        let record = Record::from(dispatch);
        self.write(&record);
        *self.last.lock() = Some(record);
    }

    /// The dispatch record that was written last, as it stands in the report.
    pub(crate) fn last(&self) -> Option<String> {
        serde_json::to_string(self.last.lock().as_ref()?).ok()
    }

    /// Written ranges could not be stored. Said once, since a full disk fails for every dispatch.
    pub(crate) fn dump_failed(&self, folder: &Path, error: &std::io::Error) {
        if !self.dump_failed.swap(true, Ordering::Relaxed) {
            let line = format!("{}: written ranges cannot be stored: {error}", folder.display());
            say(&format!("{line}; the report names what is stored"));
            tracing::error!("{line}");
        }
    }

    /// The last record. Of all `launches` those were filtered that did not become candidates: forwarding counts each dispatch once.
    pub(crate) fn summary(&self, launches: u64) {
        let mut summary = self.counts.lock().summary.clone();
        let earlier = self.next.load(Ordering::Relaxed) + self.filtered_before.load(Ordering::Relaxed);
        summary.filtered = launches.saturating_sub(earlier);
        self.write(&summary.into());
        // A pipe cannot be read again: nobody else can say it.
        let lost = self.writer.lost();
        if lost > 1 {
            let path = name_of(&self.writer.path()).to_string();
            let line = format!("{path}: {lost} records of process {} could not be written", self.pid);
            say(&line);
            tracing::error!("{line}");
        }
    }

    fn write(&self, record: &Record) {
        if let Err(error) = self.writer.write(record)
            && error.is_first()
        {
            // Nobody may have asked for a log, and silence would pass for a complete report.
            say(&format!("{error}; the report is incomplete"));
            tracing::error!("{error}");
        }
    }
}
