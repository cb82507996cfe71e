//! Queues: the application gets a queue object of the engine's in place of each hardware queue that runs kernels.

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hsa_replay_engine::handles::{Agent, HardwareQueue};
use hsa_sys::{
    HSA_AGENT_INFO_DEVICE, HSA_AMD_QUEUE_INFO_AGENT, HSA_AMD_QUEUE_INFO_DOORBELL_ID, HSA_DEVICE_TYPE_GPU,
    HSA_QUEUE_FEATURE_KERNEL_DISPATCH, HSA_QUEUE_TYPE_COOPERATIVE, HSA_STATUS_ERROR_INVALID_ARGUMENT,
    HSA_STATUS_SUCCESS, hsa_agent_t, hsa_amd_queue_priority_t, hsa_device_type_t, hsa_queue_info_attribute_t,
    hsa_queue_t, hsa_queue_type32_t, hsa_status_t,
};

use super::status_of;
use crate::forward::real;
use crate::{event_thread, life, log};

/// The application's error callback, as `hsa_queue_create` takes it.
pub type ErrorCallback =
    Option<unsafe extern "C" fn(status: hsa_status_t, source: *mut hsa_queue_t, data: *mut c_void)>;

/// What our error callback of one hardware queue knows.
///
/// Never freed: the runtime's event thread may be on its way into the callback while the queue is being destroyed.
struct ErrorContext {
    callback: ErrorCallback,
    data: *mut c_void,
    /// Address of the object that the application holds; zero while it is the real queue.
    object: AtomicU64,
    called: AtomicBool,
}

/// Called by the runtime on its event thread when a hardware queue has failed: names the queue as the application
/// knows it.
///
/// # Safety `data` is the context given at creation, `source` the real queue.
unsafe extern "C" fn queue_failed(status: hsa_status_t, source: *mut hsa_queue_t, data: *mut c_void) {
    event_thread::is_this();
    // SAFETY: a leaked context, shared by reference only.
    let context = unsafe { &*data.cast::<ErrorContext>() };
    if context.called.swap(true, Ordering::AcqRel) {
        return;
    }
    let object = context.object.load(Ordering::Acquire);
    if object != 0 {
        life::with(|engine| engine.queue_failed(object));
    }
    let queue = if object == 0 { source } else { as_queue(object) };
    match context.callback {
        // SAFETY: the application gave callback and data for such a call.
        Some(callback) => unsafe { callback(status, queue, context.data) },
        // Without a callback the runtime itself would have said something like it.
        None => log::say(format_args!("queue {queue:p} failed with status {status:#x} and is inactive")),
    }
}

fn as_queue(object: u64) -> *mut hsa_queue_t {
    // The addresses are the same numbers for host and agents.
    ptr::with_exposed_provenance_mut(usize::try_from(object).unwrap_or(0))
}

fn number(queue: *const hsa_queue_t) -> u64 {
    queue.expose_provenance() as u64
}

/// The hardware queue to make a call about: the one behind our object, or the argument itself.
fn hardware(queue: *const hsa_queue_t) -> *mut hsa_queue_t {
    match life::with(|engine| engine.hardware_queue(number(queue))).flatten() {
        Some(HardwareQueue(real)) => as_queue(real),
        None => queue.cast_mut(),
    }
}

fn is_ours(queue: *const hsa_queue_t) -> bool {
    life::with(|engine| engine.hardware_queue(number(queue))).flatten().is_some()
}

fn is_gpu(agent: hsa_agent_t) -> bool {
    let mut kind: hsa_device_type_t = 0;
    // SAFETY: the attribute is of this type.
    let status = unsafe { real!(hsa_agent_get_info)(agent, HSA_AGENT_INFO_DEVICE, (&raw mut kind).cast()) };
    status == HSA_STATUS_SUCCESS && kind == HSA_DEVICE_TYPE_GPU
}

#[allow(clippy::too_many_arguments, reason = "the signature is HSA's")]
pub unsafe extern "C" fn hsa_queue_create(
    agent: hsa_agent_t,
    size: u32,
    kind: hsa_queue_type32_t,
    callback: ErrorCallback,
    data: *mut c_void,
    private_segment_size: u32,
    group_segment_size: u32,
    place: *mut *mut hsa_queue_t,
) -> hsa_status_t {
    let create = |callback, data| {
        // SAFETY: the caller's obligations are passed on; callback and data are its own or ours.
        unsafe {
            real!(hsa_queue_create)(
                agent,
                size,
                kind,
                callback,
                data,
                private_segment_size,
                group_segment_size,
                place,
            )
        }
    };
    if life::with(|_| ()).is_none() || place.is_null() || !is_gpu(agent) {
        return create(callback, data);
    }
    let context = ErrorContext { callback, data, object: AtomicU64::new(0), called: AtomicBool::new(false) };
    let context = Box::into_raw(Box::new(context));
    let status = create(Some(queue_failed), context.cast());
    if status != HSA_STATUS_SUCCESS {
        // SAFETY: no queue was made that could call back with it.
        drop(unsafe { Box::from_raw(context) });
        return status;
    }
    // SAFETY: the call has succeeded and written the queue there.
    let real = unsafe { place.read() };
    // SAFETY: a queue object, whose features do not change.
    let features = unsafe { (&raw const (*real).features).read() };
    if features & HSA_QUEUE_FEATURE_KERNEL_DISPATCH == 0 {
        return status;
    }
    let cooperative = kind == HSA_QUEUE_TYPE_COOPERATIVE;
    match life::with(|engine| {
        engine.wrap_queue(Agent(agent.handle), HardwareQueue(number(real)), cooperative)
    }) {
        Some(Ok(object)) => {
            // SAFETY: leaked, see above.
            unsafe { (*context).object.store(object, Ordering::Release) };
            // SAFETY: the place that the application gave for it.
            unsafe { place.write(as_queue(object)) };
        }
        Some(Err(error)) => {
            life::disarm(&format!("a queue could not be put behind a software queue ({error})"))
        }
        // The engine stopped meanwhile, or failed: the application keeps the real queue.
        None => {}
    }
    status
}

pub unsafe extern "C" fn hsa_queue_destroy(queue: *mut hsa_queue_t) -> hsa_status_t {
    match life::with(|engine| engine.destroy_queue(number(queue), event_thread::may_wait())).flatten() {
        Some(result) => status_of(result),
        // SAFETY: the caller's obligations are passed on.
        None => unsafe { real!(hsa_queue_destroy)(queue) },
    }
}

pub unsafe extern "C" fn hsa_queue_inactivate(queue: *mut hsa_queue_t) -> hsa_status_t {
    match life::with(|engine| engine.inactivate_queue(number(queue))).flatten() {
        Some(result) => status_of(result),
        // SAFETY: the caller's obligations are passed on.
        None => unsafe { real!(hsa_queue_inactivate)(queue) },
    }
}

pub unsafe extern "C" fn hsa_amd_queue_set_priority(
    queue: *mut hsa_queue_t,
    priority: hsa_amd_queue_priority_t,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on, for the real queue.
    unsafe { real!(hsa_amd_queue_set_priority)(hardware(queue), priority) }
}

pub unsafe extern "C" fn hsa_amd_queue_cu_set_mask(
    queue: *const hsa_queue_t,
    count: u32,
    mask: *const u32,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on, for the real queue.
    unsafe { real!(hsa_amd_queue_cu_set_mask)(hardware(queue), count, mask) }
}

pub unsafe extern "C" fn hsa_amd_queue_cu_get_mask(
    queue: *const hsa_queue_t,
    count: u32,
    mask: *mut u32,
) -> hsa_status_t {
    // SAFETY: the caller's obligations are passed on, for the real queue.
    unsafe { real!(hsa_amd_queue_cu_get_mask)(hardware(queue), count, mask) }
}

/// Profiling of our queues was switched on when they were made and stays on: a replayed dispatch needs its ticks.
pub unsafe extern "C" fn hsa_amd_profiling_set_profiler_enabled(
    queue: *mut hsa_queue_t,
    enable: c_int,
) -> hsa_status_t {
    if enable == 0 && is_ours(queue) {
        return HSA_STATUS_SUCCESS;
    }
    // SAFETY: the caller's obligations are passed on, for the real queue.
    unsafe { real!(hsa_amd_profiling_set_profiler_enabled)(hardware(queue), enable) }
}

/// Of our queues only the agent is told. The hardware's doorbell would let packets bypass us, and whatever a newer
/// runtime offers (a ring of metadata, for example) would be used with our indices: unknown attributes are refused,
/// as by a runtime that does not know them.
pub unsafe extern "C" fn hsa_amd_queue_get_info(
    queue: *mut hsa_queue_t,
    attribute: hsa_queue_info_attribute_t,
    value: *mut c_void,
) -> hsa_status_t {
    if is_ours(queue) && attribute != HSA_AMD_QUEUE_INFO_AGENT {
        if attribute == HSA_AMD_QUEUE_INFO_DOORBELL_ID {
            tracing::info!(
                "refused the hardware doorbell of a queue: its packets would bypass the software queue"
            );
        } else {
            tracing::info!("refused attribute {attribute:#x} of a queue: not known for software queues");
        }
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    }
    // SAFETY: the caller's obligations are passed on, for the real queue.
    unsafe { real!(hsa_amd_queue_get_info)(hardware(queue), attribute, value) }
}
