//! What a run calls itself, so that its records can be told from those of others that write in the same folder.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The name of a run: a random number, behind the name of the run that started it and a dot.
#[derive(Debug)]
pub struct RunId(String);

impl RunId {
    /// A name that nobody has, below that of an outer run.
    pub fn new(outer: Option<&str>) -> Self {
        // The keys come from the kernel's random numbers: containers have the same process ids, and may start at the same time.
        let own = RandomState::new().build_hasher().finish();
        Self(match outer {
            Some(outer) => format!("{outer}.{own:016x}"),
            None => format!("{own:016x}"),
        })
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether a process of this run, or of one that it started, has the name.
    pub fn includes(&self, name: &str) -> bool {
        name.strip_prefix(&self.0).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_includes_those_that_it_started_and_no_others() {
        let outer = RunId::new(None);
        let inner = RunId::new(Some(outer.name()));
        assert!(outer.includes(outer.name()) && outer.includes(inner.name()) && inner.includes(inner.name()));
        assert!(!inner.includes(outer.name()) && !inner.includes(RunId::new(Some(outer.name())).name()));
        assert!(!outer.includes(RunId::new(None).name()) && !outer.includes(&format!("{}0", outer.name())));
    }
}
