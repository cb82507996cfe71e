//! SMEM: scalar memory.

use super::row;
use crate::exec::memory::scalar;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "s_load_dword", scalar::s_load_dword),
    row(0x01, "s_load_dwordx2", scalar::s_load_dwordx2),
    row(0x02, "s_load_dwordx4", scalar::s_load_dwordx4),
    row(0x03, "s_load_dwordx8", scalar::s_load_dwordx8),
    row(0x04, "s_load_dwordx16", scalar::s_load_dwordx16),
    row(0x08, "s_buffer_load_dword", scalar::s_buffer_load_dword),
    row(0x09, "s_buffer_load_dwordx2", scalar::s_buffer_load_dwordx2),
    row(0x0a, "s_buffer_load_dwordx4", scalar::s_buffer_load_dwordx4),
    row(0x0b, "s_buffer_load_dwordx8", scalar::s_buffer_load_dwordx8),
    row(0x0c, "s_buffer_load_dwordx16", scalar::s_buffer_load_dwordx16),
    row(0x20, "s_dcache_inv", scalar::s_dcache),
    row(0x21, "s_dcache_wb", scalar::s_dcache),
    row(0x22, "s_dcache_inv_vol", scalar::s_dcache),
    row(0x23, "s_dcache_wb_vol", scalar::s_dcache),
    row(0x24, "s_memtime", scalar::s_memtime),
    row(0x25, "s_memrealtime", scalar::s_memrealtime),
];
