//! The dispatch at the head of a queue that was selected for a window, and how far that window is.

use crate::control::Requests;
use crate::kernels::Kernel;
use crate::packet::Packet;
use crate::sync::Arc;
use crate::window::Watch;

/// A dispatch selected for a window.
#[derive(Debug)]
pub(crate) struct Candidate {
    pub(crate) packet: Packet,
    pub(crate) kernel: Arc<Kernel>,
    /// Number of its record.
    pub(crate) id: u64,
    /// Ordinal of the kernel's dispatch in the process.
    pub(crate) launch: u64,
    /// What the program asked for before it wrote the packet.
    pub(crate) requests: Option<Arc<Requests>>,
    pub(crate) stage: Stage,
}

/// What has happened to a candidate; it completes exactly once, whatever fails.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Nothing yet.
    New,
    /// It has its record and is forwarded as it is when there is room.
    Settled,
    /// A pass is on the hardware, or has been.
    Submitted,
    /// A pass is complete and memory is being put back for the next one.
    Restoring,
    /// Its last pass outlasted the window and is looked at from time to time.
    Watching(Box<Watch>),
    /// The application's signal has been told.
    Completed,
}
