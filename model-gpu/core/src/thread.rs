//! Threads of the device inside the host program.

use core::cell::Cell;
use std::io;
use std::thread::{Builder, JoinHandle};

thread_local! {
    static OF_THE_DEVICE: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread belongs to the device: a front end lets its system calls pass untouched.
#[must_use]
pub fn is_of_the_device() -> bool {
    OF_THE_DEVICE.get()
}

/// Starts a thread that takes none of the host program's signals: its handlers must not run on a stack of ours. Only those
/// of a failed access reach it, for the guard.
///
/// # Errors
/// The system refuses another thread.
pub fn start(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    let mut all = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    let mut before = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both sets are ours; the first is filled before it is read. A new thread inherits the mask.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::sigdelset(all.as_mut_ptr(), libc::SIGSEGV);
        libc::sigdelset(all.as_mut_ptr(), libc::SIGBUS);
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let thread = Builder::new().name(name.to_owned()).spawn(move || {
        OF_THE_DEVICE.set(true);
        body();
    });
    // SAFETY: `before` was filled by the call above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), core::ptr::null_mut()) };
    thread
}

/// Makes this thread's short sleeps short: by default the kernel adds 50 microseconds.
pub fn sharpen_sleep() {
    // SAFETY: the call only changes this thread's timer slack, in nanoseconds.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000) };
}
