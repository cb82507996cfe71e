//! Every option, once: flag, variable, config key, default and help.
//!
//! The command line, the environment, the config file, the help text and the documentation all come from
//! [`OPTIONS`] or are tested against it.

mod table;

pub use table::OPTIONS;

/// Names an option of hsa-replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OptionId {
    /// How many times a selected dispatch runs.
    Passes,
    /// Which kernels are candidates.
    Kernel,
    /// How many matching dispatches are left out first.
    LaunchSkip,
    /// How many matching dispatches are candidates after those left out.
    LaunchCount,
    /// Whether memory is compared after each pass.
    Check,
    /// Where the report goes.
    Output,
    /// Where the bytes of written ranges are stored.
    DumpWrites,
    /// How long one window may take.
    Timeout,
    /// How much memory one window's snapshot may take.
    Budget,
    /// Which kinds of dispatch are replayed although that is not safe in general.
    Allow,
    /// Which further kernels wait for others.
    Waiting,
    /// Whether a tainted window ends the process.
    Strict,
    /// Whether the program's child processes take part.
    FollowChildren,
    /// What is logged.
    Log,
    /// Where the log goes.
    LogFile,
    /// Which library is the real HSA runtime.
    Runtime,
    /// Which library's callbacks hear of each replay.
    Tool,
    /// Which config file is read.
    Config,
    /// Which library is hsa-replay's own (read by the command only).
    Shim,
}

/// How an option's value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number from 1 to 65535.
    Passes,
    /// A whole number from 0.
    Count,
    /// A regular expression.
    Regex,
    /// On or off: `--name`/`--no-name`; `1`, `true`, `yes`, `on`, `0`, `false`, `no`, `off`; TOML booleans.
    Switch,
    /// A file's name, any bytes.
    Path,
    /// A length of time above zero; a bare number means seconds; `ms`, `s`, `m`, `h`.
    Duration,
    /// A number of bytes; `K`, `M`, `G`, `T` mean powers of 1024.
    Size,
    /// Kinds out of a closed list, separated by commas; the flag may be repeated; TOML arrays.
    Kinds,
    /// Text that is passed on as it is.
    Text,
}

/// One row of [`OPTIONS`].
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Which option this is.
    pub id: OptionId,
    /// The long flag without its dashes.
    pub flag: &'static str,
    /// The long flag, without its dashes, that turns a switch off; `None` for options with a value.
    pub negation: Option<&'static str>,
    /// The short flag without its dash.
    pub short: Option<char>,
    /// The environment variable.
    pub variable: &'static str,
    /// The key in the config file; `None` where a file cannot set it.
    pub key: Option<&'static str>,
    /// What the help calls the value; `None` for switches.
    pub value_name: Option<&'static str>,
    /// How the value is written.
    pub kind: ValueKind,
    /// What holds when nothing sets the option, in words.
    pub default: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// What one line does not say; may be empty.
    pub details: &'static str,
}

impl OptionId {
    /// The option's row in [`OPTIONS`].
    pub fn spec(self) -> &'static OptionSpec {
        // The table holds every option in the order of the enum; a test checks it.
        &OPTIONS[self as usize]
    }
}

impl OptionSpec {
    /// The option that `variable` sets, if any.
    pub fn by_variable(variable: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|spec| spec.variable == variable)
    }

    /// The option that the config file's `key` sets, if any.
    pub fn by_key(key: &str) -> Option<&'static Self> {
        OPTIONS.iter().find(|spec| spec.key == Some(key))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_row_stands_at_the_place_of_its_id() {
        for (index, spec) in OPTIONS.iter().enumerate() {
            assert_eq!(spec.id as usize, index, "{}", spec.flag);
            assert_eq!(spec.id.spec().flag, spec.flag);
        }
        assert_eq!(OptionId::Shim as usize + 1, OPTIONS.len());
    }

    #[test]
    fn names_are_unique() {
        let mut seen = HashSet::new();
        for spec in OPTIONS {
            assert!(seen.insert(spec.flag), "flag {}", spec.flag);
            assert!(seen.insert(spec.variable), "variable {}", spec.variable);
            if let Some(short) = spec.short {
                assert!(!OPTIONS.iter().any(|other| other.id != spec.id && other.short == Some(short)));
            }
        }
    }

    #[test]
    fn variable_and_key_follow_from_the_flag() {
        for spec in OPTIONS {
            let snake = spec.flag.replace('-', "_");
            assert_eq!(spec.variable, format!("HSA_REPLAY_{}", snake.to_uppercase()));
            if let Some(key) = spec.key {
                assert_eq!(key, snake);
            }
        }
    }

    #[test]
    fn every_option_says_what_it_does_and_what_its_default_is() {
        for spec in OPTIONS {
            assert!(!spec.help.is_empty() && !spec.help.ends_with('.'), "{}", spec.flag);
            assert!(!spec.default.is_empty(), "{}", spec.flag);
            assert_eq!(spec.value_name.is_none(), spec.kind == ValueKind::Switch, "{}", spec.flag);
            let negation = (spec.kind == ValueKind::Switch).then(|| format!("no-{}", spec.flag));
            assert_eq!(spec.negation, negation.as_deref());
        }
    }
}
