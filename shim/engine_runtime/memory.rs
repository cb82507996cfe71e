//! Pools, the engine's own host memory, who an address belongs to, and copies.

use std::ffi::c_void;
use std::ptr;

use hsa_replay_engine::handles::{Agent, Signal};
use hsa_replay_engine::runtime::{
    AgentFacts, Copy, DeviceMemory, PointerFacts, PoolFacts, RuntimeError, RuntimeResult,
};
use hsa_sys::{
    HSA_AMD_AGENT_INFO_MEMORY_AVAIL, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED,
    HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT,
    HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, HSA_AMD_MEMORY_POOL_INFO_SIZE,
    HSA_AMD_SEGMENT_GLOBAL, HSA_REGION_INFO_GLOBAL_FLAGS, HSA_REGION_INFO_SEGMENT, HSA_REGION_SEGMENT_GLOBAL,
    HSA_STATUS_ERROR_OUT_OF_RESOURCES, hsa_agent_t, hsa_amd_memory_pool_info_t, hsa_amd_memory_pool_t,
    hsa_amd_pointer_info_t, hsa_amd_segment_t, hsa_region_info_t, hsa_region_segment_t, hsa_region_t,
    hsa_signal_t,
};

use super::call::{address, attribute, call, collect, pointer};
use super::pool_of;

/// Pages that the engine's blocks are aligned to.
const PAGE: u64 = 4096;

/// All pools of all agents, and the regions that are not listed as pools.
pub fn pools(agents: &[AgentFacts]) -> RuntimeResult<Vec<PoolFacts>> {
    let mut facts: Vec<PoolFacts> = Vec::new();
    for agent in agents {
        for pool in agent_pools(agent.agent)? {
            facts.push(pool_facts(agent.agent, pool)?);
        }
        for region in agent_regions(agent.agent)? {
            if !facts.iter().any(|known| known.pool.0 == region.handle) {
                facts.push(region_facts(agent.agent, region)?);
            }
        }
    }
    Ok(facts)
}

fn agent_pools(agent: Agent) -> RuntimeResult<Vec<hsa_amd_memory_pool_t>> {
    let mut pools: Vec<hsa_amd_memory_pool_t> = Vec::new();
    let agent = hsa_agent_t { handle: agent.0 };
    // SAFETY: the callback is for a list of pools, which outlives the call.
    unsafe { call!(hsa_amd_agent_iterate_memory_pools(agent, Some(collect), (&raw mut pools).cast())) }?;
    Ok(pools)
}

fn agent_regions(agent: Agent) -> RuntimeResult<Vec<hsa_region_t>> {
    let mut regions: Vec<hsa_region_t> = Vec::new();
    let agent = hsa_agent_t { handle: agent.0 };
    // SAFETY: the callback is for a list of regions, which outlives the call.
    unsafe { call!(hsa_agent_iterate_regions(agent, Some(collect), (&raw mut regions).cast())) }?;
    Ok(regions)
}

fn pool_facts(agent: Agent, pool: hsa_amd_memory_pool_t) -> RuntimeResult<PoolFacts> {
    let info = |what: hsa_amd_memory_pool_info_t, place: *mut c_void| {
        // SAFETY: each attribute asked for here is of the type of its place.
        unsafe { call!(hsa_amd_memory_pool_get_info(pool, what, place)) }
    };
    let segment: hsa_amd_segment_t = attribute(|place| info(HSA_AMD_MEMORY_POOL_INFO_SEGMENT, place))?;
    let global = segment == HSA_AMD_SEGMENT_GLOBAL;
    let global_flags =
        if global { attribute(|place| info(HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, place))? } else { 0 };
    Ok(PoolFacts { pool: pool_of(pool.handle), agent, global_flags, global })
}

fn region_facts(agent: Agent, region: hsa_region_t) -> RuntimeResult<PoolFacts> {
    let info = |what: hsa_region_info_t, place: *mut c_void| {
        // SAFETY: each attribute asked for here is of the type of its place.
        unsafe { call!(hsa_region_get_info(region, what, place)) }
    };
    let segment: hsa_region_segment_t = attribute(|place| info(HSA_REGION_INFO_SEGMENT, place))?;
    let global = segment == HSA_REGION_SEGMENT_GLOBAL;
    let global_flags = if global { attribute(|place| info(HSA_REGION_INFO_GLOBAL_FLAGS, place))? } else { 0 };
    Ok(PoolFacts { pool: pool_of(region.handle), agent, global_flags, global })
}

/// The first fine-grained pool of a host agent that is not meant for kernel arguments.
pub fn host_pool(agents: &[AgentFacts]) -> RuntimeResult<hsa_amd_memory_pool_t> {
    for agent in agents.iter().filter(|agent| !agent.gpu) {
        for pool in agent_pools(agent.agent)? {
            let facts = pool_facts(agent.agent, pool)?;
            let fine = facts.global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED != 0;
            let kernarg = facts.global_flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT != 0;
            if facts.global && fine && !kernarg {
                return Ok(pool);
            }
        }
    }
    Err(RuntimeError {
        call: "looking for a fine-grained host pool",
        status: HSA_STATUS_ERROR_OUT_OF_RESOURCES,
    })
}

/// The first coarse-grained pool of each GPU that has one.
pub fn device_pools(agents: &[AgentFacts]) -> RuntimeResult<Vec<(Agent, hsa_amd_memory_pool_t)>> {
    let mut pools = Vec::new();
    for agent in agents.iter().filter(|agent| agent.gpu) {
        for pool in agent_pools(agent.agent)? {
            let facts = pool_facts(agent.agent, pool)?;
            if facts.global && facts.global_flags == HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED {
                pools.push((agent.agent, pool));
                break;
            }
        }
    }
    Ok(pools)
}

pub fn allocate_device(pool: hsa_amd_memory_pool_t, bytes: u64) -> RuntimeResult<u64> {
    allocate(pool, bytes).map(|(place, _)| address(place))
}

pub fn device_memory(agent: Agent, pool: hsa_amd_memory_pool_t) -> RuntimeResult<DeviceMemory> {
    let agent = hsa_agent_t { handle: agent.0 };
    let free = attribute(|place| {
        // SAFETY: the attribute is a number of 64 bits, as its place.
        unsafe { call!(hsa_agent_get_info(agent, HSA_AMD_AGENT_INFO_MEMORY_AVAIL, place)) }
    })?;
    let total: usize = attribute(|place| {
        // SAFETY: the attribute is a `size_t`, as its place.
        unsafe { call!(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, place)) }
    })?;
    Ok(DeviceMemory { free, total: total as u64 })
}

/// Allocates whole pages of a pool: the block and its size.
fn allocate(pool: hsa_amd_memory_pool_t, bytes: u64) -> RuntimeResult<(*mut c_void, usize)> {
    let too_large =
        RuntimeError { call: "hsa_amd_memory_pool_allocate", status: HSA_STATUS_ERROR_OUT_OF_RESOURCES };
    let size = bytes
        .max(1)
        .checked_next_multiple_of(PAGE)
        .and_then(|size| usize::try_from(size).ok())
        .ok_or(too_large)?;
    let mut place: *mut c_void = ptr::null_mut();
    // SAFETY: the place is a local variable of the right type.
    unsafe { call!(hsa_amd_memory_pool_allocate(pool, size, 0, &raw mut place)) }?;
    Ok((place, size))
}

pub fn allocate_host(pool: hsa_amd_memory_pool_t, gpus: &[hsa_agent_t], bytes: u64) -> RuntimeResult<u64> {
    let (place, size) = allocate(pool, bytes)?;
    let block = address(place);
    let granted = match u32::try_from(gpus.len()) {
        Ok(0) | Err(_) => Ok(()),
        // SAFETY: the list holds this many agents, and the block was just allocated.
        Ok(count) => unsafe { call!(hsa_amd_agents_allow_access(count, gpus.as_ptr(), ptr::null(), place)) },
    };
    if let Err(error) = granted {
        free(block)?;
        return Err(error);
    }
    // SAFETY: host memory of this size that nobody else knows yet.
    unsafe { ptr::write_bytes(place.cast::<u8>(), 0, size) };
    Ok(block)
}

pub fn free(block: u64) -> RuntimeResult<()> {
    // SAFETY: the engine gives back what it got from `allocate_host` or `allocate_device`, once.
    unsafe { call!(hsa_amd_memory_pool_free(pointer(block))) }
}

pub fn pointer_facts(at: u64) -> RuntimeResult<PointerFacts> {
    let size = u32::try_from(size_of::<hsa_amd_pointer_info_t>()).unwrap_or(u32::MAX);
    let mut info = hsa_amd_pointer_info_t { size, ..Default::default() };
    // SAFETY: `info` says its own size, which an older runtime respects; no list of agents is asked for.
    unsafe {
        call!(hsa_amd_pointer_info(
            pointer::<c_void>(at).cast_const(),
            &raw mut info,
            None,
            ptr::null_mut(),
            ptr::null_mut()
        ))
    }?;
    Ok(PointerFacts {
        kind: info.type_,
        base: address(info.agentBaseAddress),
        host_base: address(info.hostBaseAddress),
        size: info.sizeInBytes as u64,
        owner: Agent(info.agentOwner.handle),
        global_flags: info.global_flags,
    })
}

pub fn submit_copy(copy: &Copy, completion: Signal) -> RuntimeResult<()> {
    let too_large =
        RuntimeError { call: "hsa_amd_memory_async_copy", status: HSA_STATUS_ERROR_OUT_OF_RESOURCES };
    let size = usize::try_from(copy.bytes).map_err(|_| too_large)?;
    // SAFETY: the engine copies between memory of its own and allocations that it keeps from being freed meanwhile.
    unsafe {
        call!(hsa_amd_memory_async_copy(
            pointer(copy.to),
            hsa_agent_t { handle: copy.to_agent.0 },
            pointer::<c_void>(copy.from).cast_const(),
            hsa_agent_t { handle: copy.from_agent.0 },
            size,
            0,
            ptr::null(),
            hsa_signal_t { handle: completion.0 },
        ))
    }
}
