//! The engine's life: it runs from the first `hsa_init` of an armed process to the last `hsa_shut_down`.
//!
//! `hsa_init` is counted, as the runtime counts it. When the process begins to exit no new window opens, but
//! forwarding goes on, because HIP waits for its queues to drain in its own destructors and shuts the runtime down
//! after that. After the last `hsa_shut_down` hooks only forward. A child forked meanwhile has no engine; the
//! parent's memory of it is left alone there.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use hsa_replay_contract::progress::Page;
use hsa_replay_contract::report::Writer;
use hsa_replay_contract::settings::PROGRESS_VARIABLE;
use hsa_replay_engine::{Attachments, Engine};
use parking_lot::ReentrantMutex;

use crate::engine_runtime::RealRuntime;
use crate::{arming, event_thread, log, settings, tool};

/// The running engine, null when none runs. Engines are never freed: a hook in another thread may still hold one.
static ENGINE: AtomicPtr<Engine> = AtomicPtr::new(null_mut());

/// The engine that ran before the last `hsa_shut_down`, null before.
static FORMER: AtomicPtr<Engine> = AtomicPtr::new(null_mut());

/// Held while the engine starts or stops, so that no `hsa_init` returns before the engine runs.
///
/// The same thread may come again meanwhile: a tool may initialise the runtime for itself when it starts.
static CHANGING: ReentrantMutex<()> = parking_lot::const_reentrant_mutex(());

/// Successful `hsa_init` calls less `hsa_shut_down` calls; changed under [`CHANGING`], read without it in a forked child.
static INITIALISED: AtomicU64 = AtomicU64::new(0);

/// The process that started the engine, zero before.
static STARTED_BY: AtomicU32 = AtomicU32::new(0);

/// Set when something went wrong for good: no engine starts any more.
static OVER: AtomicBool = AtomicBool::new(false);

fn engine() -> Option<&'static Engine> {
    let engine = ENGINE.load(Ordering::Acquire);
    // SAFETY: null, or from `Box::into_raw` in `initialised` and never freed.
    unsafe { engine.as_ref() }
}

/// Whether an engine runs and may replay.
pub fn runs() -> bool {
    engine().is_some() && !OVER.load(Ordering::Acquire)
}

/// Has the engine do something; `None` when no engine runs, and the hook only forwards.
///
/// A panic of the engine must not unwind into the application: it ends replay, and the hook forwards.
pub fn with<R>(action: impl FnOnce(&'static Engine) -> R) -> Option<R> {
    let engine = engine()?;
    match catch_unwind(AssertUnwindSafe(|| action(engine))) {
        Ok(result) => Some(result),
        Err(_) => {
            disarm("an internal error (please report the panic above)");
            None
        }
    }
}

/// Ends replay for good: windows open no more, queues that are ours go on forwarding.
pub fn disarm(why: &str) {
    if !OVER.swap(true, Ordering::AcqRel) {
        log::say(format_args!("{why}; replay is off from here on"));
    }
    if let Some(engine) = engine() {
        // A second panic leaves an engine that forwards as well as it can; there is nothing better to fall back to.
        drop(catch_unwind(AssertUnwindSafe(|| engine.disarm(why))));
    }
}

/// After a successful `hsa_init`.
pub fn initialised() {
    if !arming::armed() {
        return;
    }
    let _changing = CHANGING.lock();
    if INITIALISED.fetch_add(1, Ordering::AcqRel) == 0 && !OVER.load(Ordering::Acquire) {
        match catch_unwind(start) {
            Ok(Ok(engine)) => {
                // SAFETY: null, or an engine that was never freed.
                if let Some(former) = unsafe { FORMER.load(Ordering::Acquire).as_ref() } {
                    engine.continue_from(former);
                }
                STARTED_BY.store(std::process::id(), Ordering::Release);
                ENGINE.store(Box::into_raw(Box::new(engine)), Ordering::Release);
                event_thread::learn();
            }
            Ok(Err(why)) => log::say(format_args!("{why}")),
            Err(_) => {
                log::say(format_args!("an internal error (please report the panic above); replay is off"))
            }
        }
    }
}

fn start() -> Result<Engine, String> {
    let runtime = RealRuntime::new().map_err(|error| format!("{error}; replay is off"))?;
    let settings = settings::get();
    let report = Writer::open(&settings.output, std::process::id())
        .map_err(|error| format!("{error}; replay is off"))?;
    let attachments = Attachments {
        progress: settings::variable(PROGRESS_VARIABLE).and_then(|path| Page::open(Path::new(&path)).ok()),
        tool: settings.tool.as_deref().map(tool::load).transpose()?,
        spill: Some(spill_folder()),
    };
    let engine = Engine::start(Arc::new(runtime), settings.clone(), report, attachments)
        .map_err(|error| error.to_string())?;
    static AT_EXIT: std::sync::Once = std::sync::Once::new();
    AT_EXIT.call_once(hear_of_exit);
    Ok(engine)
}

/// Where snapshots go that fit into no memory: `TMPDIR`, or the folder for large temporary files.
fn spill_folder() -> PathBuf {
    let named = std::env::var_os("TMPDIR").filter(|folder| !folder.is_empty());
    named.map_or_else(|| PathBuf::from("/var/tmp"), PathBuf::from)
}

/// Before `hsa_shut_down`: if it is the last one, the engine gives back what it has of the runtime's.
///
/// The count is lowered before the real call, which runs callbacks of the application.
pub fn shutting_down() {
    if !arming::armed() {
        return;
    }
    let _changing = CHANGING.lock();
    // A call too many fails in the runtime.
    let former = INITIALISED.fetch_update(Ordering::AcqRel, Ordering::Acquire, |count| count.checked_sub(1));
    if former == Ok(1)
        && let Some(engine) = engine()
    {
        drop(catch_unwind(AssertUnwindSafe(|| {
            engine.begin_exit();
            engine.stop();
            event_thread::forget();
        })));
        FORMER.store(ENGINE.swap(null_mut(), Ordering::AcqRel), Ordering::Release);
    }
}

/// Has [`exit_begins`] called at exit before the handlers that are there now, such as the destructors of a tool's static objects.
pub fn hear_of_exit() {
    // SAFETY: the handler is a function of this library, which is never unloaded.
    if unsafe { libc::atexit(exit_begins) } != 0 {
        tracing::warn!("no memory for an exit handler: windows may open until the runtime is shut down");
    }
}

/// A child that was forked behind the hooks has none of the engine's threads: it would wait for a tool's callback for ever.
extern "C" fn exit_begins() {
    if STARTED_BY.load(Ordering::Acquire) == std::process::id() {
        with(Engine::process_exits);
    }
}

/// At the very end of the process, if the runtime was never shut down: HIP 5.7 leaves that to the end of the process.
/// The application's and HIP's own destructors have run.
///
/// Threads that were detached may still use the queues, so nothing is given back. A child that was forked behind the
/// hooks (a raw `clone`) has none of the engine's threads: it would wait for them for ever.
extern "C" fn exit_ends() {
    if STARTED_BY.load(Ordering::Acquire) != std::process::id() {
        return;
    }
    with(Engine::stop_at_exit);
    ENGINE.store(null_mut(), Ordering::Release);
}

#[used]
#[unsafe(link_section = ".fini_array")]
static AT_THE_END: extern "C" fn() = exit_ends;

/// In the child of a fork: gives up the engine, if there is one, and says whether there was.
///
/// Only the forking thread lives on; a lock that another one held stays closed for ever, so none is taken here.
pub fn abandon_after_fork() -> bool {
    ENGINE.store(null_mut(), Ordering::Release);
    INITIALISED.load(Ordering::Acquire) != 0
}
