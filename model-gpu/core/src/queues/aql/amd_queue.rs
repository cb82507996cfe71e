//! The queue structure in the program's memory (`amd_queue_t`), as the packet processor uses it.

use crate::events::Events;
use crate::memory::{Fault, View};
use crate::queues::{Queue, QueueError};
use crate::signal::Signal;

/// Byte offsets in `amd_queue_t` and `amd_queue_v2_t` (amd_hsa_queue.h).
mod offset {
    pub const TYPE: u64 = 0;
    pub const CAPS: u64 = 40;
    pub const READ_DISPATCH_ID: u64 = 128;
    pub const TMPRING_SIZE: u64 = 140;
    pub const SCRATCH_RESOURCE: u64 = 144;
    pub const SCRATCH_LOCATION: u64 = 160;
    pub const SCRATCH_BYTES: u64 = 168;
    pub const SCRATCH_LANE_BYTES: u64 = 176;
    pub const PROPERTIES: u64 = 180;
    pub const INACTIVE_SIGNAL: u64 = 192;
    pub const ALT_LIMIT: u64 = 232;
    pub const ALT_LANE_BYTES: u64 = 244;
    pub const ALT_TMPRING_SIZE: u64 = 248;

    /// Where the first version of the structure differs.
    pub mod v1 {
        pub const LAST_USED: u64 = 184;
        pub const ALT_LAST_USED: u64 = 208;
        pub const ALT_LOCATION: u64 = 216;
        pub const ALT_BYTES: u64 = 224;
    }

    /// Where the second version differs.
    pub mod v2 {
        pub const MAX_USE: u64 = 184;
        pub const ALT_MAX_USE: u64 = 200;
        pub const ALT_LOCATION: u64 = 224;
        pub const LAST_USED: u64 = 256;
        pub const ALT_LAST_USED: u64 = 264;
    }
}

/// Byte offsets in the header of the context save area (`kfd_context_save_area_header`).
mod save_area {
    pub const ERROR_PAYLOAD: u64 = 24;
    pub const ERROR_EVENT: u64 = 32;
}

/// AMD_QUEUE_PROPERTIES_ENABLE_PROFILING.
const PROFILING: u32 = 1 << 3;
/// AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE.
const SCRATCH_ONCE: u32 = 1 << 4;
/// AMD_QUEUE_CAPS_CP_ASYNC_RECLAIM: set by the device.
const DEVICE_RECLAIM: u32 = 1;
/// AMD_QUEUE_CAPS_SW_ASYNC_RECLAIM: set by a runtime whose structure has the second version's fields.
const SECOND_VERSION: u32 = 2;

/// One of the two scratch areas that a runtime gives a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Area {
    /// For any dispatch.
    Main,
    /// For dispatches within the limits that the runtime set.
    Alternate,
}

/// A scratch area as the runtime described it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchArea {
    /// Device address.
    pub base: u64,
    /// Bytes in all; zero if the runtime does not say.
    pub bytes: u64,
    /// Bytes that each lane of a wave has.
    pub lane_bytes: u32,
    /// COMPUTE_TMPRING_SIZE: waves in bits 11:0, size of a wave in kibibytes in bits 24:12.
    pub tmpring: u32,
}

/// The structure of one queue, by its address.
#[derive(Clone, Copy, Debug)]
pub struct AmdQueue {
    address: u64,
    save_area: u64,
}

impl AmdQueue {
    /// The structure of `queue`: it holds the read index at a fixed place.
    #[must_use]
    pub fn of(queue: &Queue) -> Self {
        let address = queue.spec.read_pointer.wrapping_sub(offset::READ_DISPATCH_ID);
        Self { address, save_area: queue.spec.save_area }
    }

    /// Device address of the structure.
    #[must_use]
    pub fn address(self) -> u64 {
        self.address
    }

    fn at(self, offset: u64) -> u64 {
        self.address.wrapping_add(offset)
    }

    /// Whether the program promised to ring from one thread at a time only (`HSA_QUEUE_TYPE_SINGLE`).
    pub(in crate::queues) fn has_one_producer(self, view: &View<'_>) -> bool {
        view.load::<u32>(self.at(offset::TYPE)) == Ok(1)
    }

    /// Says that scratch may be reclaimed without stopping the queue, as the firmware of this device does.
    pub(super) fn announce_capabilities(self, view: &View<'_>) -> Result<(), Fault> {
        let caps: u32 = view.load(self.at(offset::CAPS))?;
        view.store(self.at(offset::CAPS), caps | DEVICE_RECLAIM)
    }

    /// Whether completed packets shall leave their times in their signals.
    pub(super) fn profiling(self, view: &View<'_>) -> Result<bool, Fault> {
        Ok(view.load::<u32>(self.at(offset::PROPERTIES))? & PROFILING != 0)
    }

    /// Whether scratch goes back to the runtime after each dispatch.
    pub(super) fn scratch_once(self, view: &View<'_>) -> Result<bool, Fault> {
        Ok(view.load::<u32>(self.at(offset::PROPERTIES))? & SCRATCH_ONCE != 0)
    }

    fn is_second_version(self, view: &View<'_>) -> Result<bool, Fault> {
        Ok(view.load::<u32>(self.at(offset::CAPS))? & SECOND_VERSION != 0)
    }

    /// The buffer resource of the queue's scratch, which kernels for targets without architected scratch get.
    pub(crate) fn scratch_resource(self, view: &View<'_>) -> Result<[u32; 4], Fault> {
        let mut words = [0; 4];
        for (n, word) in (0..).zip(&mut words) {
            *word = view.load(self.at(offset::SCRATCH_RESOURCE + 4 * n))?;
        }
        Ok(words)
    }

    pub(super) fn scratch(self, view: &View<'_>, area: Area) -> Result<ScratchArea, Fault> {
        let second = self.is_second_version(view)?;
        let (base, bytes, lane, tmpring) = match area {
            Area::Main => {
                let bytes = Some(offset::SCRATCH_BYTES).filter(|_| !second);
                (offset::SCRATCH_LOCATION, bytes, offset::SCRATCH_LANE_BYTES, offset::TMPRING_SIZE)
            }
            Area::Alternate => {
                let (base, bytes) = if second {
                    (offset::v2::ALT_LOCATION, None)
                } else {
                    (offset::v1::ALT_LOCATION, Some(offset::v1::ALT_BYTES))
                };
                (base, bytes, offset::ALT_LANE_BYTES, offset::ALT_TMPRING_SIZE)
            }
        };
        Ok(ScratchArea {
            base: view.load(self.at(base))?,
            bytes: bytes.map_or(Ok(0), |bytes| view.load(self.at(bytes)))?,
            lane_bytes: view.load(self.at(lane))?,
            tmpring: view.load(self.at(tmpring))?,
        })
    }

    /// Whether packet `index` may still use a scratch area: the second version sets a limit to reclaim an area.
    pub(super) fn may_use_scratch(self, view: &View<'_>, area: Area, index: u64) -> Result<bool, Fault> {
        if !self.is_second_version(view)? {
            return Ok(true);
        }
        let limit = match area {
            Area::Main => offset::v2::MAX_USE,
            Area::Alternate => offset::v2::ALT_MAX_USE,
        };
        Ok(index <= view.load(self.at(limit))?)
    }

    /// The largest grid that may use the alternate area.
    pub(super) fn alternate_limit(self, view: &View<'_>) -> Result<[u32; 3], Fault> {
        let mut limit = [0; 3];
        for (word, at) in limit.iter_mut().zip((offset::ALT_LIMIT..).step_by(4)) {
            *word = view.load(self.at(at))?;
        }
        Ok(limit)
    }

    /// Notes that packet `index` uses a scratch area, for the runtime's reclaim.
    pub(super) fn note_scratch_use(self, view: &View<'_>, area: Area, index: u64) -> Result<(), Fault> {
        let at = match (area, self.is_second_version(view)?) {
            (Area::Main, false) => offset::v1::LAST_USED,
            (Area::Alternate, false) => offset::v1::ALT_LAST_USED,
            (Area::Main, true) => offset::v2::LAST_USED,
            (Area::Alternate, true) => offset::v2::ALT_LAST_USED,
        };
        view.store(self.at(at), index)
    }

    /// The signal through which queue and runtime talk about scratch and, without exceptions, about errors.
    pub(super) fn inactive_signal(self, view: &View<'_>) -> Result<Signal, Fault> {
        Ok(Signal(view.load(self.at(offset::INACTIVE_SIGNAL))?))
    }

    /// Reports an error where the runtime asked for it: by exception mask if the save area's header names a place,
    /// else by the value of the inactive signal.
    pub(super) fn raise(self, view: &View<'_>, events: &Events, error: QueueError) -> Result<(), Fault> {
        if self.save_area != 0 {
            let payload: u64 = view.load(self.save_area.wrapping_add(save_area::ERROR_PAYLOAD))?;
            let event: u32 = view.load(self.save_area.wrapping_add(save_area::ERROR_EVENT))?;
            if payload != 0 {
                let before: u64 = view.load(payload)?;
                view.store(payload, before | error.exception_mask())?;
                if event != 0 {
                    // The runtime may be shutting down; then nobody waits.
                    let _ = events.set(event);
                }
                return Ok(());
            }
        }
        self.inactive_signal(view)?.store(view, events, error.inactive_value())
    }
}
