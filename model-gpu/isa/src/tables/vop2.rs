//! VOP2: two vector sources.

use super::row;
use crate::exec::vector::bits;
use crate::exec::vector::carry;
use crate::exec::vector::dot;
use crate::exec::vector::float16;
use crate::exec::vector::float32;
use crate::exec::vector::float64;
use crate::exec::vector::integer;
use crate::exec::vector::integer16;
use crate::exec::vector::packed;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "v_cndmask_b32", carry::v_cndmask_b32),
    row(0x01, "v_add_f32", float32::v_add_f32),
    row(0x02, "v_sub_f32", float32::v_sub_f32),
    row(0x03, "v_subrev_f32", float32::v_subrev_f32),
    row(0x04, "v_fmac_f64", float64::v_fmac_f64),
    row(0x05, "v_mul_f32", float32::v_mul_f32),
    row(0x06, "v_mul_i32_i24", integer::v_mul_i32_i24),
    row(0x07, "v_mul_hi_i32_i24", integer::v_mul_hi_i32_i24),
    row(0x08, "v_mul_u32_u24", integer::v_mul_u32_u24),
    row(0x09, "v_mul_hi_u32_u24", integer::v_mul_hi_u32_u24),
    row(0x0a, "v_min_f32", float32::v_min_f32),
    row(0x0b, "v_max_f32", float32::v_max_f32),
    row(0x0c, "v_min_i32", integer::v_min_i32),
    row(0x0d, "v_max_i32", integer::v_max_i32),
    row(0x0e, "v_min_u32", integer::v_min_u32),
    row(0x0f, "v_max_u32", integer::v_max_u32),
    row(0x10, "v_lshrrev_b32", bits::v_lshrrev_b32),
    row(0x11, "v_ashrrev_i32", bits::v_ashrrev_i32),
    row(0x12, "v_lshlrev_b32", bits::v_lshlrev_b32),
    row(0x13, "v_and_b32", bits::v_and_b32),
    row(0x14, "v_or_b32", bits::v_or_b32),
    row(0x15, "v_xor_b32", bits::v_xor_b32),
    row(0x19, "v_add_co_u32", carry::v_add_co_u32),
    row(0x1a, "v_sub_co_u32", carry::v_sub_co_u32),
    row(0x1b, "v_subrev_co_u32", carry::v_subrev_co_u32),
    row(0x1c, "v_addc_co_u32", carry::v_addc_co_u32),
    row(0x1d, "v_subb_co_u32", carry::v_subb_co_u32),
    row(0x1e, "v_subbrev_co_u32", carry::v_subbrev_co_u32),
    row(0x1f, "v_add_f16", float16::v_add_f16),
    row(0x20, "v_sub_f16", float16::v_sub_f16),
    row(0x21, "v_subrev_f16", float16::v_subrev_f16),
    row(0x22, "v_mul_f16", float16::v_mul_f16),
    row(0x23, "v_mac_f16", float16::v_mac_f16),
    row(0x24, "v_madmk_f16", float16::v_madmk_f16),
    row(0x25, "v_madak_f16", float16::v_madak_f16),
    row(0x26, "v_add_u16", integer::v_add_u16),
    row(0x27, "v_sub_u16", integer::v_sub_u16),
    row(0x28, "v_subrev_u16", integer::v_subrev_u16),
    row(0x29, "v_mul_lo_u16", integer16::v_mul_lo_u16),
    row(0x2a, "v_lshlrev_b16", integer16::v_lshlrev_b16),
    row(0x2b, "v_lshrrev_b16", integer16::v_lshrrev_b16),
    row(0x2c, "v_ashrrev_i16", integer16::v_ashrrev_i16),
    row(0x2d, "v_max_f16", float16::v_max_f16),
    row(0x2e, "v_min_f16", float16::v_min_f16),
    row(0x2f, "v_max_u16", integer16::v_max_u16),
    row(0x30, "v_max_i16", integer16::v_max_i16),
    row(0x31, "v_min_u16", integer16::v_min_u16),
    row(0x32, "v_min_i16", integer16::v_min_i16),
    row(0x33, "v_ldexp_f16", float16::v_ldexp_f16),
    row(0x34, "v_add_u32", integer::v_add_u32),
    row(0x35, "v_sub_u32", integer::v_sub_u32),
    row(0x36, "v_subrev_u32", integer::v_subrev_u32),
    row(0x37, "v_dot2c_f32_f16", dot::v_dot2c_f32_f16),
    row(0x38, "v_dot2c_i32_i16", dot::v_dot2c_i32_i16),
    row(0x39, "v_dot4c_i32_i8", dot::v_dot4c_i32_i8),
    row(0x3a, "v_dot8c_i32_i4", dot::v_dot8c_i32_i4),
    row(0x3b, "v_fmac_f32", float32::v_fmac_f32),
    row(0x3c, "v_pk_fmac_f16", packed::v_pk_fmac_f16),
    row(0x3d, "v_xnor_b32", bits::v_xnor_b32),
];
