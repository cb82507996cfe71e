//! Whether captured memory that a kernel can reach holds pointers to memory that would not be put back between passes.
//!
//! Arguments are only the first step: a kernel may take a pointer from memory and write through it. So the snapshot is
//! searched, beginning with what the explicit arguments and the variables of the kernel's own module lead to, and following
//! every word that is an address of captured memory. A word that is an address of memory which is known, may be written by the
//! agent's kernels and is not captured ends the search. Only words at multiples of eight count, as compilers lay pointers out.
//!
//! Data may look like such an address, which declines a dispatch that could have been replayed; a pointer that the kernel
//! computes otherwise (an offset from a base, a tagged or packed word) is not found. Both are in `docs/limits.md`.

use super::decide::Arguments;
use super::finish::say;
use super::untracked::{describe, describe_record};
use super::{Refusal, Window};
use crate::copy::Mover;
use crate::host_memory::HostMemory;
use crate::inventory::{Exclusion, Record, Region, RegionKind};
use crate::store::{Plan, Store, Trouble};
use crate::sync::Arc;
use hsa_replay_contract::Reason;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::time::Instant;

/// Words that are looked at together before any is looked at alone.
const BLOCK: usize = 512;
/// Bytes of host memory read at once.
const STEP: u64 = 64 << 10;

/// Where an address leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    /// To a region of the plan.
    Captured(usize),
    /// To memory that is not put back.
    Unrestored(&'static str),
    /// To memory that is not put back because the program answers for it.
    LeftOut,
}

/// All that a word can lead to, by address.
#[derive(Debug, Default)]
struct Targets {
    ranges: Vec<(Range<u64>, Target)>,
    /// Largest end of a range up to each one, since host ranges may overlap.
    ends: Vec<u64>,
}

/// What first led to a region.
#[derive(Clone, Copy, Debug)]
enum Root {
    Argument(u32),
    /// A hidden argument, by what it leads to.
    Hidden(&'static str),
    Module,
}

/// The search through one snapshot.
struct Search<'a> {
    plan: &'a Plan,
    targets: Targets,
    /// Regions that are mappings of the same physical memory, by its number.
    siblings: HashMap<u64, Vec<usize>>,
    /// What led to each region, once something did.
    roots: Vec<Option<Root>>,
    /// Regions that are still to be looked through.
    next: BTreeSet<usize>,
    /// The first word found that leads out of captured memory.
    found: Option<Found>,
    /// The first word found that leads to memory which the program leaves out.
    left_out: Option<Found>,
    /// How much was looked through.
    bytes: u64,
}

/// Where the pointers of a kernel lead.
#[derive(Debug)]
pub(super) struct Reach {
    /// Which regions of the plan they lead to.
    pub(super) regions: Vec<bool>,
    /// They lead to memory that the program leaves out, of which no pass tells.
    pub(super) left_out: bool,
}

/// A word that leads out of captured memory.
struct Found {
    root: Root,
    /// Device address of the word.
    at: u64,
    address: u64,
    what: &'static str,
}

impl Window<'_> {
    /// Follows the kernel's pointers and gives where they lead. Refuses a kernel that can reach pointers to memory
    /// which is not put back.
    pub(super) fn follow(
        &mut self,
        arguments: &Arguments,
        plan: &Plan,
        store: &mut dyn Store,
        mover: &Mover<'_>,
    ) -> Result<Reach, Refusal> {
        // A single pass is never run from memory that another one left, and gives no verdict.
        if self.plan.most() == 1 {
            return Ok(Reach { regions: vec![true; plan.regions.len()], left_out: false });
        }
        let outside = self.process.inventory.unrestored(self.agent.agent);
        let mappings = self.process.inventory.mappings(self.agent.agent);
        let queues = self.agent.queues();
        // Who finds a queue may enqueue: its packets would run once for each pass.
        let queues = queues.iter().map(|queue| (queue.object().range(), Target::Unrestored("a queue")));
        let left_out = self.process.inventory.left_out();
        let left_out = left_out.iter().map(|region| (range(region), Target::LeftOut));
        let mut search = Search::new(plan, &outside, &mappings, queues.chain(left_out));
        let mut left_out = None;
        for pointer in &arguments.pointers {
            let root = Root::Argument(pointer.argument);
            match search.targets.find(pointer.address) {
                Some(Target::Captured(region)) => search.reach(region, root),
                Some(Target::LeftOut) if pointer.is_read_only => {}
                Some(Target::LeftOut) => {
                    left_out.get_or_insert_with(|| self.led(root, pointer.address));
                }
                // Accepted, so the kernel only reads there, or it is allowed.
                Some(Target::Unrestored(_)) => {
                    self.search_host(&mut search, &outside, pointer.address, root)?;
                }
                // One past the end of an array belongs to the array.
                None => match search.targets.find(pointer.address.wrapping_sub(1)) {
                    Some(Target::Captured(region)) => search.reach(region, root),
                    Some(Target::LeftOut) if !pointer.is_read_only => {
                        left_out.get_or_insert_with(|| self.led(root, pointer.address));
                    }
                    _ => {}
                },
            }
        }
        // Where they lead out of captured memory is the language runtime's affair: the user has let the kernel talk to it.
        for &(what, address) in &arguments.hidden {
            if let Some(Target::Captured(region)) = search.targets.find(address) {
                search.reach(region, Root::Hidden(what));
            }
        }
        let own = self.kernel.loaded.as_ref().map(|loaded| loaded.executable);
        for address in own.map(|own| self.process.code.defined(own)).unwrap_or_default() {
            match search.targets.find(address) {
                Some(Target::Captured(region)) => search.reach(region, Root::Module),
                Some(Target::LeftOut) => {
                    left_out.get_or_insert_with(|| self.led(Root::Module, address));
                }
                Some(Target::Unrestored(_)) | None => {}
            }
        }
        for (at, region) in plan.regions.iter().enumerate() {
            if matches!(&region.kind, RegionKind::Module(module) if Some(module.executable) == own) {
                search.reach(at, Root::Module);
            }
        }
        let start = Instant::now();
        let searched = search.run(store, mover, self.deadline);
        if matches!(searched, Err(Trouble::Stuck(_))) {
            store.abandon();
        }
        if !searched.map_err(|trouble| self.refuse_for(trouble))? {
            return Err(out_of_time());
        }
        tracing::debug!(
            "followed pointers through {} bytes in {} us",
            search.bytes,
            start.elapsed().as_micros()
        );
        if let Some(found) = &search.found {
            let sentence = self.sentence(found, plan);
            self.refuse_unless_allowed(sentence)?;
        }
        let left_out = left_out.or_else(|| Some(self.sentence(search.left_out.as_ref()?, plan)));
        if let Some(sentence) = &left_out {
            say(&mut self.record, format!("{sentence}: hashes and writes speak of captured memory only"));
        }
        let regions = search.roots.iter().map(Option::is_some).collect();
        Ok(Reach { regions, left_out: left_out.is_some() })
    }

    /// A sentence on what leads to memory that the program leaves out.
    fn led(&self, root: Root, address: u64) -> String {
        let what = describe(Exclusion::Program);
        match root {
            Root::Argument(argument) => {
                format!("{} leads to {what} at {address:#x}", self.argument(argument))
            }
            Root::Hidden(_) | Root::Module => format!("a variable of its module is {what} at {address:#x}"),
        }
    }

    /// An argument by its number and name.
    pub(super) fn argument(&self, argument: u32) -> String {
        let loaded = self.kernel.loaded.as_ref();
        let name = loaded.and_then(|loaded| {
            let argument = usize::try_from(argument).ok()?;
            loaded.kernel.explicit_arguments().nth(argument)?.name.clone()
        });
        let name = name.map_or(String::new(), |name| format!(" ({name})"));
        format!("argument {argument}{name}")
    }

    /// Looks through host memory that an argument leads to and that the kernel only reads. What the host cannot read has no
    /// pointers that could be found.
    fn search_host(
        &self,
        search: &mut Search<'_>,
        outside: &[Record],
        address: u64,
        root: Root,
    ) -> Result<(), Refusal> {
        let readable = |record: &&Record| {
            matches!(
                record.exclusion(),
                Some(Exclusion::Host | Exclusion::Kernarg | Exclusion::Locked | Exclusion::Managed)
            ) && record.region.contains(address)
        };
        for record in outside.iter().filter(readable) {
            let region = &record.region;
            // Locked memory may have another address here.
            let Some(here) = self.host_address(region.base, region.bytes) else { continue };
            let memory = HostMemory::open();
            let mut at = 0;
            while at < region.bytes {
                if Instant::now() >= self.deadline {
                    return Err(out_of_time());
                }
                let bytes = STEP.min(region.bytes - at);
                let Some(read) = memory.read(here + at, bytes) else { break };
                search.words(region.base + at, &read, root);
                at += bytes;
            }
        }
        Ok(())
    }

    fn sentence(&self, found: &Found, plan: &Plan) -> String {
        let Found { root, at, address, what } = found;
        let root = match root {
            Root::Argument(argument) => self.argument(*argument),
            Root::Hidden(what) => (*what).to_owned(),
            Root::Module => match variable_at(plan, *at) {
                Some(name) => format!("the variable {name}"),
                None => "the variables of its module".to_owned(),
            },
        };
        format!("{root} leads to the word at {at:#x}, which is the address {address:#x} of {what}")
    }
}

fn out_of_time() -> Refusal {
    Refusal::with(
        Reason::SnapshotIncomplete,
        "the time for one window ended before its pointers were followed",
    )
}

/// The variable that holds an address.
fn variable_at(plan: &Plan, address: u64) -> Option<&str> {
    let region = plan.regions.iter().find(|region| region.contains(address))?;
    match &region.kind {
        RegionKind::Module(module) => module.part_at(address - region.base)?.name.as_deref(),
        RegionKind::Allocation | RegionKind::Mapping(_) => None,
    }
}

impl<'a> Search<'a> {
    fn new(
        plan: &'a Plan,
        outside: &[Record],
        mappings: &[Arc<Region>],
        others: impl Iterator<Item = (Range<u64>, Target)>,
    ) -> Self {
        let mut siblings: HashMap<u64, Vec<usize>> = HashMap::new();
        for (at, region) in plan.regions.iter().enumerate() {
            if let Some(physical) = region.physical() {
                siblings.entry(physical.number).or_default().push(at);
            }
        }
        // Memory that is mapped twice is captured by one of its addresses and reached by any.
        let aliases = mappings.iter().filter_map(|region| {
            let captured = siblings.get(&region.physical()?.number)?;
            Some((range(region), Target::Captured(*captured.first()?)))
        });
        let captured =
            plan.regions.iter().enumerate().map(|(at, region)| (range(region), Target::Captured(at)));
        let unrestored =
            outside.iter().map(|record| (range(&record.region), Target::Unrestored(describe_record(record))));
        Self {
            plan,
            targets: Targets::new(captured.chain(aliases).chain(unrestored).chain(others).collect()),
            siblings,
            roots: vec![None; plan.regions.len()],
            next: BTreeSet::new(),
            found: None,
            left_out: None,
            bytes: 0,
        }
    }

    /// Something leads to a region.
    fn reach(&mut self, region: usize, root: Root) {
        if self.roots[region].is_some() {
            return;
        }
        let physical = self.plan.regions[region].physical();
        let same = physical.and_then(|physical| self.siblings.get(&physical.number));
        for &at in same.map_or(&[region][..], Vec::as_slice) {
            self.roots[at] = Some(root);
            self.next.insert(at);
        }
    }

    /// Follows everything that was reached. False: there is no time for all of it.
    fn run(&mut self, store: &mut dyn Store, mover: &Mover<'_>, deadline: Instant) -> Result<bool, Trouble> {
        // Upwards and again from the start: saved bytes are cheapest in the order of the pieces.
        let mut above = 0;
        while let Some(at) = self.next.range(above..).next().or_else(|| self.next.first()).copied() {
            self.next.remove(&at);
            above = at;
            let (region, Some(root)) = (&self.plan.regions[at], self.roots[at]) else { continue };
            if region.is_gone() {
                continue;
            }
            for number in self.plan.pieces_of(at) {
                if Instant::now() >= deadline {
                    return Ok(false);
                }
                let piece = &self.plan.pieces[number];
                self.bytes += piece.bytes;
                self.words(region.base + piece.offset, store.bytes(self.plan, number, mover)?, root);
            }
        }
        Ok(true)
    }

    /// Looks at each aligned word of memory that lies at an address.
    fn words(&mut self, address: u64, bytes: &[u8], root: Root) {
        let skipped = usize::try_from(address.next_multiple_of(8) - address).unwrap_or(0);
        let (words, _) = bytes.get(skipped..).unwrap_or_default().as_chunks::<8>();
        let span = self.targets.high_words();
        for (block, words) in words.chunks(BLOCK).enumerate() {
            if !any_in(words, &span) {
                continue;
            }
            for (at, word) in words.iter().enumerate() {
                let word = u64::from_le_bytes(*word);
                let found = |what| {
                    let at = address + (skipped + (block * BLOCK + at) * 8) as u64;
                    Found { root, at, address: word, what }
                };
                match self.targets.find(word) {
                    Some(Target::Captured(region)) => self.reach(region, root),
                    Some(Target::Unrestored(what)) => {
                        self.found.get_or_insert_with(|| found(what));
                    }
                    Some(Target::LeftOut) => {
                        self.left_out.get_or_insert_with(|| found(describe(Exclusion::Program)));
                    }
                    None => {}
                }
            }
        }
    }
}

fn range(region: &Region) -> Range<u64> {
    region.base..region.end()
}

impl Targets {
    fn new(mut ranges: Vec<(Range<u64>, Target)>) -> Self {
        ranges.sort_by_key(|(range, _)| range.start);
        let ends = ranges
            .iter()
            .scan(0, |end, (range, _)| {
                *end = range.end.max(*end);
                Some(*end)
            })
            .collect();
        Self { ranges, ends }
    }

    /// Where an address leads. Memory that is not put back counts before captured memory.
    fn find(&self, address: u64) -> Option<Target> {
        let mut at = self.ranges.partition_point(|(range, _)| range.start <= address);
        let mut found = None;
        while at > 0 && self.ends[at - 1] > address {
            at -= 1;
            let (range, target) = &self.ranges[at];
            if range.contains(&address) {
                found = Some(*target);
                if matches!(target, Target::Unrestored(_)) {
                    break;
                }
            }
        }
        found
    }

    /// The upper halves of all addresses that lead somewhere.
    fn high_words(&self) -> Range<u32> {
        let high = |address: u64| u32::try_from(address >> 32).unwrap_or(u32::MAX);
        let start = self.ranges.first().map_or(0, |(range, _)| high(range.start));
        let end = self.ends.last().map_or(0, |&end| high(end.saturating_sub(1)));
        start..end.saturating_add(1)
    }
}

/// Whether the upper half of any word lies in a range. Without a branch a word, so that the compiler makes vectors of it.
fn any_in(words: &[[u8; 8]], span: &Range<u32>) -> bool {
    let length = span.end - span.start;
    let mut any = 0_u32;
    for word in words {
        let high = u32::from_le_bytes([word[4], word[5], word[6], word[7]]);
        any |= u32::from(high.wrapping_sub(span.start) < length);
    }
    any != 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_address_is_found_in_the_range_that_holds_it_and_unrestored_ones_first(
            starts in prop::collection::vec((0_u64..2000, 1_u64..200, any::<bool>()), 1..20),
            address in 0_u64..2300,
        ) {
            let ranges: Vec<_> = starts.iter().enumerate().map(|(at, &(start, bytes, captured))| {
                let target = if captured { Target::Captured(at) } else { Target::Unrestored("host memory") };
                (start..start + bytes, target)
            }).collect();
            let found = Targets::new(ranges.clone()).find(address);
            let holding: Vec<Target> =
                ranges.iter().filter(|(range, _)| range.contains(&address)).map(|(_, target)| *target).collect();
            let unrestored = holding.contains(&Target::Unrestored("host memory"));
            prop_assert_eq!(found.is_some(), !holding.is_empty());
            prop_assert_eq!(found == Some(Target::Unrestored("host memory")), unrestored);
            prop_assert!(found.is_none_or(|found| holding.contains(&found)));
        }

        #[test]
        fn no_block_with_an_address_is_passed_over(
            words in prop::collection::vec(any::<u64>(), 0..100),
            start in 0_u64..1 << 46,
            bytes in 1_u64..1 << 40,
        ) {
            let targets = Targets::new(vec![(start..start + bytes, Target::Captured(0))]);
            let words: Vec<[u8; 8]> = words.iter().map(|word| (word >> 16).to_le_bytes()).collect();
            let holds = words.iter().any(|word| targets.find(u64::from_le_bytes(*word)).is_some());
            prop_assert!(!holds || any_in(&words, &targets.high_words()));
        }
    }
}
