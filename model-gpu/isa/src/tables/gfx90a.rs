//! What gfx90a has beside the rows that both targets have.
//!
//! Matrix instructions that gfx942 has under another name share its semantic function.

use super::row;
use crate::exec::memory::vector;
use crate::exec::vector::float32;
use crate::exec::vector::matrix;
use crate::instruction::{Encoding, Row};

/// The rows of an encoding.
pub(super) fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Mubuf => MUBUF,
        Encoding::Vop2 => VOP2,
        Encoding::Vop3 => VOP3,
        Encoding::Vop3p => VOP3P,
        _ => &[],
    }
}

static MUBUF: &[Row] = &[
    row(0x29, "buffer_invl2", vector::cache_control),
    row(0x3d, "buffer_store_lds_dword", vector::buffer_store_lds_dword),
    row(0x3e, "buffer_wbinvl1", vector::cache_control),
    row(0x3f, "buffer_wbinvl1_vol", vector::cache_control),
];

static VOP2: &[Row] = &[
    row(0x16, "v_mac_f32", float32::v_mac_f32),
    row(0x17, "v_madmk_f32", float32::v_madmk_f32),
    row(0x18, "v_madak_f32", float32::v_madak_f32),
];

static VOP3: &[Row] =
    &[row(0x1c0, "v_mad_legacy_f32", float32::v_mad_legacy_f32), row(0x1c1, "v_mad_f32", float32::v_mad_f32)];

static VOP3P: &[Row] = &[
    row(0x40, "v_mfma_f32_32x32x1f32", matrix::v_mfma_f32_32x32x1_2b_f32),
    row(0x41, "v_mfma_f32_16x16x1f32", matrix::v_mfma_f32_16x16x1_4b_f32),
    row(0x42, "v_mfma_f32_4x4x1f32", matrix::v_mfma_f32_4x4x1_16b_f32),
    row(0x44, "v_mfma_f32_32x32x2f32", matrix::v_mfma_f32_32x32x2_f32),
    row(0x45, "v_mfma_f32_16x16x4f32", matrix::v_mfma_f32_16x16x4_f32),
    row(0x48, "v_mfma_f32_32x32x4f16", matrix::v_mfma_f32_32x32x4_2b_f16),
    row(0x49, "v_mfma_f32_16x16x4f16", matrix::v_mfma_f32_16x16x4_4b_f16),
    row(0x4a, "v_mfma_f32_4x4x4f16", matrix::v_mfma_f32_4x4x4_16b_f16),
    row(0x4c, "v_mfma_f32_32x32x8f16", matrix::v_mfma_f32_32x32x8_f16),
    row(0x4d, "v_mfma_f32_16x16x16f16", matrix::v_mfma_f32_16x16x16_f16),
    row(0x50, "v_mfma_i32_32x32x4i8", matrix::v_mfma_i32_32x32x4_2b_i8),
    row(0x51, "v_mfma_i32_16x16x4i8", matrix::v_mfma_i32_16x16x4_4b_i8),
    row(0x52, "v_mfma_i32_4x4x4i8", matrix::v_mfma_i32_4x4x4_16b_i8),
    row(0x54, "v_mfma_i32_32x32x8i8", matrix::v_mfma_i32_32x32x8i8),
    row(0x55, "v_mfma_i32_16x16x16i8", matrix::v_mfma_i32_16x16x16i8),
    row(0x63, "v_mfma_f32_32x32x4bf16_1k", matrix::v_mfma_f32_32x32x4_2b_bf16),
    row(0x64, "v_mfma_f32_16x16x4bf16_1k", matrix::v_mfma_f32_16x16x4_4b_bf16),
    row(0x65, "v_mfma_f32_4x4x4bf16_1k", matrix::v_mfma_f32_4x4x4_16b_bf16),
    row(0x66, "v_mfma_f32_32x32x8bf16_1k", matrix::v_mfma_f32_32x32x8_bf16),
    row(0x67, "v_mfma_f32_16x16x16bf16_1k", matrix::v_mfma_f32_16x16x16_bf16),
    row(0x68, "v_mfma_f32_32x32x2bf16", matrix::v_mfma_f32_32x32x2bf16),
    row(0x69, "v_mfma_f32_16x16x2bf16", matrix::v_mfma_f32_16x16x2bf16),
    row(0x6b, "v_mfma_f32_4x4x2bf16", matrix::v_mfma_f32_4x4x2bf16),
    row(0x6c, "v_mfma_f32_32x32x4bf16", matrix::v_mfma_f32_32x32x4bf16),
    row(0x6d, "v_mfma_f32_16x16x8bf16", matrix::v_mfma_f32_16x16x8bf16),
    row(0x6e, "v_mfma_f64_16x16x4f64", matrix::v_mfma_f64_16x16x4_f64),
    row(0x6f, "v_mfma_f64_4x4x4f64", matrix::v_mfma_f64_4x4x4_4b_f64),
];
