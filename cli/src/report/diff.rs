//! Two runs compared, kernel by kernel.
//!
//! Kernels are matched by their mangled name. Launches are matched by their ordinal, for kernels of the same process in the
//! order of the report: whether both left the same bytes is told by the hash of their first pass. A hash covers addresses,
//! so it says something only where both runs changed memory at the same addresses.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};

use hsa_replay_contract::record::Write as Written;
use hsa_replay_contract::{Dispatch, Outcome};
use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::aggregate::{Aggregate, Kernel};
use super::text::{Align, NAME_WIDTH, Table, outcomes};
use super::units::{counted, shorten, size, time};
use crate::output::{Json, Text};

/// Launches whose results are kept for comparison; what is above it is not compared.
const MAX_LAUNCHES: usize = 4 << 20;

/// One of the two runs.
#[derive(Debug, Default)]
pub struct Run {
    /// What its records add up to.
    pub aggregate: Aggregate,
    /// What its launches left.
    pub results: Results,
}

/// What the launches of a run left, in a few words each.
#[derive(Debug, Default)]
pub struct Results {
    launches: HashMap<Launch, Left>,
    /// Launches over the limit.
    left_out: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Launch {
    process: u32,
    symbol: u64,
    launch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Left {
    /// The hash of the first pass.
    hash: u64,
    /// Which addresses were changed.
    places: u64,
    /// Which regions were changed, wherever they are: of which arguments and variables, and how large.
    regions: u64,
    /// Which offsets of which arguments and variables were changed.
    shape: u64,
}

impl Results {
    /// Adds one dispatch of the process with this index.
    pub fn add(&mut self, process: usize, dispatch: &Dispatch) {
        let hash = dispatch.passes.first().and_then(|pass| pass.hash);
        let (Some(hash), Some(writes)) = (hash, &dispatch.writes) else { return };
        let (mut places, mut shape) = (Xxh3::new(), Xxh3::new());
        // Regions come in the order of their addresses, which may be another one where they have moved: a sum knows no order.
        let mut regions = 0_u64;
        for write in writes {
            regions = regions.wrapping_add(region(write));
            places.update(&write.base.to_le_bytes());
            shape.update(write.name.as_deref().unwrap_or_default().as_bytes());
            shape.update(&write.arg.map_or(u64::MAX, u64::from).to_le_bytes());
            for number in write.ranges.iter().flatten() {
                shape.update(&number.to_le_bytes());
            }
        }
        if self.launches.len() >= MAX_LAUNCHES {
            self.left_out += 1;
            return;
        }
        let launch = Launch {
            process: u32::try_from(process).unwrap_or(u32::MAX),
            symbol: xxh3_64(dispatch.symbol.as_bytes()),
            launch: dispatch.launch,
        };
        let left = Left {
            hash: xxh3_64(&hash.0.to_le_bytes()),
            places: places.digest(),
            regions,
            shape: shape.digest(),
        };
        self.launches.insert(launch, left);
    }
}

/// What is known of a region besides its address.
fn region(write: &Written) -> u64 {
    let mut region = Xxh3::new();
    region.update(write.name.as_deref().unwrap_or_default().as_bytes());
    region.update(&write.arg.map_or(u64::MAX, u64::from).to_le_bytes());
    region.update(&write.size.to_le_bytes());
    region.digest()
}

#[derive(Serialize)]
struct Document<'a> {
    files: [&'a [String]; 2],
    kernels: Vec<KernelDiff<'a>>,
    not_compared: u64,
    problem_count: [u64; 2],
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

/// How the launches that both runs have compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Launches {
    compared: u64,
    equal: u64,
    different: u64,
    other_addresses: u64,
    other_regions: u64,
    same_ranges: u64,
}

/// Prints the comparison of two runs, the earlier one first.
pub fn print(output: &mut impl Write, runs: &[Run; 2], as_json: bool) -> io::Result<()> {
    let [before, after] = runs;
    let launches = compare(&before.results, &after.results);
    let document = Document {
        files: [&before.aggregate.files, &after.aggregate.files],
        kernels: pairs(&before.aggregate, &after.aggregate)
            .map(|pair| kernel_diff(pair, &launches))
            .collect(),
        not_compared: before.results.left_out.max(after.results.left_out),
        problem_count: [before.aggregate.problem_count, after.aggregate.problem_count],
    };
    if as_json {
        serde_json::to_writer_pretty(Json::new(&mut *output), &document)?;
        return writeln!(output);
    }
    text(&mut Text(output), &document)
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

fn compare(before: &Results, after: &Results) -> HashMap<u64, Launches> {
    let mut kernels: HashMap<u64, Launches> = HashMap::new();
    for (launch, left) in &before.launches {
        let Some(other) = after.launches.get(launch) else { continue };
        let counts = kernels.entry(launch.symbol).or_default();
        counts.compared += 1;
        counts.same_ranges += u64::from(left.shape == other.shape && left.regions == other.regions);
        if left.regions != other.regions {
            counts.other_regions += 1;
        } else if left.places != other.places {
            counts.other_addresses += 1;
        } else if left.hash == other.hash {
            counts.equal += 1;
        } else {
            counts.different += 1;
        }
    }
    kernels
}

fn kernel_diff<'a>(pair: [Option<&'a Kernel>; 2], launches: &HashMap<u64, Launches>) -> KernelDiff<'a> {
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
        launches: launches.get(&xxh3_64(symbol.as_bytes())).copied().unwrap_or_default(),
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
            "\nLaunches that changed memory at other addresses cannot be compared by their hash; setarch -R keeps addresses \
             in place."
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
