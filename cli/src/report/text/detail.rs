//! What each kernel wrote, where passes differ, and what was declined.

use std::collections::BTreeSet;
use std::io::{self, Write};

use hsa_replay_contract::record::{Divergence, MAX_DIVERGENCES, Write as Written, WriteKind};
use hsa_replay_contract::{Dispatch, Reason};

use super::super::aggregate::{Aggregate, Kernel};
use super::super::units::{counted, shorten, size};
use super::NAME_WIDTH;

/// Items of a list that are shown before "and N more".
const SHOWN: usize = 4;

/// Prints a block for each kernel with known writes, then one for the reasons.
pub fn print(output: &mut impl Write, aggregate: &Aggregate, verbose: bool) -> io::Result<()> {
    let shown = if verbose { usize::MAX } else { SHOWN };
    for kernel in &aggregate.kernels {
        if let Some(example) = &kernel.example {
            writeln!(output)?;
            example_of(output, kernel, example, verbose, shown)?;
        }
    }
    if aggregate.kernels.iter().any(|kernel| !kernel.reasons.is_empty()) {
        writeln!(output, "\nnot replayed, or not in full")?;
        for kernel in &aggregate.kernels {
            reasons(output, kernel, verbose)?;
        }
        legend(output, aggregate)?;
    }
    Ok(())
}

fn example_of(
    output: &mut impl Write,
    kernel: &Kernel,
    example: &Dispatch,
    verbose: bool,
    shown: usize,
) -> io::Result<()> {
    let name = shorten(&kernel.name, if verbose { usize::MAX } else { NAME_WIDTH * 2 });
    let launch = if kernel.dispatches > 1 {
        format!(" (launch {}, one of {})", example.launch, counted(kernel.dispatches, "dispatch"))
    } else {
        String::new()
    };
    let writes = example.writes.as_deref().unwrap_or_default();
    if writes.is_empty() {
        return writeln!(output, "{name} wrote nothing{launch}");
    }
    writeln!(output, "{name} wrote{launch}")?;
    for write in writes.iter().take(shown) {
        writeln!(output, "  {}: {}", target(write), ranges(write, shown))?;
    }
    more(output, "  ", writes.len(), shown, "region")?;
    if let Some(snapshot) = &example.snapshot {
        let regions = counted(snapshot.regions, "region");
        writeln!(output, "  (snapshot of {} in {regions}, {})", size(snapshot.bytes), snapshot.tier.name())?;
    }
    if example.deterministic == Some(false) {
        differences(output, example, writes, shown)?;
    }
    Ok(())
}

/// Where passes differ from the first: one line for each pass and region.
fn differences(
    output: &mut impl Write,
    example: &Dispatch,
    writes: &[Written],
    shown: usize,
) -> io::Result<()> {
    let all = example.divergence.as_deref().unwrap_or_default();
    let limit = if all.len() < MAX_DIVERGENCES { "" } else { " (the list is full: there may be more)" };
    writeln!(output, "  not deterministic: passes that differ from pass 0{limit}")?;
    let groups: Vec<&[Divergence]> =
        all.chunk_by(|one, other| (one.pass, one.write) == (other.pass, other.write)).collect();
    for group in groups.iter().take(shown) {
        let Some(first) = group.first() else { continue };
        let place = usize::try_from(first.write).ok().and_then(|index| writes.get(index)).map(target);
        let place = place.unwrap_or_else(|| "an unlisted region".to_owned());
        let bytes = counted(group.iter().map(|difference| difference.bytes).sum(), "byte");
        let spans = list(group.iter().map(|difference| (difference.offset, difference.bytes)), shown);
        writeln!(output, "    pass {}: {bytes} of {place}: {spans}", first.pass)?;
    }
    more(output, "    ", groups.len(), shown, "difference")
}

/// Names the region: by argument, by variable, and by place.
fn target(write: &Written) -> String {
    let what = match (write.kind, &write.name) {
        (WriteKind::Allocation, None) => "allocation".to_owned(),
        (WriteKind::Allocation, Some(name)) => format!("allocation {}", shorten(name, NAME_WIDTH)),
        (WriteKind::ModuleVariable, None) => "module data".to_owned(),
        (WriteKind::ModuleVariable, Some(name)) => format!("variable {}", shorten(name, NAME_WIDTH)),
    };
    let argument = write.arg.map(|arg| format!("argument {arg}, ")).unwrap_or_default();
    format!("{argument}{what} of {} at {:#x}", size(write.size), write.base)
}

fn ranges(write: &Written, shown: usize) -> String {
    let total = u64::try_from(write.ranges.len()).unwrap_or(u64::MAX);
    if total == 0 {
        return "unchanged by pass 0, changed by a later one".to_owned();
    }
    let bytes = counted(write.bytes, "byte");
    let merged = if write.merged { ", close ones merged" } else { "" };
    let spans = list(write.ranges.iter().map(|[offset, length]| (*offset, *length)), shown);
    format!("{bytes} in {}{merged}: {spans}", counted(total, "range"))
}

/// The first spans, and how many more there are up to where.
fn list(spans: impl ExactSizeIterator<Item = (u64, u64)> + Clone, shown: usize) -> String {
    let first: Vec<String> = spans.clone().take(shown).map(|(offset, length)| span(offset, length)).collect();
    let rest = spans.len().saturating_sub(shown);
    let end = spans.map(|(offset, length)| offset.saturating_add(length)).max().unwrap_or(0);
    let rest = if rest > 0 { format!(" and {rest} more below {end}") } else { String::new() };
    format!("{}{rest}", first.join(" "))
}

/// Offsets of the first byte and of the one behind the last.
fn span(offset: u64, length: u64) -> String {
    format!("[{offset}, {})", offset.saturating_add(length))
}

fn more(output: &mut impl Write, indent: &str, total: usize, shown: usize, noun: &str) -> io::Result<()> {
    match total.checked_sub(shown) {
        None | Some(0) => Ok(()),
        Some(rest) => writeln!(
            output,
            "{indent}and {}",
            counted(u64::try_from(rest).unwrap_or(u64::MAX), &format!("more {noun}"))
        ),
    }
}

fn reasons(output: &mut impl Write, kernel: &Kernel, verbose: bool) -> io::Result<()> {
    let name = shorten(&kernel.name, if verbose { usize::MAX } else { NAME_WIDTH });
    for (reason, (count, detail)) in &kernel.reasons {
        write!(output, "  {name}: {}, {}", reason.name(), counted(*count, "dispatch"))?;
        match detail {
            Some(detail) => writeln!(output, ": {}", shorten(detail, 300))?,
            None => writeln!(output)?,
        }
    }
    Ok(())
}

/// What the reasons that occur mean, each once.
fn legend(output: &mut impl Write, aggregate: &Aggregate) -> io::Result<()> {
    let occurring: BTreeSet<Reason> =
        aggregate.kernels.iter().flat_map(|kernel| kernel.reasons.keys().copied()).collect();
    for reason in occurring {
        writeln!(output, "  ({}: {})", reason.name(), reason.description())?;
    }
    Ok(())
}
