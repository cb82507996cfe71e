//! Agents, their clocks, and the runtime's identity.

use std::ffi::{CStr, c_char, c_void};

use hsa_replay_engine::handles::Agent;
use hsa_replay_engine::runtime::{AgentFacts, RuntimeError, RuntimeResult};
use hsa_sys::{
    HSA_AGENT_INFO_DEVICE, HSA_AGENT_INFO_NAME, HSA_AGENT_INFO_NODE, HSA_AMD_AGENT_INFO_UUID,
    HSA_AMD_SYSTEM_INFO_BUILD_VERSION, HSA_DEVICE_TYPE_GPU, HSA_STATUS_ERROR,
    HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, HSA_SYSTEM_INFO_VERSION_MAJOR, HSA_SYSTEM_INFO_VERSION_MINOR,
    hsa_agent_info_t, hsa_agent_t, hsa_device_type_t, hsa_system_info_t,
};

use super::call::{attribute, call, collect};
use crate::runtime::{self, Found};

/// Longest name or identity that the runtime writes, with its terminator (`hsa.h`: names have 64 characters,
/// `hsa_ext_amd.h`: identities 21).
const TEXT_BYTES: usize = 64;

pub fn all() -> RuntimeResult<Vec<AgentFacts>> {
    let mut agents: Vec<hsa_agent_t> = Vec::new();
    // SAFETY: the callback is for a list of agents, which outlives the call.
    unsafe { call!(hsa_iterate_agents(Some(collect::<hsa_agent_t>), (&raw mut agents).cast())) }?;
    agents.into_iter().map(facts).collect()
}

fn facts(agent: hsa_agent_t) -> RuntimeResult<AgentFacts> {
    let device: hsa_device_type_t = attribute(|place| info(agent, HSA_AGENT_INFO_DEVICE, place))?;
    Ok(AgentFacts {
        agent: Agent(agent.handle),
        gpu: device == HSA_DEVICE_TYPE_GPU,
        name: text(agent, HSA_AGENT_INFO_NAME)?,
        node: attribute(|place| info(agent, HSA_AGENT_INFO_NODE, place))?,
        // Agents other than GPUs, and older runtimes, may have none.
        uuid: text(agent, HSA_AMD_AGENT_INFO_UUID).unwrap_or_default(),
    })
}

fn info(agent: hsa_agent_t, what: hsa_agent_info_t, place: *mut c_void) -> RuntimeResult<()> {
    // SAFETY: the callers here pass a place as large as the attribute's type.
    unsafe { call!(hsa_agent_get_info(agent, what, place)) }
}

fn text(agent: hsa_agent_t, what: hsa_agent_info_t) -> RuntimeResult<String> {
    // One more byte than the runtime writes: the text always ends.
    let mut bytes = [0_u8; TEXT_BYTES + 1];
    info(agent, what, bytes.as_mut_ptr().cast())?;
    let text = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
    Ok(text.to_string_lossy().into_owned())
}

fn system<T: Copy + Default>(what: hsa_system_info_t) -> RuntimeResult<T> {
    // SAFETY: the callers here name the attribute's type.
    attribute(|place| unsafe { call!(hsa_system_get_info(what, place)) })
}

/// Ticks of the system clock a second.
pub fn tick_frequency() -> RuntimeResult<u64> {
    system(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY)
}

/// Path of the real library, and its version: the build's name where the runtime tells it, otherwise the interface's.
pub fn identity() -> (String, String) {
    let path = match runtime::get() {
        Found::Runtime(runtime) => runtime.path().display().to_string(),
        Found::Nothing | Found::Loading => String::new(),
    };
    (path, build_version().or_else(|_| interface_version()).unwrap_or_default())
}

fn build_version() -> RuntimeResult<String> {
    let text: usize = system(HSA_AMD_SYSTEM_INFO_BUILD_VERSION)?;
    if text == 0 {
        return Err(RuntimeError { call: "hsa_system_get_info", status: HSA_STATUS_ERROR });
    }
    // SAFETY: the attribute is a static C string of the runtime.
    let text = unsafe { CStr::from_ptr(std::ptr::with_exposed_provenance::<c_char>(text)) };
    // Some builds put quotation marks around it.
    Ok(text.to_string_lossy().trim_matches('"').to_owned())
}

fn interface_version() -> RuntimeResult<String> {
    let major: u16 = system(HSA_SYSTEM_INFO_VERSION_MAJOR)?;
    let minor: u16 = system(HSA_SYSTEM_INFO_VERSION_MINOR)?;
    Ok(format!("{major}.{minor}"))
}

/// Nanoseconds between two ticks of an agent, by way of the system clock. `None` where the runtime cannot translate
/// or the agent's clock stands still.
pub fn ticks_to_ns(agent: Agent, start: u64, end: u64, frequency: u64) -> Option<u64> {
    if start == 0 || end < start || frequency == 0 {
        return None;
    }
    let agent = hsa_agent_t { handle: agent.0 };
    let translated = |tick: u64| {
        let mut system = 0_u64;
        // SAFETY: the place is a local variable of the right type.
        let result =
            unsafe { call!(hsa_amd_profiling_convert_tick_to_system_domain(agent, tick, &raw mut system)) };
        result.ok().map(|()| system)
    };
    let ticks = translated(end)?.checked_sub(translated(start)?)?;
    u64::try_from(u128::from(ticks) * 1_000_000_000 / u128::from(frequency)).ok()
}
