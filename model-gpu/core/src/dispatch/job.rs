//! A dispatch in execution: work-groups to start, work-groups in flight, and how it ends.
//!
//! Threads take work-groups one by one and run them in slices. A group that is not done after its slices goes to the
//! back of the line, so that groups which wait for each other (a grid barrier) all make progress; as many groups as
//! the device's compute units and scratch hold are in flight at a time.

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::VecDeque;

use model_gpu_isa::{CodeCache, Exception, Machine as Interpreter, Progress, Wave, Workgroup};
use parking_lot::{Condvar, Mutex};

use super::descriptor::Descriptor;
use super::environment::{self, Surroundings};
use super::grid::Grid;
use super::{Failure, Launch, Part, group};
use crate::queues::{Queue, QueueError};
use crate::{Machine, guard};

/// Instructions of each wave in one slice: how long whoever changes a mapping may have to wait.
const SLICE: u64 = 4096;

/// Slices before a group that is not done gives way to another.
const SLICES: u32 = 64;

/// Wave allocations that a thread keeps for the next group.
const SPARE_WAVES: usize = 32;

/// What a thread keeps between work-groups.
#[derive(Debug, Default)]
pub(super) struct Bench {
    code: CodeCache,
    generation: u64,
    spare: Vec<Wave>,
}

/// A group that has started, with its place among the groups in flight.
#[derive(Debug)]
struct Started {
    group: Workgroup,
    slot: u32,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    waiting: VecDeque<Started>,
    free: Vec<u32>,
    running: u32,
    failure: Option<Failure>,
    user: Option<Vec<u32>>,
}

/// A dispatch in execution.
#[derive(Debug)]
pub(super) struct Job {
    launch: Launch,
    descriptor: Descriptor,
    grid: Grid,
    total: u64,
    /// The compute units that it may use.
    units: Vec<u32>,
    state: Mutex<State>,
    changed: Condvar,
    instructions: AtomicU64,
    finished: AtomicU64,
}

impl Bench {
    /// Forgets what was decoded: code may have changed since this thread's last job.
    pub(super) fn start(&mut self) {
        self.code.invalidate();
    }
}

/// What became of a thread's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stepped {
    /// A group went on.
    Ran,
    /// Others hold all that is left.
    Wait,
    /// Nothing is left.
    End,
}

/// What a thread shall do next.
enum Task {
    Run(Started),
    /// Others hold all that is left.
    Wait,
    /// Nothing is left.
    End,
}

impl Job {
    /// A dispatch of which at most `in_flight` work-groups run at a time.
    pub(super) fn new(
        launch: Launch,
        descriptor: Descriptor,
        grid: Grid,
        part: Part,
        in_flight: u32,
        units: Vec<u32>,
    ) -> Self {
        let half = grid.groups().div_ceil(2);
        let (next, total) = match part {
            Part::All => (0, grid.groups()),
            Part::First => (0, half),
            Part::Rest => (half, grid.groups()),
        };
        let most = u32::try_from(total - next).unwrap_or(u32::MAX).min(in_flight.max(1));
        let state = State { next, free: (0..most).rev().collect(), ..State::default() };
        Self {
            launch,
            descriptor,
            grid,
            total,
            units,
            state: Mutex::new(state),
            changed: Condvar::new(),
            instructions: AtomicU64::new(0),
            finished: AtomicU64::new(0),
        }
    }

    /// Instructions executed so far, by wave.
    pub(super) fn instructions(&self) -> u64 {
        self.instructions.load(Ordering::Relaxed)
    }

    /// Work-groups finished so far.
    pub(super) fn finished(&self) -> u64 {
        self.finished.load(Ordering::Relaxed)
    }

    /// Whether more than one thread could work on it.
    pub(super) fn is_large(&self) -> bool {
        self.total > 1
    }

    /// Whether another thread would find work.
    pub(super) fn wants_help(&self) -> bool {
        let state = self.state.lock();
        state.failure.is_none()
            && (state.running as usize) < self.units.len()
            && (!state.waiting.is_empty() || state.next < self.total && !state.free.is_empty())
    }

    /// Works until nothing is left to take. The owner of the job stays until the end.
    pub(super) fn work(&self, machine: &Machine, queue: &Queue, bench: &mut Bench, owner: bool) {
        bench.start();
        loop {
            match self.step(machine, queue, bench) {
                Stepped::Ran => {}
                Stepped::End => return,
                Stepped::Wait if !owner => return,
                Stepped::Wait => self.await_change(),
            }
        }
    }

    /// Takes one work-group and runs it for a while.
    pub(super) fn step(&self, machine: &Machine, queue: &Queue, bench: &mut Bench) -> Stepped {
        match self.take(machine, bench, queue.shall_stop()) {
            Task::Run(started) => {
                self.run(machine, queue, bench, started);
                Stepped::Ran
            }
            Task::End => Stepped::End,
            Task::Wait => Stepped::Wait,
        }
    }

    /// Sleeps until another thread is done with a group, for a few milliseconds at most.
    pub(super) fn await_change(&self) {
        let mut state = self.state.lock();
        if state.running > 0 && state.waiting.is_empty() {
            self.changed.wait_for(&mut state, core::time::Duration::from_millis(5));
        }
    }

    /// Ends the dispatch early, unless it failed by itself.
    pub(super) fn stop(&self) {
        self.state.lock().failure.get_or_insert(Failure::Stopped);
    }

    /// How the dispatch ended, once its owner's `work` has returned.
    pub(super) fn result(&self) -> Result<(), Failure> {
        let state = self.state.lock();
        state.failure.clone().map_or(Ok(()), Err)
    }

    fn take(&self, machine: &Machine, bench: &mut Bench, stopped: bool) -> Task {
        let mut state = self.state.lock();
        if stopped && state.failure.is_none() {
            state.failure = Some(Failure::Stopped);
        }
        if state.failure.is_some() {
            state.waiting.clear();
            return if state.running == 0 { Task::End } else { Task::Wait };
        }
        if state.next < self.total
            && let Some(slot) = state.free.pop()
        {
            let user = match state.user.take() {
                Some(user) => user,
                None => {
                    let view = machine.memory.view(self.launch.agent);
                    match group::user_registers(&view, &self.launch, &self.descriptor) {
                        Ok(user) => user,
                        Err(fault) => {
                            state.failure =
                                Some(Failure::Fault(fault, "the preload of kernel arguments".to_owned()));
                            return Task::Wait;
                        }
                    }
                }
            };
            let place = self.grid.place(state.next);
            state.next += 1;
            state.running += 1;
            state.user = Some(user.clone());
            drop(state);
            let first = slot * self.grid.waves_in_full_group();
            let unit = self.units[slot as usize % self.units.len()];
            let place = group::Seat { place, slot: first, unit };
            let group = group::make(&self.launch, &self.descriptor, place, &user, &mut bench.spare);
            return Task::Run(Started { group, slot });
        }
        if let Some(started) = state.waiting.pop_front() {
            state.running += 1;
            return Task::Run(started);
        }
        if state.running == 0 { Task::End } else { Task::Wait }
    }

    fn run(&self, machine: &Machine, queue: &Queue, bench: &mut Bench, mut started: Started) {
        let before: u64 = started.group.waves().iter().map(Wave::executed).sum();
        let mut outcome = Ok(Progress::Running);
        let mut lost = None;
        for _ in 0..SLICES {
            let view = machine.memory.view(self.launch.agent);
            if view.generation() != bench.generation {
                bench.generation = view.generation();
                bench.code.invalidate();
            }
            let surroundings = Surroundings { machine, queue, view: &view };
            outcome = started.group.run(&mut Interpreter::new(&view, &surroundings, &mut bench.code), SLICE);
            lost = guard::missed();
            if lost.is_some() || !matches!(outcome, Ok(Progress::Running)) || queue.shall_stop() {
                break;
            }
        }
        let after: u64 = started.group.waves().iter().map(Wave::executed).sum();
        self.instructions.fetch_add(after - before, Ordering::Relaxed);
        // The map is changed outside this dispatch's lock.
        let lost = lost.map(|host| Failure::Fault(machine.memory.lost(host), kernel(&self.launch)));
        let mut state = self.state.lock();
        state.running -= 1;
        match outcome {
            _ if lost.is_some() => state.failure = state.failure.take().or(lost),
            Ok(Progress::Running) => state.waiting.push_back(started),
            Ok(Progress::Finished) => {
                state.free.push(started.slot);
                self.finished.fetch_add(1, Ordering::Relaxed);
                bench.spare.extend(started.group.into_waves());
                bench.spare.truncate(SPARE_WAVES);
            }
            Err((_, exception)) => {
                state.failure.get_or_insert_with(|| failure(&exception, &self.launch));
            }
        }
        drop(state);
        self.changed.notify_all();
    }
}

fn kernel(launch: &Launch) -> String {
    format!("the kernel with descriptor {:#x}", launch.packet.kernel_object)
}

fn failure(exception: &Exception, launch: &Launch) -> Failure {
    let kernel = kernel(launch);
    match exception {
        Exception::Memory { pc, fault } => {
            let place = format!("{kernel}, at pc {pc:#x}");
            Failure::Fault(environment::fault(fault), place)
        }
        other => {
            let error = match other {
                Exception::Trap { id: 2, .. } => QueueError::WaveAbort,
                Exception::Trap { .. } => QueueError::WaveTrap,
                Exception::Arithmetic { .. } => QueueError::WaveMath,
                Exception::IllegalInstruction { .. } | Exception::Memory { .. } => {
                    QueueError::WaveIllegalInstruction
                }
            };
            Failure::Queue(error, format!("{kernel}: {other}"))
        }
    }
}
