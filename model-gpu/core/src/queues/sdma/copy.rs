//! Copies and fills of the copy engine.

use super::Trouble;
use super::packet::Packet;
use crate::memory::{Access, Fault, View};

/// Bytes that are copied under one lock of the map: whoever frees memory does not wait longer.
const CHUNK: u64 = 4 << 20;

/// Larger copies go past the caches. Smaller ones stay there for whoever reads them next.
const CACHED: u64 = 512 << 10;

/// Cuts a copy into chunks.
pub(super) fn chunks(
    to: u64,
    from: u64,
    bytes: u64,
    mut copy: impl FnMut(u64, u64, u64) -> Result<(), Trouble>,
) -> Result<(), Trouble> {
    for done in (0..bytes).step_by(usize::try_from(CHUNK).unwrap_or(usize::MAX)) {
        copy(to.wrapping_add(done), from.wrapping_add(done), (bytes - done).min(CHUNK))?;
    }
    Ok(())
}

/// Copies `bytes` bytes, mapping by mapping.
pub(super) fn piecewise(view: &View<'_>, mut to: u64, mut from: u64, mut bytes: u64) -> Result<(), Fault> {
    let is_large = bytes > CACHED;
    while bytes > 0 {
        let source = view.piece(from, bytes, Access::Read)?;
        let target = view.piece(to, source.len() as u64, Access::Write)?;
        let len = target.len();
        if is_large {
            target.copy_past_caches(source, len);
        } else {
            target.copy_from(source, len);
        }
        let len = len as u64;
        (to, from, bytes) = (to + len, from + len, bytes - len);
    }
    Ok(())
}

/// Fills `bytes` bytes with a word.
pub(super) fn fill(view: &View<'_>, mut to: u64, word: u32, mut bytes: u64) -> Result<(), Fault> {
    while bytes > 0 {
        let target = view.piece(to, bytes, Access::Write)?;
        let len = target.len();
        target.fill(word, len);
        let len = len as u64;
        (to, bytes) = (to + len, bytes - len);
    }
    Ok(())
}

/// One side of a rectangle copy; offsets and pitches count elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Side {
    address: u64,
    offset: [u64; 3],
    pitch: u64,
    slice: u64,
}

/// A rectangle copy (COPY_LINEAR_SUB_WINDOW, 13 words).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rect {
    element: u32,
    from: Side,
    to: Side,
    size: [u64; 3],
}

impl Rect {
    /// Decodes the packet.
    pub(super) fn decode(packet: &Packet) -> Self {
        let side = |at: usize| {
            let (xy, z) = (packet.word(at + 2), packet.word(at + 3));
            Side {
                address: packet.address(at),
                offset: [u64::from(xy & 0x3fff), u64::from(xy >> 16 & 0x3fff), u64::from(z & 0x7ff)],
                pitch: u64::from(z >> 13) + 1,
                slice: u64::from(packet.word(at + 4) & 0x0fff_ffff) + 1,
            }
        };
        let (xy, z) = (packet.word(11), packet.word(12));
        let size = [xy & 0x3fff, xy >> 16 & 0x3fff, z & 0x7ff].map(|n| u64::from(n) + 1);
        Self { element: packet.word(0) >> 29, from: side(1), to: side(6), size }
    }
}

/// Copies a rectangle; answers how many bytes.
pub(super) fn rect(view: &View<'_>, rect: &Rect) -> Result<u64, Trouble> {
    if rect.element > 4 {
        return Err(Trouble::Unknown(format!("rectangle copy with elements of 2^{} bytes", rect.element)));
    }
    let row = rect.size[0] << rect.element;
    for z in 0..rect.size[2] {
        for y in 0..rect.size[1] {
            let at = |side: &Side| {
                let elements =
                    side.offset[0] + (side.offset[1] + y) * side.pitch + (side.offset[2] + z) * side.slice;
                side.address.wrapping_add(elements << rect.element)
            };
            piecewise(view, at(&rect.to), at(&rect.from), row)?;
        }
    }
    Ok(row * rect.size[1] * rect.size[2])
}
