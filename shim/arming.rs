//! Whether calls go to the hooks: decided once, before the first export is bound.
//!
//! Not armed, a hooked name is bound to the real function like any other and costs the same. Armed is a process whose
//! settings give a number of passes, and in which no other copy of this library acts. A child forked after `hsa_init`
//! is disarmed: its hooked names are bound to the real functions again.

use std::ffi::{CStr, c_void};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use hsa_replay_contract::settings::PARENT_VARIABLE;

use crate::forward::{self, slot};
use crate::runtime::{self, Found, Runtime};
use crate::{bind, life, log, settings};

static ARMED: AtomicBool = AtomicBool::new(false);

/// Hooks that are always in place: they keep the debugger's structure in step, and are never hot.
const ALWAYS: [usize; 4] =
    [slot::hsa_init, slot::hsa_shut_down, slot::hsa_executable_freeze, slot::hsa_executable_destroy];

/// Calls that make a queue in a way which the hooks handle, or of a kind that never runs kernels of an agent.
const KNOWN_QUEUE_MAKERS: [&CStr; 2] = [c"hsa_queue_create", c"hsa_soft_queue_create"];

/// Copies in a form that the hooks do not know.
const UNKNOWN_COPIES: [&CStr; 1] = [c"hsa_amd_memory_async_batch_copy"];

/// Decides for this process. Called before the runtime is used for the first time, by every thread that comes at once.
pub fn decide(runtime: &Runtime) {
    let settings = settings::get();
    // A setting that cannot be used leaves the library disarmed, this one like any other.
    if !settings.armed() || !runtime.is_real() || runtime.is_substitute() {
        return;
    }
    if !settings.follow_children && !is_the_program() {
        tracing::info!("a child process, which is not followed: replay is off here");
        return;
    }
    static FORK: Once = Once::new();
    FORK.call_once(|| {
        // SAFETY: the handler is a function of this library, which is never unloaded; it only stores to atomics.
        let status = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
        if status == 0 {
            ARMED.store(true, Ordering::Release);
        } else {
            log::say(format_args!("no memory for a fork handler; replay is off"));
        }
    });
}

/// Whether this process is the program itself, not one that the program started: `run`, or the shell that executed the lines
/// of `env`, is its parent. Where neither has said who it is, nobody can tell, and all take part.
fn is_the_program() -> bool {
    let parent = settings::variable(PARENT_VARIABLE);
    let parent: Option<u32> =
        parent.as_deref().and_then(std::ffi::OsStr::to_str).and_then(|text| text.parse().ok());
    let Some(parent) = parent else {
        log::say(format_args!(
            "that children are not followed has no effect here: only `hsa-replay run`, and the lines of `hsa-replay env`, say \
             which process is the program ({PARENT_VARIABLE})"
        ));
        return true;
    };
    parent == std::os::unix::process::parent_id()
}

/// Whether hooks act in this process.
pub fn armed() -> bool {
    ARMED.load(Ordering::Relaxed)
}

/// The function to bind a slot to instead of the real one.
pub fn hook_for(slot: usize) -> Option<*mut c_void> {
    if armed() {
        disarm_for_unknown_work(slot);
    } else if !ALWAYS.contains(&slot) {
        return None;
    }
    forward::hook_of(slot)
}

/// A call that makes queues or copies memory in a way that we do not know would have work done out of our sight. Its first
/// use ends replay.
fn disarm_for_unknown_work(slot: usize) {
    let name = forward::name_of(slot);
    let text = name.to_string_lossy();
    let named_like_queue =
        text.contains("queue_create") || text.contains("queue_acquire") || text.contains("queue_intercept");
    let what = if UNKNOWN_COPIES.contains(&name) {
        "copies memory in a way"
    } else if named_like_queue && !KNOWN_QUEUE_MAKERS.contains(&name) {
        "makes queues"
    } else {
        return;
    };
    // One that the runtime lacks fails, and does nothing.
    if let Found::Runtime(runtime) = runtime::get()
        && runtime.symbol(name).is_some()
    {
        life::disarm(&format!("{text} {what} that hsa-replay does not see"));
    }
}

/// In the child of a fork, where only the forking thread is left.
extern "C" fn forked() {
    if !life::abandon_after_fork() {
        return;
    }
    ARMED.store(false, Ordering::Release);
    for slot in 0..forward::COUNT {
        // Names not bound yet are bound to the real functions by themselves now.
        if let (Some(_), Some(real)) = (forward::hook_of(slot), bind::known_real(slot)) {
            // SAFETY: the real function of this slot, or its stand-in.
            unsafe { forward::point(slot, real) };
        }
    }
}
