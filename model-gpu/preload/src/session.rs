//! The device of this process: made at the first open, gone in a forked child, summed up at exit.

use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::collections::HashMap;
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Weak};

use model_gpu_core::memory::{Buffer, identity};
use model_gpu_core::{Config, Machine, say};
use parking_lot::Mutex;

use crate::drm::share::Shared;
use crate::kfd::{Debug, Svm};
use crate::settings::{Settings, settings};

/// The driver's number of the first GPU; the others follow.
pub(crate) const FIRST_GPU_ID: u32 = 0x5001;

/// Copy engines of each GPU.
pub(crate) const COPY_ENGINES: u32 = 2;

/// Compute units of each GPU.
pub(crate) const COMPUTE_UNITS: u32 = 4;

/// The device and what the front end remembers about it.
#[derive(Debug)]
pub(crate) struct Session {
    /// The device.
    pub(crate) machine: Arc<Machine>,
    /// The variables.
    pub(crate) settings: &'static Settings,
    /// Which open files are the device's.
    identity: (u64, u64),
    /// Ranges of the program's memory that are shared by address.
    pub(crate) svm: Svm,
    /// What a debugger may ask, and what it has asked.
    pub(crate) debug: Debug,
    /// Memory that descriptors stand for.
    pub(crate) shared: Shared,
    /// Buffers by GEM number.
    pub(crate) gems: Mutex<HashMap<u32, Weak<Buffer>>>,
}

static SESSION: AtomicPtr<Session> = AtomicPtr::new(core::ptr::null_mut());
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The device file that this process inherited from its parent, as device and inode number.
static INHERITED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// The process's device, if it was opened.
pub(crate) fn session() -> Option<&'static Session> {
    // SAFETY: a session is published once and never freed, not even in a forked child.
    unsafe { SESSION.load(Ordering::Acquire).as_ref() }
}

/// The process's device, made now if need be.
pub(crate) fn open() -> io::Result<&'static Session> {
    if let Some(session) = session() {
        return Ok(session);
    }
    let fresh = Box::into_raw(Box::new(Session::new()?));
    match SESSION.compare_exchange(core::ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => register(),
        Err(_) => {
            // Another thread was faster. SAFETY: `fresh` came from `Box::into_raw` just now and was not published.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
    session().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

impl Session {
    fn new() -> io::Result<Self> {
        let settings = settings();
        let config = Config {
            target: settings.target,
            agents: settings.agents,
            vram_bytes: settings.vram_bytes,
            gpu_ids: (FIRST_GPU_ID..).take(settings.agents).collect(),
            compute_units: COMPUTE_UNITS,
            helpers: settings.helpers,
            faults: settings.faults.clone(),
            seed: settings.seed,
            caches: settings.cache,
        };
        let machine = Machine::new(config).inspect_err(|error| say!("cannot make the device: {error}"))?;
        let identity = machine.memory.backing().identity()?;
        Ok(Self {
            machine,
            settings,
            identity,
            svm: Svm::default(),
            debug: Debug::default(),
            shared: Shared::default(),
            gems: Mutex::default(),
        })
    }

    /// Whether the open file `fd` is the device's.
    pub(crate) fn owns(&self, fd: RawFd) -> bool {
        identity(fd).is_ok_and(|found| found == self.identity)
    }

    /// The agent with the driver's number `gpu_id`.
    pub(crate) fn agent(&self, gpu_id: u32) -> Option<usize> {
        self.machine.config.gpu_ids.iter().position(|id| *id == gpu_id)
    }
}

/// Whether `fd` is the device file of this process's parent.
pub(crate) fn is_inherited(fd: RawFd) -> bool {
    let [device, inode] = INHERITED.each_ref().map(|n| n.load(Ordering::Relaxed));
    inode != 0 && identity(fd).is_ok_and(|found| found == (device, inode))
}

fn register() {
    if REGISTERED.swap(true, Ordering::AcqRel) {
        return;
    }
    // SAFETY: the handlers are functions of this library, which is never unloaded while the process lives, since it
    // is preloaded.
    unsafe {
        libc::pthread_atfork(None, None, Some(forget));
        libc::atexit(sum_up);
    }
}

/// In a forked child: the device's threads are gone and its locks may be held for ever, so the child has no device.
/// Opening it again makes a new one.
extern "C" fn forget() {
    let old = SESSION.swap(core::ptr::null_mut(), Ordering::AcqRel);
    // SAFETY: a published session is never freed; only plain fields that nobody writes are read.
    if let Some(session) = unsafe { old.as_ref() } {
        INHERITED[0].store(session.identity.0, Ordering::Relaxed);
        INHERITED[1].store(session.identity.1, Ordering::Relaxed);
    }
}

extern "C" fn sum_up() {
    if let Some(session) = session().filter(|s| s.settings.counters) {
        let text = session.machine.counters.to_string();
        // SAFETY: the buffer is valid for its length. Nothing can be done about a failed write at exit.
        let _ = unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }
}
