//! Barrier packets: what they wait for.

use super::Trouble;
use super::packet::COMPLETION;
use crate::memory::{Fault, View};
use crate::queues::QueueError;
use crate::signal::Signal;

/// Signals that an architected barrier packet may name.
const DEPENDENCIES: u64 = 5;

/// Offset of the first of them.
const FIRST: u64 = 8;

fn dependencies(view: &View<'_>, address: u64) -> impl Iterator<Item = Result<Signal, Fault>> {
    (0..DEPENDENCIES).map(move |i| view.load(address + FIRST + 8 * i).map(Signal))
}

/// Barrier-AND: every signal named is zero (HSA System Architecture, section 2.9.8).
pub(super) fn and(view: &View<'_>, address: u64) -> Result<Signal, Trouble> {
    for signal in dependencies(view, address) {
        let signal = signal?;
        if !signal.is_null() && signal.value(view)? != 0 {
            return Err(Trouble::Wait);
        }
    }
    Ok(Signal(view.load(address + COMPLETION)?))
}

/// Barrier-OR: some signal named is zero, or none is named (HSA System Architecture, section 2.9.9).
pub(super) fn or(view: &View<'_>, address: u64) -> Result<Signal, Trouble> {
    let mut named = false;
    let mut met = false;
    for signal in dependencies(view, address) {
        let signal = signal?;
        if !signal.is_null() {
            named = true;
            met |= signal.value(view)? == 0;
        }
    }
    if named && !met {
        return Err(Trouble::Wait);
    }
    Ok(Signal(view.load(address + COMPLETION)?))
}

/// AMD's barrier-value packet (`hsa_amd_barrier_value_packet_t`): the masked value of one signal meets a condition.
pub(super) fn value(view: &View<'_>, address: u64) -> Result<Signal, Trouble> {
    let signal = Signal(view.load(address + 8)?);
    let reference = view.load::<u64>(address + 16)?.cast_signed();
    let mask: u64 = view.load(address + 24)?;
    let condition: u32 = view.load(address + 32)?;
    if !signal.is_null() {
        let value = (signal.value(view)?.cast_unsigned() & mask).cast_signed();
        let met = match condition {
            0 => value == reference,
            1 => value != reference,
            2 => value < reference,
            3 => value >= reference,
            other => {
                let text = format!("barrier-value packet with unknown condition {other}");
                return Err(Trouble::Error(QueueError::VendorUnsupported, text));
            }
        };
        if !met {
            return Err(Trouble::Wait);
        }
    }
    Ok(Signal(view.load(address + COMPLETION)?))
}
