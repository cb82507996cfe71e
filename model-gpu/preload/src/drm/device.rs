//! libdrm's calls about devices.
//!
//! A handle or descriptor that is not ours goes to the real libdrm, if the program has one.

use core::ffi::{c_char, c_int, c_uint, c_ulong, c_void};

use model_gpu_core::say;

use crate::interpose::{agent_of, real};
use crate::product::product;
use crate::session;
use crate::settings::settings;

/// A device handle of ours.
#[derive(Debug)]
pub(super) struct Device {
    magic: u64,
    /// Which agent it is.
    pub(super) agent: usize,
    fd: c_int,
}

/// Marks handles of ours among the program's.
const MAGIC: u64 = 0x6d6f_6465_6c67_7075;

/// The version of the kernel's amdgpu interface.
const VERSION: (u32, u32) = (3, 57);

/// `AMDGPU_FAMILY_AI`
const FAMILY: u32 = 141;

/// The device behind a handle of ours.
///
/// # Safety
/// `handle` is null or points to a device handle, of ours or of libdrm; both are at least 8 bytes.
pub(super) unsafe fn device<'d>(handle: *const c_void) -> Option<&'d Device> {
    let device = handle.cast::<Device>();
    if device.is_null() || !device.is_aligned() {
        return None;
    }
    // SAFETY: the caller promises at least the first field; the rest is read only if that says that it is ours.
    unsafe { ((*device).magic == MAGIC).then(|| &*device) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_device_initialize(
    fd: c_int,
    major: *mut u32,
    minor: *mut u32,
    handle: *mut *mut c_void,
) -> c_int {
    let Some(agent) = agent_of(fd) else {
        return match real!(amdgpu_device_initialize: fn(c_int, *mut u32, *mut u32, *mut *mut c_void) -> c_int)
        {
            // SAFETY: the arguments are passed on as they came.
            Some(real) => unsafe { real(fd, major, minor, handle) },
            None => -libc::ENODEV,
        };
    };
    // The program closes its own descriptor and goes on with the one that the handle holds.
    // SAFETY: plain system call on a descriptor of ours.
    let own = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0) };
    if own < 0 {
        return -libc::EMFILE;
    }
    let device = Box::into_raw(Box::new(Device { magic: MAGIC, agent, fd: own }));
    // SAFETY: the caller passes room for the three answers.
    unsafe {
        (*major, *minor) = VERSION;
        *handle = device.cast();
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_device_deinitialize(handle: *mut c_void) -> c_int {
    // SAFETY: the caller passes a device handle.
    let Some(device) = (unsafe { device(handle) }) else {
        return match real!(amdgpu_device_deinitialize: fn(*mut c_void) -> c_int) {
            // SAFETY: the argument is passed on as it came.
            Some(real) => unsafe { real(handle) },
            None => -libc::EINVAL,
        };
    };
    // SAFETY: the descriptor is the handle's own; the handle came from a box and the caller gives it up.
    unsafe {
        libc::close(device.fd);
        (*handle.cast::<Device>()).magic = 0;
        drop(Box::from_raw(handle.cast::<Device>()));
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_device_get_fd(handle: *mut c_void) -> c_int {
    // SAFETY: the caller passes a device handle.
    if let Some(device) = unsafe { device(handle) } {
        return device.fd;
    }
    match real!(amdgpu_device_get_fd: fn(*mut c_void) -> c_int) {
        // SAFETY: the argument is passed on as it came.
        Some(real) => unsafe { real(handle) },
        None => -libc::EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_get_marketing_name(handle: *mut c_void) -> *const c_char {
    // SAFETY: the caller passes a device handle.
    if unsafe { device(handle) }.is_some() {
        return product(settings().target).name.as_ptr();
    }
    match real!(amdgpu_get_marketing_name: fn(*mut c_void) -> *const c_char) {
        // SAFETY: the argument is passed on as it came.
        Some(real) => unsafe { real(handle) },
        None => core::ptr::null(),
    }
}

/// The start of `struct amdgpu_gpu_info`, as far as runtimes read it.
#[repr(C)]
#[derive(Debug, Default)]
struct GpuInfo {
    asic_id: u32,
    chip_rev: u32,
    chip_external_rev: u32,
    family_id: u32,
    ids_flags: u64,
    max_engine_clk: u64,
    max_memory_clk: u64,
    num_shader_engines: u32,
    num_shader_arrays_per_engine: u32,
    avail_quad_shader_pipes: u32,
    max_quad_shader_pipes: u32,
    cache_entries_per_quad_pipe: u32,
    num_hw_gfx_contexts: u32,
    rb_pipes: u32,
    enabled_rb_pipes_mask: u32,
    gpu_counter_freq: u32,
    backend_disable: [u32; 4],
    mc_arb_ramcfg: u32,
    gb_addr_cfg: u32,
    pad: u32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_query_gpu_info(handle: *mut c_void, info: *mut c_void) -> c_int {
    // SAFETY: the caller passes a device handle.
    if unsafe { device(handle) }.is_none() {
        return match real!(amdgpu_query_gpu_info: fn(*mut c_void, *mut c_void) -> c_int) {
            // SAFETY: the arguments are passed on as they came.
            Some(real) => unsafe { real(handle, info) },
            None => -libc::EINVAL,
        };
    }
    let product = product(settings().target);
    let answer = GpuInfo {
        asic_id: product.device_id,
        family_id: FAMILY,
        max_engine_clk: u64::from(product.engine_mhz) * 1000,
        max_memory_clk: u64::from(product.memory_mhz) * 1000,
        num_shader_engines: 1,
        num_shader_arrays_per_engine: 1,
        gpu_counter_freq: 100_000,
        ..GpuInfo::default()
    };
    // SAFETY: the caller passes room for libdrm's structure, which starts like this one and is longer.
    unsafe { info.cast::<GpuInfo>().write_unaligned(answer) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn amdgpu_query_info(
    handle: *mut c_void,
    what: c_uint,
    bytes: c_uint,
    value: *mut c_void,
) -> c_int {
    // SAFETY: the caller passes a device handle.
    if unsafe { device(handle) }.is_some() {
        say!("amdgpu_query_info {what:#x} is not supported: EINVAL");
        return -libc::EINVAL;
    }
    match real!(amdgpu_query_info: fn(*mut c_void, c_uint, c_uint, *mut c_void) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(handle, what, bytes, value) },
        None => -libc::EINVAL,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn drmOpenRender(minor: c_int) -> c_int {
    let path = format!("/dev/dri/renderD{minor}\0");
    // SAFETY: the path ends with a zero byte. The call goes through our own `open`, as libdrm's does.
    unsafe { libc::open(path.as_ptr().cast(), libc::O_RDWR | libc::O_CLOEXEC) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn drmClose(fd: c_int) -> c_int {
    // SAFETY: the caller gives the descriptor up; libdrm does no more for a descriptor without contexts.
    unsafe { libc::close(fd) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn drmCommandWriteRead(
    fd: c_int,
    command: c_ulong,
    data: *mut c_void,
    bytes: c_ulong,
) -> c_int {
    if let Some(session) = session::session().filter(|s| s.owns(fd)) {
        // SAFETY: the caller passes the structure of the command; driver commands start at 0x40.
        let answer = unsafe { super::ioctl(session, 0x40 + command, data) };
        // SAFETY: the location is this thread's own.
        return if answer < 0 { -unsafe { *libc::__errno_location() } } else { 0 };
    }
    match real!(drmCommandWriteRead: fn(c_int, c_ulong, *mut c_void, c_ulong) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(fd, command, data, bytes) },
        None => -libc::ENODEV,
    }
}
