//! PM4 commands inside vendor packets, as far as runtimes send them to compute queues.
//!
//! The packet jumps to an indirect buffer. Of cache commands only the write-back has something to do.

use super::Trouble;
use super::packet::COMPLETION;
use crate::memory::View;
use crate::queues::QueueError;
use crate::signal::Signal;

/// PM4 type-3 opcodes (GFX9 PM4 packet definitions).
mod opcode {
    pub const NOP: u32 = 0x10;
    pub const WRITE_DATA: u32 = 0x37;
    pub const INDIRECT_BUFFER: u32 = 0x3f;
    pub const ACQUIRE_MEM: u32 = 0x58;
}

/// TC_WB_ACTION_ENA of ACQUIRE_MEM's CP_COHER_CNTL: write the second-level cache back.
const WRITE_BACK: u32 = 1 << 18;

/// Longest indirect buffer, in words: the length field has 20 bits.
const LONGEST: u32 = 1 << 20;

fn unsupported(text: String) -> Trouble {
    Trouble::Error(QueueError::VendorUnsupported, text)
}

/// Executes the commands that the vendor packet at `address` points to.
pub(super) fn execute(view: &View<'_>, address: u64) -> Result<Signal, Trouble> {
    let jump: u32 = view.load(address + 4)?;
    if opcode_of(jump) != Some(opcode::INDIRECT_BUFFER) {
        return Err(unsupported(format!(
            "PM4 packet whose first command is {jump:#010x}, not an indirect buffer"
        )));
    }
    let low = u64::from(view.load::<u32>(address + 8)? & !3);
    let base = low | u64::from(view.load::<u32>(address + 12)? & 0xffff) << 32;
    let words = view.load::<u32>(address + 16)? & (LONGEST - 1);
    let mut at = 0;
    while at < words {
        let place = base.wrapping_add(u64::from(at) * 4);
        let header: u32 = view.load(place)?;
        let count = match header >> 16 & 0x3fff {
            // A NOP with all bits of the count set has no body: it fills one word.
            0x3fff if opcode_of(header) == Some(opcode::NOP) => 0,
            count => count + 1,
        };
        match opcode_of(header) {
            Some(opcode::NOP) => {}
            Some(opcode::ACQUIRE_MEM) => {
                if view.load::<u32>(place.wrapping_add(4))? & WRITE_BACK != 0 {
                    view.write_back();
                }
            }
            Some(opcode::WRITE_DATA) => write_data(view, place, count)?,
            Some(other) => return Err(unsupported(format!("PM4 command with unknown opcode {other:#04x}"))),
            None => return Err(unsupported(format!("PM4 command {header:#010x} is not of type 3"))),
        }
        at += 1 + count;
    }
    Ok(Signal(view.load(address + COMPLETION)?))
}

fn opcode_of(header: u32) -> Option<u32> {
    (header >> 30 == 3).then_some(header >> 8 & 0xff)
}

/// WRITE_DATA to memory: control word, address, then the data.
fn write_data(view: &View<'_>, place: u64, count: u32) -> Result<(), Trouble> {
    let control: u32 = view.load(place.wrapping_add(4))?;
    let destination = control >> 8 & 0xf;
    if destination != 5 && destination != 2 {
        return Err(unsupported(format!("PM4 WRITE_DATA to destination {destination}, not to memory")));
    }
    let to = u64::from(view.load::<u32>(place.wrapping_add(8))? & !3)
        | u64::from(view.load::<u32>(place.wrapping_add(12))?) << 32;
    for i in 0..u64::from(count.saturating_sub(3)) {
        let word: u32 = view.load(place.wrapping_add(16 + 4 * i))?;
        view.store_through(to.wrapping_add(4 * i), word)?;
    }
    Ok(())
}
