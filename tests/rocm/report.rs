//! Reading the report of a run, and what every replayed dispatch must show.

use std::path::Path;

use hsa_replay_contract::record::{Dispatch, Outcome, Record, Stage, Summary, Write, WriteKind};
use hsa_replay_contract::report::Reader;

use super::changes::runs;

/// A report as it was left.
#[derive(Debug)]
pub struct Report {
    pub records: Vec<Record>,
    /// Lines that are no whole record, described.
    pub problems: Vec<String>,
    pub text: String,
}

/// A region that a kernel is expected to have written.
pub struct Expected {
    place: Place,
    before: Vec<u8>,
    after: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// The allocation that the explicit argument with this index points to.
    Argument(u32),
    /// The allocation that no argument points to.
    Allocation,
    Variable(String),
}

impl Expected {
    /// The allocation that an argument points to, and what lay in it before and after one run.
    pub fn argument(index: u32, before: &[u32], after: &[u32]) -> Self {
        Self { place: Place::Argument(index), before: bytes(before), after: bytes(after) }
    }

    /// The only allocation that changes, reached otherwise than by an argument.
    pub fn allocation(before: &[u32], after: &[u32]) -> Self {
        Self { place: Place::Allocation, before: bytes(before), after: bytes(after) }
    }

    /// A module variable by its readable name.
    pub fn variable(name: &str, before: &[u32], after: &[u32]) -> Self {
        Self { place: Place::Variable(name.to_owned()), before: bytes(before), after: bytes(after) }
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Report {
    pub fn read(path: &Path) -> Self {
        let file = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut reader = Reader::new(&file[..]);
        let records = reader.by_ref().map(|record| record.expect("reading from memory")).collect();
        let problems = reader.problems().iter().map(|problem| format!("{problem:?}")).collect();
        Self { records, problems, text: String::from_utf8_lossy(&file).into_owned() }
    }

    /// Checks what holds for every report of one process that ended by itself: whole lines that satisfy the schema; a session first and a summary
    /// last; numbers without a gap; one record for each candidate, with a `begin` before each that ran in a window.
    #[track_caller]
    pub fn complete(&self) -> &Self {
        let text = &self.text;
        assert!(self.problems.is_empty(), "{:#?}\n{text}", self.problems);
        let schema: serde_json::Value =
            serde_json::from_str(include_str!("../../contract/report.schema.json"))
                .expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
        for line in text.lines() {
            let value: serde_json::Value = serde_json::from_str(line).expect("a whole line");
            validator.validate(&value).unwrap_or_else(|error| panic!("{error}\n{line}"));
        }
        assert!(matches!(self.records.first(), Some(Record::Session(_))), "no session first\n{text}");
        assert!(matches!(self.records.last(), Some(Record::Summary(_))), "no summary last\n{text}");
        let ids: Vec<u64> = self.dispatches().map(|dispatch| dispatch.id).collect();
        let mut sorted = ids.clone();
        sorted.sort_unstable();
        assert!(sorted.iter().copied().eq(0..ids.len() as u64), "numbers {ids:?}\n{text}");
        for dispatch in self.dispatches().filter(|dispatch| !dispatch.passes.is_empty()) {
            let begun = self.records.iter().any(|record| match record {
                Record::Begin(begin) => begin.id == dispatch.id && begin.launch == dispatch.launch,
                _ => false,
            });
            assert!(begun, "no begin for dispatch {}\n{text}", dispatch.id);
        }
        let mut counted = Summary::new(self.summary().pid);
        self.dispatches().for_each(|dispatch| counted.count(dispatch));
        counted.filtered = self.summary().filtered;
        assert_eq!(&counted, self.summary(), "the summary counts otherwise\n{text}");
        self
    }

    pub fn dispatches(&self) -> impl Iterator<Item = &Dispatch> {
        self.records.iter().filter_map(|record| match record {
            Record::Dispatch(dispatch) => Some(&**dispatch),
            _ => None,
        })
    }

    #[track_caller]
    pub fn summary(&self) -> &Summary {
        let summary = self.records.iter().find_map(|record| match record {
            Record::Summary(summary) => Some(summary),
            _ => None,
        });
        summary.unwrap_or_else(|| panic!("no summary\n{}", self.text))
    }

    /// The dispatches of the kernel with this name (without its signature), which must be that many.
    #[track_caller]
    pub fn of_kernel(&self, name: &str, count: usize) -> Vec<&Dispatch> {
        let is_meant = |dispatch: &&Dispatch| dispatch.kernel.split('(').next() == Some(name);
        let found: Vec<_> = self.dispatches().filter(is_meant).collect();
        assert_eq!(found.len(), count, "dispatches of {name}\n{}", self.text);
        found
    }
}

/// Checks a dispatch that was replayed in full, from identical inputs and with identical results.
#[track_caller]
pub fn replayed(dispatch: &Dispatch, passes: usize) {
    ran(dispatch, passes);
    assert!(dispatch.passes.iter().all(|pass| pass.hash.is_some()), "{dispatch:#?}");
    assert!(dispatch.passes.iter().all(|pass| pass.hash == dispatch.passes[0].hash), "{dispatch:#?}");
    assert_eq!(dispatch.deterministic, Some(true), "{dispatch:#?}");
    assert_eq!(dispatch.divergence.as_deref(), Some(&[][..]), "{dispatch:#?}");
}

/// Checks a dispatch that was replayed in full, whatever its results.
#[track_caller]
pub fn ran(dispatch: &Dispatch, passes: usize) {
    assert_eq!((dispatch.outcome, dispatch.reason), (Outcome::Replayed, None), "{dispatch:#?}");
    assert_eq!(dispatch.passes.len(), passes, "{dispatch:#?}");
    for (index, pass) in dispatch.passes.iter().enumerate() {
        assert_eq!(usize::try_from(pass.index), Ok(index), "{dispatch:#?}");
        let ticks = pass.ticks.expect("the software GPU has a clock");
        assert!(ticks[0] < ticks[1] && pass.ns.is_some_and(|ns| ns > 0), "{dispatch:#?}");
    }
    let time = dispatch.time_ns.expect("passes have times");
    assert!(time.min <= time.median && time.median <= time.max, "{dispatch:#?}");
    let window = dispatch.window.as_ref().expect("a window has times");
    let of_passes = window.stages.iter().filter(|stage| stage.stage == Stage::Pass).count();
    assert_eq!(of_passes, passes, "{dispatch:#?}");
    let end = window.stages.last().map(|stage| stage.start_ns + stage.ns);
    assert!(end.is_some_and(|end| end <= window.ns), "{dispatch:#?}");
    assert!(dispatch.arguments.is_some(), "{dispatch:#?}");
    let snapshot = dispatch.snapshot.expect("a snapshot was taken");
    assert!(snapshot.regions > 0 && snapshot.bytes > 0, "{dispatch:#?}");
    if let Some(restore) = dispatch.restore {
        assert_eq!((restore.skipped, restore.failed), (0, 0), "{dispatch:#?}");
    }
}

/// Checks that exactly these regions were written, and which bytes of them.
#[track_caller]
pub fn wrote(dispatch: &Dispatch, expected: &[Expected]) {
    let writes = dispatch.writes.as_deref().expect("memory was compared");
    let found: Vec<_> = writes.iter().map(place).collect();
    assert_eq!(found.len(), expected.len(), "regions {found:?}\n{dispatch:#?}");
    for expected in expected {
        let at = found.iter().position(|place| *place == expected.place);
        let at = at.unwrap_or_else(|| panic!("{:?} is not among {found:?}", expected.place));
        let (write, ranges) = (&writes[at], runs(&expected.before, &expected.after));
        assert_eq!(write.ranges, ranges, "ranges of {:?}", expected.place);
        assert_eq!(
            write.bytes,
            ranges.iter().map(|range| range[1]).sum::<u64>(),
            "bytes of {:?}",
            expected.place
        );
        assert!(!write.merged, "{:?}", expected.place);
        assert!(write.size >= expected.after.len() as u64, "size of {:?}", expected.place);
    }
}

fn place(write: &Write) -> Place {
    match (write.kind, write.arg, &write.name) {
        (WriteKind::Allocation, Some(index), _) => Place::Argument(index),
        (WriteKind::Allocation, None, _) => Place::Allocation,
        (WriteKind::ModuleVariable, _, name) => Place::Variable(name.clone().unwrap_or_default()),
    }
}
