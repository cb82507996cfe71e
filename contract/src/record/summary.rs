//! The record with which a process ends, and the counting behind it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Dispatch, Outcome, Reason};

/// What became of a process's dispatches. `report` counts the same way when a process ended without it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The process.
    pub pid: u32,
    /// Dispatches that the filter selected: each has one dispatch record.
    pub candidates: u64,
    /// Candidates that were replayed.
    pub replayed: u64,
    /// Candidates that ran once, by reason.
    pub declined: BTreeMap<Reason, u64>,
    /// Candidates after which memory was not one complete pass.
    pub tainted: u64,
    /// Candidates whose queue died.
    pub faulted: u64,
    /// Dispatches that the filter left out: they have no record.
    pub filtered: u64,
}

impl Summary {
    /// Counts nothing yet, for process `pid`.
    pub fn new(pid: u32) -> Self {
        Self { pid, ..Self::default() }
    }

    /// Counts one candidate.
    pub fn count(&mut self, dispatch: &Dispatch) {
        self.candidates += 1;
        match dispatch.outcome {
            Outcome::Replayed => self.replayed += 1,
            Outcome::Tainted => self.tainted += 1,
            Outcome::Faulted => self.faulted += 1,
            Outcome::Declined => {
                let reason = dispatch.reason.unwrap_or(Reason::InternalError);
                *self.declined.entry(reason).or_default() += 1;
            }
        }
    }

    /// Adds what another process counted; `pid` stays. Sums end at the largest number, since a damaged report may hold any.
    pub fn add(&mut self, other: &Self) {
        let add = |sum: &mut u64, count: u64| *sum = sum.saturating_add(count);
        add(&mut self.candidates, other.candidates);
        add(&mut self.replayed, other.replayed);
        add(&mut self.tainted, other.tainted);
        add(&mut self.faulted, other.faulted);
        add(&mut self.filtered, other.filtered);
        for (&reason, &count) in &other.declined {
            add(self.declined.entry(reason).or_default(), count);
        }
    }

    /// Candidates that ran once, whatever the reason.
    pub fn declined_for_any_reason(&self) -> u64 {
        self.declined.values().fold(0, |sum, &count| count.saturating_add(sum))
    }

    /// Dispatches that reached the filter.
    pub fn seen(&self) -> u64 {
        self.candidates.saturating_add(self.filtered)
    }
}
