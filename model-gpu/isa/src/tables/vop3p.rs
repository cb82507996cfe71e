//! VOP3P: packed, mixed-precision and matrix operations.

use super::row;
use crate::exec::vector::dot;
use crate::exec::vector::lane;
use crate::exec::vector::packed;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "v_pk_mad_i16", packed::v_pk_mad_i16),
    row(0x01, "v_pk_mul_lo_u16", packed::v_pk_mul_lo_u16),
    row(0x02, "v_pk_add_i16", packed::v_pk_add_i16),
    row(0x03, "v_pk_sub_i16", packed::v_pk_sub_i16),
    row(0x04, "v_pk_lshlrev_b16", packed::v_pk_lshlrev_b16),
    row(0x05, "v_pk_lshrrev_b16", packed::v_pk_lshrrev_b16),
    row(0x06, "v_pk_ashrrev_i16", packed::v_pk_ashrrev_i16),
    row(0x07, "v_pk_max_i16", packed::v_pk_max_i16),
    row(0x08, "v_pk_min_i16", packed::v_pk_min_i16),
    row(0x09, "v_pk_mad_u16", packed::v_pk_mad_u16),
    row(0x0a, "v_pk_add_u16", packed::v_pk_add_u16),
    row(0x0b, "v_pk_sub_u16", packed::v_pk_sub_u16),
    row(0x0c, "v_pk_max_u16", packed::v_pk_max_u16),
    row(0x0d, "v_pk_min_u16", packed::v_pk_min_u16),
    row(0x0e, "v_pk_fma_f16", packed::v_pk_fma_f16),
    row(0x0f, "v_pk_add_f16", packed::v_pk_add_f16),
    row(0x10, "v_pk_mul_f16", packed::v_pk_mul_f16),
    row(0x11, "v_pk_min_f16", packed::v_pk_min_f16),
    row(0x12, "v_pk_max_f16", packed::v_pk_max_f16),
    row(0x20, "v_fma_mix_f32", packed::v_fma_mix_f32),
    row(0x21, "v_fma_mixlo_f16", packed::v_fma_mixlo_f16),
    row(0x22, "v_fma_mixhi_f16", packed::v_fma_mixhi_f16),
    row(0x23, "v_dot2_f32_f16", dot::v_dot2_f32_f16),
    row(0x26, "v_dot2_i32_i16", dot::v_dot2_i32_i16),
    row(0x27, "v_dot2_u32_u16", dot::v_dot2_u32_u16),
    row(0x28, "v_dot4_i32_i8", dot::v_dot4_i32_i8),
    row(0x29, "v_dot4_u32_u8", dot::v_dot4_u32_u8),
    row(0x2a, "v_dot8_i32_i4", dot::v_dot8_i32_i4),
    row(0x2b, "v_dot8_u32_u4", dot::v_dot8_u32_u4),
    row(0x30, "v_pk_fma_f32", packed::v_pk_fma_f32),
    row(0x31, "v_pk_mul_f32", packed::v_pk_mul_f32),
    row(0x32, "v_pk_add_f32", packed::v_pk_add_f32),
    row(0x33, "v_pk_mov_b32", packed::v_pk_mov_b32),
    row(0x58, "v_accvgpr_read_b32", lane::v_accvgpr_move),
    row(0x59, "v_accvgpr_write_b32", lane::v_accvgpr_move),
];
