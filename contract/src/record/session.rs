//! The record with which a process begins.

use serde::{Deserialize, Serialize};

use super::{Allow, SCHEMA_VERSION};
use crate::{Settings, VERSION};

/// A process started to take part: who writes, over which runtime, with which agents and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Version of the format: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The process.
    pub pid: u32,
    /// Version of hsa-replay.
    pub version: String,
    /// The real runtime.
    pub runtime: Runtime,
    /// The GPU agents, in the runtime's order.
    pub agents: Vec<Agent>,
    /// The settings in force.
    pub config: SessionConfig,
}

impl Session {
    /// The session record of process `pid` by this version of hsa-replay.
    pub fn new(pid: u32, runtime: Runtime, agents: Vec<Agent>, settings: &Settings) -> Self {
        let version = VERSION.to_owned();
        Self { schema: SCHEMA_VERSION, pid, version, runtime, agents, config: settings.to_record() }
    }
}

/// The real HSA runtime that does the work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// The library's file.
    pub path: Option<String>,
    /// Its version as it gives it (`HSA_AMD_SYSTEM_INFO_BUILD_VERSION`, else the HSA version).
    pub version: Option<String>,
}

/// A GPU agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The number that `dispatch.agent` refers to, from 0.
    pub index: u32,
    /// The target's name, for example `gfx942` (`HSA_AGENT_INFO_NAME`).
    pub name: String,
    /// The node in the driver's topology (`HSA_AGENT_INFO_NODE`).
    pub node: Option<u32>,
    /// The device's identity, for example `GPU-…` (`HSA_AMD_AGENT_INFO_UUID`).
    pub uuid: Option<String>,
}

/// The settings in force; the keys are those of the config file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionConfig {
    /// Passes of a selected dispatch.
    pub passes: u16,
    /// The kernel filter; null selects every kernel but HIP's own.
    pub kernel: Option<String>,
    /// Matching dispatches left out first.
    pub launch_skip: u64,
    /// Matching dispatches taken after them; null takes all.
    pub launch_count: Option<u64>,
    /// Whether memory is compared after each pass.
    pub check: bool,
    /// The report's name as given.
    pub output: String,
    /// The folder for the bytes of written ranges; null stores none.
    pub dump_writes: Option<String>,
    /// The longest that one window may take, in seconds.
    pub timeout: f64,
    /// The most bytes of one snapshot; null means half of the memory available.
    pub budget: Option<u64>,
    /// What is replayed although it is not safe in general.
    pub allow: Vec<Allow>,
    /// Which further kernels wait for others; null means none.
    pub waiting: Option<String>,
    /// Whether a tainted window ends the process.
    pub strict: bool,
    /// Whether child processes take part.
    pub follow_children: bool,
    /// The log filter.
    pub log: Option<String>,
    /// The log's file; null means standard error.
    pub log_file: Option<String>,
    /// The real runtime as asked for; null means that it was searched for.
    pub runtime: Option<String>,
    /// The library whose callbacks hear of each replay; null means none.
    pub tool: Option<String>,
    /// The config file that the process itself read.
    pub config: Option<String>,
}
