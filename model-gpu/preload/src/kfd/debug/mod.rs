//! What a debugger asks (`AMDKFD_IOC_DBG_TRAP`), as far as a program asks it of itself: ROCr does, when it writes a core
//! dump of the GPU after a queue error or a memory fault.
//!
//! Waves are not preempted: a queue that is suspended starts nothing more, what runs goes on to its end, and its save area
//! holds no waves.

mod snapshots;

use core::ffi::{c_int, c_ulong, c_void};
use std::collections::HashSet;

use model_gpu_core::{Queue, say, trace};
use parking_lot::{Condvar, Mutex};
use snapshots::{device_snapshot, queue_snapshot, size, write_cut};

use super::Errno;
use super::abi::{Arguments, DebugTrap, RuntimeInfo, read_array, write_array};
use crate::interpose::fail;
use crate::session::Session;

/// `KFD_EC_MASK(EC_QUEUE_NEW)`
const QUEUE_NEW: u64 = 1 << 30;

/// `KFD_DBG_QUEUE_INVALID_MASK`
const QUEUE_INVALID: u32 = 1 << 31;

/// `KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK` and `_TTMP_SAVE_MASK`
const MODE_ENABLE: u32 = 1;
const MODE_TTMP_SAVE: u32 = 2;

/// `DEBUG_RUNTIME_STATE_ENABLED`
const STATE_ENABLED: u32 = 1;

/// `KFD_IOC_DBG_TRAP_*` by number.
const OPERATIONS: [&str; 15] = [
    "ENABLE",
    "DISABLE",
    "SEND_RUNTIME_EVENT",
    "SET_EXCEPTIONS_ENABLED",
    "SET_WAVE_LAUNCH_OVERRIDE",
    "SET_WAVE_LAUNCH_MODE",
    "SUSPEND_QUEUES",
    "RESUME_QUEUES",
    "SET_NODE_ADDRESS_WATCH",
    "CLEAR_NODE_ADDRESS_WATCH",
    "SET_FLAGS",
    "QUERY_DEBUG_EVENT",
    "QUERY_EXCEPTION_INFO",
    "GET_QUEUE_SNAPSHOT",
    "GET_DEVICE_SNAPSHOT",
];

const INVALID: Errno = Errno(libc::EINVAL);

/// What the process has told and asked about debugging.
#[derive(Debug, Default)]
pub(crate) struct Debug {
    state: Mutex<State>,
    /// Queues were resumed.
    resumed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    runtime: RuntimeInfo,
    enabled: bool,
    /// Queues and agents that a snapshot has shown, and cleared of being new.
    known_queues: HashSet<u32>,
    known_agents: HashSet<usize>,
    halted: HashSet<u32>,
    /// Queues that the program is destroying: they are not suspended any more.
    going: HashSet<u32>,
}

impl Debug {
    /// The runtime offers its debugging structures, or takes them back.
    pub(super) fn announce(&self, r_debug: u64, mode: u32) {
        self.state.lock().runtime = if mode & MODE_ENABLE == 0 {
            RuntimeInfo::default()
        } else {
            RuntimeInfo {
                r_debug,
                runtime_state: STATE_ENABLED,
                ttmp_setup: u32::from(mode & MODE_TTMP_SAVE != 0),
            }
        };
    }

    /// Does `destroy` to a queue once it is not suspended: until then its saved state is the debugger's. As with the driver,
    /// a program that never resumes its queue waits for ever; unlike there, a signal does not end the wait.
    pub(super) fn destroy_resumed<T>(&self, id: u32, destroy: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        state.going.insert(id);
        while state.halted.contains(&id) {
            self.resumed.wait(&mut state);
        }
        drop(state);
        let result = destroy();
        self.state.lock().going.remove(&id);
        result
    }
}

/// The two halves of a word of the structure's union.
fn halves(word: u64) -> [u32; 2] {
    let [a, b, c, d, e, f, g, h] = word.to_le_bytes();
    [u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]
}

fn word([low, high]: [u32; 2]) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

/// Answers a request; what it returns is the call's result, which for some operations is a count.
///
/// # Safety
/// `argument` points to the structure that the request's size names, and its pointers to what its operation says.
pub(super) unsafe fn trap(session: &Session, request: c_ulong, argument: *mut c_void) -> c_int {
    // SAFETY: the caller promises the structure.
    let mut arguments: Arguments<DebugTrap> = unsafe { Arguments::fetch(request, argument) };
    // SAFETY: the caller promises what the operation's pointers point to.
    let result = unsafe { perform(session, arguments.value()) };
    // SAFETY: as before.
    unsafe { arguments.store() };
    let op = arguments.value().op;
    let name = OPERATIONS.get(op as usize).unwrap_or(&"unknown");
    match result {
        Ok(count) => {
            trace!("ioctl dbg_trap {name}");
            c_int::try_from(count).unwrap_or(c_int::MAX)
        }
        Err(Errno(errno)) => {
            trace!("ioctl dbg_trap {name} fails with error {errno}");
            fail(errno)
        }
    }
}

/// # Safety
/// As for [`trap`].
unsafe fn perform(session: &Session, args: &mut DebugTrap) -> Result<usize, Errno> {
    if args.pid != std::process::id() {
        say!("DBG_TRAP of another process ({}) is not supported: EPERM", args.pid);
        return Err(Errno(libc::EPERM));
    }
    let state = &mut *session.debug.state.lock();
    if args.op != 0 && !state.enabled {
        return Err(INVALID);
    }
    // The runtime has to have announced itself before its queues are held.
    if matches!(args.op, 6 | 7) && state.runtime.runtime_state != STATE_ENABLED {
        return Err(Errno(libc::EPERM));
    }
    match args.op {
        // SAFETY: the caller promises the buffer that the operation names.
        0 => unsafe { enable(state, args) },
        1 => {
            for queue in state.halted.drain().filter_map(|id| session.machine.queue(id)) {
                queue.halt(false);
            }
            let going = core::mem::take(&mut state.going);
            *state = State { runtime: state.runtime, going, ..State::default() };
            session.debug.resumed.notify_all();
            Ok(0)
        }
        // SAFETY: as before.
        6 => unsafe { suspend(session, state, args) },
        // SAFETY: as before.
        7 => unsafe { resume(session, state, args) },
        // SAFETY: as before.
        13 => unsafe { queue_snapshot(session, state, args) },
        // SAFETY: as before.
        14 => unsafe { device_snapshot(session, state, args) },
        op => {
            let name = OPERATIONS.get(op as usize).unwrap_or(&"unknown");
            say!("DBG_TRAP operation {op} ({name}) is not supported: EINVAL");
            Err(INVALID)
        }
    }
}

/// # Safety
/// The buffer for the runtime's structure is as long as is said.
unsafe fn enable(state: &mut State, args: &mut DebugTrap) -> Result<usize, Errno> {
    if state.enabled {
        return Err(Errno(libc::EALREADY));
    }
    let [_, buffer, sizes] = &mut args.arguments;
    let [room, descriptor] = halves(*sizes);
    // SAFETY: the caller promises the room.
    unsafe { write_cut(*buffer, room as usize, &state.runtime) };
    *sizes = word([room.min(size(&state.runtime)), descriptor]);
    state.enabled = true;
    Ok(0)
}

/// # Safety
/// The array of queue numbers is as long as is said.
unsafe fn suspend(session: &Session, state: &mut State, args: &DebugTrap) -> Result<usize, Errno> {
    let [clear, array, counts] = args.arguments;
    let named = halves(counts)[0];
    if array == 0 && named > 0 {
        say!("DBG_TRAP SUSPEND_QUEUES of {named} queues without their numbers: EFAULT");
        return Err(Errno(libc::EFAULT));
    }
    let State { known_queues, halted, going, .. } = state;
    let mut agents = HashSet::new();
    // A queue that is new stays as it is: the debugger has to have seen it; so does one that is being destroyed. One that is
    // suspended already is a success.
    let each = |queue: &Queue| {
        let held = halted.contains(&queue.id);
        let may = held || known_queues.contains(&queue.id) && !going.contains(&queue.id);
        if may && !held {
            queue.halt(true);
            halted.insert(queue.id);
        }
        if may {
            agents.insert(queue.spec.agent);
        }
        may
    };
    // SAFETY: the caller promises the array.
    let (done, ids) = unsafe { for_queues(session, array, named, each) };
    // What was to be cleared is cleared of every queue named, the new ones too, on GPUs where some queue is suspended now.
    for queue in session.machine.queues() {
        if agents.contains(&queue.spec.agent) && ids.contains(&queue.id) {
            note_seen(known_queues, queue.id, clear);
        }
    }
    Ok(done)
}

/// Resumes the queues of the array, or all of them if there is none.
///
/// # Safety
/// The array of queue numbers is as long as is said, or null.
unsafe fn resume(session: &Session, state: &mut State, args: &DebugTrap) -> Result<usize, Errno> {
    let [array, counts, _] = args.arguments;
    // A queue that is not suspended is a success.
    let mut each = |queue: &Queue| {
        if state.halted.remove(&queue.id) {
            queue.halt(false);
            session.debug.resumed.notify_all();
        }
        true
    };
    if array == 0 {
        let queues = session.machine.queues();
        for queue in &queues {
            each(queue);
        }
        return Ok(queues.len());
    }
    // SAFETY: the caller promises the array.
    Ok(unsafe { for_queues(session, array, halves(counts)[0], each) }.0)
}

/// Does `each` to the queues whose numbers are in the array, and marks there as invalid what names no queue, repeats one, or
/// to which it could not be done. Marks from before do not count. Answers to how many it was done, and the numbers.
///
/// # Safety
/// The array of queue numbers is as long as is said.
unsafe fn for_queues(
    session: &Session,
    array: u64,
    named: u32,
    mut each: impl FnMut(&Queue) -> bool,
) -> (usize, Vec<u32>) {
    // SAFETY: the caller promises the array.
    let mut ids: Vec<u32> = unsafe { read_array(array, named as usize) };
    for id in &mut ids {
        *id |= QUEUE_INVALID;
    }
    let mut done = 0;
    for queue in session.machine.queues() {
        let place = ids.iter_mut().find(|id| **id == queue.id | QUEUE_INVALID);
        if let Some(place) = place
            && each(&queue)
        {
            *place = queue.id;
            done += 1;
        }
    }
    // SAFETY: as before.
    unsafe { write_array(array, &ids) };
    (done, ids.into_iter().map(|id| id & !QUEUE_INVALID).collect())
}

fn note_seen(known: &mut HashSet<u32>, id: u32, clear: u64) {
    if clear & QUEUE_NEW != 0 {
        known.insert(id);
    }
}
