//! Loads, stores and atomics in every space.
#![allow(clippy::cast_possible_truncation, reason = "addresses are taken apart")]

use super::support::{CODE, DATA, Rig, SCRATCH, ds, flat};
use crate::{Access, Exception, FaultReason};

/// A rig whose v[2:3] points each lane at its own 16 bytes of data.
fn rig() -> Rig {
    let mut rig = Rig::new();
    rig.set64(2, |lane| DATA + u64::from(lane) * 16);
    rig
}

#[test]
pub(super) fn loads_and_stores_of_every_width() {
    let mut rig = rig();
    for n in 0..4 {
        rig.set(4 + n, |lane| 0x8182_8384 + u32::from(n) * 0x1111_1111 + lane);
    }
    let mut words = flat("global_store_dwordx4", 0, 2, 4, 0, false).to_vec();
    words.extend(flat("global_load_dwordx3", 10, 2, 0, 4, false));
    words.extend(flat("global_load_ubyte", 20, 2, 0, 1, false));
    words.extend(flat("global_load_sbyte", 21, 2, 0, 1, false));
    words.extend(flat("global_load_sshort", 22, 2, 0, 2, false));
    words.extend(flat("flat_load_ushort", 23, 2, 0, 2, false));
    words.extend(flat("global_load_short_d16_hi", 24, 2, 0, 2, false));
    words.extend(flat("global_load_dword", 25, 2, 0, 1, false));
    rig.set(24, |_| 0x1234_5678);
    rig.run(&words);
    for lane in 0..64 {
        let first = 0x8182_8384 + lane as u32;
        assert_eq!(rig.get(10, lane), first + 0x1111_1111);
        assert_eq!(rig.get(12, lane), first + 0x3333_3333);
        assert_eq!(rig.get(20, lane), first >> 8 & 0xff);
        assert_eq!(rig.get(21, lane), first >> 8 & 0xff | 0xffff_ff00);
        assert_eq!(rig.get(22, lane), 0xffff_8182);
        assert_eq!(rig.get(23, lane), 0x8182);
        assert_eq!(rig.get(24, lane), 0x8182_5678);
        assert_eq!(rig.get(25, lane), first >> 8 | (first + 0x1111_1111) << 24, "unaligned");
    }
}

#[test]
pub(super) fn faults_name_address_access_and_pc_and_leave_registers_alone() {
    let mut rig = rig();
    rig.set64(2, |lane| if lane == 9 { 0x50 } else { DATA });
    rig.set(10, |_| 5);
    let Err(Exception::Memory { pc, fault }) = rig.try_run(&flat("global_load_dword", 10, 2, 0, 0, false))
    else {
        panic!("lane 9 points nowhere");
    };
    assert_eq!((pc, fault.address, fault.access), (CODE, 0x50, Access::Read));
    assert_eq!(rig.get(10, 0), 5);
    rig.set64(2, |_| CODE);
    let Err(Exception::Memory { fault, .. }) = rig.try_run(&flat("global_store_dword", 0, 2, 4, 0, false))
    else {
        panic!("code is not writable");
    };
    assert_eq!(fault.reason, FaultReason::Permission);
    rig.wave.set_exec(0);
    assert!(rig.try_run(&flat("global_store_dword", 0, 2, 4, 0, false)).is_ok(), "no lane, no access");
}

#[test]
pub(super) fn atomics_happen_in_lane_order_and_return_the_old_value() {
    let mut rig = rig();
    rig.set64(2, |_| DATA);
    rig.set(4, |lane| lane);
    rig.run(&flat("global_atomic_add", 10, 2, 4, 0, true));
    assert_eq!(rig.memory.read32(DATA), 63 * 64 / 2);
    assert_eq!((rig.get(10, 0), rig.get(10, 5)), (0, 10));
    rig.set(4, |_| 9);
    rig.set(5, |lane| if lane == 0 { 2016 } else { 1 });
    rig.run(&flat("global_atomic_cmpswap", 10, 2, 4, 0, true));
    assert_eq!((rig.memory.read32(DATA), rig.get(10, 0), rig.get(10, 1)), (9, 2016, 9));
    rig.set(4, |_| 10);
    rig.run(&flat("flat_atomic_inc", 10, 2, 4, 0, true));
    assert_eq!(rig.get(10, 2), 0, "9, 10, then wraps");
    rig.set64(4, |_| 1 << 40);
    rig.set64(2, |_| DATA + 8);
    rig.run(&flat("global_atomic_add_x2", 10, 2, 4, 0, false));
    assert_eq!(rig.memory.read32(DATA + 12), 64 << 8);
    rig.set64(2, |_| DATA + 16);
    rig.set(4, |_| 0.5_f32.to_bits());
    rig.run(&flat("global_atomic_add_f32", 0, 2, 4, 0, false));
    assert_eq!(f32::from_bits(rig.memory.read32(DATA + 16)), 32.0);
    rig.set64(2, |_| DATA + 2);
    let Err(Exception::Memory { fault, .. }) = rig.try_run(&flat("global_atomic_add", 0, 2, 4, 0, false))
    else {
        panic!("misaligned");
    };
    assert_eq!(fault.reason, FaultReason::Misaligned);
}

#[test]
pub(super) fn flat_addresses_reach_lds_and_scratch_through_their_apertures() {
    let mut rig = rig();
    rig.set64(2, |lane| if lane < 32 { (1 << 48) | (u64::from(lane) * 4) } else { (1 << 49) | 8 });
    rig.set(4, |lane| 1000 + lane);
    let mut words = flat("flat_store_dword", 0, 2, 4, 0, false).to_vec();
    words.extend(flat("flat_load_dword", 10, 2, 0, 0, false));
    rig.run(&words);
    assert_eq!(rig.lds.load32(5 * 4), 1005);
    assert_eq!(rig.memory.read32(SCRATCH + 2 * 256 + 40 * 4), 1040, "dwords of the lanes are interleaved");
    assert_eq!((rig.get(10, 7), rig.get(10, 50)), (1007, 1050));
}

#[test]
pub(super) fn scratch_is_each_lanes_own_and_bounded() {
    let mut rig = rig();
    rig.set(2, |lane| lane % 4);
    rig.set(4, |lane| 0x0101_0101 * lane);
    let mut words = flat("scratch_store_dword", 0, 2, 4, 6, false).to_vec();
    words.extend(flat("scratch_load_dword", 10, 2, 0, 6, false));
    words.extend(flat("scratch_load_ubyte", 11, 2, 0, 7, false));
    rig.run(&words);
    assert!(
        (0..64)
            .all(|lane| rig.get(10, lane) == 0x0101_0101 * lane as u32 && rig.get(11, lane) == lane as u32)
    );
    rig.set(2, |_| 256);
    let Err(Exception::Memory { fault, .. }) = rig.try_run(&flat("scratch_load_dword", 10, 2, 0, 0, false))
    else {
        panic!("beyond the lane's 256 bytes");
    };
    assert_eq!(fault.reason, FaultReason::ScratchBounds);
}

#[test]
pub(super) fn data_share_of_every_width_and_out_of_bounds() {
    let mut rig = rig();
    rig.set(2, |lane| lane * 8);
    rig.set(4, |lane| lane);
    rig.set(5, |lane| lane + 500);
    let mut words = ds("ds_write_b64", 0, 2, [4, 0], 0).to_vec();
    words.extend(ds("ds_read2_b32", 10, 2, [0, 0], 0x01_00));
    words.extend(ds("ds_read_u16", 12, 2, [0, 0], 4));
    words.extend(ds("ds_add_rtn_u32", 13, 2, [4, 0], 4));
    words.extend(ds("ds_cmpst_rtn_b32", 14, 2, [4, 5], 0));
    words.extend(ds("ds_read_b32", 15, 2, [0, 0], 0));
    words.extend(ds("ds_read_b32", 16, 2, [0, 0], 0x8000));
    words.extend(ds("ds_write2st64_b32", 0, 2, [4, 5], 0x01_00));
    rig.set(16, |_| 3);
    rig.run(&words);
    for lane in 0..64 {
        let n = lane as u32;
        assert_eq!(
            [10, 11, 12, 13, 14, 15, 16].map(|r| rig.get(r, lane)),
            [n, n + 500, n + 500, n + 500, n, n + 500, 0]
        );
    }
    assert_eq!(rig.lds.load32(256 + 8 * 40), 540);
}

#[test]
pub(super) fn scalar_loads_add_base_immediate_and_register() {
    let mut rig = rig();
    for n in 0..32 {
        rig.memory.write32(DATA + 4 * n, 100 + n as u32);
    }
    rig.wave.set_sgpr64(4, DATA + 8);
    rig.wave.set_sgpr(6, 12);
    // s_load_dwordx2 s[10:11], s[4:5], -4; s_load_dwordx4 s[12:15], s[4:5], s6; s_memtime s[16:17].
    rig.run(&[0xc006_0282, 0x001f_fffc, 0xc008_0302, 6, 0xc090_0400, 0]);
    assert_eq!([10, 11, 12, 15].map(|s| rig.wave.sgpr(s)), [101, 102, 105, 108]);
    assert_eq!(rig.wave.sgpr64(16), 0x1_0000_0007);
    rig.wave.set_sgpr64(4, 0x40);
    assert!(matches!(rig.try_run(&[0xc006_0282, 0]), Err(Exception::Memory { .. })));
}

#[test]
pub(super) fn buffers_check_their_bounds() {
    let mut rig = rig();
    for n in 0..32 {
        rig.memory.write32(DATA + 4 * n, 100 + n as u32);
    }
    rig.wave.set_sgpr64(8, DATA);
    rig.wave.set_sgpr64(10, 64);
    rig.set(2, |lane| lane * 4);
    // buffer_load_dword v10, v2, s[8:11], 0 offen offset:4.
    rig.run(&[0xe050_1004, 0x8002_0a02]);
    assert_eq!([0, 5, 14, 15, 60].map(|lane| rig.get(10, lane)), [101, 106, 115, 0, 0]);
}

#[test]
pub(super) fn buffer_bounds_count_the_bytes_that_are_accessed_and_the_scalar_offset() {
    let mut rig = rig();
    for n in 0..32 {
        rig.memory.write32(DATA + 4 * n, 0x0101_0101 * (n as u32 + 1));
    }
    rig.wave.set_sgpr64(8, DATA);
    rig.wave.set_sgpr64(10, 63);
    rig.set(2, |lane| lane);
    // buffer_load_ubyte and buffer_load_ushort v10, v2, s[8:11], 0 offen.
    rig.run(&[0xe040_1000, 0x8002_0a02]);
    assert_eq!([59, 60, 62, 63].map(|lane| rig.get(10, lane)), [15, 16, 16, 0]);
    rig.run(&[0xe048_1000, 0x8002_0a02]);
    assert_eq!([60, 61, 62].map(|lane| rig.get(10, lane)), [0x1010, 0x1010, 0]);
    // With the scalar offset s12: buffer_load_ubyte v10, v2, s[8:11], s12 offen.
    rig.wave.set_sgpr(12, 60);
    rig.run(&[0xe040_1000, 0x0c02_0a02]);
    assert_eq!([0, 2, 3].map(|lane| rig.get(10, lane)), [16, 16, 0]);
    rig.wave.set_sgpr(12, 100);
    rig.run(&[0xe040_1000, 0x0c02_0a02]);
    assert_eq!(rig.get(10, 0), 0, "an offset beyond the buffer leaves nothing");
}
