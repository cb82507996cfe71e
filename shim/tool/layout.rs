//! The structures of `include/hsa_replay.h` as Rust has them; tests compile the header and compare sizes and offsets.

use std::ffi::{c_char, c_int, c_void};
use std::fmt;
use std::num::NonZeroU16;
use std::ptr::null;

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Pass;
use hsa_replay_engine::handles::Agent;

use crate::interface::Status;

pub const INTERFACE_VERSION: u32 = 1;
/// The function that a tool exports.
pub const START: &[u8] = b"hsa_replay_tool_start";
pub type StartFn = unsafe extern "C" fn(u32, *mut ToolTable) -> Status;

/// `HSA_REPLAY_UNTIL_STOPPED`.
pub const UNTIL_STOPPED: u32 = 0;
/// `HSA_REPLAY_LEAVE_OUT`.
pub const LEAVE_OUT: u32 = u32::MAX;

const fn size_of_u64<T>() -> u64 {
    size_of::<T>() as u64
}

/// `hsa_replay_user_data_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub union UserData {
    value: u64,
    pointer: *mut c_void,
}

impl UserData {
    pub const ZERO: Self = Self { value: 0 };
}

impl fmt::Debug for UserData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UserData")
    }
}

/// `hsa_replay_dispatch_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DispatchInfo {
    size: u64,
    id: u64,
    pub kernel: *const c_char,
    pub symbol: *const c_char,
    pub range: *const c_char,
    agent: u64,
    queue_id: u64,
    launch: u64,
    grid: [u32; 3],
    workgroup: [u32; 3],
}

impl DispatchInfo {
    /// All but the texts.
    pub fn new(dispatch: &Dispatch, agent: Agent) -> Self {
        Self {
            size: size_of_u64::<Self>(),
            id: dispatch.id,
            kernel: null(),
            symbol: null(),
            range: null(),
            agent: agent.0,
            queue_id: dispatch.queue,
            launch: dispatch.launch,
            grid: dispatch.grid,
            workgroup: dispatch.workgroup,
        }
    }
}

/// `hsa_replay_passes_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PassesChoice {
    size: u64,
    pub passes: u32,
    pub bound: u32,
    pub user_data: UserData,
}

impl PassesChoice {
    pub fn new(passes: NonZeroU16) -> Self {
        Self {
            size: size_of_u64::<Self>(),
            passes: passes.get().into(),
            bound: u16::MAX.into(),
            user_data: UserData::ZERO,
        }
    }
}

/// `hsa_replay_pass_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PassInfo {
    size: u64,
    pass: u32,
    passes: u32,
    start: u64,
    end: u64,
    nanoseconds: u64,
}

impl PassInfo {
    pub fn new(pass: u32, passes: u32) -> Self {
        Self { size: size_of_u64::<Self>(), pass, passes, start: 0, end: 0, nanoseconds: 0 }
    }

    /// The pass has ended.
    pub fn end(&mut self, pass: &Pass) {
        [self.start, self.end] = pass.ticks.unwrap_or_default();
        self.nanoseconds = pass.ns.unwrap_or_default();
    }
}

type PassFn = unsafe extern "C" fn(*const DispatchInfo, *const PassInfo, *mut UserData, *mut c_void);

/// `hsa_replay_tool_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ToolTable {
    pub size: u64,
    pub interface_version: u32,
    reserved: u32,
    pub tool_data: *mut c_void,
    pub configure: Option<unsafe extern "C" fn(*const DispatchInfo, *mut PassesChoice, *mut c_void)>,
    pub pass_enter: Option<PassFn>,
    pub pass_exit: Option<PassFn>,
    pub replay_continue: Option<
        unsafe extern "C" fn(*const DispatchInfo, *const PassInfo, *mut UserData, *mut c_void) -> c_int,
    >,
    pub finish:
        Option<unsafe extern "C" fn(*const DispatchInfo, c_int, *const c_char, UserData, *mut c_void)>,
}

impl ToolTable {
    pub const SIZE: u64 = size_of_u64::<Self>();

    pub fn empty() -> Self {
        Self {
            size: Self::SIZE,
            interface_version: 0,
            reserved: 0,
            tool_data: std::ptr::null_mut(),
            configure: None,
            pass_enter: None,
            pass_exit: None,
            replay_continue: None,
            finish: None,
        }
    }

    /// Whether the tool wants to hear of nothing.
    pub fn is_empty(&self) -> bool {
        self.configure.is_none()
            && self.pass_enter.is_none()
            && self.pass_exit.is_none()
            && self.replay_continue.is_none()
            && self.finish.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;
    use std::process::Command;

    /// What the C compiler says of the header.
    #[test]
    fn the_layouts_are_those_of_the_header_in_c_and_in_cpp() {
        let ours = [
            ("dispatch", size_of::<DispatchInfo>(), offset_of!(DispatchInfo, workgroup)),
            ("passes", size_of::<PassesChoice>(), offset_of!(PassesChoice, user_data)),
            ("pass", size_of::<PassInfo>(), offset_of!(PassInfo, nanoseconds)),
            ("tool", size_of::<ToolTable>(), offset_of!(ToolTable, finish)),
        ];
        let last = ["workgroup", "user_data", "nanoseconds", "finish"];
        let mut source = "#include <stdio.h>\n#include \"hsa_replay.h\"\nint main(void) {\n".to_owned();
        for ((name, _, _), last) in ours.iter().zip(last) {
            let kind = format!("hsa_replay_{name}_t");
            source += &format!("printf(\"%zu %zu\\n\", sizeof({kind}), offsetof({kind}, {last}));\n");
        }
        source += "return 0; }\n";
        let folder = tempfile::tempdir().expect("a temporary folder");
        let expected: String = ours.iter().map(|(_, size, offset)| format!("{size} {offset}\n")).collect();
        for (compiler, standard, file) in
            [("cc", "-std=c99", "layout.c"), ("c++", "-std=c++11", "layout.cpp")]
        {
            let path = folder.path().join(file);
            std::fs::write(&path, &source).expect("a file");
            let program = folder.path().join("layout");
            let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
            let compiled = Command::new(compiler)
                .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I", include, "-o"])
                .args([&program, &path])
                .status()
                .expect("a compiler");
            assert!(compiled.success(), "{compiler}");
            let output = Command::new(&program).output().expect("runs");
            assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{compiler}");
        }
    }
}
