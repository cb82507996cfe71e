//! After a restore that failed: memory becomes what the first pass left, or the record says that it is not one pass.

use super::Window;
use super::evidence::Evidence;
use super::finish::Cut;
use super::inspect::Inspection;
use super::snapshot::Workspace;
use crate::compare::WrittenBytes;
use crate::copy::{Copied, Mover};
use crate::inventory::Region;
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
    let unwritten = put_first_pass(window, plan, workspace, &evidence.written);
    if left.is_empty() && unwritten.is_empty() {
        return Cut::new(Reason::RestoreFailed, "a copy failed; memory holds the result of the first pass");
    }
    tainted(plan, &[left, unwritten].concat())
}

/// Whether all that changed in a span also changed in the first pass, whose bytes are known.
fn is_covered(changes: &[Range<u64>], span: &Range<u64>, first: &WrittenBytes) -> bool {
    changes.iter().filter(|change| change.start < span.end && span.start < change.end).all(|change| {
        first.pieces().any(|(offset, bytes)| {
            offset <= change.start && change.end <= offset.saturating_add(bytes.len() as u64)
        })
    })
}

/// Writes what the first pass left, and gives the ranges that could not be written.
fn put_first_pass(
    window: &Window<'_>,
    plan: &Plan,
    workspace: &mut Workspace,
    written: &[WrittenBytes],
) -> Vec<(usize, Range<u64>)> {
    let deadline = Instant::now() + window.process.settings.timeout;
    let mover = Mover::new(window.process, window.agent.agent, deadline);
    let mut unwritten = Vec::new();
    for (region, written) in written.iter().enumerate() {
        for (offset, bytes) in written.pieces() {
            if !put(&mover, &plan.regions[region], offset, bytes, &mut workspace.scratch) {
                unwritten.push((region, offset..offset + bytes.len() as u64));
            }
        }
    }
    unwritten
}

/// Copies bytes to a region by way of the scratch block.
pub(super) fn put(
    mover: &Mover<'_>,
    region: &Arc<Region>,
    offset: u64,
    bytes: &[u8],
    scratch: &mut Option<HostBlock>,
) -> bool {
    const STEP: usize = 1 << 20;
    let Some(block) = scratch else {
        return false;
    };
    let step = usize::try_from(block.bytes()).unwrap_or(usize::MAX).min(STEP);
    for (part, offset) in bytes.chunks(step).zip((offset..).step_by(step)) {
        block.fill(part);
        let (owner, device) = (std::slice::from_ref(region), region.base + offset);
        let job = mover.to_device(owner, device, block.address(), part.len() as u64);
        match mover.run(&[job])[..] {
            [Copied::Done | Copied::Gone] => {}
            [Copied::Stuck] => {
                // The device may still read from it.
                scratch.take().into_iter().for_each(HostBlock::leak);
                return false;
            }
            _ => return false,
        }
    }
    true
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
