//! One dispatch in full: what it was given, what it changed, where its passes differ.

use std::io::{self, Write};

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::{
    Argument, Divergence, MAX_DIVERGENCES, Target, Write as Written, WriteKind,
};

use super::super::elements::{self, View};
use super::super::units::{self, counted, shorten, size};
use super::NAME_WIDTH;

/// How much of a dispatch is shown.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// Items of a list before "and N more".
    pub shown: usize,
    /// Whether arguments are listed.
    pub arguments: bool,
    /// What the bytes of written ranges are shown as, if at all.
    pub elements: Option<View<'a>>,
}

/// Prints the explicit arguments, one a line.
pub fn arguments(output: &mut impl Write, dispatch: &Dispatch, indent: &str) -> io::Result<()> {
    for argument in dispatch.arguments.iter().flatten() {
        writeln!(output, "{indent}{}", shown_argument(argument))?;
    }
    Ok(())
}

fn shown_argument(argument: &Argument) -> String {
    let mut text = format!("argument {}", argument.index);
    if let Some(name) = &argument.name {
        text += &format!(" {}", shorten(name, NAME_WIDTH));
    }
    match &argument.type_name {
        Some(name) => text += &format!(": {}", shorten(name, NAME_WIDTH)),
        None => text += &format!(": {} of {}", argument.kind.name(), size(argument.size)),
    }
    match (&argument.value, &argument.bytes) {
        (Some(value), _) => text += &format!(" = {}", shorten(value, NAME_WIDTH)),
        (None, Some(bytes)) => text += &format!(" = bytes {}", shorten(bytes, NAME_WIDTH)),
        (None, None) => text += " (not readable)",
    }
    for target in &argument.points_to {
        text += &format!(" -> {}", shown_target(target, argument.points_to.len() > 1 || target.at > 0));
    }
    text
}

fn shown_target(target: &Target, place: bool) -> String {
    let what = match &target.name {
        Some(name) => format!("variable {}", shorten(name, NAME_WIDTH)),
        None => units::memory(target.class),
    };
    let at = if place { format!("byte {}: ", target.at) } else { String::new() };
    let restored = if target.class.is_restored() { "" } else { ", not put back between passes" };
    format!("{at}{what} of {} at {:#x} + {}{restored}", size(target.size), target.base, target.offset)
}

/// Prints the changed regions and the differences between passes.
pub fn changes(
    output: &mut impl Write,
    dispatch: &Dispatch,
    indent: &str,
    extent: Extent<'_>,
) -> io::Result<()> {
    let Extent { shown, .. } = extent;
    let writes = dispatch.writes.as_deref().unwrap_or_default();
    for write in writes.iter().take(shown) {
        writeln!(output, "{indent}changed {}: {}", target(write), ranges(write, shown))?;
        if let Some(view) = extent.elements {
            elements::print(output, dispatch, write, view, &format!("{indent}  "))?;
        }
    }
    more(output, indent, writes.len(), shown, "region")?;
    if let Some(snapshot) = &dispatch.snapshot {
        let regions = counted(snapshot.regions, "region");
        writeln!(
            output,
            "{indent}(snapshot of {} in {regions}, {})",
            size(snapshot.bytes),
            snapshot.tier.name()
        )?;
    }
    if dispatch.deterministic == Some(false) {
        differences(output, dispatch, writes, indent, shown)?;
    }
    Ok(())
}

/// Where passes differ from the first: one line for each pass and region.
fn differences(
    output: &mut impl Write,
    dispatch: &Dispatch,
    writes: &[Written],
    indent: &str,
    shown: usize,
) -> io::Result<()> {
    let all = dispatch.divergence.as_deref().unwrap_or_default();
    let limit = if all.len() < MAX_DIVERGENCES { "" } else { " (the list is full: there may be more)" };
    writeln!(output, "{indent}not deterministic: passes that differ from pass 0{limit}")?;
    let groups: Vec<&[Divergence]> =
        all.chunk_by(|one, other| (one.pass, one.write) == (other.pass, other.write)).collect();
    for group in groups.iter().take(shown) {
        let Some(first) = group.first() else { continue };
        let place = usize::try_from(first.write).ok().and_then(|index| writes.get(index)).map(target);
        let place = place.unwrap_or_else(|| "an unlisted region".to_owned());
        let bytes = group.iter().fold(0, |sum: u64, difference| sum.saturating_add(difference.bytes));
        let bytes = counted(bytes, "byte");
        let spans = list(group.iter().map(|difference| (difference.offset, difference.bytes)), shown);
        writeln!(output, "{indent}  pass {}: {bytes} of {place}: {spans}", first.pass)?;
    }
    more(output, &format!("{indent}  "), groups.len(), shown, "difference")
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
