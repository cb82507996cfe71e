//! What `run` says at the end: what was replayed, what was not and why, and where the report is.

use std::collections::HashMap;
use std::io;

use hsa_replay_contract::text::name_of;
use hsa_replay_contract::{Record, Settings, Summary};

use super::child::Ended;
use super::id::RunId;
use super::nothing::{self, Facts};
use super::running;
use super::written::{Before, Report, Written};
use crate::failure::say;
use crate::report::processes::{End, Process, Processes};
use crate::report::reading::{self, Item, Problems};
use crate::report::units::{counted, shorten, signal_name};

/// The longest that a kernel's name gets in a message.
const NAME_WIDTH: usize = 100;

/// The most reports that are named one by one.
const NAMED_REPORTS: usize = 4;

/// The most processes that did not end in order and are named.
const NAMED_PROCESSES: usize = 4;

/// The most kernels that are named of those which a process ended inside.
const NAMED_KERNELS: usize = 4;

/// Prints the lines, each behind our name, to standard error.
pub fn tell(before: &Before, id: &RunId, settings: &Settings, ended: &Ended) {
    let mut lines = Vec::new();
    if let Some(signal) = ended.signal() {
        lines.push(format!("the program was ended by signal {signal}{}", signal_name(signal)));
    }
    match before.written(ended.pid) {
        Written::Files(reports) => {
            let read = read(&reports, id);
            lines.extend(read.problems);
            let running = match read.processes.iter().all(|process| process.end() != End::Abnormal) {
                true if !read.processes.is_empty() => Vec::new(),
                _ => running::processes(id),
            };
            let facts = Facts { template: before.template(), running: &running };
            lines.extend(account(&read.processes, &facts, settings, ended));
            lines.extend(places(&read.reports));
        }
        Written::Stream(path, true) => lines.push(format!("the report went to {}", name_of(&path))),
        Written::Stream(path, false) => lines.push(format!(
            "what was reported went to {}: it cannot be read again, so whether there was anything is not known here",
            name_of(&path)
        )),
    }
    for line in lines {
        say(line);
    }
}

/// What is this run's own in the reports.
#[derive(Default)]
struct Read<'a> {
    processes: Processes,
    reports: Vec<&'a Report>,
    problems: Vec<String>,
}

fn read<'a>(reports: &'a [Report], id: &RunId) -> Read<'a> {
    let Read { mut processes, reports: mut own, mut problems } = Read::default();
    for report in reports {
        processes.begin_file();
        let mut unread = Problems::default();
        let mut whose = Whose::of(report, id);
        let read = report.open().and_then(|input| {
            reading::read::<io::Error>(input, &mut unread, |item| {
                match item {
                    Item::Record(record) if whose.is_ours(&record) => drop(processes.add(&record)),
                    Item::Record(_) => {}
                    Item::Torn(torn) => processes.add_torn(torn),
                }
                Ok(())
            })
        });
        if whose.is_all_of_others() {
            continue;
        }
        own.push(report);
        match read {
            Ok(()) if unread.count > 0 => problems.push(format!(
                "{} of {} cannot be read; `hsa-replay report` says which",
                counted(unread.count, "line"),
                name_of(&report.path)
            )),
            Ok(()) => {}
            Err(error) => problems.push(format!("cannot read {}: {error}", name_of(&report.path))),
        }
    }
    Read { processes, reports: own, problems }
}

/// Which records of a report are of this run: others may write at the same time, in the same folder, by the same name.
struct Whose<'a> {
    id: &'a RunId,
    /// Whether a process is ours whose session record is not there. All of our sessions begin in our part of a report; where there
    /// is another part, that record stands in it.
    unnamed: bool,
    /// The processes that were seen, and whether they are ours.
    known: HashMap<u32, bool>,
    some_are_ours: bool,
}

impl<'a> Whose<'a> {
    fn of(report: &Report, id: &'a RunId) -> Self {
        Self { id, unnamed: !report.is_continued(), known: HashMap::new(), some_are_ours: false }
    }

    fn is_ours(&mut self, record: &Record) -> bool {
        if let Record::Session(session) = record {
            // An older library does not say it.
            let ours = session.run.as_deref().is_none_or(|run| self.id.includes(run));
            self.known.insert(session.pid, ours);
        }
        let ours = *self.known.entry(record.pid()).or_insert(self.unnamed);
        self.some_are_ours |= ours;
        ours
    }

    fn is_all_of_others(&self) -> bool {
        !self.known.is_empty() && !self.some_are_ours
    }
}

fn account(processes: &Processes, facts: &Facts, settings: &Settings, ended: &Ended) -> Vec<String> {
    let mut lines = ends(processes, facts.running);
    let total = processes.total();
    if processes.is_empty() {
        lines.push(nothing::why(facts, settings, ended));
    } else if total.seen() == 0 {
        // Without a summary nobody counted: the program may have launched kernels that were not recorded.
        let orderly = processes.iter().all(|process| process.end() != End::Abnormal);
        let why = if orderly { "the program launched no kernel" } else { "no dispatch was recorded" };
        lines.push(format!("{why}: nothing was replayed"));
    } else if total.candidates == 0 {
        lines.push(format!(
            "no dispatch was selected: {} left out{}",
            counted(total.filtered, "dispatch"),
            filters(settings)
        ));
    } else {
        // Without a filter only HIP's own kernels are left out.
        let own = total.filtered > 0 && given(settings).is_empty();
        let whose = if own { " (copies and fills of HIP's own)" } else { "" };
        lines.push(totals(&total) + whose);
    }
    lines
}

/// How processes ended, where that was not in order, or with records that are missing.
fn ends(processes: &Processes, running: &[u32]) -> Vec<String> {
    let mut named = processes.iter().map(|process| end(process, running)).filter(|lines| !lines.is_empty());
    let mut lines: Vec<String> = named.by_ref().take(NAMED_PROCESSES).flatten().collect();
    match u64::try_from(named.count()).unwrap_or(u64::MAX) {
        0 => {}
        more => lines.push(format!(
            "and {} ended so, or with records missing (`hsa-replay report` names each)",
            counted(more, "more process")
        )),
    }
    lines
}

fn end(process: &Process, running: &[u32]) -> Vec<String> {
    let pid = process.pid();
    let mut lines = Vec::new();
    match process.end() {
        End::Orderly if process.missing() > 0 => {
            let (missing, are) = (process.missing(), if process.missing() == 1 { "is" } else { "are" });
            let records = counted(missing, "record");
            lines.push(format!("{records} of process {pid} {are} missing: not all could be written"));
        }
        End::Orderly => {}
        End::Abnormal if running.contains(&pid) => {
            lines.push(format!("process {pid} is still running: its records so far are counted"));
        }
        end @ (End::Replaced | End::Abnormal) => {
            for begin in process.unfinished().take(NAMED_KERNELS) {
                let name = shorten(&begin.kernel, NAME_WIDTH);
                lines.push(format!("process {pid} ended inside {name}, launch {}", begin.launch));
            }
            if end == End::Abnormal {
                lines.push(format!("process {pid} ended without a summary: counted from its records"));
            }
        }
    }
    lines
}

/// The options that left dispatches out, for a run in which nothing was selected.
fn filters(settings: &Settings) -> String {
    let given = given(settings);
    if given.is_empty() {
        " (all of them copies and fills of HIP's own; --kernel can select those)".to_owned()
    } else {
        format!(" by {}", given.join(" "))
    }
}

fn given(settings: &Settings) -> Vec<String> {
    let mut given = Vec::new();
    if let Some(pattern) = settings.kernel.pattern() {
        given.push(format!("--kernel {}", shorten(pattern, NAME_WIDTH)));
    }
    if settings.launches.skip > 0 {
        given.push(format!("--launch-skip {}", settings.launches.skip));
    }
    if let Some(count) = settings.launches.count {
        given.push(format!("--launch-count {count}"));
    }
    given
}

/// One line: candidates and what became of them.
pub fn totals(total: &Summary) -> String {
    let mut parts = vec![format!("{} replayed", total.replayed)];
    let declined = total.declined_for_any_reason();
    if declined > 0 {
        let reasons: Vec<String> =
            total.declined.iter().map(|(reason, count)| format!("{} {count}", reason.name())).collect();
        parts.push(format!("{declined} declined ({})", reasons.join(", ")));
    }
    if total.tainted > 0 {
        parts.push(format!("{} tainted", total.tainted));
    }
    if total.faulted > 0 {
        parts.push(format!("{} faulted", total.faulted));
    }
    let filtered =
        if total.filtered > 0 { format!("; {} filtered out", total.filtered) } else { String::new() };
    format!("{}: {}{filtered}", counted(total.candidates, "candidate"), parts.join(", "))
}

fn places(reports: &[&Report]) -> Vec<String> {
    let more = reports.len().saturating_sub(NAMED_REPORTS);
    let mut lines: Vec<String> = reports
        .iter()
        .take(NAMED_REPORTS)
        .map(|report| format!("report: {}", name_of(&report.path)))
        .collect();
    if more > 0 {
        lines.push(format!(
            "and {} beside them",
            counted(u64::try_from(more).unwrap_or(u64::MAX), "more report")
        ));
    }
    lines
}
