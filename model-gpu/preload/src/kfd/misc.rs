//! Requests about the device as a whole: version, clocks, apertures, modes.

use std::os::fd::IntoRawFd;

use model_gpu_core::{GROUP_APERTURE, PRIVATE_APERTURE, clock};

use super::Errno;
use super::abi::{
    AcquireVm, AvailableMemory, DeviceApertures, GetClockCounters, GetProcessApertures,
    GetProcessAperturesNew, GetTileConfig, GetVersion, RuntimeEnable, SetMemoryPolicy, SetScratchBackingVa,
    SetTrapHandler, SetXnackMode, SmiEvents, write_array,
};
use crate::session::Session;

/// Size of each of the two apertures inside generic addresses.
const APERTURE_BYTES: u64 = 1 << 32;

/// Lowest and highest address of the GPU's memory.
const GPUVM: (u64, u64) = (0x100_0000, (1 << 47) - 1);

/// `GB_ADDR_CONFIG` of the device.
const ADDRESS_CONFIG: u32 = 0x1000_0444;

type Answer = Result<(), Errno>;

fn agent(session: &Session, gpu_id: u32) -> Result<usize, Errno> {
    session.agent(gpu_id).ok_or(Errno(libc::EINVAL))
}

pub(super) fn get_version(_: &Session, args: &mut GetVersion) -> Answer {
    (args.major, args.minor) = (1, 17);
    Ok(())
}

pub(super) fn set_memory_policy(session: &Session, args: &mut SetMemoryPolicy) -> Answer {
    agent(session, args.gpu_id).map(|_| ())
}

pub(super) fn get_clock_counters(session: &Session, args: &mut GetClockCounters) -> Answer {
    // The driver answers zero ticks for a GPU that it does not know, and succeeds.
    let known = session.agent(args.gpu_id).is_some();
    args.gpu_clock_counter = if known { clock::ticks() } else { 0 };
    args.cpu_clock_counter = clock::nanoseconds();
    args.system_clock_counter = clock::system_nanoseconds();
    args.system_clock_freq = 1_000_000_000;
    Ok(())
}

pub(super) fn get_process_apertures_new(session: &Session, args: &mut GetProcessAperturesNew) -> Answer {
    let gpus = &session.machine.config.gpu_ids;
    let all = u32::try_from(gpus.len()).unwrap_or(u32::MAX);
    if args.num_of_nodes == 0 {
        args.num_of_nodes = all;
        return Ok(());
    }
    let room = args.num_of_nodes.min(all);
    let apertures: Vec<_> = gpus.iter().take(room as usize).map(|gpu_id| apertures(*gpu_id)).collect();
    // SAFETY: the program says that it has room for `num_of_nodes` structures there.
    unsafe { write_array(args.apertures_ptr, &apertures) };
    args.num_of_nodes = room;
    Ok(())
}

/// The old form: room for seven GPUs inside the structure.
pub(super) fn get_process_apertures(session: &Session, args: &mut GetProcessApertures) -> Answer {
    let gpus = &session.machine.config.gpu_ids;
    for (place, gpu_id) in args.apertures.iter_mut().zip(gpus) {
        *place = apertures(*gpu_id);
    }
    args.num_of_nodes = u32::try_from(gpus.len().min(args.apertures.len())).unwrap_or(0);
    Ok(())
}

pub(super) fn apertures(gpu_id: u32) -> DeviceApertures {
    DeviceApertures {
        lds_base: GROUP_APERTURE,
        lds_limit: GROUP_APERTURE + APERTURE_BYTES - 1,
        scratch_base: PRIVATE_APERTURE,
        scratch_limit: PRIVATE_APERTURE + APERTURE_BYTES - 1,
        gpuvm_base: GPUVM.0,
        gpuvm_limit: GPUVM.1,
        gpu_id,
        pad: 0,
    }
}

pub(super) fn acquire_vm(session: &Session, args: &mut AcquireVm) -> Answer {
    agent(session, args.gpu_id)?;
    let fd = i32::try_from(args.drm_fd).map_err(|_| Errno(libc::EINVAL))?;
    if session.owns(fd) { Ok(()) } else { Err(Errno(libc::EINVAL)) }
}

pub(super) fn get_tile_config(session: &Session, args: &mut GetTileConfig) -> Answer {
    agent(session, args.gpu_id)?;
    args.gb_addr_config = ADDRESS_CONFIG;
    (args.num_tile_configs, args.num_macro_tile_configs) = (0, 0);
    (args.num_banks, args.num_ranks) = (4, 1);
    Ok(())
}

/// Traps end a wave and report an error without the program's trap handler.
pub(super) fn set_trap_handler(session: &Session, args: &mut SetTrapHandler) -> Answer {
    agent(session, args.gpu_id).map(|_| ())
}

/// Scratch addresses are absolute on this device: the base does not count.
pub(super) fn set_scratch_backing_va(session: &Session, args: &mut SetScratchBackingVa) -> Answer {
    agent(session, args.gpu_id).map(|_| ())
}

/// The device has no retry faults: the mode is off and cannot be switched on.
pub(super) fn set_xnack_mode(_: &Session, args: &mut SetXnackMode) -> Answer {
    if args.xnack_enabled > 0 {
        return Err(Errno(libc::EPERM));
    }
    args.xnack_enabled = 0;
    Ok(())
}

pub(super) fn available_memory(session: &Session, args: &mut AvailableMemory) -> Answer {
    args.available = session.machine.memory.available(agent(session, args.gpu_id)?);
    Ok(())
}

/// A stream of the driver's notes; see [`model_gpu_core::notices`].
pub(super) fn smi_events(session: &Session, args: &mut SmiEvents) -> Answer {
    let agent = agent(session, args.gpu_id)?;
    let reader = session.machine.notices.open(agent).map_err(|_| Errno(libc::EMFILE))?;
    args.anon_fd = reader.into_raw_fd().cast_unsigned();
    Ok(())
}

/// The runtime offers its debugging structures, for the snapshots of a core dump.
pub(super) fn runtime_enable(session: &Session, args: &mut RuntimeEnable) -> Answer {
    session.debug.announce(args.r_debug, args.mode_mask);
    args.capabilities_mask = 0;
    Ok(())
}
