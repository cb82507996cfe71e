//! `opendir`, `readdir` and `closedir`, for directories of ours: streams that exist only here.

use core::ffi::{c_char, c_int};
use core::sync::atomic::{AtomicUsize, Ordering};

use super::files::ours;
use crate::interpose::{Inside, fail, real, set_errno};
use crate::sysfs::{self, Entry};

/// A directory stream of ours.
struct Stream {
    names: Vec<(String, bool)>,
    next: usize,
    current: libc::dirent,
}

/// Addresses of the open streams of ours, zero for a free place. No lock: a forked child might find it held.
static OPEN: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
/// Their number: without any, every directory call passes at once.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn is_ours(stream: *mut libc::DIR) -> bool {
    !stream.is_null()
        && COUNT.load(Ordering::Acquire) > 0
        && OPEN.iter().any(|place| place.load(Ordering::Acquire) == stream.addr())
}

/// Puts `new` in a place that holds `old`.
fn replace(old: usize, new: usize) -> bool {
    OPEN.iter().any(|place| place.compare_exchange(old, new, Ordering::AcqRel, Ordering::Relaxed).is_ok())
}

/// # Safety
/// `path` is null or a C string.
unsafe fn open(path: *const c_char) -> Option<*mut libc::DIR> {
    let _inside = Inside::enter()?;
    // SAFETY: as promised by the caller.
    let entry = sysfs::entry(unsafe { ours(path) }?)?;
    let Entry::Directory(names) = entry else {
        set_errno(libc::ENOTDIR);
        return Some(core::ptr::null_mut());
    };
    let dots = [".", ".."].map(|name| (name.to_owned(), true));
    let names = dots.into_iter().chain(names).collect();
    // SAFETY: all-zero is a value of the structure.
    let current = unsafe { core::mem::zeroed() };
    let stream = Box::into_raw(Box::new(Stream { names, next: 0, current })).cast::<libc::DIR>();
    COUNT.fetch_add(1, Ordering::AcqRel);
    if !replace(0, stream.addr()) {
        COUNT.fetch_sub(1, Ordering::AcqRel);
        // SAFETY: the stream came from a box just now and nobody else has it.
        drop(unsafe { Box::from_raw(stream.cast::<Stream>()) });
        set_errno(libc::EMFILE);
        return Some(core::ptr::null_mut());
    }
    Some(stream)
}

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn opendir(path: *const c_char) -> *mut libc::DIR {
    // SAFETY: the caller passes a path as C asks for.
    if let Some(stream) = unsafe { open(path) } {
        return stream;
    }
    match real!(opendir: fn(*const c_char) -> *mut libc::DIR) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(path) },
        None => {
            set_errno(libc::ENOSYS);
            core::ptr::null_mut()
        }
    }
}

/// # Safety
/// `stream` is a stream of ours that nobody else uses meanwhile.
unsafe fn next(stream: *mut libc::DIR) -> *mut libc::dirent {
    // SAFETY: a stream of ours was made from a box by `open` and is freed by `closedir` only.
    let stream = unsafe { &mut *stream.cast::<Stream>() };
    let Some((name, directory)) = stream.names.get(stream.next) else { return core::ptr::null_mut() };
    stream.next += 1;
    let entry = &mut stream.current;
    entry.d_ino = 1;
    entry.d_off = i64::try_from(stream.next).unwrap_or(0);
    entry.d_reclen = u16::try_from(size_of::<libc::dirent>()).unwrap_or(0);
    entry.d_type = if *directory { libc::DT_DIR } else { libc::DT_REG };
    entry.d_name.fill(0);
    let room = entry.d_name.len() - 1;
    for (to, from) in entry.d_name.iter_mut().take(room).zip(name.bytes()) {
        *to = from.cast_signed();
    }
    entry
}

macro_rules! readdir_functions {
    ($($name:ident),*) => {$(
        /// Catches the C library's function of this name.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(stream: *mut libc::DIR) -> *mut libc::dirent {
            if is_ours(stream) {
                // SAFETY: the stream is ours; C lets one thread use it at a time.
                return unsafe { next(stream) };
            }
            match real!($name: fn(*mut libc::DIR) -> *mut libc::dirent) {
                // SAFETY: the arguments are passed on as they came.
                Some(real) => unsafe { real(stream) },
                None => {
                    set_errno(libc::ENOSYS);
                    core::ptr::null_mut()
                }
            }
        }
    )*};
}
readdir_functions!(readdir, readdir64);

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn closedir(stream: *mut libc::DIR) -> c_int {
    if is_ours(stream) {
        replace(stream.addr(), 0);
        COUNT.fetch_sub(1, Ordering::AcqRel);
        // SAFETY: a stream of ours was made from a box by `open`; it has just left the list, so this is its end.
        drop(unsafe { Box::from_raw(stream.cast::<Stream>()) });
        return 0;
    }
    match real!(closedir: fn(*mut libc::DIR) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(stream) },
        None => fail(libc::ENOSYS),
    }
}

/// Catches the C library's function of this name.
#[unsafe(no_mangle)]
unsafe extern "C" fn rewinddir(stream: *mut libc::DIR) {
    if is_ours(stream) {
        // SAFETY: the stream is ours; C lets one thread use it at a time.
        unsafe { (*stream.cast::<Stream>()).next = 0 };
    } else if let Some(real) = real!(rewinddir: fn(*mut libc::DIR) -> ()) {
        // SAFETY: the arguments are passed on as they came.
        unsafe { real(stream) };
    }
}

/// Catches the C library's function of this name: a stream of ours has no descriptor.
#[unsafe(no_mangle)]
unsafe extern "C" fn dirfd(stream: *mut libc::DIR) -> c_int {
    if is_ours(stream) {
        return fail(libc::ENOTSUP);
    }
    match real!(dirfd: fn(*mut libc::DIR) -> c_int) {
        // SAFETY: the arguments are passed on as they came.
        Some(real) => unsafe { real(stream) },
        None => fail(libc::ENOSYS),
    }
}
