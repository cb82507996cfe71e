//! MTBUF: typed buffers.

use super::row;
use crate::exec::memory::format;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "tbuffer_load_format_x", format::load_format_x),
    row(0x01, "tbuffer_load_format_xy", format::load_format_xy),
    row(0x02, "tbuffer_load_format_xyz", format::load_format_xyz),
    row(0x03, "tbuffer_load_format_xyzw", format::load_format_xyzw),
    row(0x04, "tbuffer_store_format_x", format::store_format_x),
    row(0x05, "tbuffer_store_format_xy", format::store_format_xy),
    row(0x06, "tbuffer_store_format_xyz", format::store_format_xyz),
    row(0x07, "tbuffer_store_format_xyzw", format::store_format_xyzw),
    row(0x08, "tbuffer_load_format_d16_x", format::load_format_d16_x),
    row(0x09, "tbuffer_load_format_d16_xy", format::load_format_d16_xy),
    row(0x0a, "tbuffer_load_format_d16_xyz", format::load_format_d16_xyz),
    row(0x0b, "tbuffer_load_format_d16_xyzw", format::load_format_d16_xyzw),
    row(0x0c, "tbuffer_store_format_d16_x", format::store_format_d16_x),
    row(0x0d, "tbuffer_store_format_d16_xy", format::store_format_d16_xy),
    row(0x0e, "tbuffer_store_format_d16_xyz", format::store_format_d16_xyz),
    row(0x0f, "tbuffer_store_format_d16_xyzw", format::store_format_d16_xyzw),
];
