//! The real HSA runtime: found and opened once, on the first HSA call of the process.

mod candidate;
mod find;
mod ld_cache;
mod mapped;

use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::{arming, debugger, log, settings};
use candidate::Refusal;

/// An open runtime. Stays open for the life of the process.
#[derive(Debug)]
pub struct Runtime {
    path: PathBuf,
    library: Library,
    /// False for another copy of hsa-replay that stands between us and the real one.
    real: bool,
    /// The settings name another one, which cannot be used.
    substitute: bool,
}

/// What [`get`] has to offer.
#[derive(Debug)]
pub enum Found {
    /// The real runtime.
    Runtime(&'static Runtime),
    /// No library on this machine can serve as one. Said once on standard error.
    Nothing,
    /// This thread is inside the loading of the runtime: a constructor of it, or of one of its libraries, made an HSA
    /// call.
    Loading,
}

impl Runtime {
    /// Opens a library by path, and refuses it if it is a copy of this one after all (its symbol table was not
    /// readable before).
    fn open(path: &Path) -> Result<Self, Refusal> {
        // SAFETY: runs the constructors of the runtime that the application would have loaded itself.
        let library =
            unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }.map_err(Refusal::unloadable)?;
        let runtime = Self { path: path.to_owned(), library, real: true, substitute: false };
        match (runtime.symbol(crate::identity::MARKER), runtime.symbol(c"hsa_init")) {
            (Some(_), _) => Err(Refusal::Ourselves),
            (None, None) => Err(Refusal::NoRuntime),
            (None, Some(_)) => Ok(runtime),
        }
    }

    /// The file that was taken.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is the real runtime and not another copy of hsa-replay, which then acts in our stead.
    pub fn is_real(&self) -> bool {
        self.real
    }

    /// Whether it stands in for one that the settings name and that cannot be used.
    pub fn is_substitute(&self) -> bool {
        self.substitute
    }

    /// Address of an exported symbol.
    pub fn symbol(&self, name: &CStr) -> Option<*mut c_void> {
        // SAFETY: only the address is taken here; who calls it knows the type of the name.
        let symbol = unsafe { self.library.get::<*mut c_void>(name) }.ok()?;
        let address = symbol.into_raw();
        (!address.is_null()).then_some(address)
    }
}

/// The search's result, published by the first thread that ends it: null until then, [`nothing`] when there is no
/// runtime.
static RUNTIME: AtomicPtr<Runtime> = AtomicPtr::new(null_mut());

thread_local! {
    static LOADING: Cell<bool> = const { Cell::new(false) };
}

/// The address that stands for "searched, nothing found".
fn nothing() -> *mut Runtime {
    std::ptr::without_provenance_mut(align_of::<Runtime>())
}

/// The real runtime; searches for it on the first call.
pub fn get() -> Found {
    let known = RUNTIME.load(Ordering::Acquire);
    if !known.is_null() {
        return published(known);
    }
    if LOADING.replace(true) {
        return Found::Loading;
    }
    let searched = find::runtime(settings::get());
    LOADING.set(false);
    publish(searched)
}

fn publish(searched: Result<Runtime, String>) -> Found {
    let (candidate, outcome) = match searched {
        Ok(runtime) => {
            arming::decide(&runtime);
            (Box::into_raw(Box::new(runtime)), None)
        }
        Err(why) => (nothing(), Some(why)),
    };
    match RUNTIME.compare_exchange(null_mut(), candidate, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => {
            let found = published(candidate);
            match (&found, outcome) {
                (Found::Runtime(runtime), _) => {
                    debugger::attach(runtime);
                    tracing::info!("forwarding to {}", runtime.path().display());
                }
                (_, Some(why)) => log::say(format_args!("{why}")),
                (_, None) => {}
            }
            found
        }
        // Another thread was faster. Both searches opened the same library; its count of uses does not matter.
        Err(first) => published(first),
    }
}

fn published(pointer: *mut Runtime) -> Found {
    if pointer == nothing() {
        return Found::Nothing;
    }
    // SAFETY: any other published pointer comes from `Box::into_raw` and is never freed or written again.
    Found::Runtime(unsafe { &*pointer })
}
