//! Memory that is opened to others: other processes, devices of other drivers, peer agents.

use std::ffi::{c_int, c_void};
use std::slice;

use hsa_replay_engine::handles::Agent;
use hsa_sys::{HSA_STATUS_SUCCESS, hsa_agent_t, hsa_amd_ipc_memory_t, hsa_status_t};

use crate::forward::real;
use crate::{event_thread, life};

fn exported(status: hsa_status_t, address: *const c_void) -> hsa_status_t {
    if status == HSA_STATUS_SUCCESS {
        life::with(|engine| engine.memory_exported(address.addr() as u64, event_thread::may_wait()));
    }
    status
}

pub unsafe extern "C" fn hsa_amd_agents_allow_access(
    num_agents: u32,
    agents: *const hsa_agent_t,
    flags: *const u32,
    address: *const c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_agents_allow_access)(num_agents, agents, flags, address) };
    if status == HSA_STATUS_SUCCESS && !agents.is_null() {
        // SAFETY: the call has succeeded with this many agents.
        let agents = unsafe { slice::from_raw_parts(agents, num_agents as usize) };
        for agent in agents {
            let (address, agent) = (address.addr() as u64, Agent(agent.handle));
            life::with(|engine| engine.memory_opened(address, agent, event_thread::may_wait()));
        }
    }
    status
}

pub unsafe extern "C" fn hsa_amd_ipc_memory_create(
    address: *mut c_void,
    size: usize,
    handle: *mut hsa_amd_ipc_memory_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_ipc_memory_create)(address, size, handle) };
    exported(status, address)
}

pub unsafe extern "C" fn hsa_amd_portable_export_dmabuf(
    address: *const c_void,
    size: usize,
    dmabuf: *mut c_int,
    offset: *mut u64,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_portable_export_dmabuf)(address, size, dmabuf, offset) };
    exported(status, address)
}

pub unsafe extern "C" fn hsa_amd_portable_export_dmabuf_v2(
    address: *const c_void,
    size: usize,
    dmabuf: *mut c_int,
    offset: *mut u64,
    flags: u64,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_portable_export_dmabuf_v2)(address, size, dmabuf, offset, flags) };
    exported(status, address)
}
