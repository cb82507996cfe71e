//! The instruction tables of gfx942: one row for each opcode of each encoding.
//!
//! To add an instruction: write its semantic function under `exec`, add a row here, and a test.

mod ds;
mod flat;
mod global;
mod mubuf;
mod scratch;
mod smem;
mod sop1;
mod sop2;
mod sopc;
mod sopk;
mod sopp;
mod vop1;
mod vop2;
mod vop3;
mod vop3p;
mod vopc;

use std::sync::LazyLock;

use crate::instruction::{Encoding, Op, Row};

const fn row(opcode: u16, mnemonic: &'static str, op: Op) -> Row {
    Row { opcode, mnemonic, op }
}

/// The rows of an encoding, in the order of their opcodes.
pub(crate) fn rows(encoding: Encoding) -> &'static [Row] {
    match encoding {
        Encoding::Sop1 => sop1::ROWS,
        Encoding::Sop2 => sop2::ROWS,
        Encoding::Sopc => sopc::ROWS,
        Encoding::Sopk => sopk::ROWS,
        Encoding::Sopp => sopp::ROWS,
        Encoding::Smem => smem::ROWS,
        Encoding::Vop1 => vop1::ROWS,
        Encoding::Vop2 => vop2::ROWS,
        Encoding::Vopc => vopc::ROWS,
        Encoding::Vop3 => vop3::ROWS,
        Encoding::Vop3p => vop3p::ROWS,
        Encoding::Ds => ds::ROWS,
        Encoding::Flat => flat::ROWS,
        Encoding::Scratch => scratch::ROWS,
        Encoding::Global => global::ROWS,
        Encoding::Mubuf => mubuf::ROWS,
    }
}

/// Rows by opcode, for each encoding.
type Index = [Vec<Option<&'static Row>>; Encoding::ALL.len()];

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    Encoding::ALL.map(|encoding| {
        let mut index = vec![None; 1024];
        for row in rows(encoding) {
            index[usize::from(row.opcode)] = Some(row);
        }
        index
    })
});

/// The row of an opcode.
pub(crate) fn lookup(encoding: Encoding, opcode: u32) -> Option<&'static Row> {
    INDEX[encoding as usize].get(usize::try_from(opcode).ok()?).copied().flatten()
}
