//! Scratch memory: the runtime gives it to the queue, and more when a dispatch needs more.
//!
//! A dispatch that does not fit makes the queue write 1 to its inactive signal and wait; the runtime allocates,
//! describes the area in the queue's structure and writes 0. A queue marked for single use gives the area back after
//! each dispatch with 512 and waits until the mark is gone. For reclaim without a stop, the queue notes which packet
//! used an area last; a runtime of the second version suspends the queue, sets a last packet, and resumes it.

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

/// What a queue waits for from its runtime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Wait {
    #[default]
    Nothing,
    /// More scratch: the inactive signal becomes zero.
    More,
    /// The end of a single use: the mark in the queue's properties goes.
    Return,
}

/// Where a queue stands with its runtime.
#[derive(Debug, Default)]
pub(super) struct ScratchKeeper {
    wait: Wait,
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
        let answered = match self.wait {
            Wait::Nothing => true,
            Wait::More => queue.inactive_signal(view)?.value(view)? == 0,
            Wait::Return => !queue.scratch_once(view)?,
        };
        if !answered {
            return Ok(Grant::Asked);
        }
        self.wait = Wait::Nothing;
        if packet.private_bytes == 0 {
            return Ok(Grant::Ready(None));
        }
        let limit = queue.alternate_limit(view)?;
        let within = packet.grid.iter().zip(limit).all(|(size, limit)| *size <= limit);
        for area in [Area::Main, Area::Alternate] {
            if area == Area::Alternate && !within || !queue.may_use_scratch(view, area, index)? {
                continue;
            }
            if queue.scratch(view, area)?.lane_bytes < packet.private_bytes {
                continue;
            }
            // Note the use first, then look again: a runtime takes the area away in the opposite order.
            queue.note_scratch_use(view, area, index)?;
            let described = queue.scratch(view, area)?;
            if described.lane_bytes >= packet.private_bytes
                && let Some(scratch) = divide(&described)
            {
                return Ok(Grant::Ready(Some(scratch)));
            }
        }
        self.wait = Wait::More;
        queue.inactive_signal(view)?.store(view, events, INSUFFICIENT)?;
        Ok(Grant::Asked)
    }

    /// Gives single-use scratch back after a dispatch.
    pub(super) fn after(&mut self, view: &View<'_>, queue: &AmdQueue, events: &Events) -> Result<(), Fault> {
        if queue.scratch_once(view)? {
            self.wait = Wait::Return;
            queue.inactive_signal(view)?.store(view, events, RECLAIM)?;
        }
        Ok(())
    }
}

/// Cuts an area into pieces for waves; none if it has no room for one.
fn divide(area: &ScratchArea) -> Option<Scratch> {
    let wave_bytes = u64::from(area.tmpring >> 12 & 0x1fff) * UNIT;
    let mut waves = u64::from(area.tmpring & 0xfff);
    if area.bytes != 0 {
        waves = waves.min(area.bytes.checked_div(wave_bytes)?);
    }
    let waves = u32::try_from(waves).ok().filter(|w| *w > 0 && wave_bytes > 0)?;
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
        assert_eq!(divide(&ScratchArea { bytes: 0, ..area }).map(|s| s.waves), Some(128), "no size is given");
    }
}
