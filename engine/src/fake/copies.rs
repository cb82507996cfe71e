//! The copy engine: one thread, copies in order of submission.

use super::{Event, Fake, Fault, Operation, State, value};
use crate::handles::Signal;
use crate::runtime::Copy;
use std::collections::VecDeque;
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
                    let failed = fault == Some(Fault::FailLate);
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
    let (device, host) = match operation {
        Operation::CopyToDevice => (copy.to, copy.from),
        _ => (copy.from, copy.to),
    };
    let inside = |(&base, &bytes): (&u64, &u64)| base <= host && host + copy.bytes <= base + bytes;
    if !state.machine.host.iter().any(inside) {
        state.violations.push(format!("copy with host memory that is not allocated: {copy:x?}"));
        return;
    }
    let Some(memory) = state.machine.slice(device, copy.bytes) else {
        state.violations.push(format!("copy with device memory that is not allocated: {copy:x?}"));
        return;
    };
    let host = std::ptr::with_exposed_provenance_mut::<u8>(host as usize);
    // SAFETY: both ranges were checked to lie in live allocations, which do not overlap.
    unsafe {
        match operation {
            Operation::CopyToDevice => {
                std::ptr::copy_nonoverlapping(host, memory.as_mut_ptr(), memory.len());
            }
            _ => std::ptr::copy_nonoverlapping(memory.as_ptr(), host, memory.len()),
        }
    }
    state.events.push(Event::Copied { operation, device, bytes: copy.bytes });
}
