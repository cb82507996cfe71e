//! SOPC: scalar comparisons.

use super::row;
use crate::exec::scalar::compare;
use crate::exec::scalar::hardware;
use crate::exec::scalar::indexing;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "s_cmp_eq_i32", compare::s_cmp_eq_i32),
    row(0x01, "s_cmp_lg_i32", compare::s_cmp_lg_i32),
    row(0x02, "s_cmp_gt_i32", compare::s_cmp_gt_i32),
    row(0x03, "s_cmp_ge_i32", compare::s_cmp_ge_i32),
    row(0x04, "s_cmp_lt_i32", compare::s_cmp_lt_i32),
    row(0x05, "s_cmp_le_i32", compare::s_cmp_le_i32),
    row(0x06, "s_cmp_eq_u32", compare::s_cmp_eq_u32),
    row(0x07, "s_cmp_lg_u32", compare::s_cmp_lg_u32),
    row(0x08, "s_cmp_gt_u32", compare::s_cmp_gt_u32),
    row(0x09, "s_cmp_ge_u32", compare::s_cmp_ge_u32),
    row(0x0a, "s_cmp_lt_u32", compare::s_cmp_lt_u32),
    row(0x0b, "s_cmp_le_u32", compare::s_cmp_le_u32),
    row(0x0c, "s_bitcmp0_b32", compare::s_bitcmp0_b32),
    row(0x0d, "s_bitcmp1_b32", compare::s_bitcmp1_b32),
    row(0x0e, "s_bitcmp0_b64", compare::s_bitcmp0_b64),
    row(0x0f, "s_bitcmp1_b64", compare::s_bitcmp1_b64),
    row(0x10, "s_setvskip", hardware::s_setvskip),
    row(0x11, "s_set_gpr_idx_on", indexing::s_set_gpr_idx_on),
    row(0x12, "s_cmp_eq_u64", compare::s_cmp_eq_u64),
    row(0x13, "s_cmp_lg_u64", compare::s_cmp_lg_u64),
];
