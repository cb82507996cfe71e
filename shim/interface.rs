//! The functions of `include/hsa_replay.h` that a program calls, at the version node `HSA_REPLAY_1`.
//!
//! None waits for a kernel or calls back. Where no engine runs they say so and do nothing.

use std::ffi::{CStr, c_char, c_void};

use hsa_replay_contract::KernelFilter;
use hsa_replay_engine::{Engine, Named};

use crate::forward::versioned;
use crate::life;

/// `hsa_replay_status_t`.
pub type Status = u32;

pub const SUCCESS: Status = 0;
const INVALID_ARGUMENT: Status = 1;
const NOT_ARMED: Status = 2;
const NOT_FOUND: Status = 3;
const UNSUPPORTED: Status = 4;
const INVALID_EXPRESSION: Status = 5;
const INTERNAL: Status = 6;

/// The longest name of a stretch of code, bytes.
const LONGEST_NAME: usize = 1024;

/// A status in words.
pub fn status_text(status: Status) -> &'static CStr {
    match status {
        SUCCESS => c"success",
        INVALID_ARGUMENT => c"an argument is null, too long, not UTF-8, or out of range",
        NOT_ARMED => c"replay is off in this process, or hsa_init was not called yet",
        NOT_FOUND => c"there is no such allocation, record or range",
        UNSUPPORTED => c"memory of this kind is never captured",
        INVALID_EXPRESSION => c"the regular expression does not compile",
        INTERNAL => c"a failure inside hsa-replay",
        _ => c"not a status of hsa-replay",
    }
}

/// Has the engine do something.
fn request(action: impl FnOnce(&'static Engine) -> Status) -> Status {
    if !life::runs() {
        return NOT_ARMED;
    }
    life::with(action).unwrap_or(INTERNAL)
}

/// # Safety
/// `text` is null or a C string that stays as it is for `'a`.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a str> {
    // SAFETY: the caller's obligation.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }).and_then(|text| text.to_str().ok())
}

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_status_string(status: Status) -> *const c_char {
    status_text(status).as_ptr()
}
versioned!(hsa_replay_status_string, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_is_armed() -> u32 {
    life::runs().into()
}
versioned!(hsa_replay_is_armed, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_pause() -> Status {
    request(|engine| {
        engine.pause(true);
        SUCCESS
    })
}
versioned!(hsa_replay_pause, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_resume() -> Status {
    request(|engine| {
        engine.pause(false);
        SUCCESS
    })
}
versioned!(hsa_replay_resume, "HSA_REPLAY_1");

/// # Safety
/// `expression` is null or a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_replay_select_kernels(expression: *const c_char) -> Status {
    let filter = if expression.is_null() {
        None
    } else {
        // SAFETY: the caller's obligation.
        let Some(expression) = (unsafe { text(expression) }) else { return INVALID_ARGUMENT };
        match KernelFilter::new(expression) {
            Ok(filter) => Some(filter),
            Err(_) => return INVALID_EXPRESSION,
        }
    };
    request(|engine| {
        engine.select_kernels(filter);
        SUCCESS
    })
}
versioned!(hsa_replay_select_kernels, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_set_passes(passes: u32) -> Status {
    let Ok(passes) = u16::try_from(passes) else { return INVALID_ARGUMENT };
    request(|engine| {
        engine.set_passes(passes.try_into().ok());
        SUCCESS
    })
}
versioned!(hsa_replay_set_passes, "HSA_REPLAY_1");

/// # Safety
/// `name` is null or a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_replay_range_push(name: *const c_char) -> Status {
    // SAFETY: the caller's obligation.
    let name = unsafe { text(name) };
    let Some(name) = name.filter(|name| name.len() <= LONGEST_NAME) else { return INVALID_ARGUMENT };
    request(|engine| {
        engine.push_range(name);
        SUCCESS
    })
}
versioned!(hsa_replay_range_push, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_range_pop() -> Status {
    request(|engine| if engine.pop_range() { SUCCESS } else { NOT_FOUND })
}
versioned!(hsa_replay_range_pop, "HSA_REPLAY_1");

fn capture(address: *const c_void, included: bool) -> Status {
    if address.is_null() {
        return INVALID_ARGUMENT;
    }
    request(|engine| match engine.capture(address.addr() as u64, included) {
        Named::Done => SUCCESS,
        Named::Unknown => NOT_FOUND,
        Named::Unsupported => UNSUPPORTED,
    })
}

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_exclude_memory(address: *const c_void) -> Status {
    capture(address, false)
}
versioned!(hsa_replay_exclude_memory, "HSA_REPLAY_1");

#[unsafe(no_mangle)]
extern "C" fn hsa_replay_include_memory(address: *const c_void) -> Status {
    capture(address, true)
}
versioned!(hsa_replay_include_memory, "HSA_REPLAY_1");

/// # Safety
/// `buffer` is null or writable for `size` bytes; `needed` is null or writable.
#[unsafe(no_mangle)]
unsafe extern "C" fn hsa_replay_last_record(buffer: *mut c_char, size: usize, needed: *mut usize) -> Status {
    if buffer.is_null() && size > 0 {
        return INVALID_ARGUMENT;
    }
    request(|engine| {
        let Some(record) = engine.last_record() else { return NOT_FOUND };
        if !needed.is_null() {
            // SAFETY: writable by the caller's obligation.
            unsafe { needed.write(record.len() + 1) };
        }
        if size > 0 {
            let length = record.len().min(size - 1);
            // SAFETY: the buffer has room for `size` bytes, more than are copied; the record is memory of our own.
            unsafe {
                record.as_ptr().cast::<c_char>().copy_to_nonoverlapping(buffer, length);
                buffer.add(length).write(0);
            }
        }
        SUCCESS
    })
}
versioned!(hsa_replay_last_record, "HSA_REPLAY_1");
