//! What the records of any number of reports add up to, kernel by kernel. Memory grows with the number of kernels and
//! processes, not with the number of records.

use hsa_replay_contract::text::name_of;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;

use hsa_replay_contract::report::{Problem, TornDispatch};
use hsa_replay_contract::{Allow, Dispatch, Outcome, Reason, Record};

use super::processes::Processes;
use super::reading::Problems;
use super::samples::Samples;
use super::stretches::Stretches;

/// Descriptions of unreadable lines that are kept for all files together.
const DESCRIBED: usize = 64;

/// Everything that a report command needs to know.
#[derive(Debug, Default)]
pub struct Aggregate {
    /// Whether a dispatch of each kernel is kept as its example: most of what a kernel takes.
    keeps_examples: bool,
    /// The processes.
    pub processes: Processes,
    /// The kernels, in order of appearance.
    pub kernels: Vec<Kernel>,
    /// The named stretches of code.
    pub stretches: Stretches,
    /// The files, in order, as given.
    pub files: Vec<String>,
    /// Those of them that could not be read, or not to their end, and why.
    pub unreadable: Vec<(String, String)>,
    /// Unreadable lines, all files together.
    pub problem_count: u64,
    problems: Vec<(String, Problem)>,
    by_symbol: HashMap<String, usize>,
}

/// What became of one kernel's dispatches.
#[derive(Debug)]
pub struct Kernel {
    /// Its demangled signature.
    pub name: String,
    /// Its mangled name.
    pub symbol: String,
    /// Number of dispatch records.
    pub dispatches: u64,
    /// How many of them ended in which way.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// How many of them have which reason, with the detail of the first that has one.
    pub reasons: BTreeMap<Reason, (u64, Option<String>)>,
    /// How many of them were let through by which kind of `--allow`.
    pub allowed: BTreeMap<Allow, u64>,
    /// The fewest and the most passes of a replayed dispatch.
    pub passes: Option<(usize, usize)>,
    /// The times of all passes of replayed dispatches.
    pub times: Samples,
    /// The fewest and the most bytes that one dispatch changed.
    pub changed: Option<(u64, u64)>,
    /// Dispatches found deterministic.
    pub deterministic: u64,
    /// The fewest and the most passes of those.
    pub agreed: Option<(usize, usize)>,
    /// Dispatches found not deterministic.
    pub divergent: u64,
    /// The dispatch that is shown in detail: the first that diverged, else the first that changed something, else the first whose
    /// writes are known.
    pub example: Option<Box<Dispatch>>,
    /// The index of the example's process.
    pub example_process: usize,
    /// The index of the report that holds the example.
    pub example_report: usize,
}

impl Aggregate {
    /// Of nothing yet; with an example of each kernel if they are shown.
    pub fn with_examples(shown: bool) -> Self {
        Self { keeps_examples: shown, ..Self::default() }
    }

    /// Adds one record; gives the index of its process, or none if the record is there already.
    pub fn add(&mut self, record: &Record) -> Option<usize> {
        let process = self.processes.add(record)?;
        if let Record::Dispatch(dispatch) = record {
            let index = match self.by_symbol.get(&dispatch.symbol) {
                Some(&index) => index,
                None => {
                    self.by_symbol.insert(dispatch.symbol.clone(), self.kernels.len());
                    self.kernels.push(Kernel::new(dispatch));
                    self.kernels.len() - 1
                }
            };
            let report = self.current_report();
            self.kernels[index].add(dispatch);
            if self.keeps_examples {
                self.kernels[index].offer_example(report, process, dispatch);
            }
            self.stretches.add(dispatch, index);
        }
        Some(process)
    }

    /// Notes a dispatch record of which only the beginning is left.
    pub fn add_torn(&mut self, torn: TornDispatch) {
        self.processes.add_torn(torn);
    }

    /// The index of a dispatch's kernel.
    pub fn kernel_index(&self, dispatch: &Dispatch) -> usize {
        self.by_symbol.get(&dispatch.symbol).copied().unwrap_or(0)
    }

    /// The index of the report that is being read.
    pub fn current_report(&self) -> usize {
        self.files.len()
    }

    /// Notes that a file was read to its end, or to the error that ended it.
    pub fn finish_file(&mut self, path: &Path, problems: Problems, error: Option<io::Error>) {
        let name = name_of(&path).to_string();
        self.unreadable.extend(error.map(|error| (name.clone(), error.to_string())));
        let room = DESCRIBED.saturating_sub(self.problems.len());
        self.problems
            .extend(problems.described.into_iter().take(room).map(|problem| (name.clone(), problem)));
        self.problem_count += problems.count;
        self.files.push(name);
    }

    /// Whether there was no record at all.
    pub fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    /// The described problems, with their file.
    pub fn problems(&self) -> &[(String, Problem)] {
        &self.problems
    }

    /// The problems for people, one a line.
    pub fn problem_lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self
            .problems
            .iter()
            .map(|(file, problem)| {
                format!("{file}: line {} (byte {}): {}", problem.line, problem.offset, problem.detail)
            })
            .collect();
        let more = self.problem_count.saturating_sub(u64::try_from(lines.len()).unwrap_or(u64::MAX));
        if more > 0 {
            lines.push(format!("and {more} more lines that cannot be read"));
        }
        lines
    }
}

impl Kernel {
    fn new(dispatch: &Dispatch) -> Self {
        Self {
            name: dispatch.kernel.clone(),
            symbol: dispatch.symbol.clone(),
            dispatches: 0,
            outcomes: BTreeMap::new(),
            reasons: BTreeMap::new(),
            allowed: BTreeMap::new(),
            passes: None,
            times: Samples::default(),
            changed: None,
            deterministic: 0,
            agreed: None,
            divergent: 0,
            example: None,
            example_process: 0,
            example_report: 0,
        }
    }

    fn add(&mut self, dispatch: &Dispatch) {
        self.dispatches += 1;
        for &kind in &dispatch.allowed {
            *self.allowed.entry(kind).or_default() += 1;
        }
        *self.outcomes.entry(dispatch.outcome).or_default() += 1;
        if let Some(reason) = dispatch.reason {
            let (count, detail) = self.reasons.entry(reason).or_default();
            *count += 1;
            if detail.is_none() {
                detail.clone_from(&dispatch.detail);
            }
        }
        if dispatch.outcome == Outcome::Replayed {
            self.passes = widened(self.passes, dispatch.passes.len());
            for ns in dispatch.passes.iter().filter_map(|pass| pass.ns) {
                self.times.add(ns);
            }
        }
        if let Some(bytes) = dispatch.changed_bytes() {
            self.changed = widened(self.changed, bytes);
        }
        match dispatch.deterministic {
            Some(true) => {
                self.deterministic += 1;
                self.agreed = widened(self.agreed, dispatch.passes.len());
            }
            Some(false) => self.divergent += 1,
            None => {}
        }
    }

    /// Keeps a dispatch that was just added if it is a better example than the one before.
    fn offer_example(&mut self, report: usize, process: usize, dispatch: &Dispatch) {
        if telling(dispatch) > self.example.as_deref().map_or(0, telling) {
            self.example = Some(Box::new(dispatch.clone()));
            self.example_process = process;
            self.example_report = report;
        }
    }

    /// Whether all dispatches that can tell are deterministic.
    pub fn verdict(&self) -> Option<bool> {
        match (self.deterministic, self.divergent) {
            (0, 0) => None,
            (_, divergent) => Some(divergent == 0),
        }
    }
}

/// How much a dispatch has to show; nothing where its writes are not known.
fn telling(dispatch: &Dispatch) -> u8 {
    match (dispatch.deterministic, dispatch.writes.as_deref()) {
        (Some(false), _) => 3,
        (_, Some([_, ..])) => 2,
        (_, Some([])) => 1,
        (_, None) => 0,
    }
}

fn widened<T: Ord + Copy>(range: Option<(T, T)>, value: T) -> Option<(T, T)> {
    Some(range.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
}

#[cfg(test)]
mod tests {
    use hsa_replay_contract::report::Reader;

    use super::*;

    #[test]
    fn the_example_is_a_launch_that_diverged_else_one_that_changed_something() {
        let golden =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/tests/data/complete.jsonl"));
        let changing = Reader::new(golden.as_bytes()).find_map(|record| match record {
            Ok(Record::Dispatch(dispatch)) => Some(*dispatch),
            _ => None,
        });
        let changing = changing.expect("a dispatch");
        let idle = Dispatch { writes: Some(Vec::new()), ..changing.clone() };
        let divergent = Dispatch { deterministic: Some(false), ..changing.clone() };
        for (launches, expected) in [
            (&[&idle, &idle][..], 0),
            (&[&idle, &changing, &changing], 1),
            (&[&changing, &idle], 0),
            (&[&idle, &changing, &divergent, &divergent, &idle], 2),
        ] {
            let mut aggregate = Aggregate::with_examples(true);
            for (id, &launch) in (0..).zip(launches) {
                aggregate.add(&Dispatch { id, ..launch.clone() }.into());
            }
            assert_eq!(aggregate.kernels[0].example.as_ref().map(|example| example.id), Some(expected));
        }
    }

    #[test]
    fn a_dispatch_is_kept_only_where_examples_are_shown() {
        let golden =
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../contract/tests/data/complete.jsonl"));
        for shown in [true, false] {
            let mut aggregate = Aggregate::with_examples(shown);
            for record in Reader::new(golden.as_bytes()) {
                aggregate.add(&record.expect("memory does not fail"));
            }
            let kept = aggregate.kernels.iter().filter(|kernel| kernel.example.is_some()).count();
            assert_eq!((aggregate.kernels.len(), kept), (3, if shown { 2 } else { 0 }));
        }
    }
}
