//! SDMA packets: opcodes, lengths, and their words.

use core::fmt;

use super::Trouble;
use crate::memory::View;
use crate::queues::Spec;

/// A packet's operation: opcode in bits 7:0, sub-opcode in bits 15:8 of its first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Nop,
    CopyLinear,
    CopyRect,
    Write,
    Fence,
    Trap,
    Poll,
    Atomic,
    Fill,
    Timestamp,
    CacheControl,
}

impl Opcode {
    fn of(header: u32) -> Result<Self, Trouble> {
        let [opcode, sub, ..] = header.to_le_bytes();
        Ok(match (opcode, sub) {
            (0, _) => Self::Nop,
            (1, 0) => Self::CopyLinear,
            (1, 4) => Self::CopyRect,
            (2, 0) => Self::Write,
            (5, _) => Self::Fence,
            (6, _) => Self::Trap,
            (8, 0) => Self::Poll,
            (10, _) => Self::Atomic,
            (11, 0) => Self::Fill,
            (13, 2) => Self::Timestamp,
            (17, 1) => Self::CacheControl,
            _ => {
                let text = format!("unknown packet: opcode {opcode}, sub-opcode {sub} (word {header:#010x})");
                return Err(Trouble::Unknown(text));
            }
        })
    }

    /// Whether it moves as much memory as the program likes, and goes on while its queue is suspended.
    pub(super) fn takes_long(self) -> bool {
        matches!(self, Self::CopyLinear | Self::CopyRect | Self::Fill)
    }
}

/// One packet, copied out of the ring.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packet {
    /// What it does.
    pub(super) opcode: Opcode,
    words: Vec<u32>,
}

impl Packet {
    /// Fetches the packet at byte index `start`; nothing was written from `limit` on.
    pub(super) fn fetch(view: &View<'_>, ring: &Spec, start: u64, limit: u64) -> Result<Self, Trouble> {
        let word = |n: u64| -> Result<u32, Trouble> {
            let at = start.wrapping_add(4 * n);
            if at.checked_add(4).is_none_or(|end| end > limit) {
                return Err(Trouble::Unknown("a packet goes on beyond the write index".to_owned()));
            }
            Ok(view.load(ring.ring + at % ring.ring_bytes)?)
        };
        let header = word(0)?;
        let opcode = Opcode::of(header)?;
        let length = match opcode {
            Opcode::Nop => 1 + u64::from(header >> 16 & 0x3fff),
            Opcode::CopyLinear => 7,
            Opcode::CopyRect => 13,
            Opcode::Write => 5 + u64::from(word(3)? & 0xf_ffff),
            Opcode::Fence => 4,
            Opcode::Trap => 2,
            Opcode::Poll => 6,
            Opcode::Atomic => 8,
            Opcode::Fill | Opcode::CacheControl => 5,
            Opcode::Timestamp => 3,
        };
        let words = (0..length).map(word).collect::<Result<_, _>>()?;
        Ok(Self { opcode, words })
    }

    /// All words; as many as the opcode's packet has.
    pub(super) fn words(&self) -> &[u32] {
        &self.words
    }

    /// Word `n`.
    pub(super) fn word(&self, n: usize) -> u32 {
        self.words[n]
    }

    /// The 64-bit value in words `n` (low) and `n + 1` (high).
    pub(super) fn address(&self, n: usize) -> u64 {
        u64::from(self.words[n]) | u64::from(self.words[n + 1]) << 32
    }

    /// Length in bytes.
    pub(super) fn bytes(&self) -> u64 {
        4 * self.words.len() as u64
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:08x?}", self.opcode, &self.words[..self.words.len().min(16)])
    }
}
