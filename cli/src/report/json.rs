//! The aggregate as one JSON object. Single dispatches are the report file itself, one JSON object a line.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};

use hsa_replay_contract::report::ProblemKind;
use hsa_replay_contract::{Allow, Begin, Dispatch, Outcome, Reason, Session, Summary};
use serde::Serialize;

use super::aggregate::{Aggregate, Kernel};
use super::processes::Process;
use super::stretches::Stretch;
use super::units::shorten;
use crate::output::Json;

/// How long names of kernels may be.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// As they are.
    Whole,
    /// At most this many characters, and no example of a dispatch.
    Shortened(usize),
}

impl Names {
    fn of(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Whole => Cow::Borrowed(text),
            Self::Shortened(width) => Cow::Owned(shorten(text, width)),
        }
    }
}

/// The object.
#[derive(Serialize)]
pub struct Document<'a> {
    files: &'a [String],
    unreadable_files: Vec<UnreadableView<'a>>,
    processes: Vec<ProcessView<'a>>,
    kernels: Vec<KernelView<'a>>,
    ranges: Vec<RangeView<'a>>,
    problem_count: u64,
    problems: Vec<ProblemView<'a>>,
}

#[derive(Serialize)]
struct UnreadableView<'a> {
    file: &'a str,
    detail: &'a str,
}

#[derive(Serialize)]
struct ProcessView<'a> {
    pid: u32,
    end: &'static str,
    session: Option<&'a Session>,
    summary: Option<&'a Summary>,
    recount: &'a Summary,
    missing_records: u64,
    repeated_records: u64,
    copy_of: Option<usize>,
    unfinished: Vec<&'a Begin>,
    damaged: &'a [Begin],
}

#[derive(Serialize)]
struct KernelView<'a> {
    kernel: Cow<'a, str>,
    symbol: Cow<'a, str>,
    dispatches: u64,
    outcomes: &'a BTreeMap<Outcome, u64>,
    reasons: BTreeMap<Reason, u64>,
    allowed: &'a BTreeMap<Allow, u64>,
    passes: Option<Range<usize>>,
    time_ns: Option<TimeView>,
    changed_bytes: Option<Range<u64>>,
    deterministic: Option<bool>,
    deterministic_dispatches: u64,
    divergent_dispatches: u64,
    example: Option<Example<'a>>,
}

#[derive(Serialize)]
struct RangeView<'a> {
    range: Cow<'a, str>,
    dispatches: u64,
    outcomes: &'a BTreeMap<Outcome, u64>,
    kernels: usize,
    time_ns: Option<u64>,
}

/// A dispatch record and the index of its process.
#[derive(Serialize)]
struct Example<'a> {
    session: usize,
    dispatch: &'a Dispatch,
}

#[derive(Serialize)]
struct Range<T> {
    min: T,
    max: T,
}

#[derive(Serialize)]
struct TimeView {
    min: u64,
    median: u64,
    p95: u64,
    max: u64,
}

#[derive(Serialize)]
struct ProblemView<'a> {
    file: &'a str,
    line: u64,
    offset: u64,
    kind: &'static str,
    detail: &'a str,
}

/// Prints the object.
pub fn print(output: &mut impl Write, aggregate: &Aggregate) -> io::Result<()> {
    serde_json::to_writer_pretty(Json::new(&mut *output), &document(aggregate, Names::Whole))?;
    writeln!(output)
}

/// The object, for a page that holds it.
pub fn document(aggregate: &Aggregate, names: Names) -> Document<'_> {
    Document {
        files: &aggregate.files,
        unreadable_files: aggregate
            .unreadable
            .iter()
            .map(|(file, detail)| UnreadableView { file, detail })
            .collect(),
        processes: aggregate.processes.iter().map(process_view).collect(),
        kernels: aggregate.kernels.iter().map(|kernel| kernel_view(kernel, names)).collect(),
        ranges: aggregate.stretches.iter().map(|stretch| range_view(stretch, names)).collect(),
        problem_count: aggregate.problem_count,
        problems: aggregate
            .problems()
            .iter()
            .map(|(file, problem)| ProblemView {
                file,
                line: problem.line,
                offset: problem.offset,
                kind: kind_name(problem.kind),
                detail: &problem.detail,
            })
            .collect(),
    }
}

fn process_view(process: &Process) -> ProcessView<'_> {
    ProcessView {
        pid: process.pid(),
        end: process.end().name(),
        session: process.session(),
        summary: process.summary(),
        recount: process.recount(),
        missing_records: process.missing(),
        repeated_records: process.repeated(),
        copy_of: process.copy_of(),
        unfinished: process.unfinished().collect(),
        damaged: process.damaged(),
    }
}

fn range_view(stretch: &Stretch, names: Names) -> RangeView<'_> {
    RangeView {
        range: names.of(&stretch.name),
        dispatches: stretch.dispatches,
        outcomes: &stretch.outcomes,
        kernels: stretch.kernels.len(),
        time_ns: stretch.time_ns,
    }
}

fn kernel_view(kernel: &Kernel, names: Names) -> KernelView<'_> {
    let times = &kernel.times;
    let time_ns = times.min().zip(times.max()).zip(times.median().zip(times.percentile(95)));
    KernelView {
        kernel: names.of(&kernel.name),
        symbol: names.of(&kernel.symbol),
        dispatches: kernel.dispatches,
        outcomes: &kernel.outcomes,
        reasons: kernel.reasons.iter().map(|(&reason, (count, _))| (reason, *count)).collect(),
        allowed: &kernel.allowed,
        passes: kernel.passes.map(|(min, max)| Range { min, max }),
        time_ns: time_ns.map(|((min, max), (median, p95))| TimeView { min, median, p95, max }),
        changed_bytes: kernel.changed.map(|(min, max)| Range { min, max }),
        deterministic: kernel.verdict(),
        deterministic_dispatches: kernel.deterministic,
        divergent_dispatches: kernel.divergent,
        example: kernel
            .example
            .as_deref()
            .filter(|_| matches!(names, Names::Whole))
            .map(|dispatch| Example { session: kernel.example_process, dispatch }),
    }
}

fn kind_name(kind: ProblemKind) -> &'static str {
    match kind {
        ProblemKind::Truncated => "truncated",
        ProblemKind::Corrupt => "corrupt",
        ProblemKind::TooLong => "too_long",
        ProblemKind::Unknown => "unknown",
    }
}
