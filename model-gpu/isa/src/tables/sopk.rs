//! SOPK: scalar operations with an immediate.

use super::row;
use crate::exec::scalar::alu;
use crate::exec::scalar::compare;
use crate::exec::scalar::control;
use crate::exec::scalar::fork;
use crate::exec::scalar::hardware;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "s_movk_i32", alu::s_movk_i32),
    row(0x01, "s_cmovk_i32", alu::s_cmov_b32),
    row(0x02, "s_cmpk_eq_i32", compare::s_cmp_eq_i32),
    row(0x03, "s_cmpk_lg_i32", compare::s_cmp_lg_i32),
    row(0x04, "s_cmpk_gt_i32", compare::s_cmp_gt_i32),
    row(0x05, "s_cmpk_ge_i32", compare::s_cmp_ge_i32),
    row(0x06, "s_cmpk_lt_i32", compare::s_cmp_lt_i32),
    row(0x07, "s_cmpk_le_i32", compare::s_cmp_le_i32),
    row(0x08, "s_cmpk_eq_u32", compare::s_cmp_eq_u32),
    row(0x09, "s_cmpk_lg_u32", compare::s_cmp_lg_u32),
    row(0x0a, "s_cmpk_gt_u32", compare::s_cmp_gt_u32),
    row(0x0b, "s_cmpk_ge_u32", compare::s_cmp_ge_u32),
    row(0x0c, "s_cmpk_lt_u32", compare::s_cmp_lt_u32),
    row(0x0d, "s_cmpk_le_u32", compare::s_cmp_le_u32),
    row(0x0e, "s_addk_i32", alu::s_addk_i32),
    row(0x0f, "s_mulk_i32", alu::s_mulk_i32),
    row(0x10, "s_cbranch_i_fork", fork::s_cbranch_i_fork),
    row(0x11, "s_getreg_b32", hardware::s_getreg_b32),
    row(0x12, "s_setreg_b32", hardware::s_setreg_b32),
    row(0x14, "s_setreg_imm32_b32", hardware::s_setreg_imm32_b32),
    row(0x15, "s_call_b64", control::s_call_b64),
];
