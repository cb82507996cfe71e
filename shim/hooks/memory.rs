//! Memory that the application gets and gives back.

use std::ffi::{c_int, c_void};

use hsa_replay_engine::handles::{Agent, Pool};
use hsa_replay_engine::{Allocation, Source};
use hsa_sys::{
    HSA_AMD_AGENT_INFO_MEMORY_AVAIL, HSA_STATUS_ERROR, HSA_STATUS_ERROR_OUT_OF_RESOURCES, HSA_STATUS_SUCCESS,
    hsa_agent_info_t, hsa_agent_t, hsa_amd_ipc_memory_t, hsa_amd_memory_pool_t, hsa_amd_svm_attribute_pair_t,
    hsa_handle_t, hsa_region_t, hsa_status_t,
};

use parking_lot::Mutex;

use crate::forward::real;
use crate::{event_thread, life};

/// Tells the engine of memory at the address that a successful call has written to `place`.
///
/// # Safety
/// If `status` is success, `place` is null or holds the address.
unsafe fn allocated(status: hsa_status_t, place: *mut *mut c_void, bytes: usize, source: Source) {
    if status != HSA_STATUS_SUCCESS || place.is_null() {
        return;
    }
    // SAFETY: not null, hence the place that the call has written to.
    let address = unsafe { place.read() };
    if !address.is_null() {
        let allocation = Allocation { address: address.addr() as u64, bytes: bytes as u64, source };
        life::with(|engine| engine.memory_allocated(&allocation));
    }
}

/// Makes a call that allocates device memory. If it fails, what windows keep of such memory is given back, and the call is made
/// once more.
pub fn allocating(mut call: impl FnMut() -> hsa_status_t) -> hsa_status_t {
    let status = call();
    let is_short = matches!(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES | HSA_STATUS_ERROR);
    if is_short && life::with(|engine| engine.give_back_memory(event_thread::may_wait())) == Some(true) {
        return call();
    }
    status
}

/// `hsa_agent_get_info`: memory that windows keep counts as free.
pub unsafe extern "C" fn hsa_agent_get_info(
    agent: hsa_agent_t,
    attribute: hsa_agent_info_t,
    value: *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_agent_get_info)(agent, attribute, value) };
    if attribute == HSA_AMD_AGENT_INFO_MEMORY_AVAIL && status == HSA_STATUS_SUCCESS && !value.is_null() {
        let hidden = life::with(|engine| engine.hidden_memory(Agent(agent.handle))).unwrap_or(0);
        let free = value.cast::<u64>();
        // SAFETY: the call has written a number of 64 bits there.
        unsafe { free.write_unaligned(free.read_unaligned().saturating_add(hidden)) };
    }
    status
}

/// An address on its way to another thread.
#[derive(Clone, Copy)]
pub struct Address(usize);

impl Address {
    pub fn of(pointer: *mut c_void) -> Self {
        Self(pointer.expose_provenance())
    }

    pub fn pointer(self) -> *mut c_void {
        std::ptr::with_exposed_provenance_mut(self.0)
    }
}

/// Makes a call that frees or detaches memory, around which the engine's record of it goes. On the runtime's event thread
/// nothing waits: a call for memory that a window is copying is made when the copy has ended, and succeeds here.
pub fn freeing(
    address: *mut c_void,
    call: impl FnOnce(*mut c_void) -> hsa_status_t + Send + 'static,
) -> hsa_status_t {
    let number = Address::of(address);
    let Some(freeing) =
        life::with(|engine| engine.memory_freeing(address.addr() as u64, event_thread::may_wait()))
    else {
        return call(address);
    };
    if freeing.is_late() {
        let late = move || call(number.pointer()) == HSA_STATUS_SUCCESS;
        life::with(|engine| engine.free_later(freeing, late));
        return HSA_STATUS_SUCCESS;
    }
    let status = call(address);
    life::with(|engine| engine.memory_freed(freeing, status == HSA_STATUS_SUCCESS));
    status
}

pub unsafe extern "C" fn hsa_amd_memory_pool_allocate(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    flags: u32,
    place: *mut *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = allocating(|| unsafe { real!(hsa_amd_memory_pool_allocate)(pool, size, flags, place) });
    // SAFETY: the call writes the address there when it succeeds.
    unsafe { allocated(status, place, size, Source::Pool { pool: Pool(pool.handle), flags }) };
    status
}

pub unsafe extern "C" fn hsa_amd_memory_pool_free(address: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    freeing(address, |address| unsafe { real!(hsa_amd_memory_pool_free)(address) })
}

pub unsafe extern "C" fn hsa_memory_allocate(
    region: hsa_region_t,
    size: usize,
    place: *mut *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = allocating(|| unsafe { real!(hsa_memory_allocate)(region, size, place) });
    // SAFETY: the call writes the address there when it succeeds.
    unsafe { allocated(status, place, size, Source::Region { region: Pool(region.handle) }) };
    status
}

pub unsafe extern "C" fn hsa_memory_free(address: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    freeing(address, |address| unsafe { real!(hsa_memory_free)(address) })
}

/// Host memory that becomes visible to agents: known, so that pointers which lead there are.
///
/// # Safety
/// As [`allocated`], for the address that agents use.
unsafe fn locked(status: hsa_status_t, host: *mut c_void, size: usize, place: *mut *mut c_void) {
    // SAFETY: the caller's obligation.
    unsafe { allocated(status, place, size, Source::Locked) };
    if status == HSA_STATUS_SUCCESS && !host.is_null() && !place.is_null() {
        // SAFETY: the call has succeeded and written the address there.
        LOCKED.lock().push((host.addr(), unsafe { place.read() }.addr() as u64));
    }
}

/// Locked memory: the address that the application knows it by and the one for agents. Few, since HIP keeps such memory no
/// longer than a copy unless the application registers it.
static LOCKED: Mutex<Vec<(usize, u64)>> = Mutex::new(Vec::new());

pub unsafe extern "C" fn hsa_amd_memory_lock(
    host: *mut c_void,
    size: usize,
    agents: *mut hsa_agent_t,
    num_agents: c_int,
    place: *mut *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_memory_lock)(host, size, agents, num_agents, place) };
    // SAFETY: the call writes the address there when it succeeds.
    unsafe { locked(status, host, size, place) };
    status
}

pub unsafe extern "C" fn hsa_amd_memory_lock_to_pool(
    host: *mut c_void,
    size: usize,
    agents: *mut hsa_agent_t,
    num_agents: c_int,
    pool: hsa_amd_memory_pool_t,
    flags: u32,
    place: *mut *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status =
        unsafe { real!(hsa_amd_memory_lock_to_pool)(host, size, agents, num_agents, pool, flags, place) };
    // SAFETY: the call writes the address there when it succeeds.
    unsafe { locked(status, host, size, place) };
    status
}

pub unsafe extern "C" fn hsa_amd_memory_unlock(host: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_memory_unlock)(host) };
    if status == HSA_STATUS_SUCCESS {
        let mut locked = LOCKED.lock();
        let at = locked.iter().rposition(|(known, _)| *known == host.addr());
        let agents_address = at.map(|at| locked.swap_remove(at).1);
        drop(locked);
        if let Some(address) = agents_address {
            life::with(|engine| engine.memory_unlocked(address));
        }
    }
    status
}

pub unsafe extern "C" fn hsa_amd_ipc_memory_attach(
    handle: *const hsa_amd_ipc_memory_t,
    size: usize,
    num_agents: u32,
    agents: *const hsa_agent_t,
    place: *mut *mut c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_ipc_memory_attach)(handle, size, num_agents, agents, place) };
    // SAFETY: the call writes the address there when it succeeds.
    unsafe { allocated(status, place, size, Source::IpcImport) };
    status
}

pub unsafe extern "C" fn hsa_amd_ipc_memory_detach(address: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    freeing(address, |address| unsafe { real!(hsa_amd_ipc_memory_detach)(address) })
}

#[allow(clippy::too_many_arguments, reason = "the signature is ROCr's")]
pub unsafe extern "C" fn hsa_amd_interop_map_buffer(
    num_agents: u32,
    agents: *mut hsa_agent_t,
    handle: hsa_handle_t,
    flags: u32,
    size: *mut usize,
    place: *mut *mut c_void,
    metadata_size: *mut usize,
    metadata: *mut *const c_void,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe {
        real!(hsa_amd_interop_map_buffer)(
            num_agents,
            agents,
            handle,
            flags,
            size,
            place,
            metadata_size,
            metadata,
        )
    };
    if status == HSA_STATUS_SUCCESS && !size.is_null() {
        // SAFETY: the call has succeeded and written the size and the address.
        unsafe { allocated(status, place, size.read(), Source::Interop) };
    }
    status
}

pub unsafe extern "C" fn hsa_amd_interop_unmap_buffer(address: *mut c_void) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    freeing(address, |address| unsafe { real!(hsa_amd_interop_unmap_buffer)(address) })
}

pub unsafe extern "C" fn hsa_amd_svm_attributes_set(
    address: *mut c_void,
    size: usize,
    list: *mut hsa_amd_svm_attribute_pair_t,
    count: usize,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_svm_attributes_set)(address, size, list, count) };
    let mut address = address;
    // SAFETY: the place is a local variable that holds the address.
    unsafe { allocated(status, &raw mut address, size, Source::Managed) };
    status
}
