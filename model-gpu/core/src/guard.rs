//! Accesses of the device to host memory that is gone.
//!
//! The program tells the front end when it unmaps memory that the device may use; but the C library's own unmaps, changes
//! of protection and truncated files are seen by nobody. An access of a device thread to such a page raises a signal. The
//! handler puts an empty page in its place so that the thread goes on, and notes the address: whoever made the access asks
//! afterwards, and reports a memory fault as a GPU would. A page that is only protected is opened for the device instead.

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};
use std::sync::Once;

use crate::thread;

thread_local! {
    /// The first host address that this thread missed since somebody asked.
    static MISSED: Cell<u64> = const { Cell::new(0) };
}

/// Addresses below are null pointers with an offset: errors of our own.
const LOWEST: usize = 1 << 16;

const PAGE: usize = 4096;

/// What happened before to each signal, for threads that are not the device's.
static PREVIOUS: [AtomicPtr<libc::sigaction>; 2] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }, const { AtomicPtr::new(core::ptr::null_mut()) }];

const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGBUS];

/// The host address that an access of this thread missed since the last question, if any did.
#[must_use]
pub(crate) fn missed() -> Option<u64> {
    Some(MISSED.replace(0)).filter(|address| *address != 0)
}

/// Takes the two signals, once a process. A program that takes them later does without the guard.
pub(crate) fn install() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        for (signal, slot) in SIGNALS.into_iter().zip(&PREVIOUS) {
            // SAFETY: all-zero is a value of the structure; the calls read and write only it and a fresh copy.
            unsafe {
                let mut previous: libc::sigaction = core::mem::zeroed();
                libc::sigaction(signal, core::ptr::null(), &raw mut previous);
                slot.store(Box::into_raw(Box::new(previous)), Ordering::Release);
                let mut own: libc::sigaction = core::mem::zeroed();
                own.sa_sigaction = caught as extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) as usize;
                own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | (previous.sa_flags & libc::SA_NODEFER);
                own.sa_mask = previous.sa_mask;
                libc::sigaction(signal, &raw const own, core::ptr::null_mut());
            }
        }
    });
}

extern "C" fn caught(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid structure; for these signals it holds an address.
    let (address, code) = unsafe { ((*info).si_addr().addr(), (*info).si_code) };
    // A signal that somebody sent has no address.
    if code > 0 && thread::is_of_the_device() && address >= LOWEST && replace(address, signal, code) {
        if MISSED.get() == 0 {
            MISSED.set(address as u64);
        }
        return;
    }
    let index = usize::from(signal == SIGNALS[1]);
    // SAFETY: the structure was published by `install` and is never freed; a handler in it has the signature that its
    // flags say.
    unsafe {
        let previous = PREVIOUS[index].load(Ordering::Acquire);
        match (*previous).sa_sigaction {
            libc::SIG_DFL | libc::SIG_IGN => {
                // The instruction is tried again and the signal takes its ordinary way.
                let mut default: libc::sigaction = core::mem::zeroed();
                default.sa_sigaction = libc::SIG_DFL;
                libc::sigaction(signal, &raw const default, core::ptr::null_mut());
            }
            handler if (*previous).sa_flags & libc::SA_SIGINFO != 0 => {
                let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                    core::mem::transmute(handler);
                handler(signal, info, context);
            }
            handler => {
                let handler: extern "C" fn(c_int) = core::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Makes the page of `address` one that can be read and written.
fn replace(address: usize, signal: c_int, code: c_int) -> bool {
    /// `SEGV_ACCERR`: the page exists, but does not permit the access.
    const PROTECTED: c_int = 2;
    let page = address & !(PAGE - 1);
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // Straight to the kernel: a front end may have functions of these names.
    // SAFETY: nothing is mapped at the page, or the page is the program's and registered with the device, which may write
    // it. No reference into it exists.
    unsafe {
        if signal == libc::SIGSEGV && code == PROTECTED {
            return libc::syscall(libc::SYS_mprotect, page, PAGE, access) == 0;
        }
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        usize::try_from(libc::syscall(libc::SYS_mmap, page, PAGE, access, flags, -1, 0)) == Ok(page)
    }
}
