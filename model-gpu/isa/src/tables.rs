//! The instruction tables: one row for each opcode of each encoding. What both targets have is in the module of the encoding,
//! what one of them has in the module of the target.
//!
//! To add an instruction: write its semantic function under `exec`, add a row here, and a test.

mod ds;
mod flat;
mod gfx90a;
mod gfx942;
mod global;
mod mtbuf;
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

use crate::Target;
use crate::instruction::{Encoding, Op, Row};

const fn row(opcode: u16, mnemonic: &'static str, op: Op) -> Row {
    Row { opcode, mnemonic, op }
}

/// The rows that every target has, in the order of their opcodes.
fn common(encoding: Encoding) -> &'static [Row] {
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
        Encoding::Mtbuf => mtbuf::ROWS,
    }
}

/// The rows of a target's encoding.
pub(crate) fn rows(target: Target, encoding: Encoding) -> impl Iterator<Item = &'static Row> {
    let own = match target {
        Target::Gfx90a => gfx90a::rows(encoding),
        Target::Gfx942 => gfx942::rows(encoding),
    };
    common(encoding).iter().chain(own)
}

/// Rows by opcode, for each encoding of each target.
type Index = [[Vec<Option<&'static Row>>; Encoding::ALL.len()]; Target::ALL.len()];

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    Target::ALL.map(|target| {
        Encoding::ALL.map(|encoding| {
            let mut index = vec![None; 1024];
            for row in rows(target, encoding) {
                index[usize::from(row.opcode)] = Some(row);
            }
            index
        })
    })
});

/// The row of an opcode.
pub(crate) fn lookup(target: Target, encoding: Encoding, opcode: u32) -> Option<&'static Row> {
    INDEX[target as usize][encoding as usize].get(usize::try_from(opcode).ok()?).copied().flatten()
}
