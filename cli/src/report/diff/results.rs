//! Whether two runs left the same bytes, launch by launch.
//!
//! A launch is the same in both for processes that belong together (`pairing`), the kernel's symbol and the launch's ordinal. Of each
//! launch a few words are kept. What they are made of knows neither addresses, which differ from run to run, nor the order of the
//! regions, which is that of their addresses.

use std::collections::HashMap;
use std::num::NonZeroU64;

use hsa_replay_contract::Dispatch;
use hsa_replay_contract::record::Write as Written;
use serde::Serialize;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// Launches of a run whose results are kept; what is above it is not compared.
const MAX_LAUNCHES: usize = 4 << 20;

/// How the launches that both runs have compare.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Launches {
    /// Launches whose results are known in both.
    pub compared: u64,
    /// They left the same bytes in the same regions.
    pub equal: u64,
    /// They left other bytes, or bytes elsewhere in these regions.
    pub different: u64,
    /// It cannot be told: a report has only hashes that cover addresses, and those are others.
    pub other_addresses: u64,
    /// They changed other regions.
    pub other_regions: u64,
    /// They changed the same ranges of the same regions, whatever they left there.
    pub same_ranges: u64,
}

/// What a launch left. Fingerprints of 32 bits only tell how results differ; that they are equal takes 64.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// Kernel and ordinal.
    launch: u64,
    /// The hash of the kernel's symbol.
    kernel: u64,
    /// The bytes that were left, and where in which region; if each region has a hash of its own.
    contents: Option<NonZeroU64>,
    /// The hash of the first pass, which covers addresses.
    hash: u64,
    /// Index of the process.
    process: u32,
    /// The addresses of the regions.
    places: u32,
    /// Which regions were changed, wherever they are: of which arguments and variables, and how large.
    regions: u32,
    /// Which ranges of them.
    ranges: u32,
}

/// What the launches of a run left.
#[derive(Debug, Default)]
pub struct Results {
    launches: Vec<Left>,
    left_out: u64,
}

impl Results {
    /// Adds one dispatch of the process with this index.
    pub fn add(&mut self, process: usize, dispatch: &Dispatch) {
        if let Some(left) = left_by(process, dispatch) {
            if self.launches.len() < MAX_LAUNCHES {
                self.launches.push(left);
            } else {
                self.left_out += 1;
            }
        }
    }

    /// Holds a later run against it, of which each process belongs to one of this run, or to none.
    pub fn compare(mut self, after: &Self, partner: impl Fn(usize) -> Option<usize>) -> Comparison {
        let key = |left: &Left| (left.process, left.launch);
        self.launches.sort_by_key(key);
        self.launches.dedup_by_key(|left| key(left));
        let left_out = self.left_out.saturating_add(after.left_out);
        let mut comparison = Comparison { kernels: HashMap::new(), left_out };
        for after in &after.launches {
            let process = usize::try_from(after.process).ok().and_then(&partner);
            let Some(process) = process.and_then(|process| u32::try_from(process).ok()) else { continue };
            if let Ok(at) = self.launches.binary_search_by_key(&(process, after.launch), key) {
                comparison.add(&self.launches[at], after);
            }
        }
        comparison
    }
}

/// The launches of a later run held against those of an earlier one.
#[derive(Debug)]
pub struct Comparison {
    /// By the hash of the kernel's symbol.
    kernels: HashMap<u64, Launches>,
    left_out: u64,
}

impl Comparison {
    fn add(&mut self, before: &Left, after: &Left) {
        let counts = self.kernels.entry(after.kernel).or_default();
        counts.compared += 1;
        counts.same_ranges += u64::from((before.regions, before.ranges) == (after.regions, after.ranges));
        let same = match (before.contents, after.contents) {
            (Some(one), Some(other)) => Some(one == other),
            _ if before.places == after.places => Some(before.hash == after.hash),
            _ => None,
        };
        *match same {
            _ if before.regions != after.regions => &mut counts.other_regions,
            Some(true) => &mut counts.equal,
            Some(false) => &mut counts.different,
            None => &mut counts.other_addresses,
        } += 1;
    }

    /// How the launches of a kernel compare.
    pub fn of_kernel(&self, symbol: &str) -> Launches {
        self.kernels.get(&xxh3_64(symbol.as_bytes())).copied().unwrap_or_default()
    }

    /// Launches that were not compared since there are too many.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }
}

/// What a dispatch left, if its record says so.
fn left_by(process: usize, dispatch: &Dispatch) -> Option<Left> {
    let hash = dispatch.passes.first()?.hash?;
    let writes = dispatch.writes.as_deref()?;
    let mut launch = Xxh3::new();
    launch.update(&dispatch.launch.to_le_bytes());
    launch.update(dispatch.symbol.as_bytes());
    // A sum knows no order.
    let sum = |part: &dyn Fn(&Written, &mut Xxh3)| {
        writes.iter().fold(0_u64, |sum, write| {
            let mut region = Xxh3::new();
            region.update(&write.arg.map_or(u64::MAX, u64::from).to_le_bytes());
            region.update(&write.size.to_le_bytes());
            region.update(write.name.as_deref().unwrap_or_default().as_bytes());
            part(write, &mut region);
            sum.wrapping_add(region.digest())
        })
    };
    let known = writes.iter().all(|write| write.hash.is_some() || write.ranges.is_empty());
    let contents = known.then(|| {
        let sum = sum(&|write, region| {
            region.update(&write.hash.map_or(0, |hash| hash.0).to_le_bytes());
        });
        NonZeroU64::new(sum).unwrap_or(NonZeroU64::MAX)
    });
    let ranges = sum(&|write, region| {
        for number in write.ranges.iter().flatten() {
            region.update(&number.to_le_bytes());
        }
    });
    Some(Left {
        launch: launch.digest(),
        kernel: xxh3_64(dispatch.symbol.as_bytes()),
        process: u32::try_from(process).ok()?,
        contents,
        hash: xxh3_64(&hash.0.to_le_bytes()),
        places: half(sum(&|write, region| region.update(&write.base.to_le_bytes()))),
        regions: half(sum(&|_, _| {})),
        ranges: half(ranges),
    })
}

/// The upper half of a fingerprint.
fn half(fingerprint: u64) -> u32 {
    u32::try_from(fingerprint >> 32).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launch_takes_few_words() {
        assert_eq!(size_of::<Left>(), 48);
    }
}
