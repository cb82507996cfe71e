//! The fault plan: which operations of the device fail, stall or take long, for tests of what runs above it.
//!
//! A plan is a list of `KIND SELECTOR = ACTION` separated by commas, such as
//! `copy#2=fail, allocate>=1M=fail, dispatch#5@middle=slow:20`. Kinds are `allocate`, `map`, `queue`, `dispatch` and `copy`;
//! `#N` is the Nth operation of its kind, from 1; `>=SIZE` is every operation of at least that many bytes
//! (`allocate` and `copy`); `@start`, `@middle` and `@end` say in which phase of a `dispatch` or `copy` it happens, the
//! start if none is named: with half of the work done, or with all of it but nobody told; actions are `fail`, `stall` (`dispatch` and `copy`) and `slow:MILLISECONDS`.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;

/// What may be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An allocation.
    Allocate,
    /// A mapping for the device.
    Map,
    /// The creation of a queue.
    Queue,
    /// A kernel dispatch.
    Dispatch,
    /// A copy of a copy engine.
    Copy,
}

const KINDS: [(&str, Kind); 5] = [
    ("allocate", Kind::Allocate),
    ("map", Kind::Map),
    ("queue", Kind::Queue),
    ("dispatch", Kind::Dispatch),
    ("copy", Kind::Copy),
];

/// How an operation misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It fails as the device would report it.
    Fail,
    /// It never ends, and nothing behind it in its queue starts.
    Stall,
    /// It takes this much longer.
    Slow(Duration),
}

impl Misbehaviour {
    /// What shall happen in this phase, if anything; has waited already if the operation is to be slow.
    #[must_use]
    pub(crate) fn now(self, phase: Phase) -> Option<Action> {
        if phase != self.phase {
            return None;
        }
        if let Action::Slow(time) = self.action {
            std::thread::sleep(time);
        }
        Some(self.action)
    }
}

/// When in an operation it misbehaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Before anything is done.
    #[default]
    Start,
    /// With half of the bytes copied or of the work-groups done.
    Middle,
    /// With everything done, before anybody is told.
    End,
}

const PHASES: [(&str, Phase); 3] = [("start", Phase::Start), ("middle", Phase::Middle), ("end", Phase::End)];

/// How and when an operation misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Misbehaviour {
    /// How.
    pub action: Action,
    /// When.
    pub phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Selector {
    Nth(u64),
    AtLeast(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rule {
    kind: Kind,
    selector: Selector,
    phase: Phase,
    action: Action,
}

/// A plan, with the operations counted so far.
#[derive(Debug, Default)]
pub struct FaultPlan {
    rules: Vec<Rule>,
    counts: [AtomicU64; KINDS.len()],
}

impl FaultPlan {
    /// Reads a plan.
    ///
    /// # Errors
    /// What is wrong with it, naming the rule.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rules = text.split(',').map(str::trim).filter(|rule| !rule.is_empty());
        let rules =
            rules.map(|rule| parse_rule(rule).ok_or_else(|| complaint(rule))).collect::<Result<_, _>>()?;
        Ok(Self { rules, ..Self::default() })
    }

    /// Counts an operation and says how it shall misbehave.
    #[must_use]
    pub(crate) fn next(&self, kind: Kind, bytes: u64) -> Option<Misbehaviour> {
        if self.rules.is_empty() {
            return None;
        }
        let index = KINDS.iter().position(|(_, other)| *other == kind)?;
        let number = self.counts[index].fetch_add(1, Ordering::Relaxed) + 1;
        let applies = |rule: &&Rule| {
            rule.kind == kind
                && match rule.selector {
                    Selector::Nth(n) => n == number,
                    Selector::AtLeast(least) => bytes >= least,
                }
        };
        let Rule { action, phase, .. } = *self.rules.iter().find(applies)?;
        crate::say!(
            "fault plan: {} {number} ({bytes:#x} bytes): {action:?} at its {phase:?}",
            KINDS[index].0
        );
        Some(Misbehaviour { action, phase })
    }

    /// Whether there is a rule about operations of this kind.
    #[must_use]
    pub(crate) fn concerns(&self, kind: Kind) -> bool {
        self.rules.iter().any(|rule| rule.kind == kind)
    }
}

fn complaint(rule: &str) -> String {
    format!(
        "fault plan: '{rule}' is not KIND#N=ACTION or KIND>=SIZE=ACTION, with @start, @middle or @end before the = (kinds: allocate, map, queue, dispatch, copy; actions: fail, stall, slow:MILLISECONDS)"
    )
}

fn parse_rule(rule: &str) -> Option<Rule> {
    let (name, rest) = rule.split_at(rule.find(['#', '>'])?);
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name.trim())?;
    let (selector, phase, action) = match rest.strip_prefix(">=") {
        Some(rest) => {
            let (size, action) = rest.split_once('=')?;
            let (size, phase) = phase(size)?;
            let sized = matches!(kind, Kind::Allocate | Kind::Copy);
            (Selector::AtLeast(parse_size(size).filter(|_| sized)?), phase, action)
        }
        None => {
            let (number, action) = rest.strip_prefix('#')?.split_once('=')?;
            let (number, phase) = phase(number)?;
            (Selector::Nth(number.parse().ok().filter(|n| *n > 0)?), phase, action)
        }
    };
    let long = matches!(kind, Kind::Dispatch | Kind::Copy);
    if phase != Phase::Start && !long {
        return None;
    }
    let action = match action.trim() {
        "fail" => Action::Fail,
        "stall" if long => Action::Stall,
        slow => Action::Slow(Duration::from_millis(slow.strip_prefix("slow:")?.trim().parse().ok()?)),
    };
    Some(Rule { kind: *kind, selector, phase, action })
}

/// Splits `SELECTOR@PHASE`.
fn phase(text: &str) -> Option<(&str, Phase)> {
    match text.trim().split_once('@') {
        None => Some((text.trim(), Phase::default())),
        Some((selector, name)) => {
            let (_, phase) = PHASES.iter().find(|(known, _)| *known == name.trim())?;
            Some((selector.trim(), *phase))
        }
    }
}

/// A size in bytes with an optional K, M, G or T.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit = text.chars().last().and_then(|last| units.iter().find(|(u, _)| last.eq_ignore_ascii_case(u)));
    let (digits, shift) = unit.map_or((text, 0), |(_, shift)| (&text[..text.len() - 1], *shift));
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(phase: Phase, action: Action) -> Option<Misbehaviour> {
        Some(Misbehaviour { action, phase })
    }

    #[test]
    fn the_nth_operation_of_a_kind_is_hit_once() {
        let plan = FaultPlan::parse("copy#2=fail, dispatch#1=slow:20").expect("sound");
        assert_eq!(plan.next(Kind::Copy, 1), None);
        assert_eq!(plan.next(Kind::Copy, 1), at(Phase::Start, Action::Fail));
        assert_eq!(plan.next(Kind::Copy, 1), None);
        assert_eq!(plan.next(Kind::Dispatch, 0), at(Phase::Start, Action::Slow(Duration::from_millis(20))));
        assert_eq!(plan.next(Kind::Map, 0), None);
    }

    #[test]
    fn operations_are_hit_by_size() {
        let plan = FaultPlan::parse("allocate>=1M=fail").expect("sound");
        assert_eq!(plan.next(Kind::Allocate, (1 << 20) - 1), None);
        assert_eq!(plan.next(Kind::Allocate, 1 << 20), at(Phase::Start, Action::Fail));
        assert_eq!(plan.next(Kind::Allocate, 1 << 30), at(Phase::Start, Action::Fail));
    }

    #[test]
    fn a_phase_is_named_behind_the_selector() {
        let plan = FaultPlan::parse("copy#1@middle=fail, copy>=4K @ end = stall").expect("sound");
        assert_eq!(plan.next(Kind::Copy, 1), at(Phase::Middle, Action::Fail));
        assert_eq!(plan.next(Kind::Copy, 4096), at(Phase::End, Action::Stall));
    }

    #[test]
    fn nonsense_is_named() {
        for bad in [
            "copy",
            "copy#0=fail",
            "paste#1=fail",
            "map#1=stall",
            "map>=4K=fail",
            "copy#1=slow",
            "copy#1=explode",
            "copy#1@noon=fail",
            "map#1@end=fail",
        ] {
            let complaint = FaultPlan::parse(bad).expect_err(bad);
            assert!(complaint.contains(bad), "{complaint}");
        }
        assert!(FaultPlan::parse(" , ").expect("empty").rules.is_empty());
    }
}
