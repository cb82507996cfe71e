//! Scratch memory: the runtime gives it to the queue, and more when a dispatch needs more.
//!
//! A dispatch that does not fit makes the queue write 1 to its inactive signal and wait; the runtime allocates,
//! describes the area in the queue's structure and writes 0. A queue marked for single use gives the area back after
//! each dispatch with 512. For reclaim without a stop, the queue notes which packet used an area last.

use super::Trouble;
use super::amd_queue::{AmdQueue, Area, ScratchArea};
use super::packet::Dispatch;
use crate::dispatch::Scratch;
use crate::events::Events;
use crate::memory::{Fault, View};

/// Value of the inactive signal that asks for more scratch for waves of 64 lanes.
const INSUFFICIENT: i64 = 1;

/// Value of the inactive signal that gives single-use scratch back.
const RECLAIM: i64 = 512;

/// Bytes in the unit of a wave's size.
const UNIT: u64 = 1024;

/// Where a queue stands with its runtime.
#[derive(Debug, Default)]
pub(super) struct ScratchKeeper {
    /// The inactive signal was written; the runtime answers by clearing it.
    waiting: bool,
}

/// The answer to a dispatch's need.
#[derive(Debug)]
pub(super) enum Grant {
    /// Go ahead; none if the dispatch needs none.
    Ready(Option<Scratch>),
    /// The runtime was asked: try again later.
    Asked,
}

impl ScratchKeeper {
    /// Finds scratch for a dispatch, or asks the runtime for it.
    pub(super) fn acquire(
        &mut self,
        view: &View<'_>,
        queue: &AmdQueue,
        events: &Events,
        packet: &Dispatch,
        index: u64,
    ) -> Result<Grant, Trouble> {
        if self.waiting {
            if queue.inactive_signal(view)?.value(view)? != 0 {
                return Ok(Grant::Asked);
            }
            self.waiting = false;
        }
        if packet.private_bytes == 0 {
            return Ok(Grant::Ready(None));
        }
        let limit = queue.alternate_limit(view)?;
        let within = packet.grid.iter().zip(limit).all(|(size, limit)| *size <= limit);
        for area in [Area::Main, Area::Alternate] {
            if area == Area::Alternate && !within {
                continue;
            }
            // Note the use first, then look: the runtime takes the area away in the opposite order.
            queue.note_scratch_use(view, area, index)?;
            let described = queue.scratch(view, area)?;
            if described.lane_bytes >= packet.private_bytes
                && let Some(scratch) = divide(&described)
            {
                return Ok(Grant::Ready(Some(scratch)));
            }
        }
        self.waiting = true;
        queue.inactive_signal(view)?.store(view, events, INSUFFICIENT)?;
        Ok(Grant::Asked)
    }

    /// Gives single-use scratch back after a dispatch.
    pub(super) fn after(&mut self, view: &View<'_>, queue: &AmdQueue, events: &Events) -> Result<(), Fault> {
        if queue.scratch_once(view)? {
            self.waiting = true;
            queue.inactive_signal(view)?.store(view, events, RECLAIM)?;
        }
        Ok(())
    }
}

/// Cuts an area into pieces for waves; none if it has no room for one.
fn divide(area: &ScratchArea) -> Option<Scratch> {
    let wave_bytes = u64::from(area.tmpring >> 12 & 0x1fff) * UNIT;
    let room = area.bytes.checked_div(wave_bytes)?;
    let waves = u64::from(area.tmpring & 0xfff).min(room);
    let waves = u32::try_from(waves).ok().filter(|w| *w > 0)?;
    Some(Scratch { base: area.base, wave_bytes, waves })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_divided_by_waves_and_never_overrun() {
        let area = ScratchArea { base: 0x1000, bytes: 10 * 4096, lane_bytes: 64, tmpring: 4 << 12 | 128 };
        assert_eq!(divide(&area), Some(Scratch { base: 0x1000, wave_bytes: 4096, waves: 10 }));
        assert_eq!(divide(&ScratchArea { bytes: 100, ..area }), None);
        assert_eq!(divide(&ScratchArea { tmpring: 128, ..area }), None);
    }
}
