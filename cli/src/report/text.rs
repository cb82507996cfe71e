//! The report for people: sessions, a table of kernels, what each wrote, what was declined and why.

mod detail;
pub mod dispatch;
mod header;
mod spans;
mod table;

use std::io::{self, Write};

use hsa_replay_contract::{Dispatch, Outcome};

use super::aggregate::Aggregate;
use super::elements::Wanted;
use super::processes::Process;
use super::units::{counted, shorten, size, time};
use dispatch::Extent;
pub use table::{Align, Table};

/// Items of a list that are shown before "and N more".
const SHOWN: usize = 4;

/// The widest that a kernel's name gets in a table.
pub const NAME_WIDTH: usize = 48;

/// The same when names are wanted in full: the list of dispatches and the details have them at any length.
const FULL_NAME_WIDTH: usize = 200;

/// Below this many passes that agree the report advises to run more.
const FEW_PASSES: usize = 5;

/// Stands for a value that is not known.
const NONE: &str = "-";

/// Prints everything but the single dispatches.
pub fn print(
    output: &mut impl Write,
    aggregate: &Aggregate,
    verbose: bool,
    elements: Option<&Wanted>,
) -> io::Result<()> {
    if aggregate.is_empty() && aggregate.problem_count > 0 {
        writeln!(output, "The file holds no record that can be read: it may be no report of hsa-replay.")?;
    } else if aggregate.is_empty() && aggregate.unreadable.is_empty() {
        writeln!(output, "The report holds no record: the program made no HSA call under replay.")?;
    }
    for process in aggregate.processes.iter() {
        header::print(output, &aggregate.processes, process)?;
    }
    if !aggregate.kernels.is_empty() {
        writeln!(output)?;
        kernels(output, aggregate, verbose)?;
        if aggregate.stretches.iter().len() > 0 {
            writeln!(output)?;
            stretches(output, aggregate, verbose)?;
        }
        // With -v each dispatch has been shown in full already.
        let shown = if verbose { usize::MAX } else { SHOWN };
        let extent = Extent { shown, arguments: !verbose, elements: None };
        detail::print(output, aggregate, verbose, extent, elements.filter(|_| !verbose))?;
    }
    if aggregate.problem_count > 0 {
        writeln!(output, "\n{} cannot be read:", counted(aggregate.problem_count, "line"))?;
        for line in aggregate.problem_lines() {
            writeln!(output, "  {line}")?;
        }
    }
    if !aggregate.unreadable.is_empty() {
        let files = u64::try_from(aggregate.unreadable.len()).unwrap_or(u64::MAX);
        writeln!(output, "\n{} cannot be read:", counted(files, "file"))?;
        for (file, detail) in &aggregate.unreadable {
            writeln!(output, "  {file}: {detail}")?;
        }
    }
    Ok(())
}

fn kernels(output: &mut impl Write, aggregate: &Aggregate, verbose: bool) -> io::Result<()> {
    let mut table = Table::new(&[
        ("kernel", Align::Left),
        ("dispatches", Align::Right),
        ("outcome", Align::Left),
        ("passes", Align::Right),
        ("min", Align::Right),
        ("median", Align::Right),
        ("p95", Align::Right),
        ("max", Align::Right),
        ("changed", Align::Right),
        ("deterministic", Align::Left),
    ]);
    for kernel in &aggregate.kernels {
        let width = if verbose { FULL_NAME_WIDTH } else { NAME_WIDTH };
        let or_none = |value: Option<String>| value.unwrap_or_else(|| NONE.to_owned());
        table.row(vec![
            shorten(&kernel.name, width),
            kernel.dispatches.to_string(),
            outcomes(kernel.outcomes.iter().map(|(&outcome, &count)| (outcome, count))),
            or_none(kernel.passes.map(|(low, high)| range(low, high, |value| value.to_string()))),
            or_none(kernel.times.min().map(time)),
            or_none(kernel.times.median().map(time)),
            or_none(kernel.times.percentile(95).map(time)),
            or_none(kernel.times.max().map(time)),
            or_none(kernel.changed.map(|(low, high)| range(low, high, size))),
            match (kernel.deterministic, kernel.divergent) {
                (0, 0) => NONE.to_owned(),
                (_, 0) => {
                    let (low, high) = kernel.agreed.unwrap_or_default();
                    format!("yes ({} passes)", range(low, high, |value| value.to_string()))
                }
                (0, 1) => "no".to_owned(),
                (same, other) => format!("no ({other} of {})", same + other),
            },
        ]);
    }
    table.print(output)?;
    let mut agreed =
        aggregate.kernels.iter().filter(|kernel| kernel.divergent == 0).filter_map(|kernel| kernel.agreed);
    if agreed.any(|(low, _)| low < FEW_PASSES) {
        writeln!(
            output,
            "yes: these passes left the same bytes. A rare difference takes more of them to show: run --passes 10"
        )?;
    }
    Ok(())
}

/// The named stretches of code.
fn stretches(output: &mut impl Write, aggregate: &Aggregate, verbose: bool) -> io::Result<()> {
    let mut table = Table::new(&[
        ("range", Align::Left),
        ("dispatches", Align::Right),
        ("outcome", Align::Left),
        ("kernels", Align::Right),
        ("time", Align::Right),
    ]);
    for stretch in aggregate.stretches.iter() {
        table.row(vec![
            shorten(&stretch.name, if verbose { FULL_NAME_WIDTH } else { NAME_WIDTH }),
            stretch.dispatches.to_string(),
            outcomes(stretch.outcomes.iter().map(|(&outcome, &count)| (outcome, count))),
            stretch.kernels.len().to_string(),
            stretch.time_ns.map_or_else(|| NONE.to_owned(), time),
        ]);
    }
    table.print(output)
}

pub fn outcomes(counts: impl ExactSizeIterator<Item = (Outcome, u64)>) -> String {
    let single = counts.len() == 1;
    counts
        .map(
            |(outcome, count)| {
                if single { outcome.name().to_owned() } else { format!("{count} {}", outcome.name()) }
            },
        )
        .collect::<Vec<_>>()
        .join(", ")
}

pub fn range<T: PartialEq + Copy>(low: T, high: T, show: impl Fn(T) -> String) -> String {
    if low == high { show(low) } else { format!("{}..{}", show(low), show(high)) }
}

/// Single dispatches, printed while they are read.
#[derive(Debug)]
pub struct Dispatches<'a> {
    wanted: bool,
    elements: Option<&'a Wanted>,
    any: bool,
}

impl<'a> Dispatches<'a> {
    /// Prints dispatches only if `wanted`, written bytes as `elements`.
    pub fn new(wanted: bool, elements: Option<&'a Wanted>) -> Self {
        Self { wanted, elements, any: false }
    }

    /// Prints one dispatch of the process with this index.
    pub fn print(
        &mut self,
        output: &mut impl Write,
        aggregate: &Aggregate,
        process: usize,
        dispatch: &Dispatch,
    ) -> io::Result<()> {
        if !self.wanted {
            return Ok(());
        }
        let process = aggregate.processes.get(process);
        let label = process.map(Process::label).unwrap_or_default();
        if !self.any {
            self.any = true;
            writeln!(output, "dispatches, in the order of the report")?;
        }
        write!(
            output,
            "  process {label} #{} {} launch {}: {}",
            dispatch.id,
            shorten(&dispatch.kernel, usize::MAX),
            dispatch.launch,
            dispatch.outcome.name()
        )?;
        if let Some(reason) = dispatch.reason {
            write!(output, " ({})", reason.name())?;
        }
        if let Some(times) = dispatch.time_ns {
            let [min, median, max] = [times.min, times.median, times.max].map(time);
            write!(output, ", {} min {min} median {median} max {max}", passes(dispatch))?;
        } else if !dispatch.passes.is_empty() {
            write!(output, ", {}", passes(dispatch))?;
        }
        if let Some(bytes) = dispatch.changed_bytes() {
            write!(output, ", changed {}", size(bytes))?;
        }
        match dispatch.deterministic {
            Some(true) => write!(output, ", deterministic")?,
            Some(false) => write!(output, ", not deterministic")?,
            None => {}
        }
        if let Some(detail) = &dispatch.detail {
            write!(output, "; {}", shorten(detail, usize::MAX))?;
        }
        writeln!(output)?;
        let [grid, workgroup] = [dispatch.grid, dispatch.workgroup].map(dimensions);
        write!(
            output,
            "    grid {grid}, workgroup {workgroup}, agent {}, queue {}",
            dispatch.agent, dispatch.queue
        )?;
        if let Some(range) = &dispatch.range {
            write!(output, ", range {}", shorten(range, usize::MAX))?;
        }
        if !dispatch.allowed.is_empty() {
            let kinds: Vec<&str> = dispatch.allowed.iter().map(|kind| kind.name()).collect();
            write!(output, ", allowed: {}", kinds.join(", "))?;
        }
        writeln!(output)?;
        dispatch::arguments(output, dispatch.arguments.as_deref(), "    ")?;
        let elements = self.elements.map(|wanted| wanted.of(process, aggregate.current_report()));
        let extent = Extent { shown: usize::MAX, arguments: true, elements };
        dispatch::changes(output, dispatch, "    ", extent)
    }
}

/// A size in three dimensions.
fn dimensions([x, y, z]: [u32; 3]) -> String {
    format!("{x} x {y} x {z}")
}

fn passes(dispatch: &Dispatch) -> String {
    match dispatch.passes.len() {
        1 => "1 pass".to_owned(),
        count => format!("{count} passes"),
    }
}
