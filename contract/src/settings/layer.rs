//! One layer of settings, as text: what an option, a variable or a file gives, before it is parsed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::{OptionId, OptionSpec, ValueKind};

/// Prefix of all variables of hsa-replay.
const VARIABLE_PREFIX: &str = "HSA_REPLAY_";

/// The process whose direct children alone take part, where a program's children are not followed. Set by `run` and `env`.
pub const PARENT_VARIABLE: &str = "HSA_REPLAY_PARENT";

/// The page on which the library tells `run` what it is at ([`crate::progress`]). Set by `run`.
pub const PROGRESS_VARIABLE: &str = "HSA_REPLAY_PROGRESS";

/// The run that a process belongs to: what `run` calls itself, behind a dot where another `run` started it. Set by `run`.
pub const RUN_VARIABLE: &str = "HSA_REPLAY_RUN";

/// Variables with our prefix that are no options: what the parts tell each other, and what `scripts/rocm-root` and `build.rs` read.
const ELSEWHERE: [&str; 5] =
    [PARENT_VARIABLE, PROGRESS_VARIABLE, RUN_VARIABLE, "HSA_REPLAY_ROOTS", "HSA_REPLAY_BUILD_RUNTIME"];

/// Whether a variable has our prefix and no meaning.
pub fn is_unknown_variable(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(VARIABLE_PREFIX.as_bytes())
        && name
            .to_str()
            .is_none_or(|name| OptionSpec::by_variable(name).is_none() && !ELSEWHERE.contains(&name))
}

/// Longest part of a bad value that an error shows, in characters.
const SHOWN_VALUE: usize = 80;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The command line.
    Option,
    /// The environment.
    Environment,
    /// The config file of this name.
    File(PathBuf),
}

/// One value, as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Given {
    /// The value's text; kinds are joined by commas.
    pub text: OsString,
    /// Where it came from.
    pub source: Source,
}

impl Given {
    /// The place and the value, for an error: `--passes 0`, `HSA_REPLAY_PASSES=0` or `FILE: passes = 0`.
    pub(crate) fn place(&self, id: OptionId) -> String {
        let spec = id.spec();
        let shown = if self.text.is_empty() { "''".to_owned() } else { shorten(&self.text) };
        match &self.source {
            Source::Option => format!("--{} {shown}", spec.flag),
            Source::Environment => format!("{}={shown}", spec.variable),
            Source::File(path) => {
                format!("{}: {} = {shown}", shorten(path.as_os_str()), spec.key.unwrap_or(spec.flag))
            }
        }
    }
}

/// The values that one place gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layer {
    values: BTreeMap<OptionId, Given>,
}

impl Layer {
    /// Adds what the command line gives for `id`. Giving kinds again adds to them; anything else is replaced.
    pub fn set_option(&mut self, id: OptionId, text: impl Into<OsString>) {
        let text = text.into();
        let text = match self.values.get(&id) {
            Some(earlier) if id.spec().kind == ValueKind::Kinds => {
                let mut joined = earlier.text.clone();
                joined.push(",");
                joined.push(text);
                joined
            }
            _ => text,
        };
        self.set(id, Given { text, source: Source::Option });
    }

    /// What the layer gives for `id`.
    pub fn get(&self, id: OptionId) -> Option<&Given> {
        self.values.get(&id)
    }

    pub(crate) fn set(&mut self, id: OptionId, given: Given) {
        self.values.insert(id, given);
    }

    /// The layer of an environment, and one line for each variable that has our prefix but no meaning.
    /// An empty variable counts as not set.
    pub(crate) fn from_variables(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> (Self, Vec<String>) {
        let mut layer = Self::default();
        let mut warnings = Vec::new();
        for (name, text) in vars {
            if !name.as_encoded_bytes().starts_with(VARIABLE_PREFIX.as_bytes()) {
                continue;
            }
            match name.to_str().and_then(OptionSpec::by_variable) {
                Some(_) if text.is_empty() => {}
                Some(spec) => layer.set(spec.id, Given { text, source: Source::Environment }),
                None if !is_unknown_variable(&name) => {}
                None => warnings.push(format!("{} is not a variable of hsa-replay: ignored", shorten(&name))),
            }
        }
        (layer, warnings)
    }

    pub(crate) fn into_values(self) -> BTreeMap<OptionId, Given> {
        self.values
    }
}

/// At most [`SHOWN_VALUE`] characters on one line, with what does not print escaped.
fn shorten(text: &OsStr) -> String {
    crate::text::shorten(&text.to_string_lossy(), SHOWN_VALUE)
}
