//! One region of memory that a window may capture: a live allocation or a writable segment of loaded code.

use crate::code::ModuleRegion;
use crate::handles::Agent;
use crate::sync::{Arc, AtomicBool, AtomicU8, AtomicUsize, Condvar, Mutex, Ordering};
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
    gone: AtomicBool,
    used: Mutex<Use>,
    unused: Condvar,
    /// Found out after allocation.
    excluded: OnceLock<Exclusion>,
    /// What the program asks for: 0 nothing, 1 and 2 as [`Asked`].
    asked: AtomicU8,
    /// Whether the runtime agrees with what the call said.
    confirmed: OnceLock<bool>,
}

/// Who is at the memory of a region.
#[derive(Debug, Default)]
struct Use {
    /// Copies of it under way.
    copies: usize,
    /// Windows that are about to put it back, or at it.
    pins: usize,
    /// It goes when they are through; no more come.
    is_leaving: bool,
    /// What is done when the last copy has ended.
    then: Vec<Later>,
}

/// Something that is done when the last copy of several regions has ended, by whoever ends it: a free on a thread that may
/// not wait.
#[derive(Clone)]
pub(crate) struct Later(Arc<Postponed>);

struct Postponed {
    /// Regions that are being copied, and one more while they are counted.
    left: AtomicUsize,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl std::fmt::Debug for Later {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Later").field(&self.0.left).finish()
    }
}

impl Later {
    /// Acts when no copy of these regions is under way, which may be now. None begins: the regions are gone.
    pub(crate) fn act<'a>(
        regions: impl IntoIterator<Item = &'a Arc<Region>>,
        act: impl FnOnce() + Send + 'static,
    ) {
        let act: Box<dyn FnOnce() + Send> = Box::new(act);
        let later = Self(Arc::new(Postponed { left: AtomicUsize::new(1), act: Mutex::new(Some(act)) }));
        for region in regions {
            let mut used = region.used.lock();
            if used.copies > 0 {
                later.0.left.fetch_add(1, Ordering::AcqRel);
                used.then.push(later.clone());
            }
        }
        later.settle();
    }

    fn settle(&self) {
        if self.0.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            let act = self.0.act.lock().take();
            act.into_iter().for_each(|act| act());
        }
    }
}

impl Region {
    pub(crate) fn new(kind: RegionKind, base: u64, bytes: u64, owner: Agent) -> Self {
        Self {
            kind,
            base,
            bytes,
            owner,
            gone: AtomicBool::new(false),
            used: Mutex::default(),
            unused: Condvar::new(),
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

    /// Holds the memory for a copy of one chunk; `None` when it is gone.
    pub(crate) fn hold(self: &Arc<Self>) -> Option<Held> {
        let mut used = self.used.lock();
        if self.is_gone() {
            return None;
        }
        used.copies += 1;
        Some(Held { region: Arc::clone(self) })
    }

    /// Keeps what it stands for until it has been put back as a whole; `None` when it is gone or about to go.
    pub(crate) fn pin(self: &Arc<Self>) -> Option<Pin> {
        let mut used = self.used.lock();
        if self.is_gone() || used.is_leaving {
            return None;
        }
        used.pins += 1;
        Some(Pin { region: Arc::clone(self) })
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// The memory is about to go: no copy of it begins any more, and the one under way is waited for. If it stays after all, a
    /// successor stands for it: windows have gone on without this region.
    pub(crate) fn retire(&self) {
        let mut used = self.used.lock();
        self.gone.store(true, Ordering::Release);
        while used.copies > 0 {
            self.unused.wait(&mut used);
        }
    }

    /// The same on a thread that does not wait: copies may still be under way, see [`Later`].
    pub(crate) fn retire_at_once(&self) {
        let _used = self.used.lock();
        self.gone.store(true, Ordering::Release);
    }

    /// Whether a copy of it is under way.
    pub(crate) fn is_being_copied(&self) -> bool {
        self.used.lock().copies > 0
    }

    /// The same for memory that stays, at another address or with other rights: what a window has left there is put back first,
    /// all of it.
    pub(crate) fn retire_unpinned(&self) {
        let mut used = self.used.lock();
        used.is_leaving = true;
        while used.pins > 0 {
            self.unused.wait(&mut used);
        }
        drop(used);
        self.retire();
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
pub(crate) struct Held {
    region: Arc<Region>,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut used = self.region.used.lock();
        used.copies -= 1;
        let then = if used.copies == 0 { std::mem::take(&mut used.then) } else { Vec::new() };
        drop(used);
        self.region.unused.notify_all();
        then.iter().for_each(Later::settle);
    }
}

/// Memory that is being put back and stays what it is meanwhile.
#[derive(Debug)]
pub(crate) struct Pin {
    region: Arc<Region>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.region.used.lock().pins -= 1;
        self.region.unused.notify_all();
    }
}
