//! What a debugger sees of the queues and the devices (`GET_QUEUE_SNAPSHOT`, `GET_DEVICE_SNAPSHOT`).

use std::collections::HashSet;

use model_gpu_core::{Queue, QueueKind};

use super::{QUEUE_NEW, State, halves, note_seen, word};
use crate::kfd::Errno;
use crate::kfd::abi::{DebugTrap, DeviceSnapshot, Plain, QueueSnapshot};
use crate::kfd::misc::apertures;
use crate::product::product;
use crate::session::{COMPUTE_UNITS, Session};
use crate::sysfs::topology::{
    CAPABILITY, DEBUG_PROPERTIES, FIRMWARE, SIMDS, VENDOR, WAVES_PER_SIMD, location,
};

/// `KFD_EC_MASK(EC_DEVICE_NEW)`
const DEVICE_NEW: u64 = 1 << 35;

/// # Safety
/// The buffer has room for as many entries of the size as are said.
pub(super) unsafe fn queue_snapshot(
    session: &Session,
    state: &mut State,
    args: &mut DebugTrap,
) -> Result<usize, Errno> {
    let [clear, buffer, counts] = &mut args.arguments;
    let queues = session.machine.queues();
    let entry = |queue: &Queue, known: &mut HashSet<u32>| {
        let new = if known.contains(&queue.id) { 0 } else { QUEUE_NEW };
        note_seen(known, queue.id, *clear);
        QueueSnapshot {
            exception_status: new,
            ring_base_address: queue.spec.ring,
            write_pointer_address: queue.spec.write_pointer,
            read_pointer_address: queue.spec.read_pointer,
            ctx_save_restore_address: queue.spec.save_area,
            queue_id: queue.id,
            gpu_id: session.machine.config.gpu_ids[queue.spec.agent],
            ring_size: u32::try_from(queue.spec.ring_bytes).unwrap_or(u32::MAX),
            queue_type: queue_type(queue),
            ctx_save_restore_area_size: queue.spec.save_area_bytes,
            reserved: 0,
        }
    };
    let [room, stride] = halves(*counts);
    let shown = queues.iter().take(room as usize);
    let entries: Vec<_> = shown.map(|queue| entry(queue, &mut state.known_queues)).collect();
    // SAFETY: the caller promises the room.
    unsafe { write_entries(*buffer, stride, &entries) };
    *counts = word([count(queues.len()), stride.min(size(&QueueSnapshot::default()))]);
    Ok(0)
}

/// # Safety
/// The buffer has room for as many entries of the size as there are agents, or as are said.
pub(super) unsafe fn device_snapshot(
    session: &Session,
    state: &mut State,
    args: &mut DebugTrap,
) -> Result<usize, Errno> {
    let [clear, buffer, counts] = &mut args.arguments;
    let gpu_ids = &session.machine.config.gpu_ids;
    let product = product(session.settings.target);
    let entry = |agent: usize, gpu_id: u32, known: &mut HashSet<usize>| {
        let new = if known.contains(&agent) { 0 } else { DEVICE_NEW };
        if *clear & DEVICE_NEW != 0 {
            known.insert(agent);
        }
        let apertures = apertures(gpu_id);
        DeviceSnapshot {
            exception_status: new,
            lds_base: apertures.lds_base,
            lds_limit: apertures.lds_limit,
            scratch_base: apertures.scratch_base,
            scratch_limit: apertures.scratch_limit,
            gpuvm_base: apertures.gpuvm_base,
            gpuvm_limit: apertures.gpuvm_limit,
            gpu_id,
            location_id: location(count(agent)),
            vendor_id: VENDOR,
            device_id: product.device_id,
            fw_version: FIRMWARE,
            gfx_target_version: product.gfx_target_version,
            simd_count: COMPUTE_UNITS * SIMDS,
            max_waves_per_simd: WAVES_PER_SIMD,
            array_count: 1,
            simd_arrays_per_engine: 1,
            num_xcc: 1,
            capability: CAPABILITY,
            debug_prop: DEBUG_PROPERTIES,
            ..DeviceSnapshot::default()
        }
    };
    let [room, stride] = halves(*counts);
    let shown = gpu_ids.iter().enumerate().take(room as usize);
    let entries: Vec<_> =
        shown.map(|(agent, gpu_id)| entry(agent, *gpu_id, &mut state.known_agents)).collect();
    // SAFETY: the caller promises the room.
    unsafe { write_entries(*buffer, stride, &entries) };
    *counts = word([count(gpu_ids.len()), stride.min(size(&DeviceSnapshot::default()))]);
    Ok(0)
}

/// `KFD_IOC_QUEUE_TYPE_*`; one on a given engine is an ordinary queue of a copy engine.
fn queue_type(queue: &Queue) -> u32 {
    match queue.spec.kind {
        QueueKind::Sdma if queue.spec.xgmi => 3,
        QueueKind::Sdma => 1,
        QueueKind::Aql => 2,
    }
}

fn count(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

pub(super) fn size<T>(_: &T) -> u32 {
    count(size_of::<T>())
}

/// Writes entries, `stride` bytes apart and at most as long.
///
/// # Safety
/// There is room for them at `buffer`.
unsafe fn write_entries<T: Plain>(buffer: u64, stride: u32, entries: &[T]) {
    for (n, entry) in entries.iter().enumerate() {
        // SAFETY: the caller promises the room.
        unsafe { write_cut(buffer + n as u64 * u64::from(stride), stride as usize, entry) };
    }
}

/// Writes the first `room` bytes of a structure.
///
/// # Safety
/// There is room for them at `at`.
pub(super) unsafe fn write_cut<T: Plain>(at: u64, room: usize, value: &T) {
    let bytes = room.min(size_of::<T>());
    let to: *mut u8 = core::ptr::with_exposed_provenance_mut(usize::try_from(at).unwrap_or(0));
    // SAFETY: the caller promises the room, and `bytes` is within the structure, which has no padding.
    unsafe { core::ptr::copy_nonoverlapping((&raw const *value).cast::<u8>(), to, bytes) };
}
