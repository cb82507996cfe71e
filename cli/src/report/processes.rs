//! The processes of a report: how each began, what it did and how it ended.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use hsa_replay_contract::report::TornDispatch;
use hsa_replay_contract::{Begin, Dispatch, Record, Session, Summary};

use super::seen::Seen;

/// How a process ended, as far as its records tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With a summary.
    Orderly,
    /// Another session of the same number follows in the same report: it became another program, or its number was given again.
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
    /// The last report with records of it, counted from 1.
    file: usize,
    session: Option<Session>,
    counted: Summary,
    /// What its summaries say was left out: there are several only where others of its number wrote some.
    filtered: u64,
    summary: Option<Summary>,
    open: BTreeMap<u64, Begin>,
    /// Dispatches that ended but whose record is damaged, as far as their beginning is known.
    damaged: Vec<Begin>,
    seen: Seen,
    /// Dispatch records that were there already.
    repeated: u64,
    /// What tells its first dispatch from any other: number, beginning and kernel.
    first: Option<(u64, u64, String)>,
    /// The earlier session of its number, as an index.
    earlier: Option<usize>,
    /// The earlier session that begins with the same dispatch, as an index.
    copy_of: Option<usize>,
    /// The how-manieth session of its number this is, from 1.
    ordinal: u32,
    replaced: bool,
}

impl Process {
    fn new(pid: u32, file: usize) -> Self {
        Self {
            pid,
            file,
            session: None,
            counted: Summary::new(pid),
            filtered: 0,
            summary: None,
            open: BTreeMap::new(),
            damaged: Vec::new(),
            seen: Seen::default(),
            repeated: 0,
            first: None,
            earlier: None,
            copy_of: None,
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

    /// Its own summary, or else the recount: also where there are more records than the summary counts, since others of its number
    /// have written them.
    pub fn totals(&self) -> Cow<'_, Summary> {
        match &self.summary {
            Some(summary) if summary.candidates >= self.counted.candidates => Cow::Borrowed(summary),
            _ => Cow::Owned(Summary { filtered: self.filtered, ..self.counted.clone() }),
        }
    }

    /// Dispatches that began and have no record: the process ended inside those kernels, or, where it ended in order, their
    /// records are lost.
    pub fn unfinished(&self) -> impl Iterator<Item = &Begin> {
        self.open.values()
    }

    /// Dispatch records that are in the reports more than once. Only the first of each counts.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The index of an earlier session that is the same one, going by its first dispatch.
    pub fn copy_of(&self) -> Option<usize> {
        self.copy_of
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
    /// The report that is being read, counted from 1.
    file: usize,
}

impl Processes {
    /// What is added from here on is from another report.
    pub fn begin_file(&mut self) {
        self.file += 1;
    }

    /// Adds one record and gives the index of its process; none if it is a dispatch that is there already.
    pub fn add(&mut self, record: &Record) -> Option<usize> {
        let pid = record.pid();
        if let Record::Session(session) = record {
            let mut process = Process::new(pid, self.file);
            if let Some(&earlier) = self.current.get(&pid) {
                // A number of another report is another process's, as a rule: it did not become this one.
                self.all[earlier].replaced = self.all[earlier].file == self.file;
                process.ordinal = self.all[earlier].ordinal + 1;
                process.earlier = Some(earlier);
            }
            process.session = Some((**session).clone());
            self.current.insert(pid, self.all.len());
            self.all.push(process);
            return Some(self.all.len() - 1);
        }
        let index = *self.current.entry(pid).or_insert_with(|| {
            self.all.push(Process::new(pid, self.file));
            self.all.len() - 1
        });
        if let Record::Dispatch(dispatch) = record
            && self.all[index].first.is_none()
        {
            self.note_first(index, dispatch);
        }
        let process = &mut self.all[index];
        process.file = self.file;
        match record {
            Record::Session(_) => {}
            Record::Begin(begin) => {
                process.open.insert(begin.id, begin.clone());
            }
            Record::Dispatch(dispatch) => {
                process.open.remove(&dispatch.id);
                if !process.seen.insert(dispatch) {
                    process.repeated += 1;
                    return None;
                }
                process.counted.count(dispatch);
            }
            Record::Summary(summary) => {
                if process.summary.as_ref() != Some(summary) {
                    process.filtered = process.filtered.saturating_add(summary.filtered);
                }
                process.summary = Some(summary.clone());
            }
        }
        Some(index)
    }

    /// Notes the first dispatch of a process, and whether an earlier session began with the same.
    fn note_first(&mut self, index: usize, dispatch: &Dispatch) {
        let Some(window) = &dispatch.window else { return };
        let first = Some((dispatch.id, window.start_unix_ns, dispatch.symbol.clone()));
        let mut earlier = self.all[index].earlier;
        while let Some(other) = earlier.map(|index| &self.all[index]).filter(|other| other.first != first) {
            earlier = other.earlier;
        }
        self.all[index].copy_of = earlier;
        self.all[index].first = first;
    }

    /// Notes a dispatch record of which only the beginning is left: the process did not end inside that kernel.
    pub fn add_torn(&mut self, torn: TornDispatch) {
        let process = self.current.get(&torn.pid).map(|&index| &mut self.all[index]);
        if let Some(process) = process
            && let Some(begin) = process.open.remove(&torn.id)
        {
            process.damaged.push(begin);
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
            total.add(&process.totals());
        }
        total
    }
}
