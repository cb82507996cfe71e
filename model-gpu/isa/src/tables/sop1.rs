//! SOP1: one scalar source.

use super::row;
use crate::exec::scalar::alu;
use crate::exec::scalar::bits;
use crate::exec::scalar::control;
use crate::exec::scalar::exec_mask;
use crate::exec::scalar::fork;
use crate::exec::scalar::indexing;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "s_mov_b32", alu::s_mov_b32),
    row(0x01, "s_mov_b64", alu::s_mov_b64),
    row(0x02, "s_cmov_b32", alu::s_cmov_b32),
    row(0x03, "s_cmov_b64", alu::s_cmov_b64),
    row(0x04, "s_not_b32", bits::s_not_b32),
    row(0x05, "s_not_b64", bits::s_not_b64),
    row(0x06, "s_wqm_b32", bits::s_wqm_b32),
    row(0x07, "s_wqm_b64", bits::s_wqm_b64),
    row(0x08, "s_brev_b32", bits::s_brev_b32),
    row(0x09, "s_brev_b64", bits::s_brev_b64),
    row(0x0a, "s_bcnt0_i32_b32", bits::s_bcnt0_i32_b32),
    row(0x0b, "s_bcnt0_i32_b64", bits::s_bcnt0_i32_b64),
    row(0x0c, "s_bcnt1_i32_b32", bits::s_bcnt1_i32_b32),
    row(0x0d, "s_bcnt1_i32_b64", bits::s_bcnt1_i32_b64),
    row(0x0e, "s_ff0_i32_b32", bits::s_ff0_i32_b32),
    row(0x0f, "s_ff0_i32_b64", bits::s_ff0_i32_b64),
    row(0x10, "s_ff1_i32_b32", bits::s_ff1_i32_b32),
    row(0x11, "s_ff1_i32_b64", bits::s_ff1_i32_b64),
    row(0x12, "s_flbit_i32_b32", bits::s_flbit_i32_b32),
    row(0x13, "s_flbit_i32_b64", bits::s_flbit_i32_b64),
    row(0x14, "s_flbit_i32", bits::s_flbit_i32),
    row(0x15, "s_flbit_i32_i64", bits::s_flbit_i32_i64),
    row(0x16, "s_sext_i32_i8", alu::s_sext_i32_i8),
    row(0x17, "s_sext_i32_i16", alu::s_sext_i32_i16),
    row(0x18, "s_bitset0_b32", bits::s_bitset0_b32),
    row(0x19, "s_bitset0_b64", bits::s_bitset0_b64),
    row(0x1a, "s_bitset1_b32", bits::s_bitset1_b32),
    row(0x1b, "s_bitset1_b64", bits::s_bitset1_b64),
    row(0x1c, "s_getpc_b64", control::s_getpc_b64),
    row(0x1d, "s_setpc_b64", control::s_setpc_b64),
    row(0x1e, "s_swappc_b64", control::s_swappc_b64),
    row(0x1f, "s_rfe_b64", control::s_rfe_b64),
    row(0x20, "s_and_saveexec_b64", exec_mask::s_and_saveexec_b64),
    row(0x21, "s_or_saveexec_b64", exec_mask::s_or_saveexec_b64),
    row(0x22, "s_xor_saveexec_b64", exec_mask::s_xor_saveexec_b64),
    row(0x23, "s_andn2_saveexec_b64", exec_mask::s_andn2_saveexec_b64),
    row(0x24, "s_orn2_saveexec_b64", exec_mask::s_orn2_saveexec_b64),
    row(0x25, "s_nand_saveexec_b64", exec_mask::s_nand_saveexec_b64),
    row(0x26, "s_nor_saveexec_b64", exec_mask::s_nor_saveexec_b64),
    row(0x27, "s_xnor_saveexec_b64", exec_mask::s_xnor_saveexec_b64),
    row(0x28, "s_quadmask_b32", bits::s_quadmask_b32),
    row(0x29, "s_quadmask_b64", bits::s_quadmask_b64),
    row(0x2a, "s_movrels_b32", indexing::s_movrels_b32),
    row(0x2b, "s_movrels_b64", indexing::s_movrels_b64),
    row(0x2c, "s_movreld_b32", indexing::s_movreld_b32),
    row(0x2d, "s_movreld_b64", indexing::s_movreld_b64),
    row(0x2e, "s_cbranch_join", fork::s_cbranch_join),
    row(0x30, "s_abs_i32", alu::s_abs_i32),
    row(0x32, "s_set_gpr_idx_idx", indexing::s_set_gpr_idx_idx),
    row(0x33, "s_andn1_saveexec_b64", exec_mask::s_andn1_saveexec_b64),
    row(0x34, "s_orn1_saveexec_b64", exec_mask::s_orn1_saveexec_b64),
    row(0x35, "s_andn1_wrexec_b64", exec_mask::s_andn1_wrexec_b64),
    row(0x36, "s_andn2_wrexec_b64", exec_mask::s_andn2_wrexec_b64),
    row(0x37, "s_bitreplicate_b64_b32", bits::s_bitreplicate_b64_b32),
];
