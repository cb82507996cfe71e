//! The copy engine: one thread, copies in order of submission.

use super::{Event, Fake, Fault, Operation, State, value};
use crate::handles::Signal;
use crate::runtime::Copy;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[derive(Default)]
pub(crate) struct Copies {
    queue: VecDeque<(Copy, Signal, Option<Fault>)>,
    /// Copies that do not end before they are released; the others go on.
    held: Vec<(Copy, Signal)>,
}

impl Copies {
    pub(super) fn push(&mut self, copy: Copy, completion: Signal, fault: Option<Fault>) {
        match fault {
            Some(Fault::Hold) => self.held.push((copy, completion)),
            fault => self.queue.push_back((copy, completion, fault)),
        }
    }

    pub(super) fn release(&mut self) {
        self.queue.extend(self.held.drain(..).map(|(copy, completion)| (copy, completion, None)));
    }

    /// Whether all that were submitted are done; they are done under the lock.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.held.is_empty()
    }
}

/// Which side of a copy is the device.
pub(super) fn operation(state: &State, copy: &Copy) -> Operation {
    if state.machine.allocation(copy.to).is_some() { Operation::CopyToDevice } else { Operation::CopyToHost }
}

pub(super) fn start(fake: &Arc<Fake>) {
    let fake = Arc::clone(fake);
    std::thread::spawn(move || {
        let mut state = fake.state.lock();
        while !state.stop {
            match state.copies.queue.pop_front() {
                None => fake.changed.wait(&mut state),
                Some((copy, completion, fault)) => {
                    let hits = |range: &Range<u64>| copy.to < range.end && range.start < copy.to + copy.bytes;
                    let parts =
                        |address| state.machine.parts(address, copy.bytes).map_or(0, |parts| parts.len());
                    let joins = state.keeps_apart && parts(copy.to).max(parts(copy.from)) > 1;
                    let failed = fault == Some(Fault::FailLate) || joins || state.broken.iter().any(hits);
                    if !failed {
                        perform(&mut state, &copy);
                    }
                    let done = if failed { -1 } else { value(completion).load(Ordering::SeqCst) - 1 };
                    value(completion).store(done, Ordering::SeqCst);
                    fake.changed.notify_all();
                }
            }
        }
    });
}

fn perform(state: &mut State, copy: &Copy) {
    let operation = operation(state, copy);
    let is_device = |address| state.machine.allocation(address).is_some();
    let device = if operation == Operation::CopyToDevice { copy.to } else { copy.from };
    let host = match (is_device(copy.from), is_device(copy.to)) {
        (true, true) => None,
        (false, _) => Some(copy.from),
        (true, false) => Some(copy.to),
    };
    let inside = |host: u64| {
        let mut blocks = state.machine.host.iter();
        blocks.any(|(&base, &bytes)| base <= host && host + copy.bytes <= base + bytes)
    };
    if host.is_some_and(|host| !inside(host)) {
        state.violations.push(format!("copy with host memory that is not allocated: {copy:x?}"));
        return;
    }
    let host = host.map(|host| std::ptr::with_exposed_provenance_mut::<u8>(host as usize));
    let done = match (operation, host) {
        (Operation::CopyToDevice, Some(host)) => {
            // SAFETY: the range was checked to lie in a live allocation.
            let bytes = unsafe { std::slice::from_raw_parts(host, copy.bytes as usize) };
            state.machine.scatter(copy.to, bytes)
        }
        (_, Some(host)) => state.machine.gather(copy.from, copy.bytes).map(|bytes| {
            // SAFETY: the range was checked to lie in a live allocation, and the bytes are our own.
            unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), host, bytes.len()) };
        }),
        (_, None) => {
            let bytes = state.machine.gather(copy.from, copy.bytes);
            bytes.and_then(|bytes| state.machine.scatter(copy.to, &bytes))
        }
    };
    match done {
        Some(()) => state.events.push(Event::Copied { operation, device, bytes: copy.bytes }),
        None => state.violations.push(format!("copy with device memory that is not allocated: {copy:x?}")),
    }
}
