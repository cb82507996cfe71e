//! `mmap` and `munmap`: the program's view of VRAM, and its pages that the device uses.

use core::ffi::{c_int, c_void};

use model_gpu_core::memory::{Buffer, FOREIGN_OFFSETS, Kind};
use model_gpu_core::trace;

use crate::interpose::{Inside, real, set_errno};
use crate::session::{self, Session};

/// Tells the device that the program is about to unmap or replace pages of its own.
fn leaving(session: &Session, at: *mut c_void, bytes: usize) {
    let (at, bytes) = (at.addr() as u64, bytes as u64);
    for (agent, start, bytes) in session.svm.forget(at, bytes) {
        session.machine.notices.unmapped(agent, session.machine.config.gpu_ids[agent], start, bytes);
    }
    session.machine.memory.host_unmapped(at, bytes);
}

/// The protection of the program's view of a piece of device memory.
///
/// A runtime maps VRAM that the host cannot reach without any access. What a program asks for by itself makes no
/// difference: such memory stays out of reach.
fn allowed(session: &Session, buffer: &Buffer, wanted: c_int) -> c_int {
    let reachable = buffer.kind != Kind::Vram || !session.settings.strict_vram || buffer.rights.public;
    if reachable { wanted } else { libc::PROT_NONE }
}

/// A mapping of the device's memory that the program asks for, as it shall be made.
struct Mapping {
    protection: c_int,
    fd: c_int,
    offset: libc::off_t,
}

/// Says how a mapping of a node at `offset` is made: of this device's memory file, or another's.
fn place(session: &Session, mut mapping: Mapping) -> Option<Mapping> {
    let offset = u64::try_from(mapping.offset).ok()?;
    let buffer = session.machine.memory.buffer_at_offset(offset);
    if let Some(buffer) = &buffer {
        mapping.protection = allowed(session, buffer, mapping.protection);
    }
    if offset >= FOREIGN_OFFSETS {
        let buffer = buffer?;
        let (file, start) = buffer.foreign.as_ref()?.place();
        mapping.fd = file;
        mapping.offset = i64::try_from(start + (offset - buffer.offset?)).ok()?;
    }
    Some(mapping)
}

macro_rules! mmap_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            at: *mut c_void,
            bytes: usize,
            mut protection: c_int,
            flags: c_int,
            mut fd: c_int,
            mut offset: libc::off_t,
        ) -> *mut c_void {
            if let Some(session) = session::session()
                && (fd >= 0 || flags & libc::MAP_FIXED != 0)
                && let Some(_inside) = Inside::enter()
            {
                if flags & libc::MAP_FIXED != 0 {
                    leaving(session, at, bytes);
                }
                if fd >= 0 && session.owns(fd) {
                    let Some(mapping) = place(session, Mapping { protection, fd, offset }) else {
                        set_errno(libc::EINVAL);
                        return libc::MAP_FAILED;
                    };
                    Mapping { protection, fd, offset } = mapping;
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
