//! Virtual memory: physical memory by handle, mapped at reserved addresses.
//!
//! The engine knows memory by address; what a handle stands for, and where it is mapped, is kept here. ROCr reports
//! such mappings differently from release to release, so the calls are what counts.

use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::slice;

use hsa_replay_engine::handles::{Agent, Pool};
use hsa_replay_engine::{Allocation, Sharing, Source};
use hsa_sys::{
    HSA_ACCESS_PERMISSION_RW, HSA_ACCESS_PERMISSION_WO, HSA_STATUS_SUCCESS, hsa_amd_memory_access_desc_t,
    hsa_amd_memory_pool_t, hsa_amd_memory_type_t, hsa_amd_vmem_alloc_handle_t, hsa_status_t,
};
use parking_lot::Mutex;

use super::memory::freeing;
use crate::forward::real;
use crate::life;

/// Physical memory behind a handle.
#[derive(Default)]
struct Physical {
    /// The pool that it came from, `None` when another process or driver owns it.
    pool: Option<Pool>,
    exported: bool,
    /// Addresses at which it is mapped.
    mappings: Vec<u64>,
}

static HANDLES: Mutex<Option<HashMap<u64, Physical>>> = Mutex::new(None);

/// Runs with the table of handles, which is never locked across a call of the runtime or the engine.
fn handles<R>(action: impl FnOnce(&mut HashMap<u64, Physical>) -> R) -> R {
    action(HANDLES.lock().get_or_insert_with(HashMap::new))
}

/// Notes a new handle, if the call succeeded; its number may have belonged to another one before.
///
/// # Safety
/// If `status` is success, `place` is null or holds the handle.
unsafe fn created(status: hsa_status_t, place: *mut hsa_amd_vmem_alloc_handle_t, pool: Option<Pool>) {
    if status == HSA_STATUS_SUCCESS && !place.is_null() {
        // SAFETY: not null, hence the place that the call has written to.
        let handle = unsafe { place.read() }.handle;
        handles(|handles| handles.insert(handle, Physical { pool, ..Physical::default() }));
    }
}

pub unsafe extern "C" fn hsa_amd_vmem_handle_create(
    pool: hsa_amd_memory_pool_t,
    size: usize,
    kind: hsa_amd_memory_type_t,
    flags: u64,
    handle: *mut hsa_amd_vmem_alloc_handle_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_handle_create)(pool, size, kind, flags, handle) };
    // SAFETY: the call writes the handle there when it succeeds.
    unsafe { created(status, handle, Some(Pool(pool.handle))) };
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_import_shareable_handle(
    dmabuf: c_int,
    handle: *mut hsa_amd_vmem_alloc_handle_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_import_shareable_handle)(dmabuf, handle) };
    // SAFETY: the call writes the handle there when it succeeds.
    unsafe { created(status, handle, None) };
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_export_shareable_handle(
    dmabuf: *mut c_int,
    handle: hsa_amd_vmem_alloc_handle_t,
    flags: u64,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_export_shareable_handle)(dmabuf, handle, flags) };
    if status == HSA_STATUS_SUCCESS {
        let mappings = handles(|handles| {
            let physical = handles.entry(handle.handle).or_default();
            physical.exported = true;
            physical.mappings.clone()
        });
        for address in mappings {
            life::with(|engine| engine.memory_shared(address, Sharing::Exported));
        }
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_map(
    address: *mut c_void,
    size: usize,
    offset: usize,
    handle: hsa_amd_vmem_alloc_handle_t,
    flags: u64,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_map)(address, size, offset, handle, flags) };
    if status == HSA_STATUS_SUCCESS {
        let address = address.addr() as u64;
        let (pool, exported) = handles(|handles| {
            let physical = handles.entry(handle.handle).or_default();
            physical.mappings.push(address);
            (physical.pool, physical.exported)
        });
        let source = Source::VirtualMemory { pool };
        life::with(|engine| {
            engine.memory_allocated(&Allocation { address, bytes: size as u64, source });
            if exported {
                engine.memory_shared(address, Sharing::Exported);
            }
        });
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_unmap(address: *mut c_void, size: usize) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = freeing(address, || unsafe { real!(hsa_amd_vmem_unmap)(address, size) });
    if status == HSA_STATUS_SUCCESS {
        let address = address.addr() as u64;
        handles(|handles| {
            for physical in handles.values_mut() {
                physical.mappings.retain(|mapping| *mapping != address);
            }
        });
    }
    status
}

pub unsafe extern "C" fn hsa_amd_vmem_set_access(
    address: *mut c_void,
    size: usize,
    list: *const hsa_amd_memory_access_desc_t,
    count: usize,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_vmem_set_access)(address, size, list, count) };
    if status == HSA_STATUS_SUCCESS && !list.is_null() {
        // SAFETY: the call has succeeded with this many descriptions.
        let list = unsafe { slice::from_raw_parts(list, count) };
        let writers = list
            .iter()
            .filter(|entry| matches!(entry.permissions, HSA_ACCESS_PERMISSION_RW | HSA_ACCESS_PERMISSION_WO));
        for writer in writers {
            let sharing = Sharing::OpenedTo(Agent(writer.agent_handle.handle));
            life::with(|engine| engine.memory_shared(address.addr() as u64, sharing));
        }
    }
    status
}
