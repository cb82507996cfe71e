//! Making a work-group: its waves with the registers that the ABI promises.
//!
//! Register contents: LLVM's "User Guide for AMDGPU Backend", sections "Kernel Prolog" and "Initial Kernel Execution
//! State", for targets with packed work-item identifiers.

use model_gpu_isa::{Wave, WaveConfig, Workgroup};

use super::descriptor::Descriptor;
use super::grid::Place;
use super::{Launch, Scratch};
use crate::memory::{Fault, View};
use crate::{GROUP_APERTURE, PRIVATE_APERTURE};

/// Granule in which group memory is allocated.
const GROUP_GRANULE: u32 = 512;

/// Which work-group, and what of the device it takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seat {
    pub(super) place: Place,
    /// The first of the scratch pieces that its waves use.
    pub(super) slot: u32,
    /// The compute unit that it runs on.
    pub(super) unit: u32,
}

/// A work-group about to start.
pub(super) fn make(
    launch: &Launch,
    descriptor: &Descriptor,
    seat: Seat,
    user: &[u32],
    spare: &mut Vec<Wave>,
) -> Workgroup {
    let lds = launch.packet.group_bytes.next_multiple_of(GROUP_GRANULE);
    let mut group = Workgroup::new(lds as usize);
    let place = seat.place;
    for index in 0..place.waves() {
        let config = config(launch, descriptor, &seat, index);
        let mut wave = match spare.pop() {
            Some(mut wave) => {
                wave.reset(&config);
                wave
            }
            None => Wave::new(&config),
        };
        set_scalars(&mut wave, launch, descriptor, (place, index, seat.slot + index), user);
        wave.set_vgpr(0, &place.packed_ids(index, descriptor.workitem_id + 1));
        group.add_wave(wave);
    }
    group
}

fn config(launch: &Launch, descriptor: &Descriptor, seat: &Seat, index: u32) -> WaveConfig {
    let slot = seat.slot + index;
    let (scratch_base, scratch_bytes_per_lane) =
        launch.scratch.map_or((0, 0), |Scratch { base, wave_bytes, .. }| {
            (base + u64::from(slot) * wave_bytes, u32::try_from(wave_bytes / 64).unwrap_or(u32::MAX))
        });
    WaveConfig {
        target: descriptor.target,
        entry: descriptor.entry(launch.packet.kernel_object),
        exec: seat.place.exec(index),
        mode: descriptor.mode,
        arch_vgprs: descriptor.arch_vgprs,
        acc_vgprs: descriptor.acc_vgprs,
        shared_base: GROUP_APERTURE,
        private_base: PRIVATE_APERTURE,
        scratch_base,
        scratch_bytes_per_lane,
        // WAVE_ID in bits 3:0, SIMD_ID in bits 5:4 and CU_ID in bits 11:8 of HW_ID.
        hardware_id: (index & 0xf) | (index & 3) << 4 | (seat.unit & 0xf) << 8,
        xcc_id: 0,
        records_exceptions: descriptor.records_exceptions,
    }
}

fn set_scalars(
    wave: &mut Wave,
    launch: &Launch,
    descriptor: &Descriptor,
    (place, index, slot): (Place, u32, u32),
    user: &[u32],
) {
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
        next += 1;
    }
    if descriptor.scratch_offset {
        let offset = launch.scratch.map_or(0, |scratch| u64::from(slot) * scratch.wave_bytes);
        wave.set_sgpr(next, u32::try_from(offset).unwrap_or(u32::MAX));
    }
}

/// The user registers of a dispatch, the same for all of its waves.
pub(super) fn user_registers(
    view: &View<'_>,
    launch: &Launch,
    descriptor: &Descriptor,
) -> Result<Vec<u32>, Fault> {
    let mut words = Vec::with_capacity(16);
    let user = descriptor.user;
    if user.private_segment_buffer {
        words.extend(launch.queue.scratch_resource(view)?);
    }
    let mut pair = |value: u64| {
        let [a, b, c, d, e, f, g, h] = value.to_le_bytes();
        words.extend([u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h])]);
    };
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
    if user.flat_scratch_init {
        // Targets of the ninth generation get the base of the queue's scratch, to which the kernel adds the wave's offset.
        pair(launch.scratch.map_or(0, |scratch| scratch.base));
    }
    if user.private_segment_size {
        words.push(launch.packet.private_bytes);
    }
    let (count, first) = descriptor.preload;
    for i in 0..u64::from(count) {
        words.push(view.load_as_wave(launch.packet.kernarg.wrapping_add(4 * (u64::from(first) + i)))?);
    }
    words.truncate(usize::from(descriptor.user_sgprs));
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model_gpu_isa::Target;

    use crate::queues::{AmdQueue, Dispatch};
    use crate::testing::Bench;
    use crate::{QueueKind, Signal};

    fn launch(bench: &Bench, kernarg: u64) -> Launch {
        let queue = bench.queue(QueueKind::Aql, 4096);
        let packet = Dispatch {
            dimensions: 3,
            workgroup: [8, 8, 2],
            grid: [16, 16, 2],
            private_bytes: 48,
            group_bytes: 1000,
            kernel_object: 0x7100_0000_4000,
            kernarg,
            completion_signal: Signal(0),
        };
        Launch {
            agent: 0,
            packet,
            packet_address: 0x1234_5678_9abc,
            queue: AmdQueue::of(&queue.queue),
            dispatch_id: 0x1_0000_0002,
            scratch: Some(Scratch { base: 0x5000, wave_bytes: 4096, waves: 8 }),
        }
    }

    /// A descriptor that asks for everything there is on this target.
    fn everything(user_sgprs: u32, preload: u32) -> Descriptor {
        let mut bytes = [0; super::super::descriptor::BYTES];
        bytes[16..24].copy_from_slice(&0x400i64.to_le_bytes());
        bytes[44..48].copy_from_slice(&7u32.to_le_bytes());
        bytes[48..52].copy_from_slice(&(9u32 | 0xf0 << 12 | 1 << 21 | 1 << 23).to_le_bytes());
        bytes[52..56].copy_from_slice(&(1 | user_sgprs << 1 | 0xf << 7 | 2 << 11).to_le_bytes());
        bytes[56..60].copy_from_slice(&(0x5e | preload << 16).to_le_bytes());
        Descriptor::parse(Target::Gfx942, &bytes).expect("sound")
    }

    #[test]
    fn a_gfx90a_kernel_gets_what_it_sets_scratch_up_from() {
        let bench = Bench::new();
        let launch = launch(&bench, 0);
        for n in 0..4 {
            bench
                .view()
                .store(launch.queue.address() + 144 + 4 * n, 0x500 + u32::try_from(n).expect("small"))
                .expect("mapped");
        }
        let mut bytes = [0; super::super::descriptor::BYTES];
        bytes[44..48].copy_from_slice(&7u32.to_le_bytes());
        bytes[48..52].copy_from_slice(&9u32.to_le_bytes());
        // Scratch, eight user registers, work-group identifier x.
        bytes[52..56].copy_from_slice(&(1u32 | 8 << 1 | 1 << 7).to_le_bytes());
        // Private segment buffer, kernel arguments, flat scratch.
        bytes[56..60].copy_from_slice(&0x29u32.to_le_bytes());
        let descriptor = Descriptor::parse(Target::Gfx90a, &bytes).expect("sound");
        let user = user_registers(&bench.view(), &launch, &descriptor).expect("mapped");
        let place = Place { id: [6, 0, 0], size: [8, 8, 2] };
        let group = make(&launch, &descriptor, Seat { place, slot: 4, unit: 0 }, &user, &mut Vec::new());
        let wave = &group.waves()[1];
        assert_eq!([0, 1, 2, 3].map(|n| wave.sgpr(n)), [0x500, 0x501, 0x502, 0x503]);
        assert_eq!(wave.sgpr64(6), 0x5000, "base of the queue's scratch");
        assert_eq!((wave.sgpr(8), wave.sgpr(9)), (6, 5 * 4096), "work-group, then the wave's scratch");
        assert_eq!(wave.sgpr64(102), 0, "FLAT_SCRATCH is the kernel's");
    }

    #[test]
    fn registers_start_as_the_abi_promises() {
        let bench = Bench::new();
        let kernarg = bench.take(64);
        for i in 0..4 {
            bench.view().store(kernarg + 4 * i, 0x100 + u32::try_from(i).expect("small")).expect("mapped");
        }
        let launch = launch(&bench, kernarg);
        let descriptor = everything(12, 3 | 1 << 7);
        let user = user_registers(&bench.view(), &launch, &descriptor).expect("mapped");
        let place = Place { id: [1, 2, 3], size: [8, 8, 2] };
        let group = make(&launch, &descriptor, Seat { place, slot: 4, unit: 2 }, &user, &mut Vec::new());
        assert_eq!(group.lds().size(), 1024);
        assert_eq!(group.waves().len(), 2);
        let wave = &group.waves()[1];
        assert_eq!(wave.sgpr64(0), launch.packet_address);
        assert_eq!(wave.sgpr64(2), launch.queue.address());
        assert_eq!(wave.sgpr64(4), kernarg);
        assert_eq!(wave.sgpr64(6), 0x1_0000_0002);
        assert_eq!(wave.sgpr(8), 48);
        assert_eq!([9, 10, 11].map(|n| wave.sgpr(n)), [0x101, 0x102, 0x103]);
        assert_eq!([12, 13, 14].map(|n| wave.sgpr(n)), [1, 2, 3]);
        assert_eq!(wave.sgpr(15), 1 << 6 | 2);
        assert_eq!(group.waves()[0].sgpr(15), 1 << 31 | 2);
        assert_eq!(wave.sgpr64(102), 0x5000 + 5 * 4096, "scratch of the wave's slot");
        assert_eq!(wave.pc(), 0x7100_0000_4000 + 0x400 + 256);
        assert_eq!(wave.exec(), u64::MAX);
        assert_eq!(wave.mode(), 0x3f0);
        assert_eq!(wave.vgpr(0)[9], 1 | 1 << 10 | 1 << 20);
    }

    #[test]
    fn a_partial_group_has_fewer_waves_and_lanes() {
        let bench = Bench::new();
        let launch = launch(&bench, 0);
        let descriptor = everything(9, 0);
        let user = user_registers(&bench.view(), &launch, &descriptor).expect("nothing is read");
        let seat = Seat { place: Place { id: [0; 3], size: [5, 3, 1] }, slot: 0, unit: 0 };
        let group = make(&launch, &descriptor, seat, &user, &mut Vec::new());
        assert_eq!(group.waves().len(), 1);
        assert_eq!(group.waves()[0].exec(), 0x7fff);
    }

    #[test]
    fn preloaded_arguments_out_of_reach_are_a_fault() {
        let bench = Bench::new();
        let launch = launch(&bench, 0x1000);
        assert!(user_registers(&bench.view(), &launch, &everything(12, 3)).is_err());
        let launch = self::launch(&bench, u64::MAX - 3);
        assert!(user_registers(&bench.view(), &launch, &everything(12, 3 | 1 << 7)).is_err(), "no overflow");
    }
}
