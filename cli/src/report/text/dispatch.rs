//! One dispatch in full: what it was given, what it changed, where its passes differ.

use std::io::{self, Write};

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::{Argument, Divergence, Target, Write as Written, WriteKind};

use super::super::elements::{self, View};
use super::super::units::{self, counted, shorten, size};
use super::super::unlisted;
use super::{NAME_WIDTH, spans};

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
pub fn arguments(output: &mut impl Write, arguments: Option<&[Argument]>, indent: &str) -> io::Result<()> {
    for argument in arguments.unwrap_or_default() {
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
        writeln!(output, "{}", changed(write, shown, indent))?;
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
    let remark = match unlisted::remark(dispatch) {
        remark if remark.is_empty() => remark,
        remark => format!(" ({remark})"),
    };
    writeln!(output, "{indent}not deterministic: passes that differ from pass 0{remark}")?;
    let groups: Vec<&[Divergence]> =
        all.chunk_by(|one, other| (one.pass, one.write) == (other.pass, other.write)).collect();
    for group in groups.iter().take(shown) {
        let Some(first) = group.first() else { continue };
        let place = usize::try_from(first.write).ok().and_then(|index| writes.get(index)).map(target);
        let place = place.unwrap_or_else(|| "an unlisted region".to_owned());
        let bytes = group.iter().fold(0, |sum: u64, difference| sum.saturating_add(difference.bytes));
        let bytes = counted(bytes, "byte");
        let line = format!("{indent}  pass {}: {bytes} of {place}:", first.pass);
        let spans: Vec<(u64, u64)> =
            group.iter().map(|difference| (difference.offset, difference.bytes)).collect();
        writeln!(output, "{}", spans::list(line, &spans, shown, &format!("{indent}      ")))?;
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

fn changed(write: &Written, shown: usize, indent: &str) -> String {
    let target = target(write);
    let total = u64::try_from(write.ranges.len()).unwrap_or(u64::MAX);
    if total == 0 {
        return format!("{indent}changed {target}: unchanged by pass 0, changed by a later one");
    }
    let bytes = counted(write.bytes, "byte");
    let merged = if write.merged { ", close ones merged" } else { "" };
    let line = format!("{indent}changed {target}: {bytes} in {}{merged}:", counted(total, "range"));
    let spans: Vec<(u64, u64)> = write.ranges.iter().map(|[offset, length]| (*offset, *length)).collect();
    spans::list(line, &spans, shown, &format!("{indent}    "))
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
