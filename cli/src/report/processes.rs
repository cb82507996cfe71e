//! The processes of a report: how each began, what it did and how it ended.

use std::collections::{BTreeMap, HashMap};

use hsa_replay_contract::report::TornDispatch;
use hsa_replay_contract::{Begin, Record, Session, Summary};

/// How a process ended, as far as its records tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a summary.
    Orderly,
    /// Another session of the same process follows: it became another program.
    Replaced,
    /// Without a summary: it was killed, crashed, or is still running.
    Abnormal,
}

impl End {
    /// The name in answers for machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Orderly => "orderly",
            Self::Replaced => "replaced",
            Self::Abnormal => "abnormal",
        }
    }
}

/// One process.
#[derive(Debug)]
pub struct Process {
    pid: u32,
    session: Option<Session>,
    counted: Summary,
    summary: Option<Summary>,
    open: BTreeMap<u64, Begin>,
    /// Dispatches that ended but whose record is damaged, as far as their beginning is known.
    damaged: Vec<Begin>,
    /// The how-manieth session of its number this is, from 1.
    ordinal: u32,
    replaced: bool,
}

impl Process {
    fn new(pid: u32) -> Self {
        Self {
            pid,
            session: None,
            counted: Summary::new(pid),
            summary: None,
            open: BTreeMap::new(),
            damaged: Vec::new(),
            ordinal: 1,
            replaced: false,
        }
    }

    /// Its number.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Its number, and which session of that number it is where there are several.
    pub fn label(&self) -> String {
        match self.ordinal {
            1 => self.pid.to_string(),
            ordinal => format!("{} (session {ordinal})", self.pid),
        }
    }

    /// Dispatches that came to their end but whose record is damaged.
    pub fn damaged(&self) -> &[Begin] {
        &self.damaged
    }

    /// The record with which it began; missing where a report begins in the middle.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The record with which it ended.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref()
    }

    /// What its dispatch records add up to.
    pub fn recount(&self) -> &Summary {
        &self.counted
    }

    /// Its own summary, or else the recount.
    pub fn totals(&self) -> &Summary {
        self.summary.as_ref().unwrap_or(&self.counted)
    }

    /// Dispatches that began and have no record: the process ended inside those kernels.
    pub fn unfinished(&self) -> impl Iterator<Item = &Begin> {
        self.open.values()
    }

    /// How it ended.
    pub fn end(&self) -> End {
        match (&self.summary, self.replaced) {
            (Some(_), _) => End::Orderly,
            (None, true) => End::Replaced,
            (None, false) => End::Abnormal,
        }
    }

    /// How many records the file lacks, going by the summary.
    pub fn missing(&self) -> u64 {
        self.summary.as_ref().map_or(0, |summary| summary.candidates.saturating_sub(self.counted.candidates))
    }
}

/// All processes of some reports, in order of appearance.
#[derive(Debug, Default)]
pub struct Processes {
    all: Vec<Process>,
    current: HashMap<u32, usize>,
}

impl Processes {
    /// Adds one record and gives the index of its process.
    pub fn add(&mut self, record: &Record) -> usize {
        let pid = record.pid();
        if let Record::Session(session) = record {
            let mut process = Process::new(pid);
            if let Some(&earlier) = self.current.get(&pid) {
                self.all[earlier].replaced = true;
                process.ordinal = self.all[earlier].ordinal + 1;
            }
            process.session = Some((**session).clone());
            self.current.insert(pid, self.all.len());
            self.all.push(process);
            return self.all.len() - 1;
        }
        let index = *self.current.entry(pid).or_insert_with(|| {
            self.all.push(Process::new(pid));
            self.all.len() - 1
        });
        let process = &mut self.all[index];
        match record {
            Record::Session(_) => {}
            Record::Begin(begin) => {
                process.open.insert(begin.id, begin.clone());
            }
            Record::Dispatch(dispatch) => {
                process.open.remove(&dispatch.id);
                process.counted.count(dispatch);
            }
            Record::Summary(summary) => process.summary = Some(summary.clone()),
        }
        index
    }

    /// Notes dispatch records of which only the beginning is left: the process did not end inside those kernels.
    pub fn add_torn(&mut self, torn: impl IntoIterator<Item = TornDispatch>) {
        for torn in torn {
            let process = self.current.get(&torn.pid).map(|&index| &mut self.all[index]);
            if let Some(process) = process
                && let Some(begin) = process.open.remove(&torn.id)
            {
                process.damaged.push(begin);
            }
        }
    }

    /// The process with this index.
    pub fn get(&self, index: usize) -> Option<&Process> {
        self.all.get(index)
    }

    /// Every process.
    pub fn iter(&self) -> impl Iterator<Item = &Process> {
        self.all.iter()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What all of them add up to.
    pub fn total(&self) -> Summary {
        let mut total = Summary::default();
        for process in &self.all {
            total.add(process.totals());
        }
        total
    }
}
