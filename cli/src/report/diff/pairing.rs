//! Which process of the later run is which of the earlier one. Their numbers are others, and where several write to one report the
//! order of their sessions is a race.

use std::collections::HashMap;
use std::path::Path;

use hsa_replay_contract::Session;
use serde::Serialize;

use super::super::processes::Processes;

/// What two processes have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// Rank and command line, and no other process of either run has these.
    Command,
    /// The rank.
    Rank,
    /// Rank and name of the program.
    Program,
    /// Their place: neither run tells them from others.
    Order,
}

/// Two processes, as indices; none where the other run has no such process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The processes.
    pub processes: [Option<usize>; 2],
    /// Why they belong together.
    pub by: Option<By>,
}

/// What a process is known by, as far as its session record says it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Identity {
    rank: Option<String>,
    command: Vec<String>,
}

impl Identity {
    fn of(session: Option<&Session>) -> Self {
        let rank = session.and_then(|session| session.rank.clone());
        let command = session.and_then(|session| session.command.clone()).unwrap_or_default();
        Self { rank, command }
    }

    /// The part of it that two processes must share; none where nothing is known.
    fn key(&self, by: By) -> Option<Self> {
        let name = self.command.first().map(|path| {
            Path::new(path)
                .file_name()
                .map_or_else(|| path.clone(), |name| name.to_string_lossy().into_owned())
        });
        match by {
            By::Command => (!self.command.is_empty()).then(|| self.clone()),
            By::Rank => self.rank.is_some().then(|| Self { command: Vec::new(), ..self.clone() }),
            By::Program => Some(Self { command: vec![name?], ..self.clone() }),
            By::Order => Some(Self { rank: None, command: Vec::new() }),
        }
    }
}

/// Pairs the processes of two runs, each of them once: by what most tells them apart, and those that are left in order.
pub fn pairs(runs: [&Processes; 2]) -> Vec<Pair> {
    pair(&runs.map(|run| run.iter().map(|process| Identity::of(process.session())).collect()))
}

fn pair(identities: &[Vec<Identity>; 2]) -> Vec<Pair> {
    let mut partners: Vec<Option<(usize, By)>> = vec![None; identities[0].len()];
    let mut taken = vec![false; identities[1].len()];
    for by in [By::Command, By::Rank, By::Program, By::Order] {
        let mut groups: HashMap<Identity, [Vec<usize>; 2]> = HashMap::new();
        for (run, identities) in identities.iter().enumerate() {
            for (index, identity) in identities.iter().enumerate() {
                let free = if run == 0 { partners[index].is_none() } else { !taken[index] };
                if let Some(key) = identity.key(by).filter(|_| free) {
                    groups.entry(key).or_default()[run].push(index);
                }
            }
        }
        for [earlier, later] in groups.into_values() {
            let alone = earlier.len() == 1 && later.len() == 1;
            for (earlier, later) in earlier.into_iter().zip(later) {
                partners[earlier] = Some((later, if alone { by } else { By::Order }));
                taken[later] = true;
            }
        }
    }
    let of_before = partners.into_iter().enumerate().map(|(index, partner)| Pair {
        processes: [Some(index), partner.map(|(index, _)| index)],
        by: partner.map(|(_, by)| by),
    });
    let only_after = (0..taken.len())
        .filter(|&index| !taken[index])
        .map(|index| Pair { processes: [None, Some(index)], by: None });
    of_before.chain(only_after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Processes as rank and words of the command line.
    fn run(processes: &[(&str, &str)]) -> Vec<Identity> {
        let some = |rank: &str| (!rank.is_empty()).then(|| rank.to_owned());
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
        processes.iter().map(|(rank, line)| Identity { rank: some(rank), command: words(line) }).collect()
    }

    fn paired(
        before: &[(&str, &str)],
        after: &[(&str, &str)],
    ) -> Vec<(Option<usize>, Option<usize>, Option<By>)> {
        let pairs = pair(&[run(before), run(after)]);
        pairs.into_iter().map(|Pair { processes: [one, other], by }| (one, other, by)).collect()
    }

    #[test]
    fn processes_are_paired_by_what_tells_them_apart_whatever_their_order() {
        let (command, rank) = (Some(By::Command), Some(By::Rank));
        assert_eq!(
            paired(&[("0", "sim -n 1"), ("1", "sim -n 1")], &[("1", "sim -n 1"), ("0", "sim -n 1")]),
            [(Some(0), Some(1), command), (Some(1), Some(0), command)]
        );
        assert_eq!(
            paired(&[("", "a/prepare"), ("", "a/solve x")], &[("", "b/solve y"), ("", "b/prepare")]),
            [(Some(0), Some(1), Some(By::Program)), (Some(1), Some(0), Some(By::Program))]
        );
        assert_eq!(
            paired(&[("0", "old"), ("1", "old")], &[("1", "new"), ("0", "new")]),
            [(Some(0), Some(1), rank), (Some(1), Some(0), rank)]
        );
    }

    #[test]
    fn processes_that_nothing_tells_apart_are_paired_in_order_and_that_is_known() {
        let order = Some(By::Order);
        assert_eq!(
            paired(&[("", "w"), ("", "w"), ("", "w")], &[("", "w"), ("", "w")]),
            [(Some(0), Some(0), order), (Some(1), Some(1), order), (Some(2), None, None)]
        );
        assert_eq!(
            paired(&[("", "")], &[("", "new"), ("", "")]),
            [(Some(0), Some(0), order), (None, Some(1), None)]
        );
        assert_eq!(paired(&[], &[("", "")]), [(None, Some(0), None)]);
    }
}
