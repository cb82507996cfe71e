//! The bytes that a pass left where it changed memory.

#![allow(clippy::cast_possible_truncation, reason = "all that is cast is a length within a slice in memory")]

use std::ops::Range;

/// What one pass left in the changed blocks of one region: enough to put the memory back into the state after that pass,
/// and to say where a later pass differs from it. Its size is that of what was written, rounded out to blocks.
#[derive(Clone, Debug, Default)]
pub struct WrittenBytes {
    pieces: Vec<Piece>,
    bytes: Vec<u8>,
}

#[derive(Clone, Debug)]
struct Piece {
    /// Offsets from the region's base.
    offsets: Range<u64>,
    /// Where its bytes begin in the buffer.
    at: usize,
}

impl Piece {
    fn length(&self) -> usize {
        // A piece was pushed as a slice, so its length fits.
        (self.offsets.end - self.offsets.start) as usize
    }
}

impl WrittenBytes {
    /// Nothing written yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of host memory in use.
    pub fn size(&self) -> usize {
        self.bytes.len() + self.pieces.len() * size_of::<Piece>()
    }

    /// Pieces as (offset from the region's base, bytes), ascending, never touching each other.
    pub fn pieces(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.pieces.iter().map(|piece| (piece.offsets.start, self.contents(piece)))
    }

    /// Adds bytes at or behind the end of the last ones.
    pub(crate) fn push(&mut self, offset: u64, bytes: &[u8]) {
        let end = offset + bytes.len() as u64;
        match self.pieces.last_mut() {
            Some(last) if last.offsets.end == offset => last.offsets.end = end,
            _ => self.pieces.push(Piece { offsets: offset..end, at: self.bytes.len() }),
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Splits the `length` bytes at `offset` into parts, ascending and complete: what the pass left there, or `None` where
    /// it left the snapshot's bytes.
    pub(crate) fn split(
        &self,
        offset: u64,
        length: usize,
    ) -> impl Iterator<Item = (Range<usize>, Option<&[u8]>)> {
        let end = offset + length as u64;
        let first = self.pieces.partition_point(|piece| piece.offsets.end <= offset);
        let mut pieces =
            self.pieces[first..].iter().take_while(move |piece| piece.offsets.start < end).peekable();
        let mut at = offset;
        std::iter::from_fn(move || {
            if at == end {
                return None;
            }
            let from = at;
            let contents = match pieces.peek() {
                Some(piece) if piece.offsets.start <= at => {
                    let skipped = (at - piece.offsets.start) as usize;
                    at = piece.offsets.end.min(end);
                    let taken = (at - from) as usize;
                    let contents = &self.contents(piece)[skipped..skipped + taken];
                    pieces.next();
                    Some(contents)
                }
                Some(piece) => {
                    at = piece.offsets.start;
                    None
                }
                None => {
                    at = end;
                    None
                }
            };
            Some(((from - offset) as usize..(at - offset) as usize, contents))
        })
    }

    fn contents(&self, piece: &Piece) -> &[u8] {
        &self.bytes[piece.at..piece.at + piece.length()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> WrittenBytes {
        let mut written = WrittenBytes::new();
        written.push(10, &[1, 2]);
        written.push(12, &[3]);
        written.push(20, &[4, 5, 6]);
        written
    }

    #[test]
    fn pieces_that_touch_are_one() {
        let written = written();
        let pieces: Vec<_> = written.pieces().collect();
        assert_eq!(pieces, [(10, &[1, 2, 3][..]), (20, &[4, 5, 6])]);
    }

    #[test]
    fn a_window_is_split_into_written_and_untouched_parts() {
        let written = written();
        let parts: Vec<_> = written.split(11, 11).collect();
        assert_eq!(parts, [(0..2, Some(&[2, 3][..])), (2..9, None), (9..11, Some(&[4, 5])),]);
    }

    #[test]
    fn a_window_outside_is_untouched() {
        assert_eq!(written().split(100, 5).collect::<Vec<_>>(), [(0..5, None)]);
        assert_eq!(written().split(0, 5).collect::<Vec<_>>(), [(0..5, None)]);
    }
}
