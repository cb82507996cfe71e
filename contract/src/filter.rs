//! Which dispatches are candidates: by kernel name, then by ordinal.

use regex::{Regex, RegexBuilder};

use crate::KernelName;

/// Compiled expressions above this many bytes are refused, so that a pattern cannot exhaust memory.
const COMPILED_SIZE_LIMIT: usize = 16 << 20;

/// The filter of `--kernel`. Matching takes time linear in the name: the engine of `regex` never backtracks.
#[derive(Clone, Debug, Default)]
pub struct KernelFilter {
    expression: Option<Regex>,
}

impl KernelFilter {
    /// Compiles `pattern`; the error is one line that says where it goes wrong.
    pub fn new(pattern: &str) -> Result<Self, String> {
        match RegexBuilder::new(pattern).size_limit(COMPILED_SIZE_LIMIT).build() {
            Ok(expression) => Ok(Self { expression: Some(expression) }),
            Err(regex::Error::CompiledTooBig(limit)) => {
                Err(format!("the expression is too big (over {limit} bytes compiled)"))
            }
            Err(error) => Err(last_line(&error.to_string())),
        }
    }

    /// Whether the kernel's dispatches are candidates.
    ///
    /// Without an expression that is every kernel but HIP's own copies and fills; with one, each kernel it
    /// matches anywhere in the demangled name, with or without a return type, or in the mangled one.
    pub fn matches(&self, name: &KernelName) -> bool {
        match &self.expression {
            None => !name.is_runtime_internal(),
            Some(expression) => name.spellings().any(|spelling| expression.is_match(spelling)),
        }
    }

    /// The expression as given, if any.
    pub fn pattern(&self) -> Option<&str> {
        self.expression.as_ref().map(Regex::as_str)
    }
}

/// `regex` draws the pattern over several lines and explains in the last.
fn last_line(message: &str) -> String {
    let line = message.lines().last().unwrap_or(message);
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// The window of `--launch-skip` and `--launch-count` over a process's matching dispatches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchWindow {
    /// Dispatches left out first.
    pub skip: u64,
    /// Dispatches taken after them; `None` takes all.
    pub count: Option<u64>,
}

impl LaunchWindow {
    /// Whether the matching dispatch with this ordinal, from 0, is a candidate.
    pub fn selects(&self, ordinal: u64) -> bool {
        ordinal.checked_sub(self.skip).is_some_and(|after| self.count.is_none_or(|count| after < count))
    }

    /// Whether no later dispatch can be a candidate either.
    pub fn is_over(&self, ordinal: u64) -> bool {
        self.count.is_some_and(|count| ordinal >= self.skip.saturating_add(count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(pattern: &str) -> KernelFilter {
        KernelFilter::new(pattern).expect("compiles")
    }

    #[test]
    fn the_expression_is_unanchored_and_sees_both_names() {
        let name = KernelName::new("_Z5saxpyfPKfPf.kd");
        assert!(filter("axp").matches(&name));
        assert!(filter(r"float const\*").matches(&name));
        assert!(filter("PKfPf$").matches(&name));
        assert!(!filter("^axp").matches(&name));
        assert!(!filter(r"\.kd").matches(&name));
    }

    #[test]
    fn the_start_of_a_templates_name_is_its_start() {
        let name = KernelName::new("_Z5scaleIfEvPT_f.kd");
        assert!(filter("^scale<float>").matches(&name));
        assert!(filter("^void scale").matches(&name));
        assert!(!filter("^cale").matches(&name));
    }

    #[test]
    fn hips_own_kernels_take_part_only_when_the_expression_matches_them() {
        let copy = KernelName::new("__amd_rocclr_copyBuffer.kd");
        assert!(!KernelFilter::default().matches(&copy));
        assert!(!filter("saxpy").matches(&copy));
        assert!(filter("copyBuffer").matches(&copy));
        assert!(filter("").matches(&copy));
    }

    #[test]
    fn an_expression_that_does_not_compile_is_explained_in_one_line() {
        let problem = KernelFilter::new("saxpy(").expect_err("unclosed group");
        assert_eq!(problem, "unclosed group");
        assert_eq!(KernelFilter::new(r"(a)\1").expect_err("backreference").lines().count(), 1);
        assert!(KernelFilter::new("(((a{1000}){1000}){1000})").expect_err("huge").contains("too big"));
    }

    #[test]
    fn a_pattern_that_would_backtrack_for_ever_elsewhere_is_decided_at_once() {
        let name = KernelName::new(&"a".repeat(100_000));
        assert!(!filter("(a+)+b$").matches(&name));
    }

    #[test]
    fn the_launch_window_takes_count_after_skip() {
        let window = LaunchWindow { skip: 2, count: Some(3) };
        let taken: Vec<u64> = (0..10).filter(|&ordinal| window.selects(ordinal)).collect();
        assert_eq!(taken, [2, 3, 4]);
        assert!(!window.is_over(4) && window.is_over(5));
        assert!(LaunchWindow::default().selects(u64::MAX));
        assert!(!LaunchWindow { skip: u64::MAX, count: Some(1) }.is_over(u64::MAX - 1));
        assert!(!LaunchWindow { skip: 0, count: Some(0) }.selects(0));
    }
}
