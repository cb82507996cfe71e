//! What each kernel was given and changed, where passes differ, what was allowed, and what was declined.

use std::collections::BTreeSet;
use std::io::{self, Write};

use hsa_replay_contract::{Allow, Dispatch, Reason};

use super::super::aggregate::{Aggregate, Kernel};
use super::super::elements::Wanted;
use super::super::units::{counted, shorten};
use super::NAME_WIDTH;
use super::dispatch::{Extent, arguments, changes};

/// Prints a block for each kernel with known writes, then one for what was allowed and one for the reasons.
pub fn print(
    output: &mut impl Write,
    aggregate: &Aggregate,
    verbose: bool,
    extent: Extent<'_>,
    elements: Option<&Wanted>,
) -> io::Result<()> {
    for kernel in &aggregate.kernels {
        if let Some(example) = &kernel.example {
            writeln!(output)?;
            let process = aggregate.processes.get(kernel.example_process);
            let elements = elements.map(|wanted| wanted.of(process, kernel.example_report));
            example_of(output, kernel, example, verbose, Extent { elements, ..extent })?;
        }
    }
    allowed(output, aggregate, verbose)?;
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
    extent: Extent<'_>,
) -> io::Result<()> {
    let name = shorten(&kernel.name, if verbose { usize::MAX } else { NAME_WIDTH * 2 });
    let launch = if kernel.dispatches > 1 {
        format!(" (launch {}, one of {})", example.launch, counted(kernel.dispatches, "dispatch"))
    } else {
        String::new()
    };
    if example.writes.as_deref().unwrap_or_default().is_empty() {
        writeln!(output, "{name} changed nothing{launch}")?;
        return if extent.arguments { arguments(output, example.arguments.as_deref(), "  ") } else { Ok(()) };
    }
    writeln!(output, "{name}{launch}")?;
    if extent.arguments {
        arguments(output, example.arguments.as_deref(), "  ")?;
    }
    changes(output, example, "  ", extent)
}

/// What was let through by `--allow`, and what the records of those dispatches do not speak of.
fn allowed(output: &mut impl Write, aggregate: &Aggregate, verbose: bool) -> io::Result<()> {
    if aggregate.kernels.iter().all(|kernel| kernel.allowed.is_empty()) {
        return Ok(());
    }
    writeln!(output, "\nallowed, although not safe in general")?;
    let mut kinds = BTreeSet::new();
    for kernel in &aggregate.kernels {
        let name = shorten(&kernel.name, if verbose { usize::MAX } else { NAME_WIDTH });
        for (kind, count) in &kernel.allowed {
            writeln!(output, "  {name}: {}, {}", kind.name(), counted(*count, "dispatch"))?;
            kinds.insert(*kind);
        }
    }
    for kind in kinds {
        writeln!(output, "  ({}: {})", kind.name(), consequence(kind))?;
    }
    Ok(())
}

fn consequence(kind: Allow) -> &'static str {
    match kind {
        Allow::Untracked => {
            "memory that is not captured was written once a pass and not put back; neither what changed nor whether it is \
             deterministic speaks of it"
        }
        Allow::Hostcall => "the host heard the kernel's calls once a pass",
        Allow::Cooperative => "the kernel ran once a pass, whoever it was launched together with",
        Allow::Collective => "the kernel's partners in other processes or on other agents saw it once a pass",
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
