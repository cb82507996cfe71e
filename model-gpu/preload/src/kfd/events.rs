//! Requests about events.

use core::time::Duration;

use model_gpu_core::events::{Kind, SIGNAL_EVENT_LIMIT, Want};

use super::Errno;
use super::abi::{CreateEvent, EventData, Number, WaitEvents, read_array, write_array};
use crate::session::Session;

type Answer = Result<(), Errno>;

const INVALID: Errno = Errno(libc::EINVAL);

/// `KFD_IOC_EVENT_*`
const SIGNAL: u32 = 0;
const HW_EXCEPTION: u32 = 3;
const DEBUG: u32 = 5;
const MEMORY: u32 = 8;

/// `KFD_IOC_WAIT_RESULT_*`
const COMPLETE: u32 = 0;
const TIMEOUT: u32 = 1;
const FAIL: u32 = 2;

/// `KFD_HW_EXCEPTION_WHOLE_GPU_RESET` and `KFD_HW_EXCEPTION_GPU_HANG`
const WHOLE_GPU_RESET: u32 = 0;
const GPU_HANG: u32 = 0;

/// `KFD_MMAP_TYPE_EVENTS`: says that signal events have slots in the page of mailboxes.
const MMAP_TYPE_EVENTS: u64 = 2 << 62;

/// A timeout that means for ever.
const INFINITE: u32 = u32::MAX;

pub(super) fn create_event(session: &Session, args: &mut CreateEvent) -> Answer {
    let kind = match args.event_type {
        SIGNAL | DEBUG => Kind::Signal,
        MEMORY => Kind::Memory,
        HW_EXCEPTION => Kind::HardwareException,
        1..=8 => Kind::Other,
        _ => return Err(INVALID),
    };
    if args.event_page_offset != 0 {
        // The first event brings the handle of the page that the program allocated for mailboxes.
        let page = session.machine.memory.buffer(args.event_page_offset).ok_or(INVALID)?;
        if page.bytes < u64::from(SIGNAL_EVENT_LIMIT) * 8 {
            return Err(INVALID);
        }
        session.machine.set_event_page(page.address);
    }
    let id = session.machine.events.create(kind, args.auto_reset != 0)?;
    args.event_id = id;
    if kind == Kind::Signal {
        (args.event_trigger_data, args.event_slot_index) = (id, id);
        args.event_page_offset = MMAP_TYPE_EVENTS;
    }
    Ok(())
}

pub(super) fn destroy_event(session: &Session, args: &mut Number) -> Answer {
    Ok(session.machine.events.destroy(args.id)?)
}

pub(super) fn set_event(session: &Session, args: &mut Number) -> Answer {
    Ok(session.machine.events.set(args.id)?)
}

pub(super) fn reset_event(session: &Session, args: &mut Number) -> Answer {
    Ok(session.machine.events.reset(args.id)?)
}

pub(super) fn wait_events(session: &Session, args: &mut WaitEvents) -> Answer {
    let count = args.num_events as usize;
    // SAFETY: the program says that it has an array of `num_events` structures there.
    let mut data: Vec<EventData> = unsafe { read_array(args.events_ptr, count) };
    let wants: Vec<_> = data
        .iter()
        .map(|event| Want {
            id: event.event_id,
            age: u64::from(event.data[0]) | u64::from(event.data[1]) << 32,
        })
        .collect();
    // Whoever waits has rung just now.
    session.machine.look_at_doorbells();
    let timeout = (args.timeout != INFINITE).then(|| Duration::from_millis(args.timeout.into()));
    let Ok((found, fulfilled)) = session.machine.events.wait(&wants, args.wait_for_all != 0, timeout) else {
        args.wait_result = FAIL;
        return Err(Errno(libc::EIO));
    };
    for (event, found) in data.iter_mut().zip(found) {
        if let Some(memory) = found.memory {
            let [v0, v1, v2, v3, v4, v5, v6, v7] = memory.fault.address.to_le_bytes();
            let (low, high) = (u32::from_le_bytes([v0, v1, v2, v3]), u32::from_le_bytes([v4, v5, v6, v7]));
            let [not_present, read_only, no_execute, imprecise] = memory.failure();
            event.data = [not_present, read_only, no_execute, imprecise, low, high, memory.gpu_id, 0];
        } else if let Some(gpu_id) = found.hang {
            // A whole reset loses the memory; runtimes act only if they are told so.
            event.data = [WHOLE_GPU_RESET, GPU_HANG, 1, gpu_id, 0, 0, 0, 0];
        } else if let Some(age) = found.age {
            let [a0, a1, a2, a3, a4, a5, a6, a7] = age.to_le_bytes();
            event.data[0] = u32::from_le_bytes([a0, a1, a2, a3]);
            event.data[1] = u32::from_le_bytes([a4, a5, a6, a7]);
        }
    }
    // SAFETY: the array was read from there.
    unsafe { write_array(args.events_ptr, &data) };
    args.wait_result = if fulfilled { COMPLETE } else { TIMEOUT };
    Ok(())
}
