//! Whether the packet at the head of a queue must wait in software for a signal.
//!
//! It need not when the signal has its value, nor when all that the signal needs is on the hardware already. The packet is
//! forwarded unmodified in either case: the hardware looks again, after the packets before it.

use crate::handles::Signal;
use crate::packet::{Kind, Packet};
use crate::promises::Promises;
use crate::shared_memory::signal_value;

/// `HSA_AMD_PACKET_TYPE_BARRIER_VALUE`, a vendor-specific format.
#[allow(clippy::cast_possible_truncation, reason = "the format is one byte of the packet")]
const BARRIER_VALUE: u8 = hsa_sys::HSA_AMD_PACKET_TYPE_BARRIER_VALUE as u8;

/// Whether the packet runs nothing and writes no memory but its signal: such packets go on while an agent drains.
pub(super) fn is_barrier(packet: &Packet) -> bool {
    matches!(packet.kind(), Kind::BarrierAnd | Kind::BarrierOr | Kind::Vendor(BARRIER_VALUE))
}

/// Whether the packet's dependencies are neither met nor certain to be.
pub(super) fn must_wait(packet: &Packet, promises: &Promises) -> bool {
    match packet.kind() {
        Kind::BarrierAnd => {
            !dependencies(packet).all(|signal| is_or_will_be(signal, promises, |value| value == 0))
        }
        Kind::BarrierOr => {
            let mut any = dependencies(packet).peekable();
            any.peek().is_some() && !any.any(|signal| is_or_will_be(signal, promises, |value| value == 0))
        }
        Kind::Vendor(BARRIER_VALUE) => {
            let [_, signal, compared, mask, condition, ..] = packet.words;
            let signal = Signal(signal);
            let holds =
                |value| condition_holds(value & mask.cast_signed(), condition, compared.cast_signed());
            !signal.is_none() && !is_or_will_be(signal, promises, holds)
        }
        _ => false,
    }
}

/// The signal that the packet decrements when it completes, as far as its format is known.
pub(super) fn completes(packet: &Packet) -> Option<Signal> {
    let known = !matches!(packet.kind(), Kind::Vendor(format) if format != BARRIER_VALUE);
    (known && !matches!(packet.kind(), Kind::Unknown(_) | Kind::Invalid))
        .then(|| packet.completion_signal())
        .filter(|signal| !signal.is_none())
}

/// The dependencies that are given; a null one is met.
fn dependencies(packet: &Packet) -> impl Iterator<Item = Signal> {
    packet.words[1..6].iter().map(|&handle| Signal(handle)).filter(|signal| !signal.is_none())
}

fn is_or_will_be(signal: Signal, promises: &Promises, holds: impl Fn(i64) -> bool) -> bool {
    holds(signal_value(signal)) || holds(promises.settled_value(signal))
}

/// `hsa_signal_condition_t` as `amd_barrier_value` packets carry it, in the low half of the word.
fn condition_holds(value: i64, condition: u64, compared: i64) -> bool {
    #[allow(clippy::cast_possible_truncation, reason = "the field is 32 bits wide")]
    match condition as u32 {
        hsa_sys::HSA_SIGNAL_CONDITION_EQ => value == compared,
        hsa_sys::HSA_SIGNAL_CONDITION_NE => value != compared,
        hsa_sys::HSA_SIGNAL_CONDITION_LT => value < compared,
        hsa_sys::HSA_SIGNAL_CONDITION_GTE => value >= compared,
        // The hardware decides what to do with a condition that does not exist.
        _ => true,
    }
}
