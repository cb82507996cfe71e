//! The report as one page that needs nothing else: `page.html` with its style and script, and the data as JSON in it.
//!
//! Dispatches are written while they are read, one line of text each, which the page parses only when it shows it. Nothing
//! of the data is markup: the page makes text of it, and `<` is written as an escape, so that no name can end the script.

use std::io::{self, Write};

use hsa_replay_contract::record::{Argument, Restore, Snapshot, TimeNs, Write as Written, WriteKind};
use hsa_replay_contract::{Dispatch, Outcome};
use serde::Serialize;

use super::aggregate::Aggregate;
use super::json;
use super::{units, unlisted};
use crate::output::Json;
use crate::run::closing::totals;

/// The page; the marks in it stand for the parts that follow.
const PAGE: &str = include_str!("html/page.html");
const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// Dispatches that one page holds. A browser copes with them; what is above is only in the table of kernels.
const MAX_DISPATCHES: u64 = 100_000;

/// Ranges of one region that the page holds; above it the closest are joined.
const MAX_RANGES: usize = 64;

/// Passes of one dispatch that the page holds.
const MAX_PASSES: usize = 256;

/// The longest kernel name that the page holds, in characters.
const NAME_WIDTH: usize = 4096;

/// A page that is being written.
#[derive(Debug)]
pub struct Page<'a, W: Write> {
    output: Json<&'a mut W>,
    rest: &'static str,
    dispatches: u64,
}

#[derive(Serialize)]
struct Row<'a> {
    session: usize,
    id: u64,
    launch: u64,
    agent: u32,
    queue: u64,
    grid: [u32; 3],
    workgroup: [u32; 3],
    range: Option<&'a str>,
    reason: Option<&'static str>,
    detail: Option<&'a str>,
    allowed: Vec<&'static str>,
    pass_count: usize,
    /// Duration, and whether the pass left what the first one did.
    passes: Vec<(Option<u64>, Option<bool>)>,
    time: Option<TimeNs>,
    snapshot: Option<Snapshot>,
    restore: Option<Restore>,
    arguments: Option<Vec<ArgumentRow<'a>>>,
    writes: Option<Vec<WriteRow<'a>>>,
    divergence: Option<Vec<[u64; 4]>>,
    /// What that list leaves out, for people.
    unlisted: String,
}

#[derive(Serialize)]
struct ArgumentRow<'a> {
    index: u32,
    name: Option<&'a str>,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    kind: &'static str,
    size: u64,
    value: Option<&'a str>,
    /// Class, variable, base, size, offset.
    targets: Vec<(String, Option<&'a str>, String, u64, u64)>,
}

#[derive(Serialize)]
struct WriteRow<'a> {
    kind: WriteKind,
    name: Option<&'a str>,
    arg: Option<u32>,
    base: String,
    size: u64,
    bytes: u64,
    range_count: usize,
    ranges: Vec<[u64; 2]>,
    merged: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    report: json::Document<'a>,
    /// What became of each process's dispatches, for people.
    totals: Vec<String>,
    dispatches: u64,
    shown: u64,
    outcomes: [&'static str; 4],
}

impl<'a, W: Write> Page<'a, W> {
    /// Writes the page up to the dispatches.
    pub fn begin(output: &'a mut W) -> io::Result<Self> {
        let (head, rest) = split(PAGE, "/*STYLE*/")?;
        let (between, rest) = split(rest, "<!--DISPATCHES-->")?;
        for part in [head, STYLE, between] {
            output.write_all(part.as_bytes())?;
        }
        Ok(Self { output: Json::in_markup(output), rest, dispatches: 0 })
    }

    /// Adds one dispatch.
    pub fn dispatch(&mut self, aggregate: &Aggregate, process: usize, dispatch: &Dispatch) -> io::Result<()> {
        self.dispatches += 1;
        if self.dispatches > MAX_DISPATCHES {
            return Ok(());
        }
        let outcome = Outcome::ALL.iter().position(|outcome| *outcome == dispatch.outcome).unwrap_or(0);
        let verdict = match dispatch.deterministic {
            None => "-",
            Some(true) => "y",
            Some(false) => "n",
        };
        write!(self.output, "{} {outcome} {verdict} ", aggregate.kernel_index(dispatch))?;
        serde_json::to_writer(&mut self.output, &row(process, dispatch))?;
        self.output.write_all(b"\n")
    }

    /// Writes the rest of the page.
    pub fn end(mut self, aggregate: &Aggregate) -> io::Result<()> {
        let (between, rest) = split(self.rest, "<!--REPORT-->")?;
        let (last, tail) = split(rest, "/*SCRIPT*/")?;
        self.output.inner().write_all(between.as_bytes())?;
        let document = Document {
            version: hsa_replay_contract::VERSION,
            report: json::document(aggregate, json::Names::Shortened(NAME_WIDTH)),
            totals: aggregate.processes.iter().map(|process| totals(&process.totals())).collect(),
            dispatches: self.dispatches,
            shown: self.dispatches.min(MAX_DISPATCHES),
            outcomes: Outcome::ALL.map(Outcome::name),
        };
        serde_json::to_writer(&mut self.output, &document)?;
        for part in [last, SCRIPT, tail] {
            self.output.inner().write_all(part.as_bytes())?;
        }
        Ok(())
    }
}

fn split(text: &'static str, mark: &str) -> io::Result<(&'static str, &'static str)> {
    text.split_once(mark).ok_or_else(|| io::Error::other(format!("the page lacks {mark}")))
}

fn row(process: usize, dispatch: &Dispatch) -> Row<'_> {
    let first = dispatch.passes.first().and_then(|pass| pass.hash);
    Row {
        session: process,
        id: dispatch.id,
        launch: dispatch.launch,
        agent: dispatch.agent,
        queue: dispatch.queue,
        grid: dispatch.grid,
        workgroup: dispatch.workgroup,
        range: dispatch.range.as_deref(),
        reason: dispatch.reason.map(|reason| reason.name()),
        detail: dispatch.detail.as_deref(),
        allowed: dispatch.allowed.iter().map(|kind| kind.name()).collect(),
        pass_count: dispatch.passes.len(),
        passes: dispatch
            .passes
            .iter()
            .take(MAX_PASSES)
            .map(|pass| (pass.ns, first.zip(pass.hash).map(|(first, hash)| first == hash)))
            .collect(),
        time: dispatch.time_ns,
        snapshot: dispatch.snapshot,
        restore: dispatch.restore,
        arguments: dispatch.arguments.as_ref().map(|arguments| arguments.iter().map(argument).collect()),
        writes: dispatch.writes.as_ref().map(|writes| writes.iter().map(written).collect()),
        divergence: dispatch.divergence.as_ref().map(|all| {
            all.iter()
                .map(|entry| [u64::from(entry.write), u64::from(entry.pass), entry.offset, entry.bytes])
                .collect()
        }),
        unlisted: unlisted::remark(dispatch),
    }
}

fn argument(argument: &Argument) -> ArgumentRow<'_> {
    ArgumentRow {
        index: argument.index,
        name: argument.name.as_deref(),
        type_name: argument.type_name.as_deref(),
        kind: argument.kind.name(),
        size: argument.size,
        value: argument.value.as_deref(),
        targets: argument
            .points_to
            .iter()
            .map(|target| {
                let base = format!("{:#x}", target.base);
                (units::memory(target.class), target.name.as_deref(), base, target.size, target.offset)
            })
            .collect(),
    }
}

fn written(write: &Written) -> WriteRow<'_> {
    WriteRow {
        kind: write.kind,
        name: write.name.as_deref(),
        arg: write.arg,
        base: format!("{:#x}", write.base),
        size: write.size,
        bytes: write.bytes,
        range_count: write.ranges.len(),
        ranges: joined(&write.ranges, MAX_RANGES),
        merged: write.merged,
    }
}

/// At most `limit` ranges: the largest gaps stay open.
fn joined(ranges: &[[u64; 2]], limit: usize) -> Vec<[u64; 2]> {
    let gap = |pair: &[[u64; 2]]| pair[1][0].saturating_sub(pair[0][0].saturating_add(pair[0][1]));
    let mut gaps: Vec<(u64, usize)> = ranges.windows(2).map(gap).zip(1..).collect();
    gaps.sort_unstable_by(|one, other| other.cmp(one));
    gaps.truncate(limit.saturating_sub(1));
    let mut starts: Vec<usize> = gaps.into_iter().map(|(_, at)| at).collect();
    starts.sort_unstable();
    let mut kept: Vec<[u64; 2]> = Vec::new();
    for (at, &[offset, length]) in ranges.iter().enumerate() {
        match kept.last_mut() {
            Some(last) if starts.binary_search(&at).is_err() => {
                last[1] = offset.saturating_add(length).saturating_sub(last[0]);
            }
            _ => kept.push([offset, length]),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_over_the_limit_are_joined_across_the_smallest_gaps() {
        let ranges = [[0, 1], [2, 1], [10, 1], [100, 5], [106, 4]];
        assert_eq!(joined(&ranges, 5), ranges);
        assert_eq!(joined(&ranges, 3), [[0, 3], [10, 1], [100, 10]]);
        assert_eq!(joined(&ranges, 1), [[0, 110]]);
        assert_eq!(joined(&[], 4), Vec::<[u64; 2]>::new());
    }
}
