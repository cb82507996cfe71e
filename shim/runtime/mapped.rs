//! The libraries that the dynamic loader has mapped into this process.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Paths of all mapped libraries as the loader opened them, in the order of its list: the program's own first, later
/// `dlopen`s last. The program itself and libraries without a file are left out.
pub fn libraries() -> Vec<PathBuf> {
    unsafe extern "C" fn collect(info: *mut libc::dl_phdr_info, _size: usize, list: *mut c_void) -> c_int {
        // SAFETY: the loader passes a valid entry for the time of the call, its name null or a C string, and hands
        // back our own list.
        let (name, list) = unsafe {
            let name = (*info).dlpi_name;
            (if name.is_null() { c"" } else { CStr::from_ptr(name) }, &mut *list.cast::<Vec<PathBuf>>())
        };
        if name.to_bytes().contains(&b'/') {
            list.push(PathBuf::from(OsStr::from_bytes(name.to_bytes())));
        }
        0
    }
    let mut list: Vec<PathBuf> = Vec::new();
    // SAFETY: `collect` has the type that is asked for and does not unwind; the list outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(collect), (&raw mut list).cast()) };
    list
}

/// Path of this very library as the loader opened it.
pub fn this_library() -> Option<PathBuf> {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // Not an exported function: references to those bind to another copy of us that stands in front in the global scope.
    let inside = is_runtime_name as *const c_void;
    // SAFETY: any address may be asked for, and `info` is writable.
    let found = unsafe { libc::dladdr(inside, info.as_mut_ptr()) };
    if found == 0 {
        return None;
    }
    // SAFETY: zeroed above and filled by a successful dladdr.
    let info = unsafe { info.assume_init() };
    if info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: a C string that lives as long as the library stays mapped, which is for ever (`-z nodelete`).
    let name = unsafe { CStr::from_ptr(info.dli_fname) };
    Some(PathBuf::from(OsStr::from_bytes(name.to_bytes())))
}

/// Whether the path ends in a name of the HSA runtime, with or without a version.
pub fn is_runtime_name(path: &Path) -> bool {
    file_name_starts(path, "libhsa-runtime64.so")
}

/// Whether the path ends in a name of the HIP runtime.
pub fn is_hip_name(path: &Path) -> bool {
    file_name_starts(path, "libamdhip64.so")
}

fn file_name_starts(path: &Path, start: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(start.as_bytes()))
}
