//! The render node: libdrm's amdgpu calls, and the few DRM requests that reach the node without libdrm.

mod buffers;
mod device;
pub(crate) mod share;

use core::ffi::{c_int, c_ulong, c_void};

use model_gpu_core::say;

pub(crate) use buffers::program_metadata;

use crate::interpose::fail;
use crate::session::Session;

/// DRM request numbers: the driver's own commands start at 0x40.
const GEM_CLOSE: c_ulong = 0x09;
const AMDGPU_GEM_MMAP: c_ulong = 0x41;

/// Answers a DRM request on the render node.
///
/// # Safety
/// `argument` points to the structure that the request's number names.
pub(crate) unsafe fn ioctl(session: &Session, request: c_ulong, argument: *mut c_void) -> c_int {
    match request & 0xff {
        GEM_CLOSE => {
            // SAFETY: `struct drm_gem_close` starts with the number.
            let number = unsafe { argument.cast::<u32>().read_unaligned() };
            if session.gems.lock().remove(&number).is_some() { 0 } else { fail(libc::EINVAL) }
        }
        // SAFETY: `union drm_amdgpu_gem_mmap` is what the number names.
        AMDGPU_GEM_MMAP => match unsafe { buffers::gem_mmap(session, argument) } {
            0 => 0,
            error => fail(-error),
        },
        other => {
            say!("DRM ioctl {other:#04x} on the render node is not supported: EINVAL");
            fail(libc::EINVAL)
        }
    }
}
