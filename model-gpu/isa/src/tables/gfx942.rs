//! What gfx942 has beside the rows that both targets have.

use super::row;
use crate::exec::memory::atomic;
use crate::exec::memory::lds_atomic;
use crate::exec::memory::vector;
use crate::exec::vector::bits;
use crate::exec::vector::dot;
use crate::exec::vector::float32;
use crate::exec::vector::matrix;
use crate::exec::vector::sparse;
use crate::instruction::{Encoding, Row};

/// The rows of an encoding.
pub(super) fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Ds => DS,
        Encoding::Flat => FLAT,
        Encoding::Global => GLOBAL,
        Encoding::Mubuf => MUBUF,
        Encoding::Scratch => SCRATCH,
        Encoding::Vop1 => VOP1,
        Encoding::Vop2 => VOP2,
        Encoding::Vop3 => VOP3,
        Encoding::Vop3p => VOP3P,
        _ => &[],
    }
}

static DS: &[Row] = &[
    row(0x17, "ds_pk_add_f16", lds_atomic::ds_pk_add_f16),
    row(0x18, "ds_pk_add_bf16", lds_atomic::ds_pk_add_bf16),
    row(0xb7, "ds_pk_add_rtn_f16", lds_atomic::ds_pk_add_rtn_f16),
    row(0xb8, "ds_pk_add_rtn_bf16", lds_atomic::ds_pk_add_rtn_bf16),
];

static FLAT: &[Row] = &[
    row(0x4d, "flat_atomic_add_f32", atomic::atomic_add_f32),
    row(0x4e, "flat_atomic_pk_add_f16", atomic::atomic_pk_add_f16),
    row(0x52, "flat_atomic_pk_add_bf16", atomic::atomic_pk_add_bf16),
];

static GLOBAL: &[Row] = &[
    row(0x26, "global_load_lds_ubyte", vector::load_lds_ubyte),
    row(0x27, "global_load_lds_sbyte", vector::load_lds_sbyte),
    row(0x28, "global_load_lds_ushort", vector::load_lds_ushort),
    row(0x29, "global_load_lds_sshort", vector::load_lds_sshort),
    row(0x2a, "global_load_lds_dword", vector::load_lds_dword),
    row(0x52, "global_atomic_pk_add_bf16", atomic::atomic_pk_add_bf16),
];

static MUBUF: &[Row] = &[row(0x29, "buffer_inv", vector::cache_control)];

static SCRATCH: &[Row] = &[
    row(0x26, "scratch_load_lds_ubyte", vector::load_lds_ubyte),
    row(0x27, "scratch_load_lds_sbyte", vector::load_lds_sbyte),
    row(0x28, "scratch_load_lds_ushort", vector::load_lds_ushort),
    row(0x29, "scratch_load_lds_sshort", vector::load_lds_sshort),
    row(0x2a, "scratch_load_lds_dword", vector::load_lds_dword),
];

static VOP1: &[Row] = &[
    row(0x38, "v_mov_b64", bits::v_mov_b64),
    row(0x54, "v_cvt_f32_fp8", dot::v_cvt_f32_fp8),
    row(0x55, "v_cvt_f32_bf8", dot::v_cvt_f32_bf8),
    row(0x56, "v_cvt_pk_f32_fp8", dot::v_cvt_pk_f32_fp8),
    row(0x57, "v_cvt_pk_f32_bf8", dot::v_cvt_pk_f32_bf8),
];

static VOP2: &[Row] =
    &[row(0x17, "v_fmamk_f32", float32::v_fmamk_f32), row(0x18, "v_fmaak_f32", float32::v_fmaak_f32)];

static VOP3: &[Row] = &[
    row(0x208, "v_lshl_add_u64", bits::v_lshl_add_u64),
    row(0x2a2, "v_cvt_pk_fp8_f32", dot::v_cvt_pk_fp8_f32),
    row(0x2a3, "v_cvt_pk_bf8_f32", dot::v_cvt_pk_bf8_f32),
    row(0x2a4, "v_cvt_sr_fp8_f32", dot::v_cvt_sr_fp8_f32),
    row(0x2a5, "v_cvt_sr_bf8_f32", dot::v_cvt_sr_bf8_f32),
];

static VOP3P: &[Row] = &[
    row(0x3e, "v_mfma_f32_16x16x8_xf32", matrix::v_mfma_f32_16x16x8_xf32),
    row(0x3f, "v_mfma_f32_32x32x4_xf32", matrix::v_mfma_f32_32x32x4_xf32),
    row(0x40, "v_mfma_f32_32x32x1_2b_f32", matrix::v_mfma_f32_32x32x1_2b_f32),
    row(0x41, "v_mfma_f32_16x16x1_4b_f32", matrix::v_mfma_f32_16x16x1_4b_f32),
    row(0x42, "v_mfma_f32_4x4x1_16b_f32", matrix::v_mfma_f32_4x4x1_16b_f32),
    row(0x44, "v_mfma_f32_32x32x2_f32", matrix::v_mfma_f32_32x32x2_f32),
    row(0x45, "v_mfma_f32_16x16x4_f32", matrix::v_mfma_f32_16x16x4_f32),
    row(0x48, "v_mfma_f32_32x32x4_2b_f16", matrix::v_mfma_f32_32x32x4_2b_f16),
    row(0x49, "v_mfma_f32_16x16x4_4b_f16", matrix::v_mfma_f32_16x16x4_4b_f16),
    row(0x4a, "v_mfma_f32_4x4x4_16b_f16", matrix::v_mfma_f32_4x4x4_16b_f16),
    row(0x4c, "v_mfma_f32_32x32x8_f16", matrix::v_mfma_f32_32x32x8_f16),
    row(0x4d, "v_mfma_f32_16x16x16_f16", matrix::v_mfma_f32_16x16x16_f16),
    row(0x50, "v_mfma_i32_32x32x4_2b_i8", matrix::v_mfma_i32_32x32x4_2b_i8),
    row(0x51, "v_mfma_i32_16x16x4_4b_i8", matrix::v_mfma_i32_16x16x4_4b_i8),
    row(0x52, "v_mfma_i32_4x4x4_16b_i8", matrix::v_mfma_i32_4x4x4_16b_i8),
    row(0x56, "v_mfma_i32_32x32x16_i8", matrix::v_mfma_i32_32x32x16_i8),
    row(0x57, "v_mfma_i32_16x16x32_i8", matrix::v_mfma_i32_16x16x32_i8),
    row(0x5d, "v_mfma_f32_32x32x4_2b_bf16", matrix::v_mfma_f32_32x32x4_2b_bf16),
    row(0x5e, "v_mfma_f32_16x16x4_4b_bf16", matrix::v_mfma_f32_16x16x4_4b_bf16),
    row(0x5f, "v_mfma_f32_4x4x4_16b_bf16", matrix::v_mfma_f32_4x4x4_16b_bf16),
    row(0x60, "v_mfma_f32_32x32x8_bf16", matrix::v_mfma_f32_32x32x8_bf16),
    row(0x61, "v_mfma_f32_16x16x16_bf16", matrix::v_mfma_f32_16x16x16_bf16),
    row(0x62, "v_smfmac_f32_16x16x32_f16", sparse::v_smfmac_f32_16x16x32_f16),
    row(0x64, "v_smfmac_f32_32x32x16_f16", sparse::v_smfmac_f32_32x32x16_f16),
    row(0x66, "v_smfmac_f32_16x16x32_bf16", sparse::v_smfmac_f32_16x16x32_bf16),
    row(0x68, "v_smfmac_f32_32x32x16_bf16", sparse::v_smfmac_f32_32x32x16_bf16),
    row(0x6a, "v_smfmac_i32_16x16x64_i8", sparse::v_smfmac_i32_16x16x64_i8),
    row(0x6c, "v_smfmac_i32_32x32x32_i8", sparse::v_smfmac_i32_32x32x32_i8),
    row(0x6e, "v_mfma_f64_16x16x4_f64", matrix::v_mfma_f64_16x16x4_f64),
    row(0x6f, "v_mfma_f64_4x4x4_4b_f64", matrix::v_mfma_f64_4x4x4_4b_f64),
    row(0x70, "v_mfma_f32_16x16x32_bf8_bf8", matrix::v_mfma_f32_16x16x32_bf8_bf8),
    row(0x71, "v_mfma_f32_16x16x32_bf8_fp8", matrix::v_mfma_f32_16x16x32_bf8_fp8),
    row(0x72, "v_mfma_f32_16x16x32_fp8_bf8", matrix::v_mfma_f32_16x16x32_fp8_bf8),
    row(0x73, "v_mfma_f32_16x16x32_fp8_fp8", matrix::v_mfma_f32_16x16x32_fp8_fp8),
    row(0x74, "v_mfma_f32_32x32x16_bf8_bf8", matrix::v_mfma_f32_32x32x16_bf8_bf8),
    row(0x75, "v_mfma_f32_32x32x16_bf8_fp8", matrix::v_mfma_f32_32x32x16_bf8_fp8),
    row(0x76, "v_mfma_f32_32x32x16_fp8_bf8", matrix::v_mfma_f32_32x32x16_fp8_bf8),
    row(0x77, "v_mfma_f32_32x32x16_fp8_fp8", matrix::v_mfma_f32_32x32x16_fp8_fp8),
    row(0x78, "v_smfmac_f32_16x16x64_bf8_bf8", sparse::v_smfmac_f32_16x16x64_bf8_bf8),
    row(0x79, "v_smfmac_f32_16x16x64_bf8_fp8", sparse::v_smfmac_f32_16x16x64_bf8_fp8),
    row(0x7a, "v_smfmac_f32_16x16x64_fp8_bf8", sparse::v_smfmac_f32_16x16x64_fp8_bf8),
    row(0x7b, "v_smfmac_f32_16x16x64_fp8_fp8", sparse::v_smfmac_f32_16x16x64_fp8_fp8),
    row(0x7c, "v_smfmac_f32_32x32x32_bf8_bf8", sparse::v_smfmac_f32_32x32x32_bf8_bf8),
    row(0x7d, "v_smfmac_f32_32x32x32_bf8_fp8", sparse::v_smfmac_f32_32x32x32_bf8_fp8),
    row(0x7e, "v_smfmac_f32_32x32x32_fp8_bf8", sparse::v_smfmac_f32_32x32x32_fp8_bf8),
    row(0x7f, "v_smfmac_f32_32x32x32_fp8_fp8", sparse::v_smfmac_f32_32x32x32_fp8_fp8),
];
