//! The thread of a queue: executes packets while there are any, then sleeps until the doorbell.

use core::time::Duration;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

use super::{Kind, Queue, Step, aql, doorbells, sdma};
use crate::{Machine, thread};

/// Looks at the doorbell (or at what a packet waits for) before the thread sleeps at all.
const EAGER_LOOKS: u32 = 200;

/// A queue's thread.
#[derive(Debug)]
pub struct Worker {
    queue: Arc<Queue>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub(crate) fn start(machine: Arc<Machine>, queue: Arc<Queue>) -> io::Result<Self> {
        let own = queue.clone();
        let thread = thread::start("gpu-queue", move || {
            thread::sharpen_sleep();
            match own.spec.kind {
                Kind::Aql => run(&machine, &own, &mut aql::Processor::new(&machine, &own)),
                Kind::Sdma => run(&machine, &own, &mut sdma::Processor::new(&machine, &own)),
            }
        })?;
        Ok(Self { queue, thread })
    }

    pub(crate) fn queue_id(&self) -> u32 {
        self.queue.id
    }

    /// Waits for the thread's end, after [`Queue::stop`].
    pub(crate) fn join(self) {
        // A panic of the thread was printed by its hook; the queue is going away in any case.
        let _ = self.thread.join();
    }
}

/// Executes packets of one kind.
pub(super) trait Processor {
    /// Executes the next packet if it may start.
    fn step(&mut self) -> Step;

    /// Index of the next packet, as the doorbell counts.
    fn next(&self) -> u64;
}

fn run(machine: &Machine, queue: &Queue, processor: &mut impl Processor) {
    let mut looks = 0;
    let mut waits = false;
    while !queue.is_stopped() {
        let seen = queue.nudges();
        queue.set_wants_to_start(!waits && queue.has_rung_packets_from(processor.next()));
        let step = processor.step();
        waits = step == Step::Waiting;
        match step {
            Step::Done => looks = 0,
            Step::Halted => queue.sleep(seen, None),
            step @ (Step::Waiting | Step::Idle) => {
                if doorbells::look(machine, queue) {
                    (looks, waits) = (0, false);
                    continue;
                }
                looks += 1;
                if looks < EAGER_LOOKS {
                    std::thread::yield_now();
                } else if step == Step::Idle && looks > EAGER_LOOKS + 4 {
                    queue.sleep(seen, None);
                } else {
                    queue.sleep(seen, Some(pause(looks - EAGER_LOOKS)));
                }
            }
        }
    }
}

/// The pause before look number `n`: from 20 microseconds to half a millisecond.
fn pause(n: u32) -> Duration {
    Duration::from_micros(20u64 << (n / 64).min(4)).min(Duration::from_micros(500))
}
