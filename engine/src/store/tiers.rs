//! Which tier a snapshot goes to.
//!
//! Where memory is compared after each pass, host memory comes first: the host looks at the saved bytes every time, and would have to
//! fetch them from the agent. Without the comparison the agent's own memory comes first: nothing leaves the agent then. The disk
//! is for what fits in neither.

use super::Store;
use super::device::{DeviceStore, Hidden};
use super::disk::DiskStore;
use super::host::HostStore;
use crate::handles::Agent;
use crate::runtime::Runtime;
use crate::sync::Arc;
use hsa_replay_contract::record::Tier;
use std::fmt::Write;
use std::path::PathBuf;

/// Of the host's available memory, what a budget of the user's own leaves.
const HOST_RESERVE_PART: u64 = 8;

/// The tiers of one agent.
pub(crate) struct Tiers {
    runtime: Arc<dyn Runtime>,
    device: DeviceStore,
    host: HostStore,
    disk: Option<DiskStore>,
    chosen: Tier,
}

/// Why no tier can have a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// It is larger than the budget, or than what any tier may take.
    OverBudget(String),
    /// Room that should be there could not be had.
    Failed(String),
}

impl Tiers {
    /// `spill` is the folder of the disk tier; there is none without.
    pub(crate) fn new(
        runtime: &Arc<dyn Runtime>,
        agent: Agent,
        spill: Option<PathBuf>,
        hidden: Hidden,
    ) -> Self {
        Self {
            runtime: Arc::clone(runtime),
            device: DeviceStore::new(Arc::clone(runtime), agent, hidden),
            host: HostStore::new(Arc::clone(runtime)),
            disk: spill.map(|folder| DiskStore::new(Arc::clone(runtime), folder)),
            chosen: Tier::Host,
        }
    }

    /// Refuses a snapshot of `bytes` bytes that no tier may take. Cheap where a former window had one as large.
    pub(crate) fn check(&self, bytes: u64, budget: Option<u64>) -> Result<(), NoRoom> {
        if let Some(budget) = budget.filter(|&budget| bytes > budget) {
            return Err(NoRoom::OverBudget(format!("{bytes} bytes of {budget}")));
        }
        self.check_room(bytes, budget)
    }

    fn check_room(&self, bytes: u64, budget: Option<u64>) -> Result<(), NoRoom> {
        let all = [Tier::Host, Tier::Device, Tier::Disk];
        if all.iter().any(|&tier| self.has(tier, bytes) || bytes <= self.most(tier, budget)) {
            return Ok(());
        }
        let mut said = format!("{bytes} bytes; there is room for");
        for (at, tier) in all.into_iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(said, "{comma} {} ({})", self.most(tier, budget), tier.name());
        }
        Err(NoRoom::OverBudget(said))
    }

    /// Makes room in the first tier that has it for a snapshot that is within the budget; `bytes` are those of its layout.
    pub(crate) fn choose(&mut self, bytes: u64, budget: Option<u64>, compared: bool) -> Result<(), NoRoom> {
        self.check_room(bytes, budget)?;
        let order = if compared {
            [Tier::Host, Tier::Device, Tier::Disk]
        } else {
            [Tier::Device, Tier::Host, Tier::Disk]
        };
        let mut problems = String::new();
        for tier in order {
            if !self.has(tier, bytes) && bytes > self.most(tier, budget) {
                continue;
            }
            let Some(store) = self.tier(tier) else { continue };
            match store.reserve(bytes) {
                Ok(()) => {
                    self.chosen = tier;
                    return Ok(());
                }
                Err(problem) => {
                    tracing::warn!("no room for {bytes} bytes on the {} tier: {problem}", tier.name());
                    let semicolon = if problems.is_empty() { "" } else { "; " };
                    let _ = write!(problems, "{semicolon}{}: {problem}", tier.name());
                }
            }
        }
        Err(NoRoom::Failed(format!("no room for {bytes} bytes: {problems}")))
    }

    /// The tier chosen last.
    pub(crate) fn store(&mut self) -> &mut dyn Store {
        match (self.chosen, &mut self.disk) {
            (Tier::Device, _) => &mut self.device,
            (Tier::Disk, Some(disk)) => disk,
            (Tier::Host, _) | (Tier::Disk, None) => &mut self.host,
        }
    }

    /// A window has ended.
    pub(crate) fn rest(&mut self) {
        self.device.rest();
    }

    /// Frees the agent's memory, if any is held.
    pub(crate) fn give_back(&mut self) -> bool {
        self.device.give_back()
    }

    fn tier(&mut self, tier: Tier) -> Option<&mut dyn Store> {
        match tier {
            Tier::Device => Some(&mut self.device),
            Tier::Host => Some(&mut self.host),
            Tier::Disk => self.disk.as_mut().map(|disk| -> &mut dyn Store { disk }),
        }
    }

    /// Whether a tier has room for a snapshot already.
    fn has(&self, tier: Tier, bytes: u64) -> bool {
        let reserved = match tier {
            Tier::Device => self.device.reserved(),
            Tier::Host => self.host.reserved(),
            Tier::Disk => self.disk.as_ref().map_or(0, Store::reserved),
        };
        reserved > 0 && bytes <= reserved
    }

    /// Most bytes that a snapshot may have on a tier.
    fn most(&self, tier: Tier, budget: Option<u64>) -> u64 {
        match tier {
            Tier::Device => self.device.most(),
            Tier::Disk => self.disk.as_ref().map_or(0, DiskStore::most),
            Tier::Host => {
                let available = self.runtime.available_host_memory().unwrap_or(u64::MAX / 2);
                // What the store holds already is not available any more, but it is ours.
                let room = match budget {
                    Some(_) => available - available / HOST_RESERVE_PART,
                    None => available / 2,
                };
                room.saturating_add(self.host.reserved())
            }
        }
    }
}
