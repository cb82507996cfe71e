//! Lazy binding: the first call of an export finds out where its trampoline has to lead.
//!
//! No lock is held over `dlopen` or `dlsym`: a thread inside the dynamic loader may run a constructor that makes an
//! HSA call, and would wait for us while we wait for the loader. Threads that come here at once do the same work and
//! store the same result.

use std::arch::naked_asm;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::runtime::{self, Found};
use crate::{absent, arming, forward, log};

/// Addresses of the real functions (or of their stand-ins), null until asked for.
static REAL: [AtomicPtr<c_void>; forward::COUNT] = [const { AtomicPtr::new(null_mut()) }; forward::COUNT];

/// Where an unbound trampoline ends: saves every register that may carry an argument, has the slot resolved and jumps
/// to its target as if it had been called directly.
///
/// The System V ABI passes arguments in rdi, rsi, rdx, rcx, r8, r9 and xmm0-7; al holds the number of vector
/// registers of a variadic call and r10 the static chain. On entry the slot's number lies on top of the return
/// address, which leaves the stack aligned.
#[unsafe(naked)]
pub unsafe extern "C" fn bind() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "push rax",
        "push r10",
        "sub rsp, 128",
        "movaps [rsp], xmm0",
        "movaps [rsp + 16], xmm1",
        "movaps [rsp + 32], xmm2",
        "movaps [rsp + 48], xmm3",
        "movaps [rsp + 64], xmm4",
        "movaps [rsp + 80], xmm5",
        "movaps [rsp + 96], xmm6",
        "movaps [rsp + 112], xmm7",
        "mov rdi, [rsp + 192]",
        "call {resolve}",
        "mov r11, rax",
        "movaps xmm0, [rsp]",
        "movaps xmm1, [rsp + 16]",
        "movaps xmm2, [rsp + 32]",
        "movaps xmm3, [rsp + 48]",
        "movaps xmm4, [rsp + 64]",
        "movaps xmm5, [rsp + 80]",
        "movaps xmm6, [rsp + 96]",
        "movaps xmm7, [rsp + 112]",
        "add rsp, 128",
        "pop r10",
        "pop rax",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "add rsp, 8",
        "jmp r11",
        resolve = sym resolve,
    )
}

/// Points the slot at its target and returns it. Leaves `errno` as it was: the caller believes to have called the target.
extern "C" fn resolve(slot: usize) -> *mut c_void {
    // SAFETY: the calling thread's errno is always there.
    let errno = unsafe { *libc::__errno_location() };
    let target = target_of(slot);
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
    target
}

fn target_of(slot: usize) -> *mut c_void {
    let (real, lasting) = look_up(slot);
    if !lasting {
        return real;
    }
    let target = arming::hook_for(slot).unwrap_or(real);
    // SAFETY: the real function or its stand-in, or the hook of this very name, whose type build.rs has checked.
    unsafe { forward::point(slot, target) };
    target
}

/// The address to call for the real function of a slot: never null.
#[inline]
pub fn real_of(slot: usize) -> *mut c_void {
    known_real(slot).unwrap_or_else(|| look_up(slot).0)
}

/// The real function of a slot if somebody asked for it already.
#[inline]
pub fn known_real(slot: usize) -> Option<*mut c_void> {
    let known = REAL[slot].load(Ordering::Acquire);
    (!known.is_null()).then_some(known)
}

/// The same as [`real_of`], and whether it is final: while the runtime is being loaded by this very thread nothing is.
fn look_up(slot: usize) -> (*mut c_void, bool) {
    let known = REAL[slot].load(Ordering::Acquire);
    if !known.is_null() {
        return (known, true);
    }
    let name = forward::name_of(slot);
    let address = match runtime::get() {
        Found::Runtime(runtime) => runtime.symbol(name).unwrap_or_else(|| {
            log::say(format_args!(
                "{} is not in the HSA runtime {}; calls of it fail",
                name.to_string_lossy(),
                runtime.path().display()
            ));
            absent::missing(name)
        }),
        Found::Nothing => absent::no_runtime(name),
        Found::Loading => return (absent::no_runtime(name), false),
    };
    REAL[slot].store(address, Ordering::Release);
    (address, true)
}
