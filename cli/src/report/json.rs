//! The aggregate as one JSON object. Single dispatches are the report file itself, one JSON object a line.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hsa_replay_contract::report::ProblemKind;
use hsa_replay_contract::{Begin, Dispatch, Outcome, Reason, Session, Summary};
use serde::Serialize;

use super::aggregate::{Aggregate, Kernel};
use super::processes::{End, Process};

#[derive(Serialize)]
struct Document<'a> {
    files: &'a [String],
    processes: Vec<ProcessView<'a>>,
    kernels: Vec<KernelView<'a>>,
    problem_count: u64,
    problems: Vec<ProblemView<'a>>,
}

#[derive(Serialize)]
struct ProcessView<'a> {
    pid: u32,
    end: &'static str,
    session: Option<&'a Session>,
    summary: Option<&'a Summary>,
    recount: &'a Summary,
    missing_records: u64,
    unfinished: Vec<&'a Begin>,
}

#[derive(Serialize)]
struct KernelView<'a> {
    kernel: &'a str,
    symbol: &'a str,
    dispatches: u64,
    outcomes: &'a BTreeMap<Outcome, u64>,
    reasons: BTreeMap<Reason, u64>,
    passes: Option<Range<usize>>,
    time_ns: Option<TimeView>,
    written_bytes: Option<Range<u64>>,
    deterministic: Option<bool>,
    deterministic_dispatches: u64,
    divergent_dispatches: u64,
    example: Option<&'a Dispatch>,
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
    kind: &'static str,
    detail: &'a str,
}

/// Prints the object.
pub fn print(output: &mut impl Write, aggregate: &Aggregate) -> io::Result<()> {
    let document = Document {
        files: &aggregate.files,
        processes: aggregate.processes.iter().map(process_view).collect(),
        kernels: aggregate.kernels.iter().map(kernel_view).collect(),
        problem_count: aggregate.problem_count,
        problems: aggregate
            .problems()
            .iter()
            .map(|(file, problem)| ProblemView {
                file,
                line: problem.line,
                kind: kind_name(problem.kind),
                detail: &problem.detail,
            })
            .collect(),
    };
    serde_json::to_writer_pretty(&mut *output, &document)?;
    writeln!(output)
}

fn process_view(process: &Process) -> ProcessView<'_> {
    ProcessView {
        pid: process.pid(),
        end: match process.end() {
            End::Orderly => "orderly",
            End::Replaced => "replaced",
            End::Abnormal => "abnormal",
        },
        session: process.session(),
        summary: process.summary(),
        recount: process.recount(),
        missing_records: process.missing(),
        unfinished: process.unfinished().collect(),
    }
}

fn kernel_view(kernel: &Kernel) -> KernelView<'_> {
    let times = &kernel.times;
    let time_ns = times.min().zip(times.max()).zip(times.percentile(50).zip(times.percentile(95)));
    KernelView {
        kernel: &kernel.name,
        symbol: &kernel.symbol,
        dispatches: kernel.dispatches,
        outcomes: &kernel.outcomes,
        reasons: kernel.reasons.iter().map(|(&reason, (count, _))| (reason, *count)).collect(),
        passes: kernel.passes.map(|(min, max)| Range { min, max }),
        time_ns: time_ns.map(|((min, max), (median, p95))| TimeView { min, median, p95, max }),
        written_bytes: kernel.written.map(|(min, max)| Range { min, max }),
        deterministic: kernel.verdict(),
        deterministic_dispatches: kernel.deterministic,
        divergent_dispatches: kernel.divergent,
        example: kernel.example.as_deref(),
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
