//! libdrm's calls about buffers: import, export, and mapping at an address.
//!
//! A handle that is not ours goes to the real libdrm, if the program has one.

use core::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use model_gpu_core::memory::{Buffer, Kind, Rights};
use model_gpu_core::{say, trace};

use super::device::device;
use super::share;
use crate::interpose::real;
use crate::kfd::Errno;
use crate::session::{self, Session};

/// `enum amdgpu_bo_handle_type`
const HANDLE_GEM_FLINK: c_uint = 0;
const HANDLE_KMS: c_uint = 1;
const HANDLE_DMA_BUF: c_uint = 2;
const HANDLE_KMS_NOIMPORT: c_uint = 3;

/// `AMDGPU_VA_OP_*`
const OP_MAP: u32 = 1;
const OP_UNMAP: u32 = 2;
const OP_REPLACE: u32 = 4;

/// `AMDGPU_VM_PAGE_*`
const PAGE_WRITEABLE: u64 = 4;
const PAGE_EXECUTABLE: u64 = 8;

/// Marks buffer handles of ours among the program's.
const MAGIC: u64 = 0x6d6f_6465_6c62_7566;

/// A buffer handle.
#[derive(Debug)]
#[repr(C)]
struct Handle {
    magic: u64,
    buffer: Arc<Buffer>,
    /// The agent through whose device it was imported.
    agent: usize,
}

/// `struct amdgpu_bo_metadata`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
struct Metadata {
    flags: u64,
    tiling_info: u64,
    size_metadata: u32,
    umd_metadata: [u32; 64],
    pad: u32,
}

impl Metadata {
    /// What was noted of a buffer.
    fn of(buffer: &Buffer) -> Self {
        let bytes = share::metadata(buffer, size_of::<Self>());
        // SAFETY: as many bytes as the structure has, which are integers: any are a value.
        unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() }
    }
}

/// The part of what was noted of `buffer` that only programs understand.
pub(crate) fn program_metadata(buffer: &Buffer) -> Vec<u8> {
    let Metadata { size_metadata, umd_metadata, .. } = Metadata::of(buffer);
    let mut bytes: Vec<_> = umd_metadata.iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.truncate(size_metadata as usize);
    bytes
}

/// `struct amdgpu_bo_info`
#[repr(C)]
#[derive(Debug)]
struct Info {
    alloc_size: u64,
    phys_alignment: u64,
    preferred_heap: u32,
    pad: u32,
    alloc_flags: u64,
    metadata: Metadata,
}

/// `struct amdgpu_bo_import_result`
#[repr(C)]
#[derive(Debug)]
struct ImportResult {
    handle: *mut c_void,
    alloc_size: u64,
}

/// The buffer behind a handle of ours.
///
/// # Safety
/// `handle` is null or points to a buffer handle, of ours or of libdrm, that was not freed; both are at least 8 bytes.
unsafe fn handle<'h>(handle: *mut c_void) -> Option<&'h Handle> {
    let handle = handle.cast::<Handle>();
    if handle.is_null() || !handle.is_aligned() {
        return None;
    }
    // SAFETY: the caller promises at least the first field; the rest is read only if that says that it is ours.
    unsafe { ((*handle).magic == MAGIC).then(|| &*handle) }
}

/// Passes a call about a handle that is not ours on to the real libdrm; EINVAL if there is none or the handle is null.
macro_rules! pass_on {
    ($name:ident($handle:expr $(, $argument:expr => $ty:ty)*)) => {
        match real!($name: fn(*mut c_void $(, $ty)*) -> c_int) {
            // SAFETY: the arguments are passed on as they came.
            Some(real) if !$handle.is_null() => unsafe { real($handle $(, $argument)*) },
            _ => -libc::EINVAL,
        }
    };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_import(
    dev: *mut c_void,
    kind: c_uint,
    shared: u32,
    result: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes a device handle.
    let (Some(session), Some(device)) = (session::session(), unsafe { device(dev) }) else {
        return pass_on!(amdgpu_bo_import(dev, kind => c_uint, shared => u32, result => *mut c_void));
    };
    let buffer = match kind {
        HANDLE_DMA_BUF => i32::try_from(shared).ok().and_then(|fd| share::find(session, fd)),
        HANDLE_KMS | HANDLE_KMS_NOIMPORT | HANDLE_GEM_FLINK => {
            session.gems.lock().get(&shared).and_then(|b| b.upgrade())
        }
        _ => None,
    };
    let Some(buffer) = buffer else { return -libc::EINVAL };
    trace!("imports {:#x} bytes", buffer.bytes);
    let alloc_size = buffer.bytes;
    let handle = Box::new(Handle { magic: MAGIC, buffer, agent: device.agent });
    let answer = ImportResult { handle: Box::into_raw(handle).cast(), alloc_size };
    // SAFETY: the caller passes room for the result.
    unsafe { result.cast::<ImportResult>().write_unaligned(answer) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_free(bo: *mut c_void) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    if unsafe { handle(bo) }.is_none() {
        return pass_on!(amdgpu_bo_free(bo));
    }
    // SAFETY: the handle came from the box of `amdgpu_bo_import`, and the caller gives it up.
    unsafe {
        (*bo.cast::<Handle>()).magic = 0;
        drop(Box::from_raw(bo.cast::<Handle>()));
    }
    if let Some(session) = session::session() {
        share::sweep(session);
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_export(bo: *mut c_void, kind: c_uint, shared: *mut u32) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    let (Some(session), Some(handle)) = (session::session(), unsafe { handle(bo) }) else {
        return pass_on!(amdgpu_bo_export(bo, kind => c_uint, shared => *mut u32));
    };
    let number = match kind {
        HANDLE_KMS | HANDLE_KMS_NOIMPORT | HANDLE_GEM_FLINK => {
            let Ok(number) = u32::try_from(handle.buffer.id) else { return -libc::ENOMEM };
            session.gems.lock().insert(number, Arc::downgrade(&handle.buffer));
            number
        }
        HANDLE_DMA_BUF => match share::export(session, &handle.buffer, true) {
            Ok(fd) => fd.cast_unsigned(),
            Err(Errno(errno)) => return -errno,
        },
        other => {
            say!("amdgpu_bo_export to handle type {other} is not supported: EINVAL");
            return -libc::EINVAL;
        }
    };
    // SAFETY: the caller passes room for the number.
    unsafe { *shared = number };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_va_op(
    bo: *mut c_void,
    offset: u64,
    bytes: u64,
    address: u64,
    flags: u64,
    operation: u32,
) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    let (Some(session), Some(handle)) = (session::session(), unsafe { handle(bo) }) else {
        return pass_on!(amdgpu_bo_va_op(
            bo, offset => u64, bytes => u64, address => u64, flags => u64, operation => u32
        ));
    };
    let memory = &session.machine.memory;
    // Without any right named, libdrm asks for all.
    let flags = if flags == 0 { PAGE_WRITEABLE | PAGE_EXECUTABLE } else { flags };
    let rights = Rights {
        writable: flags & PAGE_WRITEABLE != 0,
        executable: flags & PAGE_EXECUTABLE != 0,
        public: handle.buffer.rights.public,
        coherent: handle.buffer.rights.coherent,
    };
    let map = || memory.map_part(&handle.buffer, offset, address, bytes, rights, 1 << handle.agent);
    let result = match operation {
        OP_MAP => map(),
        OP_UNMAP => memory.unmap_part(&handle.buffer, address, bytes),
        OP_REPLACE => {
            // Nothing to replace is no error.
            let _ = memory.unmap_part(&handle.buffer, address, bytes);
            map()
        }
        other => {
            say!("amdgpu_bo_va_op {other} is not supported: EINVAL");
            return -libc::EINVAL;
        }
    };
    trace!("va operation {operation} at {address:#x}, {bytes:#x} bytes: {result:?}");
    result.map_or_else(|refusal| -Errno::from(refusal).0, |()| 0)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_cpu_map(bo: *mut c_void, cpu: *mut *mut c_void) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    let Some(handle) = (unsafe { handle(bo) }) else {
        return pass_on!(amdgpu_bo_cpu_map(bo, cpu => *mut *mut c_void));
    };
    let strict = session::session().is_some_and(|s| s.settings.strict_vram);
    if strict && handle.buffer.kind == Kind::Vram && !handle.buffer.rights.public {
        // As the driver answers for memory that the host's path to the device does not cover.
        return -libc::EPERM;
    }
    // SAFETY: the caller passes room for the address.
    unsafe { *cpu = handle.buffer.host.cast() };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_cpu_unmap(bo: *mut c_void) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    if unsafe { handle(bo) }.is_some() { 0 } else { pass_on!(amdgpu_bo_cpu_unmap(bo)) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_query_info(bo: *mut c_void, info: *mut c_void) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    let Some(handle) = (unsafe { handle(bo) }) else {
        return pass_on!(amdgpu_bo_query_info(bo, info => *mut c_void));
    };
    // `AMDGPU_GEM_DOMAIN_GTT` and `AMDGPU_GEM_DOMAIN_VRAM`
    let preferred_heap = if handle.buffer.kind == Kind::Vram { 4 } else { 2 };
    let metadata = Metadata::of(&handle.buffer);
    let answer = Info {
        alloc_size: handle.buffer.bytes,
        phys_alignment: 4096,
        preferred_heap,
        pad: 0,
        alloc_flags: 0,
        metadata,
    };
    // SAFETY: the caller passes room for the structure.
    unsafe { info.cast::<Info>().write_unaligned(answer) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_bo_set_metadata(bo: *mut c_void, metadata: *const c_void) -> c_int {
    // SAFETY: the caller passes a buffer handle.
    let Some(handle) = (unsafe { handle(bo) }) else {
        return pass_on!(amdgpu_bo_set_metadata(bo, metadata => *const c_void));
    };
    // SAFETY: the caller passes the structure.
    let bytes = unsafe { core::slice::from_raw_parts(metadata.cast::<u8>(), size_of::<Metadata>()) };
    if let Some(session) = session::session() {
        share::set_metadata(session, &handle.buffer, bytes);
    }
    0
}

/// `DRM_AMDGPU_GEM_MMAP`: from a GEM number to the file offset at which the program maps the buffer.
///
/// # Safety
/// `argument` points to `union drm_amdgpu_gem_mmap`.
pub(super) unsafe fn gem_mmap(session: &Session, argument: *mut c_void) -> c_int {
    // SAFETY: the union's input starts with the number.
    let number = unsafe { argument.cast::<u32>().read_unaligned() };
    let buffer = session.gems.lock().get(&number).and_then(|b| b.upgrade());
    let Some(offset) = buffer.and_then(|b| b.offset) else { return -libc::EINVAL };
    // SAFETY: the union's output is the offset.
    unsafe { argument.cast::<u64>().write_unaligned(offset) };
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_that_are_not_ours_are_not_touched() {
        // Too small for a handle of ours: only its first field may be read. There is no real libdrm here.
        let mut foreign = 0x1234_u64;
        let at: *mut c_void = (&raw mut foreign).cast();
        let mut number = 7;
        // SAFETY: the handle has eight bytes, and there is room for the answers.
        unsafe {
            assert_eq!(amdgpu_bo_export(at, HANDLE_KMS, &raw mut number), -libc::EINVAL);
            assert_eq!(amdgpu_bo_query_info(at, core::ptr::null_mut()), -libc::EINVAL);
            assert_eq!(amdgpu_bo_cpu_unmap(at), -libc::EINVAL);
            assert_eq!(amdgpu_bo_free(at), -libc::EINVAL);
            assert_eq!(amdgpu_bo_free(core::ptr::null_mut()), -libc::EINVAL);
        }
        assert_eq!((foreign, number), (0x1234, 7));
    }
}
