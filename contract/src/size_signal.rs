//! Writing files in a process whose files are limited in size (`ulimit -f`).
//!
//! Beyond the limit the kernel does not only refuse: it sends SIGXFSZ to the thread, which ends the program. That is for files of the
//! program's own; one of ours that grows too long is an ordinary failed write. So is one to a pipe whose reader has left (SIGPIPE).

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;

/// Keeps SIGXFSZ, or another signal that a write can bring, from this thread until it is dropped; one that came meanwhile is taken away.
#[derive(Debug)]
#[must_use = "the signal ends the program when this is dropped too early"]
pub struct SizeSignalHeld {
    signal: libc::c_int,
    set: libc::sigset_t,
    before: libc::sigset_t,
    /// One that was pending already is not ours.
    was_pending: bool,
    /// A thread's mask is its own.
    _not_send: PhantomData<*const ()>,
}

impl SizeSignalHeld {
    /// Holds the signal from here on.
    #[expect(clippy::new_without_default, reason = "it changes the thread")]
    pub fn new() -> Self {
        Self::of(libc::SIGXFSZ)
    }

    /// Holds SIGPIPE.
    pub(crate) fn of_pipes() -> Self {
        Self::of(libc::SIGPIPE)
    }

    fn of(signal: libc::c_int) -> Self {
        let mut set = MaybeUninit::uninit();
        let mut before = MaybeUninit::zeroed();
        // SAFETY: `sigemptyset` initialises the set that the other calls read; the signal's number is valid, so that none of them
        // fails; zeroed bytes are a valid `sigset_t`.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal);
            let was_pending = is_pending(signal);
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            Self {
                signal,
                set: set.assume_init(),
                before: before.assume_init(),
                was_pending,
                _not_send: PhantomData,
            }
        }
    }
}

impl Drop for SizeSignalHeld {
    fn drop(&mut self) {
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the sets are initialised, the time is a local value, and what is not wanted of the calls is null.
        unsafe {
            if !self.was_pending && is_pending(self.signal) {
                libc::sigtimedwait(&raw const self.set, ptr::null_mut(), &raw const at_once);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}

fn is_pending(signal: libc::c_int) -> bool {
    let mut pending = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: the set is valid for writing; zeroed bytes are a valid one.
    unsafe {
        libc::sigpending(pending.as_mut_ptr());
        libc::sigismember(pending.as_ptr(), signal) == 1
    }
}
