//! Stretches of the program's code that have a name (`hsa_replay_range_push`): what was dispatched in each.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use hsa_replay_contract::{Dispatch, Outcome};

/// Stretches that are told apart. A program may make a name for each step: what is above is one.
const MOST: usize = 1000;

/// The name of what is above.
const OTHERS: &str = "(others)";

/// What the dispatches of one stretch add up to.
#[derive(Debug)]
pub struct Stretch {
    /// Its name, outer ones first.
    pub name: String,
    /// Dispatch records.
    pub dispatches: u64,
    /// How many of them ended in which way.
    pub outcomes: BTreeMap<Outcome, u64>,
    /// The indices of their kernels.
    pub kernels: BTreeSet<usize>,
    /// The median times of replayed dispatches, added up, in nanoseconds.
    pub time_ns: Option<u64>,
}

/// All of them, in order of appearance.
#[derive(Debug, Default)]
pub struct Stretches {
    all: Vec<Stretch>,
    by_name: HashMap<String, usize>,
}

impl Stretches {
    /// Adds a dispatch of the kernel with this index, if it was in a stretch.
    pub fn add(&mut self, dispatch: &Dispatch, kernel: usize) {
        let Some(name) = dispatch.range.as_deref() else { return };
        let index = match self.by_name.get(name) {
            Some(&index) => index,
            None if self.all.len() > MOST => MOST,
            None => {
                let name = if self.all.len() == MOST { OTHERS } else { name };
                self.by_name.insert(name.to_owned(), self.all.len());
                self.all.push(Stretch {
                    name: name.to_owned(),
                    dispatches: 0,
                    outcomes: BTreeMap::new(),
                    kernels: BTreeSet::new(),
                    time_ns: None,
                });
                self.all.len() - 1
            }
        };
        let stretch = &mut self.all[index];
        stretch.dispatches += 1;
        *stretch.outcomes.entry(dispatch.outcome).or_default() += 1;
        stretch.kernels.insert(kernel);
        if let Some(time) = dispatch.time_ns.filter(|_| dispatch.outcome == Outcome::Replayed) {
            stretch.time_ns = Some(stretch.time_ns.unwrap_or(0).saturating_add(time.median));
        }
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stretch> {
        self.all.iter()
    }
}
