//! One region of memory that a window may capture: a live allocation or a writable segment of loaded code.

use super::in_use::{InUse, Later};
use crate::code::ModuleRegion;
use crate::handles::Agent;
use crate::sync::{Arc, AtomicU8, Ordering};
use std::ops::Range;
use std::sync::OnceLock;

/// What a region is to the report.
#[derive(Clone, Debug)]
pub(crate) enum RegionKind {
    /// Memory that the application allocated.
    Allocation,
    /// Physical memory that the application mapped: the same one may be mapped elsewhere too.
    Mapping(Physical),
    /// A writable segment of a loaded code object.
    Module(Arc<ModuleRegion>),
}

/// The physical memory behind a mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Physical {
    /// Never given again.
    pub(crate) number: u64,
    pub(crate) offset: u64,
}

/// Why memory is not captured and not restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusion {
    /// Allocated for kernel arguments, or a packet took its arguments from it.
    Kernarg,
    /// Host memory.
    Host,
    /// Device memory that is coherent with the host or other devices while a kernel runs.
    FineGrained,
    /// A mapping that its agent may not write: nothing there changes, so nothing has to be put back.
    NoAccess,
    /// Host memory that was locked for agents.
    Locked,
    /// Managed (SVM) memory, which moves.
    Managed,
    /// Memory of another process.
    Import,
    /// Memory of another programming interface.
    Interop,
    /// Exported to another process or opened to another GPU.
    SharedOut,
    /// The program asked for it to be left out.
    Program,
    /// The runtime refused to free it after its record was gone.
    FailedFree,
    /// A pool that no agent lists, or an owner that the runtime contradicts.
    Unknown,
}

/// What the program asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// To be captured if its kind allows that.
    Include,
    /// To be left out.
    Exclude,
}

/// A region and its life. The value is its identity: memory that was freed and allocated again at the same address is another
/// region, and the old one is gone for good.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) kind: RegionKind,
    pub(crate) base: u64,
    pub(crate) bytes: u64,
    pub(crate) owner: Agent,
    in_use: InUse,
    /// Found out after allocation.
    excluded: OnceLock<Exclusion>,
    /// What the program asks for: 0 nothing, 1 and 2 as [`Asked`].
    asked: AtomicU8,
    /// Whether the runtime agrees with what the call said.
    confirmed: OnceLock<bool>,
}

impl Region {
    pub(crate) fn new(kind: RegionKind, base: u64, bytes: u64, owner: Agent) -> Self {
        Self {
            kind,
            base,
            bytes,
            owner,
            in_use: InUse::new(),
            excluded: OnceLock::new(),
            asked: AtomicU8::new(0),
            confirmed: OnceLock::new(),
        }
    }

    /// What stands for a part of this memory when this region is gone: what was found out and asked still holds.
    pub(crate) fn successor(&self, part: Range<u64>) -> Self {
        let mut kind = self.kind.clone();
        if let RegionKind::Mapping(physical) = &mut kind {
            physical.offset += part.start - self.base;
        }
        let region = Self::new(kind, part.start, part.end - part.start, self.owner);
        if let Some(exclusion) = self.exclusion() {
            region.exclude(exclusion);
        }
        region.asked.store(self.asked.load(Ordering::Acquire), Ordering::Release);
        region
    }

    pub(crate) fn end(&self) -> u64 {
        self.base.saturating_add(self.bytes)
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        (self.base..self.end()).contains(&address)
    }

    /// Keeps what it stands for until it has been put back as a whole; `None` when it is gone or about to go.
    pub(crate) fn pin(self: &Arc<Self>) -> Option<Pin> {
        self.in_use.pin().then(|| Pin { region: Arc::clone(self) })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.in_use.is_gone()
    }

    /// The memory is about to go: no copy of it begins any more, and the one under way is waited for. If it stays after all, a
    /// successor stands for it: windows have gone on without this region.
    pub(crate) fn retire(&self) {
        self.in_use.retire();
    }

    /// The same on a thread that does not wait: copies may still be under way, see [`Region::when_not_copied`].
    pub(crate) fn retire_at_once(&self) {
        self.in_use.retire_at_once();
    }

    /// Whether a copy of it is under way, or it is being put back.
    pub(crate) fn is_being_copied(&self) -> bool {
        self.in_use.is_being_copied()
    }

    /// Acts when no copy of these regions, which are gone or leaving, is under way and none is being put back: now, or on the thread that ends the last one.
    pub(crate) fn when_not_copied<'a>(
        regions: impl IntoIterator<Item = &'a Arc<Self>>,
        act: impl FnOnce() + Send + 'static,
    ) {
        Later::act(regions.into_iter().map(|region| &region.in_use), act);
    }

    /// As [`Region::retire`] for memory that stays, at another address or with other rights: what a window has left there is put
    /// back first, all of it.
    pub(crate) fn retire_unpinned(&self) {
        self.in_use.retire_unpinned();
    }

    /// The same on a thread that does not wait: it is gone when it is being put back no more, see [`Region::when_not_copied`].
    pub(crate) fn leave_at_once(&self) {
        self.in_use.leave_at_once();
    }

    /// The physical memory behind a mapping.
    pub(crate) fn physical(&self) -> Option<Physical> {
        match self.kind {
            RegionKind::Mapping(physical) => Some(physical),
            RegionKind::Allocation | RegionKind::Module(_) => None,
        }
    }

    /// Whether two regions are mappings of the same physical memory.
    pub(crate) fn shares_physical(&self, other: &Self) -> bool {
        self.physical().is_some_and(|own| other.physical().is_some_and(|other| own.number == other.number))
    }

    /// The answer of `ask`, which is called once.
    pub(crate) fn confirmed(&self, ask: impl FnOnce() -> bool) -> bool {
        *self.confirmed.get_or_init(ask)
    }

    /// Excludes the region for good. The first reason stays.
    pub(crate) fn exclude(&self, exclusion: Exclusion) {
        let _ = self.excluded.set(exclusion);
    }

    /// Notes what the program asks for; the last request counts.
    pub(crate) fn ask(&self, asked: Asked) {
        self.asked.store(if asked == Asked::Include { 1 } else { 2 }, Ordering::Release);
    }

    /// What the program asks for.
    pub(crate) fn asked(&self) -> Option<Asked> {
        match self.asked.load(Ordering::Acquire) {
            0 => None,
            1 => Some(Asked::Include),
            _ => Some(Asked::Exclude),
        }
    }

    /// The exclusion found out after allocation.
    pub(crate) fn exclusion(&self) -> Option<Exclusion> {
        self.excluded.get().copied()
    }
}

/// Memory that is being copied and does not go away meanwhile.
#[derive(Debug)]
pub(crate) struct Held<'a> {
    regions: &'a [Arc<Region>],
}

impl<'a> Held<'a> {
    /// Holds the memory of all these regions for one copy; `None` when any is gone.
    pub(crate) fn all(regions: &'a [Arc<Region>]) -> Option<Self> {
        let gone = regions.iter().position(|region| !region.in_use.begin_copy());
        let held = Held { regions: &regions[..gone.unwrap_or(regions.len())] };
        gone.is_none().then_some(held)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.regions.iter().for_each(|region| region.in_use.end_copy());
    }
}

/// Memory that is being put back and stays what it is meanwhile.
#[derive(Debug)]
pub(crate) struct Pin {
    region: Arc<Region>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.region.in_use.unpin();
    }
}
