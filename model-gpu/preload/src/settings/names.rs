//! The names of the variables, and what to say of one that is not among them.

use std::ffi::OsString;

/// What all names begin with.
const PREFIX: &str = "MODEL_GPU_";

/// Every variable that is read. The README's table has the same, with their meaning.
pub(super) const NAMES: [&str; 10] = [
    "MODEL_GPU_TARGET",
    "MODEL_GPU_AGENTS",
    "MODEL_GPU_VRAM",
    "MODEL_GPU_STRICT_VRAM",
    "MODEL_GPU_CACHE",
    "MODEL_GPU_COUNTERS",
    "MODEL_GPU_LOG",
    "MODEL_GPU_HELPERS",
    "MODEL_GPU_FAULTS",
    "MODEL_GPU_SEED",
];

/// One line for each of `variables` that has our prefix and is none of ours.
pub(super) fn complaints(variables: impl Iterator<Item = OsString>) -> Vec<String> {
    variables
        .map(|name| name.to_string_lossy().into_owned())
        .filter(|name| name.starts_with(PREFIX) && !NAMES.contains(&name.as_str()))
        .map(|name| format!("{}: unknown variable, ignored; the nearest is {}", shown(&name), nearest(&name)))
        .collect()
}

/// `text` on one line, whatever characters it has.
pub(super) fn shown(text: &str) -> String {
    text.chars().fold(String::new(), |mut line, c| {
        if c.is_control() {
            line.extend(c.escape_default());
        } else {
            line.push(c);
        }
        line
    })
}

/// The known name that takes the fewest edits to reach.
fn nearest(name: &str) -> &'static str {
    NAMES.into_iter().min_by_key(|known| edits(name, known)).unwrap_or(NAMES[0])
}

/// Insertions, deletions and replacements of a character that lead from one text to the other.
fn edits(from: &str, to: &str) -> usize {
    // The costs of reaching each beginning of `to` from the characters of `from` so far.
    let mut costs: Vec<usize> = (0..=to.chars().count()).collect();
    for (done, a) in from.chars().enumerate() {
        let mut diagonal = done;
        costs[0] = done + 1;
        for (place, b) in to.chars().enumerate() {
            let replaced = diagonal + usize::from(a != b);
            diagonal = costs[place + 1];
            costs[place + 1] = replaced.min(diagonal + 1).min(costs[place] + 1);
        }
    }
    costs.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(name: &str) -> Vec<String> {
        complaints([OsString::from(name)].into_iter())
    }

    #[test]
    fn an_unknown_variable_is_named_with_the_nearest_known_one() {
        for (wrong, right) in [
            ("MODEL_GPU_AGENT", "MODEL_GPU_AGENTS"),
            ("MODEL_GPU_VRAM_SIZE", "MODEL_GPU_VRAM"),
            ("MODEL_GPU_STRICTVRAM", "MODEL_GPU_STRICT_VRAM"),
            ("MODEL_GPU_log", "MODEL_GPU_LOG"),
            ("MODEL_GPU_FUALTS", "MODEL_GPU_FAULTS"),
        ] {
            assert_eq!(said(wrong), [format!("{wrong}: unknown variable, ignored; the nearest is {right}")]);
        }
    }

    #[test]
    fn known_variables_and_those_of_others_are_passed_by() {
        for name in NAMES.into_iter().chain(["MODEL_GPU", "MODEL", "PATH", ""]) {
            assert_eq!(said(name), [""; 0], "{name}");
        }
    }

    #[test]
    fn a_line_stays_one_line() {
        assert_eq!(shown("a\nb\u{1b}é"), "a\\nb\\u{1b}é");
        assert_eq!(said("MODEL_GPU_A\nB")[0].lines().count(), 1);
    }

    #[test]
    fn the_readme_has_each_variable() {
        let readme = include_str!("../../../README.md");
        let rows: Vec<_> = readme
            .lines()
            .filter_map(|line| line.strip_prefix("| `MODEL_GPU_")?.split_once('`'))
            .map(|(name, _)| format!("{PREFIX}{name}"))
            .collect();
        assert_eq!(rows, NAMES);
    }
}
