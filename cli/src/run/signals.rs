//! Signals while a program runs: they wait in the kernel until the one thread here asks for them.
//!
//! Blocked signals need no handler, and `sigtimedwait` tells who sent one: the terminal sends to the whole foreground
//! group, so the program has such a signal already; everything else is passed on. So is a terminal's hang-up where we lead the
//! session: the kernel tells the leader alone. The program itself starts with the mask, and with the disposition of SIGCHLD,
//! that we were started with.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

/// What is passed on to the program.
const FORWARDED: [libc::c_int; 6] =
    [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR1, libc::SIGUSR2];

/// A signal that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrived {
    /// No signal in the time given.
    Nothing,
    /// A child changed its state.
    Child,
    /// Someone sent us this signal, and the program did not get it.
    ToForward(libc::c_int),
    /// The terminal sent it to the whole foreground group.
    FromTerminal,
}

/// The signals, blocked from here to [`Blocked::release`].
#[derive(Debug)]
pub struct Blocked {
    set: libc::sigset_t,
    before: Inherited,
}

impl Blocked {
    /// Blocks them for this thread, the only one. Where SIGCHLD is ignored, which is inherited (bash's `trap '' CHLD`), the
    /// kernel would reap the program and tell nobody: until the program starts it has its default.
    pub fn new() -> io::Result<Self> {
        let mut set = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` initialises the set that `sigaddset` and `pthread_sigmask` then read; the signal numbers
        // are valid; `before` is written when `pthread_sigmask` succeeds and not read otherwise. `signal` has no memory
        // obligations; nothing here handles SIGCHLD.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), libc::SIGCHLD);
            for signal in FORWARDED {
                libc::sigaddset(set.as_mut_ptr(), signal);
            }
            match libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr()) {
                0 => {}
                error => return Err(io::Error::from_raw_os_error(error)),
            }
            let ignores_children = libc::signal(libc::SIGCHLD, libc::SIG_DFL) == libc::SIG_IGN;
            let before = Inherited { mask: before.assume_init(), ignores_children };
            Ok(Self { set: set.assume_init(), before })
        }
    }

    /// What held before, for the program.
    pub fn before(&self) -> Inherited {
        self.before
    }

    /// Lets the signals through again. Those that came before are forgotten: a Ctrl-C that ended the program is often still
    /// waiting for us, and must not end us before we have said what came of the run; a later one may.
    pub fn release(self) {
        while !matches!(self.wait(Some(Duration::ZERO)), Ok(Arrived::Nothing) | Err(_)) {}
        self.before.restore();
    }

    /// Waits for the next one, at most for `patience` if that is given.
    pub fn wait(&self, patience: Option<Duration>) -> io::Result<Arrived> {
        let timeout = patience.map(|patience| libc::timespec {
            tv_sec: patience.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: patience.subsec_nanos().into(),
        });
        let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
        let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
        loop {
            // SAFETY: `set` is initialised, `info` is valid for writing, and `timeout` is null or leads to a local value.
            let signal = unsafe { libc::sigtimedwait(&raw const self.set, info.as_mut_ptr(), timeout) };
            if signal < 0 {
                let error = io::Error::last_os_error();
                match error.kind() {
                    io::ErrorKind::Interrupted => continue,
                    io::ErrorKind::WouldBlock if patience.is_some() => return Ok(Arrived::Nothing),
                    _ => {}
                }
                return Err(error);
            }
            // SAFETY: zeroed bytes are a valid `siginfo_t`, and the call succeeded.
            let code = unsafe { info.assume_init_ref() }.si_code;
            return Ok(match signal {
                libc::SIGCHLD => Arrived::Child,
                libc::SIGHUP if leads_session() => Arrived::ToForward(signal),
                _ if code == libc::SI_KERNEL => Arrived::FromTerminal,
                signal => Arrived::ToForward(signal),
            });
        }
    }
}

/// What a process inherits of its signals.
#[derive(Clone, Copy, Debug)]
pub struct Inherited {
    mask: libc::sigset_t,
    ignores_children: bool,
}

impl Inherited {
    /// Makes it hold for this thread again. Async-signal-safe.
    pub fn restore(&self) {
        // SAFETY: the set is one that `pthread_sigmask` gave us; the third argument may be null. `signal` has no memory
        // obligations.
        unsafe {
            if self.ignores_children {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, ptr::null_mut());
        }
    }
}

/// Whether this process is the leader of its session.
fn leads_session() -> bool {
    // SAFETY: both calls only read numbers of this process.
    unsafe { libc::getsid(0) == libc::getpid() }
}

/// Sends `signal` to the process `pid`, a child that was not waited for yet.
pub fn send(pid: u32, signal: libc::c_int) {
    if let Ok(pid) = libc::pid_t::try_from(pid) {
        // SAFETY: `kill` has no memory obligations; the pid is that of our own unreaped child, so it names no other
        // process. A child that is already a zombie makes this a no-op.
        unsafe { libc::kill(pid, signal) };
    }
}
