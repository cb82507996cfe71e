//! SCRATCH: scratch memory.

use super::row;
use crate::exec::memory::vector;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x10, "scratch_load_ubyte", vector::load_ubyte),
    row(0x11, "scratch_load_sbyte", vector::load_sbyte),
    row(0x12, "scratch_load_ushort", vector::load_ushort),
    row(0x13, "scratch_load_sshort", vector::load_sshort),
    row(0x14, "scratch_load_dword", vector::load_dword),
    row(0x15, "scratch_load_dwordx2", vector::load_dwordx2),
    row(0x16, "scratch_load_dwordx3", vector::load_dwordx3),
    row(0x17, "scratch_load_dwordx4", vector::load_dwordx4),
    row(0x18, "scratch_store_byte", vector::store_byte),
    row(0x19, "scratch_store_byte_d16_hi", vector::store_byte_d16_hi),
    row(0x1a, "scratch_store_short", vector::store_short),
    row(0x1b, "scratch_store_short_d16_hi", vector::store_short_d16_hi),
    row(0x1c, "scratch_store_dword", vector::store_dword),
    row(0x1d, "scratch_store_dwordx2", vector::store_dwordx2),
    row(0x1e, "scratch_store_dwordx3", vector::store_dwordx3),
    row(0x1f, "scratch_store_dwordx4", vector::store_dwordx4),
    row(0x20, "scratch_load_ubyte_d16", vector::load_ubyte_d16),
    row(0x21, "scratch_load_ubyte_d16_hi", vector::load_ubyte_d16_hi),
    row(0x22, "scratch_load_sbyte_d16", vector::load_sbyte_d16),
    row(0x23, "scratch_load_sbyte_d16_hi", vector::load_sbyte_d16_hi),
    row(0x24, "scratch_load_short_d16", vector::load_short_d16),
    row(0x25, "scratch_load_short_d16_hi", vector::load_short_d16_hi),
];
