//! The one error of settings: a place and what is wrong there.

/// A setting that cannot be used. It prints as one line: the place, a colon, the problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}")]
pub struct SettingError {
    /// Option, variable or file, with the value it holds.
    pub place: String,
    /// What is wrong with it and what would be right.
    pub problem: String,
}

impl SettingError {
    pub(crate) fn new(place: String, problem: impl Into<String>) -> Self {
        Self { place, problem: problem.into() }
    }
}
