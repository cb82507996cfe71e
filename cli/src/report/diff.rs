//! Two runs compared, kernel by kernel.
//!
//! Kernels are matched by their mangled name, processes by what tells them apart (`pairing`), launches by their ordinal (`results`).

mod pairing;
mod results;

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use hsa_replay_contract::Outcome;
use serde::Serialize;

use super::aggregate::{Aggregate, Kernel};
use super::processes::Process;
use super::text::{Align, NAME_WIDTH, Table, outcomes};
use super::units::{counted, shorten, size, time};
use crate::output::{Json, Text};
use pairing::{By, Pair};
pub use results::Results;
use results::{Comparison, Launches};

#[derive(Serialize)]
struct Document<'a> {
    files: [&'a [String]; 2],
    processes: Vec<ProcessPair>,
    kernels: Vec<KernelDiff<'a>>,
    not_compared: u64,
    problem_count: [u64; 2],
}

#[derive(Serialize)]
struct ProcessPair {
    sessions: [Option<usize>; 2],
    pids: [Option<u32>; 2],
    paired_by: Option<By>,
}

#[derive(Serialize)]
struct KernelDiff<'a> {
    kernel: &'a str,
    symbol: &'a str,
    dispatches: [u64; 2],
    outcomes: [Option<&'a BTreeMap<Outcome, u64>>; 2],
    median_ns: [Option<u64>; 2],
    ratio: Option<f64>,
    changed_bytes: [Option<Range>; 2],
    deterministic: [Option<bool>; 2],
    launches: Launches,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
struct Range {
    min: u64,
    max: u64,
}

/// Prints the comparison of two runs, the earlier one first.
pub fn print(
    output: &mut impl Write,
    [before, after]: [&Aggregate; 2],
    [earlier, later]: [Results; 2],
    as_json: bool,
) -> io::Result<()> {
    let processes = pairing::pairs([&before.processes, &after.processes]);
    let partners: HashMap<usize, usize> = processes
        .iter()
        .filter_map(|pair| {
            let [before, after] = pair.processes;
            Some((after?, before?))
        })
        .collect();
    let comparison = earlier.compare(&later, |process| partners.get(&process).copied());
    let document = Document {
        files: [&before.files, &after.files],
        processes: processes.iter().map(|pair| process_pair(pair, [before, after])).collect(),
        kernels: pairs(before, after).map(|pair| kernel_diff(pair, &comparison)).collect(),
        not_compared: comparison.left_out(),
        problem_count: [before.problem_count, after.problem_count],
    };
    if as_json {
        serde_json::to_writer_pretty(Json::new(&mut *output), &document)?;
        return writeln!(output);
    }
    text(&mut Text(output), &document)
}

fn process_pair(pair: &Pair, runs: [&Aggregate; 2]) -> ProcessPair {
    let [before, after] = [0, 1].map(|run: usize| {
        pair.processes[run].and_then(|index| runs[run].processes.get(index)).map(Process::pid)
    });
    ProcessPair { sessions: pair.processes, pids: [before, after], paired_by: pair.by }
}

/// Every kernel of either run, in order of appearance.
fn pairs<'a>(
    before: &'a Aggregate,
    after: &'a Aggregate,
) -> impl Iterator<Item = [Option<&'a Kernel>; 2]> + use<'a> {
    let index = |aggregate: &'a Aggregate| -> HashMap<&'a str, &'a Kernel> {
        aggregate.kernels.iter().map(|kernel| (&*kernel.symbol, kernel)).collect()
    };
    let (earlier, later) = (index(before), index(after));
    let of_before =
        before.kernels.iter().map(move |kernel| [Some(kernel), later.get(&*kernel.symbol).copied()]);
    let only_after = after.kernels.iter().filter(move |kernel| !earlier.contains_key(&*kernel.symbol));
    of_before.chain(only_after.map(|kernel| [None, Some(kernel)]))
}

fn kernel_diff<'a>(pair: [Option<&'a Kernel>; 2], comparison: &Comparison) -> KernelDiff<'a> {
    let (kernel, symbol) =
        pair.into_iter().flatten().next().map_or(("", ""), |kernel| (&*kernel.name, &*kernel.symbol));
    let median_ns = pair.map(|kernel| kernel.and_then(|kernel| kernel.times.median()));
    let ratio = match median_ns {
        [Some(before), Some(after)] if before > 0 =>
        {
            #[allow(clippy::cast_precision_loss, reason = "a ratio of times")]
            Some(after as f64 / before as f64)
        }
        _ => None,
    };
    KernelDiff {
        kernel,
        symbol,
        dispatches: pair.map(|kernel| kernel.map_or(0, |kernel| kernel.dispatches)),
        outcomes: pair.map(|kernel| kernel.map(|kernel| &kernel.outcomes)),
        median_ns,
        ratio,
        changed_bytes: pair
            .map(|kernel| kernel.and_then(|kernel| kernel.changed).map(|(min, max)| Range { min, max })),
        deterministic: pair.map(|kernel| kernel.and_then(Kernel::verdict)),
        launches: comparison.of_kernel(symbol),
    }
}

fn text(output: &mut impl Write, document: &Document<'_>) -> io::Result<()> {
    for (name, files) in ["A", "B"].into_iter().zip(document.files) {
        writeln!(output, "{name}: {}", files.join(", "))?;
    }
    if document.kernels.is_empty() {
        return writeln!(output, "\nno kernel in either");
    }
    writeln!(output)?;
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("dispatches", Align::Left),
        ("outcome", Align::Left),
        ("median", Align::Left),
        ("B/A", Align::Right),
        ("changed", Align::Left),
        ("deterministic", Align::Left),
        ("same result", Align::Left),
    ]);
    for kernel in &document.kernels {
        let counts = kernel.outcomes.map(|counts| {
            counts.map(|counts| outcomes(counts.iter().map(|(&outcome, &count)| (outcome, count))))
        });
        table.row(vec![
            shorten(kernel.kernel, NAME_WIDTH),
            both(kernel.dispatches.map(|count| Some(count.to_string()))),
            both(counts),
            both(kernel.median_ns.map(|median| median.map(time))),
            kernel.ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}")),
            both(
                kernel
                    .changed_bytes
                    .map(|range| range.map(|Range { min, max }| super::text::range(min, max, size))),
            ),
            both(
                kernel
                    .deterministic
                    .map(|verdict| verdict.map(|yes| if yes { "yes" } else { "no" }.to_owned())),
            ),
            same_result(&kernel.launches),
        ]);
    }
    table.print(output)?;
    if document.kernels.iter().any(|kernel| kernel.launches.other_addresses > 0) {
        writeln!(
            output,
            "\nLaunches at other addresses cannot be compared: some of their `writes` have no `hash`, since --budget had no room for \
             what the first pass left, or since an earlier version wrote the report."
        )?;
    }
    // One process in each run is the same one.
    let several = document.processes.iter().filter(|pair| pair.sessions[1].is_some()).count() > 1
        || document.processes.iter().filter(|pair| pair.sessions[0].is_some()).count() > 1;
    let by_order = document.processes.iter().filter(|pair| pair.paired_by == Some(By::Order)).count();
    if several && by_order > 0 {
        let (has, own, are) = match by_order {
            1 => ("has", "its", "it is"),
            _ => ("have", "their", "they are"),
        };
        writeln!(
            output,
            "\n{} of A and B {has} neither a rank nor a command line of {own} own: {are} taken for each other in the order of \
             the reports, which may be another in each run.",
            counted(u64::try_from(by_order).unwrap_or(u64::MAX), "process")
        )?;
    }
    let alone = document.processes.iter().filter(|pair| pair.paired_by.is_none()).count();
    if alone > 0 {
        writeln!(
            output,
            "\n{} of one run without one of the other to compare with",
            counted(u64::try_from(alone).unwrap_or(u64::MAX), "process")
        )?;
    }
    if document.not_compared > 0 {
        writeln!(output, "\n{} not compared: there are too many", counted(document.not_compared, "launch"))?;
    }
    Ok(())
}

/// What holds for A and for B, once where it is the same.
fn both(values: [Option<String>; 2]) -> String {
    let [before, after] = values.map(|value| value.unwrap_or_else(|| "-".to_owned()));
    if before == after { before } else { format!("{before} -> {after}") }
}

fn same_result(launches: &Launches) -> String {
    if launches.compared == 0 {
        return "-".to_owned();
    }
    let mut parts = Vec::new();
    if launches.equal > 0 {
        parts.push(format!("{} equal", launches.equal));
    }
    if launches.different > 0 {
        parts.push(format!("{} different", launches.different));
    }
    if launches.other_addresses > 0 {
        parts.push(format!("{} at other addresses", launches.other_addresses));
    }
    if launches.other_regions > 0 {
        parts.push(format!("{} in other regions", launches.other_regions));
    }
    let other_ranges = launches.compared - launches.same_ranges - launches.other_regions;
    if other_ranges > 0 {
        parts.push(format!("{other_ranges} with other ranges"));
    }
    parts.join(", ")
}
