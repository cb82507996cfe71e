//! Which table rows the tests have executed.

use std::collections::BTreeSet;
use std::sync::Mutex;

use crate::instruction::Inst;

static EXECUTED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Notes an executed instruction.
pub(crate) fn executed(inst: &Inst) {
    if let Ok(mut set) = EXECUTED.lock() {
        set.insert(inst.row.mnemonic);
    }
}
