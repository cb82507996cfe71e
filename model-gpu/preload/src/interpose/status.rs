//! `stat`, `access`, `readlink` and their relatives, for paths of ours.

use core::ffi::{c_char, c_int, c_uint};

use super::files::ours;
use super::nodes;
use crate::interpose::{Inside, fail, real};
use crate::sysfs::{self, Entry};

/// Major device number of render nodes, and the one that the compute driver's node has here.
const DRM_MAJOR: u32 = 226;
const KFD_MAJOR: u32 = 235;

/// What there is to know about a path of ours.
struct Facts {
    mode: libc::mode_t,
    device: libc::dev_t,
    bytes: usize,
}

/// # Safety
/// `path` is null or a C string.
unsafe fn facts(path: *const c_char) -> Option<Facts> {
    let _inside = Inside::enter()?;
    // SAFETY: as promised by the caller.
    let path = unsafe { ours(path) }?;
    if let Some(node) = nodes::node(path) {
        let device = match node {
            nodes::Node::Kfd => libc::makedev(KFD_MAJOR, 0),
            nodes::Node::Render(agent) => {
                libc::makedev(DRM_MAJOR, nodes::FIRST_RENDER_MINOR + u32::try_from(agent).unwrap_or(0))
            }
        };
        return Some(Facts { mode: libc::S_IFCHR | 0o666, device, bytes: 0 });
    }
    Some(match sysfs::entry(path)? {
        Entry::File(text) => Facts { mode: libc::S_IFREG | 0o444, device: 0, bytes: text.len() },
        Entry::Directory(_) => Facts { mode: libc::S_IFDIR | 0o555, device: 0, bytes: 0 },
    })
}

/// # Safety
/// `to` points to a `stat` structure.
unsafe fn fill(facts: &Facts, to: *mut libc::stat) -> c_int {
    // SAFETY: all-zero is a value of the structure.
    let mut status: libc::stat = unsafe { core::mem::zeroed() };
    status.st_mode = facts.mode;
    status.st_nlink = 1;
    status.st_rdev = facts.device;
    status.st_size = i64::try_from(facts.bytes).unwrap_or(0);
    status.st_blksize = 4096;
    // SAFETY: the caller promises room for the structure.
    unsafe { to.write(status) };
    0
}

macro_rules! stat_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, to: *mut libc::stat) -> c_int {
            // SAFETY: the caller passes a path and room for the answer as C asks for.
            if let Some(facts) = unsafe { facts(path) } {
                // SAFETY: the caller passes room for the structure.
                return unsafe { fill(&facts, to) };
            }
            match real!($name: fn(*const c_char, *mut libc::stat) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(path, to) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
stat_functions!(stat, stat64, lstat, lstat64);

macro_rules! versioned_stat_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name, which programs built with an older C library call.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(version: c_int, path: *const c_char, to: *mut libc::stat) -> c_int {
            // SAFETY: the caller passes a path and room for the answer as C asks for.
            if let Some(facts) = unsafe { facts(path) } {
                // SAFETY: the caller passes room for the structure.
                return unsafe { fill(&facts, to) };
            }
            match real!($name: fn(c_int, *const c_char, *mut libc::stat) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(version, path, to) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
versioned_stat_functions!(__xstat, __xstat64, __lxstat, __lxstat64);

macro_rules! statat_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name; only absolute paths can be ours.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(at: c_int, path: *const c_char, to: *mut libc::stat, flags: c_int) -> c_int {
            // SAFETY: the caller passes a path and room for the answer as C asks for.
            if let Some(facts) = unsafe { facts(path) } {
                // SAFETY: the caller passes room for the structure.
                return unsafe { fill(&facts, to) };
            }
            match real!($name: fn(c_int, *const c_char, *mut libc::stat, c_int) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(at, path, to, flags) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
statat_functions!(fstatat, fstatat64);

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    at: c_int,
    path: *const c_char,
    flags: c_int,
    mask: c_uint,
    to: *mut libc::statx,
) -> c_int {
    // SAFETY: the caller passes a path and room for the answer as C asks for.
    if let Some(facts) = unsafe { facts(path) } {
        // SAFETY: all-zero is a value of the structure.
        let mut status: libc::statx = unsafe { core::mem::zeroed() };
        status.stx_mask = libc::STATX_TYPE | libc::STATX_MODE | libc::STATX_NLINK | libc::STATX_SIZE;
        status.stx_mode = u16::try_from(facts.mode).unwrap_or(0);
        status.stx_nlink = 1;
        status.stx_size = facts.bytes as u64;
        status.stx_rdev_major = libc::major(facts.device);
        status.stx_rdev_minor = libc::minor(facts.device);
        // SAFETY: the caller promises room for the structure.
        unsafe { to.write(status) };
        return 0;
    }
    match real!(statx: fn(c_int, *const c_char, c_int, c_uint, *mut libc::statx) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(at, path, flags, mask, to) },
        None => fail(libc::ENOSYS),
    }
}

fn may(facts: &Facts, wanted: c_int) -> c_int {
    let writes = wanted & libc::W_OK != 0 && facts.mode & 0o222 == 0;
    let executes = wanted & libc::X_OK != 0 && facts.mode & 0o111 == 0;
    if writes || executes { fail(libc::EACCES) } else { 0 }
}

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn access(path: *const c_char, wanted: c_int) -> c_int {
    // SAFETY: the caller passes a path as C asks for.
    if let Some(facts) = unsafe { facts(path) } {
        return may(&facts, wanted);
    }
    match real!(access: fn(*const c_char, c_int) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(path, wanted) },
        None => fail(libc::ENOSYS),
    }
}

/// Catches the C library's function of this name; only absolute paths can be ours.
#[unsafe(no_mangle)]
unsafe extern "C" fn faccessat(at: c_int, path: *const c_char, wanted: c_int, flags: c_int) -> c_int {
    // SAFETY: the caller passes a path as C asks for.
    if let Some(facts) = unsafe { facts(path) } {
        return may(&facts, wanted);
    }
    match real!(faccessat: fn(c_int, *const c_char, c_int, c_int) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(at, path, wanted, flags) },
        None => fail(libc::ENOSYS),
    }
}

/// Catches the C library's function of this name: nothing of ours is a link.
#[unsafe(no_mangle)]
unsafe extern "C" fn readlink(path: *const c_char, to: *mut c_char, bytes: usize) -> isize {
    // SAFETY: the caller passes a path as C asks for.
    if unsafe { facts(path) }.is_some() {
        fail(libc::EINVAL);
        return -1;
    }
    match real!(readlink: fn(*const c_char, *mut c_char, usize) -> isize) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(path, to, bytes) },
        None => {
            fail(libc::ENOSYS);
            -1
        }
    }
}
