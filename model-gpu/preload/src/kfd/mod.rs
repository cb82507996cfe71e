//! The compute driver's ioctls (`/dev/kfd`), as Linux declares them in `kfd_ioctl.h`.

mod abi;
mod debug;
mod events;
mod memory;
mod misc;
mod queues;
mod svm;

use core::ffi::{c_int, c_ulong, c_void};

use model_gpu_core::{Refusal, say, trace};

use crate::interpose::fail;
use crate::session::Session;
use abi::Arguments;

pub(crate) use debug::Debug;
pub(crate) use svm::Svm;

/// Why a request failed, as an error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

impl From<Refusal> for Errno {
    fn from(refusal: Refusal) -> Self {
        Self(match refusal {
            Refusal::Invalid | Refusal::NotFound => libc::EINVAL,
            Refusal::NoMemory => libc::ENOMEM,
            Refusal::NoSlot => libc::ENOSPC,
            Refusal::NotMapped => libc::EFAULT,
            Refusal::Busy => libc::EBUSY,
        })
    }
}

/// Answers a request on `/dev/kfd`.
///
/// # Safety
/// `argument` points to the structure that the request's number and size name.
pub(crate) unsafe fn ioctl(session: &Session, request: c_ulong, argument: *mut c_void) -> c_int {
    /// Calls a handler with the request's structure. The program's may be shorter or longer than ours, as the
    /// driver's interface grows at the end: what it does not have is zero, what we do not have stays.
    macro_rules! call {
        ($handler:path) => {{
            // SAFETY: the caller promises the structure.
            let mut arguments = unsafe { Arguments::fetch(request, argument) };
            let result = $handler(session, arguments.value());
            // SAFETY: as before.
            unsafe { arguments.store() };
            (stringify!($handler), result)
        }};
    }
    let number = u8::try_from(request & 0xff).unwrap_or(0);
    let (name, result) = match number {
        0x01 => call!(misc::get_version),
        0x02 => call!(queues::create_queue),
        0x03 => call!(queues::destroy_queue),
        0x04 => call!(misc::set_memory_policy),
        0x05 => call!(misc::get_clock_counters),
        0x06 => call!(misc::get_process_apertures),
        0x07 => call!(queues::update_queue),
        0x08 => call!(events::create_event),
        0x09 => call!(events::destroy_event),
        0x0a => call!(events::set_event),
        0x0b => call!(events::reset_event),
        0x0c => call!(events::wait_events),
        0x11 => call!(misc::set_scratch_backing_va),
        0x12 => call!(misc::get_tile_config),
        0x13 => call!(misc::set_trap_handler),
        0x14 => call!(misc::get_process_apertures_new),
        0x15 => call!(misc::acquire_vm),
        0x16 => call!(memory::alloc_memory_of_gpu),
        0x17 => call!(memory::free_memory_of_gpu),
        0x18 => call!(memory::map_memory_to_gpu),
        0x19 => call!(memory::unmap_memory_from_gpu),
        0x1a => call!(queues::set_cu_mask),
        0x1c => call!(memory::get_dmabuf_info),
        0x1d => call!(memory::import_dmabuf),
        0x1e => call!(queues::alloc_queue_gws),
        0x1f => call!(misc::smi_events),
        0x20 => {
            // SAFETY: the caller promises the structure with its attributes behind it.
            ("svm", unsafe { svm::svm(session, argument) })
        }
        0x21 => call!(misc::set_xnack_mode),
        0x23 => call!(misc::available_memory),
        0x24 => call!(memory::export_dmabuf),
        0x25 => call!(misc::runtime_enable),
        0x26 => {
            // SAFETY: the caller promises the structure.
            return unsafe { debug::trap(session, request, argument) };
        }
        0x80 => call!(memory::ipc_import_handle),
        0x81 => call!(memory::ipc_export_handle),
        // ROCr 5.2 asks at its start for the debugger of AMD's driver package; the kernel's own driver has none by this number.
        0x82 => {
            trace!("ioctl 0x82 fails: no debugger of AMD's driver package");
            return fail(libc::EINVAL);
        }
        other => {
            let name = abi::name(other).unwrap_or("unknown");
            say!("ioctl {other:#04x} ({name}) on /dev/kfd is not supported: EINVAL");
            return fail(libc::EINVAL);
        }
    };
    match result {
        Ok(()) => {
            if number != 0x05 {
                trace!("ioctl {name}");
            }
            0
        }
        Err(Errno(errno)) => {
            trace!("ioctl {name} fails with error {errno}");
            fail(errno)
        }
    }
}
