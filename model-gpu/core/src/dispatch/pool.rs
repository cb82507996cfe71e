//! Threads that help queues with their work-groups.
//!
//! A queue's own thread always works on its dispatch, so every queue makes progress even if all helpers are caught in
//! kernels that wait for something.

use core::cell::RefCell;
use core::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use parking_lot::{Condvar, Mutex};

use super::job::{Bench, Job, Stepped};
use super::{Failure, Order};
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

    /// Runs several jobs of a queue to their ends on this thread and the helpers, side by side: which one goes on next is
    /// `order`'s choice. `finished` is told of each that ended well; the first failure ends the others.
    pub(super) fn run_together(
        &self,
        machine: &Machine,
        queue: &Queue,
        jobs: &[Arc<Job>],
        order: &mut Order,
        mut finished: impl FnMut(usize) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.most > 0
            && let Some(queue) = machine.queue(queue.id)
        {
            for job in jobs.iter().filter(|job| job.is_large()) {
                self.offer(machine, job.clone(), queue.clone());
            }
        }
        let mut result = Ok(());
        BENCH.with_borrow_mut(|bench| {
            bench.start();
            let mut left: Vec<_> = (0..jobs.len()).collect();
            let mut idle = 0;
            while !left.is_empty() {
                let pick = order.below(left.len());
                let job = &jobs[left[pick]];
                match job.step(machine, queue, bench) {
                    Stepped::Ran => idle = 0,
                    Stepped::Wait => {
                        idle += 1;
                        if idle > 2 * left.len() {
                            job.await_change();
                        }
                    }
                    Stepped::End => {
                        let index = left.swap_remove(pick);
                        let end = job.result().and_then(|()| finished(index));
                        if end.is_err() {
                            jobs.iter().for_each(|job| job.stop());
                            result = core::mem::replace(&mut result, Ok(())).and(end);
                        }
                    }
                }
            }
        });
        self.state.lock().jobs.retain(|(other, _)| !jobs.iter().any(|job| Arc::ptr_eq(other, job)));
        result
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
                let wanted = state.jobs.iter().filter(|(job, _)| job.wants_help());
                // The first of the most urgent.
                let urgent = wanted.rev().max_by_key(|(_, queue)| queue.priority.load(Ordering::Relaxed));
                if let Some((job, queue)) = urgent {
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
