//! Allocations: a piece of the device's memory file, registered host memory, or a device page.

use std::sync::Arc;

use parking_lot::Mutex;

use super::backing::Backing;
use super::foreign::Foreign;

/// What an allocation is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Device memory.
    Vram,
    /// System memory that the driver allocated.
    Gtt,
    /// Memory of the host program, registered by address.
    User,
    /// The agent's doorbell page.
    Doorbell,
    /// The agent's page of remapped registers (cache flush).
    Mmio,
}

/// What the program asked of an allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The device may store to it.
    pub writable: bool,
    /// The device may fetch instructions from it.
    pub executable: bool,
    /// The program may map it (large BAR).
    pub public: bool,
    /// Fine-grained or uncached: a store is visible to everybody at once.
    pub coherent: bool,
}

/// One allocation. Its memory is given back when the last user (handle, mapping or import) is gone.
#[derive(Debug)]
pub struct Buffer {
    /// The driver's handle; never used twice.
    pub id: u64,
    /// The agent that owns the memory.
    pub agent: usize,
    /// What it is made of.
    pub kind: Kind,
    /// Device address that `map` uses; zero for memory without an address of its own.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u64,
    /// What the program asked for.
    pub rights: Rights,
    /// Offset in the memory file, for the program's own mapping; none for host memory.
    pub offset: Option<u64>,
    /// The device's address of the first byte.
    pub host: *mut u8,
    /// What the program noted about the memory, for whoever imports it: opaque to the device.
    pub metadata: Arc<Mutex<Vec<u8>>>,
    /// Where the memory really is, if it belongs to another process's device.
    pub foreign: Option<Arc<Foreign>>,
    /// Gives the memory back at the end; none for memory that is not the buffer's own.
    #[expect(dead_code, reason = "held for its drop")]
    pub(super) lease: Option<Lease>,
    /// The buffer whose memory an import shares, kept alive by it.
    #[expect(dead_code, reason = "held so that the memory lives")]
    pub(super) source: Option<Arc<Buffer>>,
}

// SAFETY: `host` is an address only; accesses go through `Span`, which tolerates concurrent writers.
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`.
unsafe impl Sync for Buffer {}

/// A carved piece of the memory file, and the VRAM it counts against.
#[derive(Debug)]
pub(super) struct Lease {
    pub backing: Arc<Backing>,
    pub offset: u64,
    pub bytes: u64,
    pub vram: Option<Arc<super::Vram>>,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.backing.release(self.offset, self.bytes);
        if let Some(vram) = &self.vram {
            vram.give_back(self.bytes);
        }
    }
}
