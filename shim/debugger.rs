//! `_amdgpu_r_debug`: the list of loaded code objects that a debugger reads, 40 bytes like glibc's `struct r_debug`.
//!
//! ROCr fills the structure in `hsa_init` and whenever an executable is frozen or destroyed, and tells the kernel
//! driver its address, from which the debugger library takes it. It refers to the structure by symbol, so where that
//! leads depends on how we were loaded:
//! - In the global scope (preloaded, or needed by the program) the real runtime binds to *our* symbol: ours is the
//!   one that the driver knows and ROCr fills.
//! - Loaded locally (`dlopen` without `RTLD_GLOBAL`, as Python does) it binds to its own, which the driver knows too.
//!
//! A debugger that asks the driver is right in both cases. For one that looks the symbol up, and finds ours first,
//! the second case copies the real contents after each call that changes them; only at the breakpoint inside such a
//! call are they one step behind.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::forward::versioned;
use crate::runtime::Runtime;

const WORDS: usize = 5;

/// `r_version`, `r_map`, `r_brk`, `r_state`, `r_ldbase`.
#[unsafe(no_mangle)]
#[used]
#[allow(non_upper_case_globals, reason = "the name is ROCr's")]
pub static _amdgpu_r_debug: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
versioned!(_amdgpu_r_debug);

/// The real runtime's own structure.
static REAL: AtomicPtr<[AtomicU64; WORDS]> = AtomicPtr::new(std::ptr::null_mut());

/// Remembers where the real structure lies.
pub fn attach(runtime: &Runtime) {
    if let Some(address) = runtime.symbol(c"_amdgpu_r_debug")
        && address.cast_const() != (&raw const _amdgpu_r_debug).cast()
        && address.cast::<u64>().is_aligned()
    {
        REAL.store(address.cast(), Ordering::Release);
    }
}

/// Brings ours up to date, after a call in which the real runtime may have changed its own.
///
/// Its own stays empty when it binds to ours; then there is nothing to copy.
pub fn follow() {
    let real = REAL.load(Ordering::Acquire);
    if real.is_null() {
        return;
    }
    // SAFETY: an aligned exported structure of five words in a library that is never closed; others write it, hence
    // atomics.
    let real = unsafe { &*real };
    let words = real.each_ref().map(|word| word.load(Ordering::Acquire));
    if words == [0; WORDS] {
        return;
    }
    for (ours, value) in _amdgpu_r_debug.iter().zip(words) {
        ours.store(value, Ordering::Release);
    }
}
