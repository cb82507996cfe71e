//! The exports: one naked trampoline a name, jumping through a slot.
//!
//! A trampoline is a single indirect jump, so any signature passes through it unseen and a call costs under a
//! nanosecond more than a direct one. A slot first leads to [`bind()`], which replaces it with the real function,
//! with a hook, or with an answer for a name that the real runtime lacks. The list of names and the linker's version
//! map come from `build.rs`.

use std::arch::naked_asm;
use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::bind::{bind, real_of};
use crate::hooks;

/// Gives an exported symbol its version; it has to stand in the module that defines the symbol.
macro_rules! versioned {
    ($name:ident) => {
        $crate::forward::versioned!($name, "ROCR_1");
    };
    ($name:ident, $node:literal) => {
        ::std::arch::global_asm!(concat!(
            ".symver ",
            stringify!($name),
            ", ",
            stringify!($name),
            "@@@",
            $node
        ));
    };
}
pub(crate) use versioned;

macro_rules! forward {
    ($($slot:literal $name:ident,)*) => {
        /// Number of forwarded names.
        pub const COUNT: usize = [$($slot),*].len();

        /// Where each trampoline jumps to. Written by [`point`] alone.
        static SLOTS: [AtomicPtr<c_void>; COUNT] = [$(AtomicPtr::new(unbound::$name as *mut c_void)),*];

        static NAMES: [&CStr; COUNT] = [$(
            match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => panic!("a symbol name holds a NUL"),
            }
        ),*];

        /// Slot numbers by name.
        #[allow(non_upper_case_globals, dead_code, reason = "named as the exports are; hooks use only some")]
        pub mod slot {
            $(pub const $name: usize = $slot;)*
        }

        mod exports {
            use super::*;
            $(
                #[unsafe(naked)]
                #[unsafe(no_mangle)]
                pub unsafe extern "C" fn $name() {
                    naked_asm!("jmp qword ptr [rip + {slots} + {offset}]", slots = sym SLOTS, offset = const $slot * 8)
                }
                versioned!($name);
            )*
        }

        /// First targets of the slots: they leave the slot's number on the stack for `bind`.
        mod unbound {
            use super::*;
            $(
                #[unsafe(naked)]
                pub(super) unsafe extern "C" fn $name() {
                    naked_asm!("push {slot}", "jmp {bind}", slot = const $slot, bind = sym bind)
                }
            )*
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/forward.rs"));
include!(concat!(env!("OUT_DIR"), "/hooked.rs"));

/// The exported name of a slot.
pub fn name_of(slot: usize) -> &'static CStr {
    NAMES[slot]
}

/// Makes a trampoline jump to `target` from now on.
///
/// # Safety
/// `target` is the address of a function with the signature of the slot's name, valid for the life of the process.
pub unsafe fn point(slot: usize, target: *mut c_void) {
    SLOTS[slot].store(target, Ordering::Release);
}

/// The real function of a slot, or its stand-in when the runtime lacks it.
///
/// # Safety
/// `F` is the function type that the slot's name has in the bindings.
pub unsafe fn function<F: Copy>(slot: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = real_of(slot);
    // SAFETY: `real_of` gives the address of the runtime's function, which has type `F`, or of a stand-in that takes any
    // arguments and returns a value of the same register class; both fit a pointer, which is as large as `F`.
    unsafe { std::mem::transmute_copy(&address) }
}

/// The real function of an export by name, to be called inside an `unsafe` block: `real!(hsa_init)()`.
macro_rules! real {
    ($name:ident) => {
        $crate::forward::function::<hsa_sys::$name>($crate::forward::slot::$name)
    };
}
pub(crate) use real;
