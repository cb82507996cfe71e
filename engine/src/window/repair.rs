//! After a restore that failed: memory becomes what the first pass left, or the record says that it is not one pass.

use super::Window;
use super::finish::Cut;
use super::inspect::Inspection;
use super::passes::Evidence;
use super::snapshot::Workspace;
use crate::compare::WrittenBytes;
use crate::copy::{Copied, Direction, Job, Mover};
use crate::shared_memory::HostBlock;
use crate::store::Plan;
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use std::fmt::Write;
use std::ops::Range;
use std::time::Instant;

/// Most ranges that a record names.
const NAMED: usize = 8;

/// Puts the first pass's bytes back over the snapshot. `failed` are the spans that still hold a later pass's bytes.
pub(super) fn repair(
    window: &Window<'_>,
    plan: &Plan,
    current: Option<&Inspection>,
    workspace: &mut Workspace,
    evidence: &Evidence,
    failed: &[(usize, Range<u64>)],
) -> Cut {
    let Some(current) = current.filter(|_| evidence.first.is_some()) else {
        // Nothing was compared, so nothing was kept.
        return tainted(plan, failed);
    };
    let left: Vec<(usize, Range<u64>)> = failed
        .iter()
        .filter(|(region, span)| {
            !is_covered(&current.changes[*region].ranges, span, &evidence.written[*region])
        })
        .cloned()
        .collect();
    let rewritten = put_first_pass(window, plan, workspace, &evidence.written);
    match rewritten {
        Ok(()) if left.is_empty() => {
            Cut::new(Reason::RestoreFailed, "a copy failed; memory holds the result of the first pass")
        }
        Ok(()) => tainted(plan, &left),
        Err(region) => tainted(plan, &[left, vec![(region, 0..plan.regions[region].bytes)]].concat()),
    }
}

/// Whether all that changed in a span also changed in the first pass, whose bytes are known.
fn is_covered(changes: &[Range<u64>], span: &Range<u64>, first: &WrittenBytes) -> bool {
    changes.iter().filter(|change| change.start < span.end && span.start < change.end).all(|change| {
        first.pieces().any(|(offset, bytes)| {
            offset <= change.start && change.end <= offset.saturating_add(bytes.len() as u64)
        })
    })
}

/// Writes what the first pass left. The error is the first region that could not be written.
fn put_first_pass(
    window: &Window<'_>,
    plan: &Plan,
    workspace: &mut Workspace,
    written: &[WrittenBytes],
) -> Result<(), usize> {
    let deadline = Instant::now() + window.process.settings.timeout;
    let mover = Mover::new(window.process, window.agent.agent, Direction::ToDevice, deadline);
    for (region, written) in written.iter().enumerate() {
        for (offset, bytes) in written.pieces() {
            let block: &mut HostBlock = workspace.scratch.as_mut().ok_or(region)?;
            let step = usize::try_from(block.bytes()).unwrap_or(usize::MAX).min(1 << 20);
            for (part, at) in bytes.chunks(step).zip((offset..).step_by(step)) {
                block.fill(part);
                let region_of = Arc::clone(&plan.regions[region]);
                let job =
                    Job { region: region_of, offset: at, host: block.address(), bytes: part.len() as u64 };
                match mover.run(&[job])[..] {
                    [Copied::Done | Copied::Gone] => {}
                    _ => return Err(region),
                }
            }
        }
    }
    Ok(())
}

fn tainted(plan: &Plan, ranges: &[(usize, Range<u64>)]) -> Cut {
    let mut detail = "memory is not one complete pass at".to_owned();
    for (at, (region, range)) in ranges.iter().take(NAMED).enumerate() {
        let base = plan.regions[*region].base;
        let comma = if at == 0 { "" } else { "," };
        let _ = write!(detail, "{comma} {:#x}..{:#x}", base + range.start, base + range.end);
    }
    if ranges.len() > NAMED {
        let _ = write!(detail, " and {} more ranges", ranges.len() - NAMED);
    }
    Cut { tainted: true, ..Cut::new(Reason::RestoreFailed, detail) }
}
