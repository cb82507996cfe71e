//! `mmap` and `munmap`: the program's view of VRAM, and its pages that the device uses.

use core::ffi::{c_int, c_void};

use model_gpu_core::trace;

use crate::interpose::{Inside, real, set_errno};
use crate::session::{self, Session};

/// Tells the device that the program is about to unmap or replace pages of its own.
fn leaving(session: &Session, at: *mut c_void, bytes: usize) {
    let (at, bytes) = (at.addr() as u64, bytes as u64);
    session.svm.forget(at, bytes);
    session.machine.memory.host_unmapped(at, bytes);
}

macro_rules! mmap_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            at: *mut c_void,
            bytes: usize,
            protection: c_int,
            flags: c_int,
            fd: c_int,
            offset: libc::off_t,
        ) -> *mut c_void {
            if let Some(session) = session::session()
                && (fd >= 0 || flags & libc::MAP_FIXED != 0)
                && let Some(_inside) = Inside::enter()
            {
                if flags & libc::MAP_FIXED != 0 {
                    leaving(session, at, bytes);
                }
                if fd >= 0 && session.owns(fd) {
                    trace!("mmap of {bytes:#x} bytes at {at:p}, offset {offset:#x}, protection {protection}");
                }
            }
            match real!($name: fn(*mut c_void, usize, c_int, c_int, c_int, libc::off_t) -> *mut c_void) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(at, bytes, protection, flags, fd, offset) },
                None => {
                    set_errno(libc::ENOSYS);
                    libc::MAP_FAILED
                }
            }
        }
    )*};
}
mmap_functions!(mmap, mmap64);

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn munmap(at: *mut c_void, bytes: usize) -> c_int {
    if let Some(session) = session::session()
        && let Some(_inside) = Inside::enter()
    {
        leaving(session, at, bytes);
    }
    match real!(munmap: fn(*mut c_void, usize) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(at, bytes) },
        None => super::fail(libc::ENOSYS),
    }
}
