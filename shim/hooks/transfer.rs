//! Calls that move memory and return when that is done: copies, fills, images, files.
//!
//! Each is kept apart from windows: it waits for the end of one, except on the runtime's event thread, where nothing waits and
//! an open window ends instead, and is told what was copied if it may undo that.

use std::ffi::c_void;
use std::ops::Range;

use hsa_replay_engine::SyncCopy;
use hsa_replay_engine::handles::Agent;
use hsa_sys::{
    HSA_STATUS_SUCCESS, hsa_agent_t, hsa_amd_ais_file_handle_t, hsa_dim3_t, hsa_ext_image_region_t,
    hsa_ext_image_t, hsa_status_t,
};

use crate::forward::real;
use crate::{event_thread, life};

/// Keeps windows away from memory of this agent, or of any, while the result lives.
fn fenced(agent: Option<hsa_agent_t>, to: Option<Range<u64>>) -> Option<SyncCopy> {
    let agent = agent.map(|agent| [Agent(agent.handle)]);
    let agents = agent.as_ref().map(|agents| &agents[..]);
    life::with(|engine| engine.sync_copy(agents, to, event_thread::may_wait()))
}

fn range(address: *const c_void, bytes: usize) -> Option<Range<u64>> {
    let start = address.addr() as u64;
    Some(start..start.saturating_add(bytes as u64))
}

/// Most bytes that are kept of a copy which a window may undo.
const KEPT: usize = 1 << 30;

/// After the real call: a window that it could not wait for wants to know what was copied, if it may undo it. `bytes` puts
/// `length` of them into a vector; without them the window is known to have lost them.
fn tell(
    copy: Option<SyncCopy>,
    status: hsa_status_t,
    length: usize,
    bytes: impl FnOnce(&mut Vec<u8>) -> bool,
) -> hsa_status_t {
    if let Some(mut copy) = copy.filter(SyncCopy::wants_bytes) {
        let mut kept = Vec::new();
        if status != HSA_STATUS_SUCCESS {
            copy.failed();
        } else if length <= KEPT && kept.try_reserve_exact(length).is_ok() && bytes(&mut kept) {
            copy.keep(&kept);
        }
    }
    status
}

pub unsafe extern "C" fn hsa_memory_copy(dst: *mut c_void, src: *const c_void, size: usize) -> hsa_status_t {
    let copy = fenced(None, range(dst, size));
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_memory_copy)(dst, src, size) };
    tell(copy, status, size, |kept| {
        kept.resize(size, 0);
        // SAFETY: the source as before, which the caller keeps until it returns; the destination is a vector of this size.
        let status = unsafe { real!(hsa_memory_copy)(kept.as_mut_ptr().cast(), src, size) };
        status == HSA_STATUS_SUCCESS
    })
}

/// Fills `count` words of 32 bits.
pub unsafe extern "C" fn hsa_amd_memory_fill(ptr: *mut c_void, value: u32, count: usize) -> hsa_status_t {
    let bytes = count.saturating_mul(size_of::<u32>());
    let copy = fenced(None, range(ptr, bytes));
    // SAFETY: the caller's obligations are passed on.
    let status = unsafe { real!(hsa_amd_memory_fill)(ptr, value, count) };
    tell(copy, status, bytes, |kept| {
        kept.extend(std::iter::repeat_n(value.to_ne_bytes(), count).flatten());
        true
    })
}

pub unsafe extern "C" fn hsa_ext_image_import(
    agent: hsa_agent_t,
    memory: *const c_void,
    row_pitch: usize,
    slice_pitch: usize,
    image: hsa_ext_image_t,
    region: *const hsa_ext_image_region_t,
) -> hsa_status_t {
    let _fenced = fenced(Some(agent), None);
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
    let _fenced = fenced(None, None);
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
    let _fenced = fenced(Some(agent), None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_ext_image_copy)(agent, src, src_offset, dst, dst_offset, range) }
}

pub unsafe extern "C" fn hsa_ext_image_clear(
    agent: hsa_agent_t,
    image: hsa_ext_image_t,
    data: *const c_void,
    region: *const hsa_ext_image_region_t,
) -> hsa_status_t {
    let _fenced = fenced(Some(agent), None);
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
    let _fenced = fenced(None, None);
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_ais_file_read)(handle, memory, size, offset, copied, status) }
}

/// What a pass has half done must not reach storage. It writes to no memory.
pub unsafe extern "C" fn hsa_amd_ais_file_write(
    handle: hsa_amd_ais_file_handle_t,
    memory: *mut c_void,
    size: u64,
    offset: i64,
    copied: *mut u64,
    status: *mut i32,
) -> hsa_status_t {
    let _fenced = fenced(None, range(memory, 0));
    // SAFETY: the caller's obligations are passed on.
    unsafe { real!(hsa_amd_ais_file_write)(handle, memory, size, offset, copied, status) }
}
