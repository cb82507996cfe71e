//! SOPP: program control.

use super::row;
use crate::exec::scalar::control;
use crate::exec::scalar::indexing;
use crate::instruction::Row;

pub(super) static ROWS: &[Row] = &[
    row(0x00, "s_nop", control::s_nop),
    row(0x01, "s_endpgm", control::s_endpgm),
    row(0x02, "s_branch", control::s_branch),
    row(0x03, "s_wakeup", control::s_nop),
    row(0x04, "s_cbranch_scc0", control::s_cbranch_scc0),
    row(0x05, "s_cbranch_scc1", control::s_cbranch_scc1),
    row(0x06, "s_cbranch_vccz", control::s_cbranch_vccz),
    row(0x07, "s_cbranch_vccnz", control::s_cbranch_vccnz),
    row(0x08, "s_cbranch_execz", control::s_cbranch_execz),
    row(0x09, "s_cbranch_execnz", control::s_cbranch_execnz),
    row(0x0a, "s_barrier", control::s_barrier),
    row(0x0b, "s_setkill", control::s_setkill),
    row(0x0c, "s_waitcnt", control::s_nop),
    row(0x0d, "s_sethalt", control::s_sethalt),
    row(0x0e, "s_sleep", control::s_sleep),
    row(0x0f, "s_setprio", control::s_nop),
    row(0x10, "s_sendmsg", control::s_sendmsg),
    row(0x11, "s_sendmsghalt", control::s_sendmsghalt),
    row(0x12, "s_trap", control::s_trap),
    row(0x13, "s_icache_inv", control::s_icache_inv),
    row(0x14, "s_incperflevel", control::s_nop),
    row(0x15, "s_decperflevel", control::s_nop),
    row(0x16, "s_ttracedata", control::s_nop),
    row(0x17, "s_cbranch_cdbgsys", control::s_cbranch_cdbg),
    row(0x18, "s_cbranch_cdbguser", control::s_cbranch_cdbg),
    row(0x19, "s_cbranch_cdbgsys_or_user", control::s_cbranch_cdbg),
    row(0x1a, "s_cbranch_cdbgsys_and_user", control::s_cbranch_cdbg),
    row(0x1b, "s_endpgm_saved", control::s_endpgm_saved),
    row(0x1c, "s_set_gpr_idx_off", indexing::s_set_gpr_idx_off),
    row(0x1d, "s_set_gpr_idx_mode", indexing::s_set_gpr_idx_mode),
    row(0x1e, "s_endpgm_ordered_ps_done", control::s_endpgm),
];
