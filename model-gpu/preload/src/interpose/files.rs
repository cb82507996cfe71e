//! `open`, `fopen` and their relatives: device nodes and the files that describe the device.

use core::ffi::{CStr, c_char, c_int};
use std::os::fd::RawFd;

use super::nodes;
use crate::interpose::{Inside, fail, real, set_errno};
use crate::sysfs::{self, Entry};

/// What a path of ours is.
enum Found {
    Node(nodes::Node),
    File(String),
    Directory,
}

/// Looks a path up; nothing for paths that are not ours, which costs a comparison of a few bytes.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn find(path: *const c_char) -> Option<Found> {
    // SAFETY: as promised by the caller.
    let path = unsafe { ours(path) }?;
    if let Some(node) = nodes::node(path) {
        return Some(Found::Node(node));
    }
    match sysfs::entry(path)? {
        Entry::File(text) => Some(Found::File(text)),
        Entry::Directory(_) => Some(Found::Directory),
    }
}

/// The bytes of a path that could be ours.
///
/// # Safety
/// `path` is null or a C string.
pub(super) unsafe fn ours<'p>(path: *const c_char) -> Option<&'p [u8]> {
    if path.is_null() {
        return None;
    }
    // SAFETY: the caller promises a C string.
    let path = unsafe { CStr::from_ptr(path) }.to_bytes();
    (path.starts_with(b"/dev/kfd") || path.starts_with(b"/dev/dri/renderD") || sysfs::could_hold(path))
        .then_some(path)
}

/// An anonymous file with this text, positioned at its start.
fn text_file(text: &str) -> RawFd {
    // SAFETY: the name is a valid C string.
    let fd = unsafe { libc::memfd_create(c"model-gpu-text".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return fd;
    }
    // SAFETY: the buffer is valid for its length, the descriptor is ours; `pwrite` leaves the position at the start.
    let written = unsafe { libc::pwrite(fd, text.as_ptr().cast(), text.len(), 0) };
    if usize::try_from(written).is_ok_and(|n| n == text.len()) {
        return fd;
    }
    // SAFETY: the descriptor is ours and unused.
    unsafe { libc::close(fd) };
    fail(libc::EIO)
}

/// Answers an open of a path of ours; nothing for others.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn answer(path: *const c_char, flags: c_int) -> Option<c_int> {
    let _inside = Inside::enter()?;
    // SAFETY: as promised by the caller.
    Some(match unsafe { find(path) }? {
        Found::Node(node) => nodes::open(node, flags),
        Found::File(_) | Found::Directory if flags & libc::O_ACCMODE != libc::O_RDONLY => fail(libc::EACCES),
        Found::File(text) => text_file(&text),
        // Only `opendir` reads our directories.
        Found::Directory => fail(libc::EISDIR),
    })
}

macro_rules! open_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        ///
        /// C declares it with a variable argument; on this architecture that is passed like a third one.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: the caller passes a path as C asks for.
            if let Some(answer) = unsafe { answer(path, flags) } {
                return answer;
            }
            match real!($name: fn(*const c_char, c_int, libc::mode_t) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(path, flags, mode) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
open_functions!(open, open64);

macro_rules! checked_open_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name, which fortified programs call.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int) -> c_int {
            // SAFETY: the caller passes a path as C asks for.
            if let Some(answer) = unsafe { answer(path, flags) } {
                return answer;
            }
            match real!($name: fn(*const c_char, c_int) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(path, flags) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
checked_open_functions!(__open_2, __open64_2);

macro_rules! openat_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name; only absolute paths can be ours.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(at: c_int, path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
            // SAFETY: the caller passes a path as C asks for.
            if let Some(answer) = unsafe { answer(path, flags) } {
                return answer;
            }
            match real!($name: fn(c_int, *const c_char, c_int, libc::mode_t) -> c_int) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(at, path, flags, mode) },
                None => fail(libc::ENOSYS),
            }
        }
    )*};
}
openat_functions!(openat, openat64);

macro_rules! fopen_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut libc::FILE {
            // SAFETY: the caller passes two C strings as C asks for.
            if let Some(answer) = unsafe { answer_stream(path, mode) } {
                return answer;
            }
            match real!($name: fn(*const c_char, *const c_char) -> *mut libc::FILE) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(path, mode) },
                None => {
                    set_errno(libc::ENOSYS);
                    core::ptr::null_mut()
                }
            }
        }
    )*};
}
fopen_functions!(fopen, fopen64);

/// Answers an `fopen` of a path of ours; nothing for others.
///
/// # Safety
/// `path` is null or a C string, `mode` is a C string.
unsafe fn answer_stream(path: *const c_char, mode: *const c_char) -> Option<*mut libc::FILE> {
    // SAFETY: as promised by the caller.
    unsafe { ours(path) }?;
    // SAFETY: the caller promises a C string.
    let reads = unsafe { CStr::from_ptr(mode) }.to_bytes();
    let flags =
        if reads.first() == Some(&b'r') && !reads.contains(&b'+') { libc::O_RDONLY } else { libc::O_RDWR };
    // SAFETY: as promised by the caller.
    let fd = unsafe { answer(path, flags) }?;
    if fd < 0 {
        return Some(core::ptr::null_mut());
    }
    // SAFETY: the descriptor is fresh and from here on the stream's.
    Some(unsafe { libc::fdopen(fd, mode) })
}
