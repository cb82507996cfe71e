//! What a kernel wrote: the difference between a snapshot and the memory after a pass.
//!
//! Regions are compared in chunks, so that their size does not matter. Three questions are answered in one reading:
//! - which bytes changed ([`ChangedRanges`]), for the report and for a restore that writes back only what differs;
//! - whether two passes left the same bytes ([`PassHash`]), without keeping the memory of either;
//! - what the first pass left ([`WrittenBytes`]), to put it back, and to say where a later pass differs
//!   ([`Divergences`]).
//!
//! ```
//! use hsa_replay_engine::compare::{PassHash, Precision, RegionComparison};
//!
//! let before = [0_u8; 256];
//! let mut now = before;
//! now[100..104].copy_from_slice(&[1, 2, 3, 4]);
//!
//! let mut hash = PassHash::new();
//! let mut region = RegionComparison::new(0x7f00_0000_0000, Precision::Bytes);
//! region.feed(&before[..128], &now[..128], &mut hash, None);
//! region.feed(&before[128..], &now[128..], &mut hash, None);
//! let changes = region.finish(&mut hash);
//! assert_eq!(changes.ranges, [100..104]);
//! assert_eq!(changes.bytes, 4);
//! ```

mod blocks;
mod divergence;
mod hash;
mod ranges;
mod region;
mod written;

#[cfg(test)]
mod tests;

pub use blocks::BLOCK;
pub(crate) use divergence::share;
pub use divergence::{Divergence, Divergences, MAX_DIVERGENCES};
pub use hash::PassHash;
pub use ranges::{ChangedRanges, MAX_RANGES};
pub use region::{Precision, RegionComparison};
pub use written::WrittenBytes;
