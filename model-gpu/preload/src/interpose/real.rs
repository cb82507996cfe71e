//! The next definition of a function: what the program would have called without this library.

use core::ffi::{CStr, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

/// The address of the next definition of one name.
#[derive(Debug)]
pub(crate) struct Next {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Next {
    /// The name's next definition, not yet looked up.
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicPtr::new(core::ptr::null_mut()) }
    }

    /// Looks the name up once; nothing if no library after this one defines it.
    pub(crate) fn address(&self) -> Option<*mut c_void> {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return Some(known);
        }
        // SAFETY: the name is a valid C string; threads that race look up the same address.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Release);
        (!found.is_null()).then_some(found)
    }
}

/// `real!(name: fn(A, B) -> R)`: the next definition of a C function, as an `Option` of a function pointer.
macro_rules! real {
    ($name:ident: fn($($argument:ty),*) -> $result:ty) => {{
        const NAME: &core::ffi::CStr = match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
            Ok(name) => name,
            Err(_) => panic!("a name with a zero byte"),
        };
        static NEXT: $crate::interpose::Next = $crate::interpose::Next::new(NAME);
        // SAFETY: the signature written here is the one that C declares for the name.
        NEXT.address().map(|address| unsafe {
            core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($($argument),*) -> $result>(address)
        })
    }};
}
pub(crate) use real;
