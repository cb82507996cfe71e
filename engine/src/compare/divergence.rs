//! Where a later pass left other bytes than the first.

use super::WrittenBytes;
use super::blocks::{for_each_changed_block, for_each_run};

/// Most divergences listed for one window.
pub const MAX_DIVERGENCES: usize = 64;

/// A run of bytes that two passes left differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Divergence {
    /// Which region, by the caller's number.
    pub region: usize,
    /// Index of the later pass; it is compared with the first.
    pub pass: u32,
    /// Offset from the region's base.
    pub offset: u64,
    /// Length of the run.
    pub bytes: u64,
}

/// The first [`MAX_DIVERGENCES`] divergences of a window, in the order of passes, regions and offsets.
#[derive(Clone, Debug, Default)]
pub struct Divergences {
    entries: Vec<Divergence>,
    truncated: bool,
}

impl Divergences {
    /// None found yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found.
    pub fn entries(&self) -> &[Divergence] {
        &self.entries
    }

    /// Takes out entries that turn out to be no divergence.
    pub fn retain(&mut self, keep: impl FnMut(&Divergence) -> bool) {
        self.entries.retain(keep);
    }

    /// Whether there is more than the list holds.
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }

    /// Compares a chunk at `offset` of a region after a later pass with what the first pass left there: `first` where it
    /// wrote, the snapshot `before` elsewhere. Chunks come in ascending order. Needed only when the hashes differ.
    ///
    /// # Panics
    /// When the sides differ in length.
    pub fn feed(
        &mut self,
        region: usize,
        pass: u32,
        offset: u64,
        before: &[u8],
        first: &WrittenBytes,
        now: &[u8],
    ) {
        assert_eq!(before.len(), now.len(), "both sides of a comparison have one length");
        for (part, written) in first.split(offset, now.len()) {
            if self.truncated {
                return;
            }
            let left = written.unwrap_or(&before[part.clone()]);
            let start = offset + part.start as u64;
            for_each_changed_block(left, &now[part], |block, mask| {
                let at = start + block as u64;
                for_each_run(mask, |from, to| {
                    self.add(region, pass, at + u64::from(from), u64::from(to - from));
                });
            });
        }
    }

    fn add(&mut self, region: usize, pass: u32, offset: u64, bytes: u64) {
        let is_full = self.entries.len() == MAX_DIVERGENCES;
        match self.entries.last_mut() {
            Some(last)
                if last.region == region && last.pass == pass && last.offset + last.bytes == offset =>
            {
                last.bytes += bytes;
            }
            _ if is_full => self.truncated = true,
            _ => self.entries.push(Divergence { region, pass, offset, bytes }),
        }
    }
}
