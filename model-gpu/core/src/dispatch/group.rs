//! Making a work-group: its waves with the registers that the ABI promises.
//!
//! Register contents: LLVM's "User Guide for AMDGPU Backend", sections "Kernel Prolog" and "Initial Kernel Execution
//! State", for targets with architected flat scratch and packed work-item identifiers.

use model_gpu_isa::{Wave, WaveConfig, Workgroup};

use super::descriptor::Descriptor;
use super::grid::Place;
use super::{Launch, Scratch};
use crate::memory::{Fault, View};
use crate::{GROUP_APERTURE, PRIVATE_APERTURE};

/// Granule in which group memory is allocated.
const GROUP_GRANULE: u32 = 512;

/// The work-group at `place`, whose waves use scratch from `slots` on.
pub(super) fn make(
    launch: &Launch,
    descriptor: &Descriptor,
    place: Place,
    first_slot: u32,
    user: &[u32],
    spare: &mut Vec<Wave>,
) -> Workgroup {
    let lds = launch.packet.group_bytes.next_multiple_of(GROUP_GRANULE);
    let mut group = Workgroup::new(lds as usize);
    for index in 0..place.waves() {
        let config = config(launch, descriptor, place, index, first_slot + index);
        let mut wave = match spare.pop() {
            Some(mut wave) => {
                wave.reset(&config);
                wave
            }
            None => Wave::new(&config),
        };
        set_scalars(&mut wave, descriptor, place, index, user);
        wave.set_vgpr(0, &place.packed_ids(index, descriptor.workitem_id + 1));
        group.add_wave(wave);
    }
    group
}

fn config(launch: &Launch, descriptor: &Descriptor, place: Place, index: u32, slot: u32) -> WaveConfig {
    let (scratch_base, scratch_bytes_per_lane) =
        launch.scratch.map_or((0, 0), |Scratch { base, wave_bytes, .. }| {
            (base + u64::from(slot) * wave_bytes, u32::try_from(wave_bytes / 64).unwrap_or(u32::MAX))
        });
    WaveConfig {
        entry: descriptor.entry(launch.packet.kernel_object),
        exec: place.exec(index),
        mode: descriptor.mode,
        arch_vgprs: descriptor.arch_vgprs,
        acc_vgprs: descriptor.acc_vgprs,
        shared_base: GROUP_APERTURE,
        private_base: PRIVATE_APERTURE,
        scratch_base,
        scratch_bytes_per_lane,
        // WAVE_ID in bits 3:0 and SIMD_ID in bits 5:4 of HW_ID.
        hardware_id: (index & 0xf) | (index & 3) << 4,
        xcc_id: 0,
    }
}

fn set_scalars(wave: &mut Wave, descriptor: &Descriptor, place: Place, index: u32, user: &[u32]) {
    let mut next = 0;
    for value in user {
        wave.set_sgpr(next, *value);
        next += 1;
    }
    next = descriptor.user_sgprs;
    for (enabled, id) in descriptor.workgroup_id.iter().zip(place.id) {
        if *enabled {
            wave.set_sgpr(next, id);
            next += 1;
        }
    }
    if descriptor.workgroup_info {
        // First wave in bit 31, its ordinal in bits 11:6, the number of waves in bits 5:0.
        let first = u32::from(index == 0) << 31;
        wave.set_sgpr(next, first | (index & 0x3f) << 6 | (place.waves() & 0x3f));
    }
}

/// The user registers of a dispatch, the same for all of its waves.
pub(super) fn user_registers(
    view: &View<'_>,
    launch: &Launch,
    descriptor: &Descriptor,
) -> Result<Vec<u32>, Fault> {
    let mut words = Vec::with_capacity(16);
    let mut pair = |value: u64| {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        words.extend([u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]);
    };
    let user = descriptor.user;
    if user.dispatch_ptr {
        pair(launch.packet_address);
    }
    if user.queue_ptr {
        pair(launch.queue.address());
    }
    if user.kernarg_ptr {
        pair(launch.packet.kernarg);
    }
    if user.dispatch_id {
        pair(launch.dispatch_id);
    }
    if user.private_segment_size {
        words.push(launch.packet.private_bytes);
    }
    let (count, first) = descriptor.preload;
    for i in 0..u64::from(count) {
        words.push(view.load(launch.packet.kernarg + 4 * (u64::from(first) + i))?);
    }
    words.truncate(usize::from(descriptor.user_sgprs));
    Ok(words)
}
