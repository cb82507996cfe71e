//! What the program itself asks for while it runs: which dispatches are replayed, and the names of stretches of its code.
//!
//! A request holds for the packets that the program writes after it, and for no earlier one, although packets wait in software
//! while a window is open: each queue notes the index that the program had reached. Until the first request a dispatch costs one
//! relaxed load more.

use crate::engine::Engine;
use crate::inventory::Asked;
use crate::queue::SoftQueue;
use crate::sync::{Arc, AtomicBool, Mutex, Ordering};
use hsa_replay_contract::KernelFilter;
use std::num::NonZeroU16;

/// What holds for a packet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Requests {
    /// Nothing is replayed.
    pub(crate) paused: bool,
    /// In place of the settings' filter.
    pub(crate) kernels: Option<KernelFilter>,
    /// In place of the settings' number.
    pub(crate) passes: Option<NonZeroU16>,
    /// Names of the stretches of code, the innermost last.
    pub(crate) ranges: Vec<Arc<str>>,
}

impl Requests {
    /// The names of the open stretches of code.
    pub(crate) fn range(&self) -> Option<String> {
        (!self.ranges.is_empty()).then(|| self.ranges.join("/"))
    }
}

/// The requests in force, and whether there ever were any.
#[derive(Debug, Default)]
pub(crate) struct Control {
    used: AtomicBool,
    now: Mutex<Arc<Requests>>,
}

impl Control {
    pub(crate) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }
}

/// Where memory that the program names lies, or does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// It is captured, or not, as asked.
    Done,
    /// No live allocation that the hooks saw holds the address.
    Unknown,
    /// Memory of this kind cannot be captured, whatever is asked.
    Unsupported,
}

/// Requests of the program.
impl Engine {
    fn request(&self, change: impl FnOnce(&mut Requests)) {
        let control = &self.process.control;
        let mut now = control.now.lock();
        let mut requests = Requests::clone(&now);
        change(&mut requests);
        *now = Arc::new(requests);
        control.used.store(true, Ordering::SeqCst);
        for agent in &self.agents {
            agent.queues().iter().for_each(|queue| queue.note_requests(&now));
        }
    }

    /// A queue that was just made: what holds now holds for its first packet.
    pub(crate) fn introduce(&self, queue: &SoftQueue) {
        let now = self.process.control.now.lock();
        if self.process.control.is_used() {
            queue.note_requests(&now);
        }
    }

    /// Replays nothing from here on, until it is called with false.
    pub fn pause(&self, paused: bool) {
        self.request(|requests| requests.paused = paused);
    }

    /// Replays kernels that this filter takes; `None`: those of the settings.
    pub fn select_kernels(&self, filter: Option<KernelFilter>) {
        self.request(|requests| requests.kernels = filter);
    }

    /// Replays with this many passes; `None`: those of the settings.
    pub fn set_passes(&self, passes: Option<NonZeroU16>) {
        self.request(|requests| requests.passes = passes);
    }

    /// Dispatches from here on belong to a stretch of code of this name, inside those already open.
    pub fn push_range(&self, name: &str) {
        self.request(|requests| requests.ranges.push(name.into()));
    }

    /// The innermost stretch of code ends; false: none is open.
    pub fn pop_range(&self) -> bool {
        let mut open = true;
        self.request(|requests| open = requests.ranges.pop().is_some());
        open
    }

    /// Captures the allocation that holds an address, or leaves it out: then a kernel that writes there does so once a pass.
    pub fn capture(&self, address: u64, included: bool) -> Named {
        let asked = if included { Asked::Include } else { Asked::Exclude };
        match self.process.inventory.ask(address, asked) {
            None => Named::Unknown,
            Some(true) => Named::Done,
            Some(false) => Named::Unsupported,
        }
    }

    /// The dispatch record that was written last, as a line of the report.
    pub fn last_record(&self) -> Option<String> {
        self.process.report.last()
    }
}
