//! The record with which a process begins.

use std::ffi::OsString;

use serde::{Deserialize, Serialize};

use super::{Allow, SCHEMA_VERSION};
use crate::text::shorten;
use crate::{Settings, VERSION};

/// A process started to take part: who writes, over which runtime, with which agents and settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Version of the format: [`SCHEMA_VERSION`].
    pub schema: u32,
    /// The process.
    pub pid: u32,
    /// The `run` that started the process or one of its parents: a name of its own, behind that of an outer `run` and a dot;
    /// null where the library was attached by hand.
    #[serde(default)]
    pub run: Option<String>,
    /// Version of hsa-replay.
    pub version: String,
    /// The real runtime.
    pub runtime: Runtime,
    /// The program's name and arguments, at most 4 KiB of them; null in reports of versions that did not say.
    #[serde(default)]
    pub command: Option<Vec<String>>,
    /// Its number among processes that were started together, as their launcher says it; null where none does.
    #[serde(default)]
    pub rank: Option<String>,
    /// The GPU agents, in the runtime's order.
    pub agents: Vec<Agent>,
    /// The settings in force.
    pub config: SessionConfig,
}

/// The most bytes of a command line that a record holds.
const MAX_COMMAND_BYTES: usize = 4096;

/// Variables in which launchers tell a process its rank: the innermost first, since one may start another (`srun torchrun`).
const RANKS: [&str; 6] =
    ["RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"];

impl Session {
    /// The session record of the calling process, `pid`, by this version of hsa-replay.
    pub fn new(pid: u32, runtime: Runtime, agents: Vec<Agent>, settings: &Settings) -> Self {
        let command = Some(command(std::env::args_os())).filter(|words| !words.is_empty());
        let rank = RANKS.iter().find_map(std::env::var_os);
        Self {
            schema: SCHEMA_VERSION,
            pid,
            run: settings.run.clone(),
            version: VERSION.to_owned(),
            runtime,
            command,
            rank: rank.map(|rank| shorten(&rank.to_string_lossy(), 40)),
            agents,
            config: settings.to_record(),
        }
    }
}

/// The words of a command line; the one with which it grows too long is cut off, and those behind it are left out.
fn command(words: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let mut room = MAX_COMMAND_BYTES;
    let mut kept = Vec::new();
    for word in words {
        let mut word = word.to_string_lossy().into_owned();
        let end = (0..=room.min(word.len())).rev().find(|&end| word.is_char_boundary(end)).unwrap_or(0);
        let whole = end == word.len();
        word.truncate(end);
        room -= end;
        kept.push(if whole { word } else { word + "…" });
        if !whole {
            break;
        }
    }
    kept
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_cut_off_where_it_grows_too_long() {
        let words = |line: &[&str]| command(line.iter().map(OsString::from));
        assert_eq!(words(&["prog", "", "-n 3"]), ["prog", "", "-n 3"]);
        let long = "é".repeat(MAX_COMMAND_BYTES);
        let cut = words(&["p", &long, "left out"]);
        assert_eq!((cut.len(), cut[1].len()), (2, MAX_COMMAND_BYTES - 2 + "…".len()));
        assert!(words(&[]).is_empty());
    }
}
