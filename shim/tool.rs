//! The user's tool: a library whose callbacks choose the passes of a dispatch and hear of each (`include/hsa_replay.h`).

mod layout;

use std::ffi::{CString, c_void};
use std::num::NonZeroU16;
use std::path::Path;
use std::sync::{Arc, Once};

use hsa_replay_contract::record::Pass;
use hsa_replay_contract::{Dispatch, Outcome, Record};
use hsa_replay_engine::handles::Agent;
use hsa_replay_engine::tool::{Choice, Listener, Tool};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use parking_lot::Mutex;

use crate::interface::{SUCCESS, status_text};
use crate::life;
use layout::{
    DispatchInfo, INTERFACE_VERSION, LEAVE_OUT, PassInfo, PassesChoice, START, StartFn, ToolTable,
    UNTIL_STOPPED, UserData,
};

/// A tool's callbacks. Its library stays loaded for the life of the process.
#[derive(Clone, Copy, Debug)]
struct Callbacks {
    table: ToolTable,
}

// SAFETY: the table holds function pointers and a pointer that is only handed to them; the header promises the tool calls
// from several threads.
unsafe impl Send for Callbacks {}
// SAFETY: as above; it is never written after the start.
unsafe impl Sync for Callbacks {}

/// Loads a tool and has it fill in its callbacks.
///
/// # Errors
/// One line for the user; replay is off then.
pub fn load(path: &Path) -> Result<Box<dyn Tool>, String> {
    let refuse = |why: String| format!("HSA_REPLAY_TOOL={}: {why}; replay is off", path.display());
    // A path without a slash would make the loader search by name.
    let absolute = std::path::absolute(path).map_err(|error| refuse(error.to_string()))?;
    // SAFETY: runs the constructors of a library that the user named as a tool.
    let library = unsafe { Library::open(Some(&absolute), RTLD_NOW | RTLD_LOCAL) }.map_err(|error| {
        let text = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
        refuse(format!("cannot be loaded: {}", text.replace('\n', " ")))
    })?;
    // SAFETY: the header gives the name this type.
    let start = unsafe { library.get::<StartFn>(START) }
        .map(|symbol| *symbol)
        .map_err(|_| refuse("has no hsa_replay_tool_start".to_owned()))?;
    // Its code is called to the end of the process.
    std::mem::forget(library);
    let mut table = ToolTable::empty();
    // SAFETY: a function of the tool that writes within `size` bytes of the table, as the header demands.
    let status = unsafe { start(INTERFACE_VERSION, &raw mut table) };
    if status != SUCCESS {
        return Err(refuse(format!("it does not start: {}", status_text(status).to_string_lossy())));
    }
    if table.interface_version != INTERFACE_VERSION {
        return Err(refuse(format!(
            "it is built for version {} of the interface, and this is version {INTERFACE_VERSION}",
            table.interface_version
        )));
    }
    if table.size != ToolTable::SIZE {
        return Err(refuse(format!(
            "it set the size of its callbacks to {}, not {}",
            table.size,
            ToolTable::SIZE
        )));
    }
    if table.is_empty() {
        return Err(refuse("it sets no callback".to_owned()));
    }
    tracing::info!("tool {}", absolute.display());
    Ok(Box::new(Callbacks { table }))
}

impl Tool for Callbacks {
    fn configure(&self, dispatch: &Dispatch, agent: Agent, passes: NonZeroU16) -> Choice {
        let window = Window {
            callbacks: *self,
            texts: Texts::new(dispatch),
            info: DispatchInfo::new(dispatch, agent),
            data: UserData::ZERO,
            most: u32::from(passes.get()),
            now: Mutex::new(Now { info: PassInfo::new(0, 0), data: UserData::ZERO }),
        };
        window.choose(passes)
    }
}

/// The texts that a dispatch's structure leads to.
#[derive(Debug)]
struct Texts {
    kernel: CString,
    symbol: CString,
    range: Option<CString>,
}

impl Texts {
    fn new(dispatch: &Dispatch) -> Self {
        Self {
            kernel: c_text(&dispatch.kernel),
            symbol: c_text(&dispatch.symbol),
            range: dispatch.range.as_deref().map(c_text),
        }
    }
}

fn c_text(text: &str) -> CString {
    // A name holds no zero byte; one that did would be cut off there.
    CString::new(text.split('\0').next().unwrap_or_default()).unwrap_or_default()
}

/// Static objects that a callback makes in its first call are destroyed before what heard of the exit until then is told: it
/// has to hear of it earlier.
fn first_returned(first: &'static Once) {
    first.call_once(life::hear_of_exit);
}

/// One dispatch as its callbacks see it.
#[derive(Debug)]
struct Window {
    callbacks: Callbacks,
    texts: Texts,
    info: DispatchInfo,
    /// What `configure` set.
    data: UserData,
    most: u32,
    now: Mutex<Now>,
}

/// The running pass.
#[derive(Debug)]
struct Now {
    info: PassInfo,
    data: UserData,
}

// SAFETY: the texts' addresses, which `info` gets before each call, are those of allocations that the window owns; the
// tool's own pointers are handed back to it alone.
unsafe impl Send for Window {}
// SAFETY: as above; what changes is behind the lock.
unsafe impl Sync for Window {}

impl Window {
    /// The dispatch with the addresses of its texts.
    fn info(&self) -> DispatchInfo {
        let mut info = self.info;
        info.kernel = self.texts.kernel.as_ptr();
        info.symbol = self.texts.symbol.as_ptr();
        info.range = self.texts.range.as_ref().map_or(std::ptr::null(), |range| range.as_ptr());
        info
    }

    fn tool_data(&self) -> *mut c_void {
        self.callbacks.table.tool_data
    }

    fn choose(mut self, passes: NonZeroU16) -> Choice {
        let mut choice = PassesChoice::new(passes);
        if let Some(configure) = self.callbacks.table.configure {
            let info = self.info();
            // SAFETY: the structures live during the call; the tool's function has this type by the header.
            unsafe { configure(&raw const info, &raw mut choice, self.tool_data()) };
            static FIRST: Once = Once::new();
            first_returned(&FIRST);
        }
        self.data = choice.user_data;
        let valid = |number: u32| u16::try_from(number).ok().and_then(NonZeroU16::new);
        let refused = match choice.passes {
            LEAVE_OUT => "the tool leaves it out".to_owned(),
            UNTIL_STOPPED if self.callbacks.table.replay_continue.is_none() => {
                "the tool wants passes until it says stop, and has no replay_continue".to_owned()
            }
            UNTIL_STOPPED => match valid(choice.bound) {
                Some(bound) => {
                    self.most = bound.get().into();
                    return Choice::UntilStopped(bound, Arc::new(self));
                }
                None => format!("the tool bounds the passes by {}, which is not 1 to 65535", choice.bound),
            },
            number => match valid(number) {
                Some(passes) => {
                    self.most = number;
                    return Choice::Passes(passes, Arc::new(self));
                }
                None => format!("the tool chose {number} passes, which is not 1 to 65535"),
            },
        };
        Choice::Leave(refused, Arc::new(self))
    }
}

impl Listener for Window {
    fn pass_enter(&self, pass: u32) {
        let mut now = self.now.lock();
        *now = Now { info: PassInfo::new(pass, self.most), data: self.data };
        if let Some(enter) = self.callbacks.table.pass_enter {
            let (now, info) = (&mut *now, self.info());
            // SAFETY: as for `configure`.
            unsafe { enter(&raw const info, &raw const now.info, &raw mut now.data, self.tool_data()) };
            static FIRST: Once = Once::new();
            first_returned(&FIRST);
        }
    }

    fn pass_exit(&self, pass: &Pass) {
        let mut now = self.now.lock();
        now.info.end(pass);
        if let Some(exit) = self.callbacks.table.pass_exit {
            let (now, info) = (&mut *now, self.info());
            // SAFETY: as for `configure`.
            unsafe { exit(&raw const info, &raw const now.info, &raw mut now.data, self.tool_data()) };
            static FIRST: Once = Once::new();
            first_returned(&FIRST);
        }
    }

    fn goes_on(&self) -> bool {
        let Some(replay_continue) = self.callbacks.table.replay_continue else { return true };
        let mut now = self.now.lock();
        let (now, info) = (&mut *now, self.info());
        // SAFETY: as for `configure`.
        let answer = unsafe {
            replay_continue(&raw const info, &raw const now.info, &raw mut now.data, self.tool_data())
        };
        static FIRST: Once = Once::new();
        first_returned(&FIRST);
        answer != 0
    }

    fn closed(&self, dispatch: &Dispatch, running: bool) {
        let Some(finish) = self.callbacks.table.finish else { return };
        let outcome = match dispatch.outcome {
            _ if running => 4,
            Outcome::Replayed => 0,
            Outcome::Declined => 1,
            Outcome::Tainted => 2,
            Outcome::Faulted => 3,
        };
        let record = serde_json::to_string(&Record::from(dispatch.clone())).unwrap_or_default();
        let (record, info) = (c_text(&record), self.info());
        // SAFETY: as for `configure`.
        unsafe { finish(&raw const info, outcome, record.as_ptr(), self.data, self.tool_data()) };
        static FIRST: Once = Once::new();
        first_returned(&FIRST);
    }
}
