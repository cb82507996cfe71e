//! Calls that move memory and return when that is done: copies, fills, images, files.
//!
//! Each is kept apart from windows: it waits for the end of one, except on the runtime's event thread, where nothing waits and
//! an open window ends instead.

use std::ffi::c_void;

use hsa_replay_engine::SyncCopy;
use hsa_replay_engine::handles::Agent;
use hsa_sys::{
    hsa_agent_t, hsa_amd_ais_file_handle_t, hsa_dim3_t, hsa_ext_image_region_t, hsa_ext_image_t, hsa_status_t,
};

use crate::forward::real;
use crate::{event_thread, life};

/// Keeps windows away from memory of this agent, or of any, while the result lives.
fn fenced(agent: Option<hsa_agent_t>) -> Option<SyncCopy> {
    let agent = agent.map(|agent| [Agent(agent.handle)]);
    let agents = agent.as_ref().map(|agents| &agents[..]);
    life::with(|engine| engine.sync_copy(agents, event_thread::may_wait()))
}

pub unsafe extern "C" fn hsa_memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> hsa_status_t {
    let _fenced = fenced(None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_memory_copy)(dst, src, size) }
}

pub unsafe extern "C" fn hsa_amd_memory_fill(ptr: *mut c_void, value: u32, count: usize) -> hsa_status_t {
    let _fenced = fenced(None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_memory_fill)(ptr, value, count) }
}

pub unsafe extern "C" fn hsa_ext_image_import(
    agent: hsa_agent_t,
    memory: *const c_void,
    row_pitch: usize,
    slice_pitch: usize,
    image: hsa_ext_image_t,
    region: *const hsa_ext_image_region_t,
) -> hsa_status_t {
    let _fenced = fenced(Some(agent));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_ext_image_import)(agent, memory, row_pitch, slice_pitch, image, region) }
}

pub unsafe extern "C" fn hsa_ext_image_export(
    agent: hsa_agent_t,
    image: hsa_ext_image_t,
    memory: *mut c_void,
    row_pitch: usize,
    slice_pitch: usize,
    region: *const hsa_ext_image_region_t,
) -> hsa_status_t {
    // It may write to the memory of any agent.
    let _fenced = fenced(None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_ext_image_export)(agent, image, memory, row_pitch, slice_pitch, region) }
}

pub unsafe extern "C" fn hsa_ext_image_copy(
    agent: hsa_agent_t,
    src: hsa_ext_image_t,
    src_offset: *const hsa_dim3_t,
    dst: hsa_ext_image_t,
    dst_offset: *const hsa_dim3_t,
    range: *const hsa_dim3_t,
) -> hsa_status_t {
    let _fenced = fenced(Some(agent));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_ext_image_copy)(agent, src, src_offset, dst, dst_offset, range) }
}

pub unsafe extern "C" fn hsa_ext_image_clear(
    agent: hsa_agent_t,
    image: hsa_ext_image_t,
    data: *const c_void,
    region: *const hsa_ext_image_region_t,
) -> hsa_status_t {
    let _fenced = fenced(Some(agent));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_ext_image_clear)(agent, image, data, region) }
}

/// Storage straight into device memory.
pub unsafe extern "C" fn hsa_amd_ais_file_read(
    handle: hsa_amd_ais_file_handle_t,
    memory: *mut c_void,
    size: u64,
    offset: i64,
    copied: *mut u64,
    status: *mut i32,
) -> hsa_status_t {
    let _fenced = fenced(None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_ais_file_read)(handle, memory, size, offset, copied, status) }
}

/// What a pass has half done must not reach storage.
pub unsafe extern "C" fn hsa_amd_ais_file_write(
    handle: hsa_amd_ais_file_handle_t,
    memory: *mut c_void,
    size: u64,
    offset: i64,
    copied: *mut u64,
    status: *mut i32,
) -> hsa_status_t {
    let _fenced = fenced(None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_ais_file_write)(handle, memory, size, offset, copied, status) }
}
