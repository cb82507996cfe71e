//! Kernel dispatch: from a packet to work-groups, waves and their initial registers, and to the threads that run them.

mod descriptor;
mod environment;
mod grid;
mod group;
mod job;
mod order;
mod pool;

use std::sync::Arc;

pub(crate) use order::Order;
pub(crate) use pool::Pool;

use crate::Machine;
use crate::memory::{Access, Fault};
use crate::queues::{AmdQueue, Dispatch, Queue, QueueError};
use descriptor::Descriptor;
use grid::Grid;
use job::Job;

/// Most work-items in a work-group.
const LARGEST_WORKGROUP: u32 = 1024;

/// Group memory of a compute unit, in bytes.
const GROUP_MEMORY: u32 = 65536;

/// Waves that a compute unit holds: 8 on each of 4 SIMDs.
const WAVES_PER_UNIT: u32 = 32;

/// Private memory for the waves in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Device address of the first wave's piece.
    pub base: u64,
    /// Bytes of each wave.
    pub wave_bytes: u64,
    /// Waves that have a piece.
    pub waves: u32,
}

/// A dispatch about to start.
#[derive(Clone, Copy, Debug)]
pub struct Launch {
    /// The agent that executes it.
    pub agent: usize,
    /// The packet.
    pub packet: Dispatch,
    /// Device address of the packet.
    pub packet_address: u64,
    /// The queue's structure.
    pub queue: AmdQueue,
    /// Index of the packet.
    pub dispatch_id: u64,
    /// Private memory; none if the packet asks for none.
    pub scratch: Option<Scratch>,
}

/// Why a dispatch did not complete.
#[derive(Clone, Debug)]
pub enum Failure {
    /// The queue goes away or has failed.
    Stopped,
    /// A wave touched memory that it may not; where.
    Fault(Fault, String),
    /// The queue has an error to report; what happened.
    Queue(QueueError, String),
}

/// Which of a dispatch's work-groups to execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    All,
    /// The first half.
    First,
    /// The other half.
    Rest,
}

/// Executes a dispatch, or a part of it, to its end on this thread, with the pool's help.
pub fn execute(machine: &Machine, queue: &Queue, launch: &Launch, part: Part) -> Result<(), Failure> {
    let job = prepare(machine, queue, launch, part)?;
    let result = machine.pool.run(machine, queue, &job);
    count(machine, &job);
    result
}

/// Executes dispatches side by side on this thread, with the pool's help, in an order that `order` decides; tells
/// `finished` of each at its end, by its index. A dispatch that cannot start is left out, and so are those behind it.
pub fn execute_together(
    machine: &Machine,
    queue: &Queue,
    launches: &[Launch],
    order: &mut Order,
    mut finished: impl FnMut(usize) -> Result<(), Fault>,
) -> Result<(), Failure> {
    let mut jobs = Vec::with_capacity(launches.len());
    for launch in launches {
        match prepare(machine, queue, launch, Part::All) {
            Ok(job) => jobs.push(job),
            Err(failure) if jobs.is_empty() => return Err(failure),
            Err(_) => break,
        }
    }
    machine.pool.run_together(machine, queue, &jobs, order, |index| {
        count(machine, &jobs[index]);
        finished(index).map_err(|fault| Failure::Fault(fault, "a packet".to_owned()))
    })
}

fn count(machine: &Machine, job: &Job) {
    machine.counters.instructions.add(job.instructions());
    machine.counters.workgroups.add(job.finished());
}

fn prepare(machine: &Machine, queue: &Queue, launch: &Launch, part: Part) -> Result<Arc<Job>, Failure> {
    let grid = Grid::of(&launch.packet).map_err(|(error, text)| Failure::Queue(error, text))?;
    let descriptor = read_descriptor(machine, launch)?;
    check_resources(&descriptor, launch, &grid)?;
    let units = queue.enabled_units(machine.config.compute_units);
    let slots = launch.scratch.map_or(u32::MAX, |s| s.waves);
    let all = u32::try_from(units.len()).unwrap_or(1) * WAVES_PER_UNIT;
    let waves = all.min(slots);
    if waves < grid.waves_in_full_group() {
        let text =
            format!("a work-group of {} waves has scratch for {waves} only", grid.waves_in_full_group());
        return Err(Failure::Queue(QueueError::DispatchWorkGroup, text));
    }
    let in_flight = waves / grid.waves_in_full_group();
    Ok(Arc::new(Job::new(*launch, descriptor, grid, part, in_flight, units)))
}

fn read_descriptor(machine: &Machine, launch: &Launch) -> Result<Descriptor, Failure> {
    let address = launch.packet.kernel_object;
    let bad = |text: String| Failure::Queue(QueueError::DispatchCode, text);
    if address == 0 || !address.is_multiple_of(64) {
        return Err(bad(format!("the kernel object {address:#x} is not the address of a kernel descriptor")));
    }
    let mut bytes = [0; descriptor::BYTES];
    let view = machine.memory.view(launch.agent);
    view.read(address, &mut bytes)
        .map_err(|fault| bad(format!("cannot read the kernel descriptor: {fault}")))?;
    let mut descriptor = Descriptor::parse(machine.config.target, &bytes)
        .map_err(|text| bad(format!("kernel descriptor at {address:#x}: {text}")))?;
    let entry = descriptor.entry(address);
    view.extent(entry, Access::Execute)
        .map_err(|fault| bad(format!("cannot fetch the kernel's code: {fault}")))?;
    descriptor.look_for_exceptions(&view, entry);
    Ok(descriptor)
}

fn check_resources(descriptor: &Descriptor, launch: &Launch, grid: &Grid) -> Result<(), Failure> {
    let group = launch.packet.group_bytes;
    if group > GROUP_MEMORY || group < descriptor.group_bytes {
        let need = descriptor.group_bytes;
        let text =
            format!("group memory of {group} bytes: the kernel needs {need}, the device has {GROUP_MEMORY}");
        return Err(Failure::Queue(QueueError::DispatchGroupSegment, text));
    }
    // 512 registers for each lane of a SIMD; a work-group's waves spread over four SIMDs.
    let per_simd = grid.waves_in_full_group().div_ceil(4);
    let total = u32::from(descriptor.arch_vgprs + descriptor.acc_vgprs) * per_simd;
    if total > 512 {
        let text = format!("a work-group needs {total} of 512 vector registers in each lane");
        return Err(Failure::Queue(QueueError::DispatchRegister, text));
    }
    Ok(())
}
