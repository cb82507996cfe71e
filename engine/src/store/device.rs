//! The device tier: memory of the agent itself. Copies run at the speed of its memory, but the host has to fetch what it wants
//! to look at.
//!
//! The application must not feel the arena. It is never made larger than free memory less what scratch memory may need, since the
//! runtime takes scratch from the same memory and fails the program's queue when there is none. It is hidden from the answers on
//! free memory (see [`Hidden`]), does not outlive its window while memory is scarce, and is given back when an allocation of the
//! application fails.

use super::staging::Staging;
use super::{Move, Plan, Store, Trouble, WrittenBack};
use crate::copy::Mover;
use crate::handles::Agent;
use crate::runtime::{DeviceMemory, Runtime};
use crate::sync::{Arc, AtomicU64, Ordering};
use hsa_replay_contract::record::Tier;
use std::ops::Range;

/// Growth of the arena is rounded up to this.
const GRAIN: u64 = 2 << 20;
/// What part of all memory stays free for scratch memory.
const SCRATCH_PART: u64 = 8;
/// What part of all memory must be free for the arena to stay from one window to the next.
const AMPLE_PART: u64 = 4;

/// Bytes of an agent's memory that the application must not know to be taken.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hidden(Arc<AtomicU64>);

impl Hidden {
    pub(crate) fn bytes(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    fn add(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::AcqRel);
    }

    fn subtract(&self, bytes: u64) {
        self.0.fetch_sub(bytes, Ordering::AcqRel);
    }
}

/// One arena in the agent's memory.
pub(super) struct DeviceStore {
    runtime: Arc<dyn Runtime>,
    agent: Agent,
    arena: Option<Arena>,
    staging: Staging,
    hidden: Hidden,
}

struct Arena {
    address: u64,
    bytes: u64,
    /// A copy that did not end may still be at it: it serves this window to its end, and is never freed.
    lost: bool,
}

impl DeviceStore {
    pub(super) fn new(runtime: Arc<dyn Runtime>, agent: Agent, hidden: Hidden) -> Self {
        let staging = Staging::new(Arc::clone(&runtime));
        Self { runtime, agent, arena: None, staging, hidden }
    }

    /// Most bytes that a snapshot may have here.
    pub(super) fn most(&self) -> u64 {
        let room = |memory: DeviceMemory| memory.free.saturating_sub(memory.total / SCRATCH_PART);
        // The free memory that the runtime names is without the arena.
        self.runtime.device_memory(self.agent).map_or(0, room) + self.reserved()
    }

    /// A window has ended: the arena stays only where memory is ample.
    pub(super) fn rest(&mut self) {
        let ample = |memory: DeviceMemory| memory.free >= memory.total / AMPLE_PART;
        let lost = self.arena.as_ref().is_some_and(|arena| arena.lost);
        if lost || self.arena.is_some() && !self.runtime.device_memory(self.agent).is_ok_and(ample) {
            self.give_back();
        }
    }

    /// Frees the arena, if there is one.
    pub(super) fn give_back(&mut self) -> bool {
        let Some(arena) = self.arena.take() else { return false };
        if arena.lost {
            // It stays hidden: that it is taken is not the application's doing.
            return false;
        }
        if let Err(error) = self.runtime.free_device(arena.address) {
            tracing::warn!("{} bytes of device memory stay allocated: {error}", arena.bytes);
        }
        self.hidden.subtract(arena.bytes);
        true
    }

    /// Where the arena begins, if there is one.
    fn base(&self) -> Result<u64, Trouble> {
        self.arena.as_ref().map(|arena| arena.address).ok_or_else(Trouble::no_room)
    }
}

impl Store for DeviceStore {
    fn tier(&self) -> Tier {
        Tier::Device
    }

    fn reserve(&mut self, bytes: u64) -> Result<(), String> {
        if self.arena.is_none() || self.reserved() < bytes {
            self.give_back();
            let most = self.most();
            let bytes =
                bytes.max(1).checked_next_multiple_of(GRAIN).filter(|&all| all <= most).unwrap_or(bytes);
            if bytes > most {
                return Err(format!("the agent has room for {most} bytes"));
            }
            let address =
                self.runtime.allocate_device(self.agent, bytes).map_err(|error| error.to_string())?;
            self.arena = Some(Arena { address, bytes, lost: false });
            self.hidden.add(bytes);
        }
        self.staging.reserve()
    }

    fn reserved(&self) -> u64 {
        self.arena.as_ref().filter(|arena| !arena.lost).map_or(0, |arena| arena.bytes)
    }

    fn save(&mut self, plan: &Plan, mover: &Mover<'_>) -> Result<(), Trouble> {
        let base = self.base()?;
        let job =
            |each: &Move| mover.within_device(plan.regions_of(each), each.device, base + each.at, each.bytes);
        Trouble::saving(plan, &plan.moves, |moves| mover.run(&moves.iter().map(job).collect::<Vec<_>>()))
    }

    fn write_back(&mut self, plan: &Plan, parts: &[(usize, Range<u64>)], mover: &Mover<'_>) -> WrittenBack {
        let Ok(base) = self.base() else { return WrittenBack::nothing(parts) };
        WrittenBack::by(plan, parts, |moves| {
            let job = |each: &Move| {
                mover.within_device(plan.regions_of(each), base + each.at, each.device, each.bytes)
            };
            mover.run(&moves.iter().map(job).collect::<Vec<_>>())
        })
    }

    fn bytes(&mut self, plan: &Plan, piece: usize, mover: &Mover<'_>) -> Result<&[u8], Trouble> {
        let base = self.base()?;
        self.staging.bytes(plan, piece, |at, bytes, block| {
            let (device, host) = (base + at, block.address());
            let copied = mover.run(&[mover.to_host(&[], device, host, bytes)]);
            Trouble::of(copied[0], device, bytes).map_or(Ok(()), Err)
        })
    }

    fn abandon(&mut self) {
        if let Some(arena) = &mut self.arena {
            arena.lost = true;
        }
        self.staging.abandon();
    }
}

impl Drop for DeviceStore {
    fn drop(&mut self) {
        self.give_back();
    }
}
