//! Threads that help queues with their work-groups.
//!
//! A queue's own thread always works on its dispatch, so every queue makes progress even if all helpers are caught in
//! kernels that wait for something.

use core::cell::RefCell;
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};

use super::Failure;
use super::job::{Bench, Job};
use crate::queues::Queue;
use crate::{Machine, thread};

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::default();
}

#[derive(Debug, Default)]
struct State {
    jobs: Vec<(Arc<Job>, Arc<Queue>)>,
    helpers: usize,
    idle: usize,
    stop: bool,
}

/// The helpers and what they may help with.
#[derive(Debug)]
pub(crate) struct Pool {
    most: usize,
    state: Arc<Mutex<State>>,
    bell: Arc<Condvar>,
}

impl Pool {
    /// A pool of at most `most` helpers, which are started when first needed.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, state: Arc::default(), bell: Arc::default() }
    }

    /// Ends the helpers once they have nothing to do.
    pub(crate) fn stop(&self) {
        self.state.lock().stop = true;
        self.bell.notify_all();
    }

    /// Runs a job to its end on this thread and the helpers.
    pub(super) fn run(&self, machine: &Machine, queue: &Queue, job: &Arc<Job>) -> Result<(), Failure> {
        if job.is_large()
            && self.most > 0
            && let Some(queue) = machine.queue(queue.id)
        {
            self.offer(machine, job.clone(), queue);
        }
        BENCH.with_borrow_mut(|bench| job.work(machine, queue, bench, true));
        self.state.lock().jobs.retain(|(other, _)| !Arc::ptr_eq(other, job));
        job.result()
    }

    fn offer(&self, machine: &Machine, job: Arc<Job>, queue: Arc<Queue>) {
        let mut state = self.state.lock();
        state.jobs.push((job, queue));
        if state.idle == 0 && state.helpers < self.most && !state.stop {
            let (shared, bell, machine) = (self.state.clone(), self.bell.clone(), machine.handle());
            if thread::start("gpu-helper", move || help(&machine, &shared, &bell)).is_ok() {
                state.helpers += 1;
            }
        }
        self.bell.notify_all();
    }
}

fn help(machine: &Weak<Machine>, state: &Mutex<State>, bell: &Condvar) {
    loop {
        let (job, queue) = {
            let mut state = state.lock();
            loop {
                if state.stop {
                    state.helpers -= 1;
                    return;
                }
                if let Some((job, queue)) = state.jobs.iter().find(|(job, _)| job.wants_help()) {
                    break (job.clone(), queue.clone());
                }
                state.idle += 1;
                bell.wait(&mut state);
                state.idle -= 1;
            }
        };
        let Some(machine) = machine.upgrade() else { return };
        BENCH.with_borrow_mut(|bench| job.work(&machine, &queue, bench, false));
    }
}
