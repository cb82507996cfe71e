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

/// The first divergences of each pass, in the order of passes, regions and offsets: [`MAX_DIVERGENCES`] of a window, shared among
/// its passes, so that each that differs has one while there is room.
#[derive(Clone, Debug, Default)]
pub struct Divergences {
    entries: Vec<Divergence>,
    truncated: bool,
    /// The last pass that has its share.
    served: Option<u32>,
}

/// Shortens a list, ascending by pass, to `limit` entries: the last one of the pass that has most goes, of several such
/// passes that of the latest. Gives the latest pass that lost one.
pub(crate) fn share<T>(entries: &mut Vec<T>, limit: usize, pass: impl Fn(&T) -> u32) -> Option<u32> {
    let mut latest = None;
    while entries.len() > limit {
        let mut end = 0;
        let mut most = (0, 0);
        for group in entries.chunk_by(|one, other| pass(one) == pass(other)) {
            end += group.len();
            most = most.max((group.len(), end));
        }
        let lost = pass(&entries.remove(most.1 - 1));
        latest = latest.max(Some(lost));
    }
    latest
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
            if self.served == Some(pass) {
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
        if self.served == Some(pass) {
            return;
        }
        match self.entries.last_mut() {
            Some(last)
                if last.region == region && last.pass == pass && last.offset + last.bytes == offset =>
            {
                last.bytes += bytes;
            }
            _ => self.entries.push(Divergence { region, pass, offset, bytes }),
        }
        if let Some(lost) = share(&mut self.entries, MAX_DIVERGENCES, |entry| entry.pass) {
            self.truncated = true;
            // Other passes only lose entries meanwhile: a pass that loses one gets no more.
            self.served = Some(lost).filter(|lost| *lost == pass).or(self.served);
        }
    }
}
