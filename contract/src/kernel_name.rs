//! A kernel's two names: the mangled symbol and the signature that people read.

use std::fmt;

use cpp_demangle::{DemangleOptions, Symbol};

/// Suffix of the symbol that names a kernel's descriptor (LLVM AMDGPU usage guide, "Kernel Descriptor").
const DESCRIPTOR_SUFFIX: &str = ".kd";

/// Prefix of the kernels with which HIP itself copies and fills memory.
const RUNTIME_PREFIX: &str = "__amd_rocclr_";

/// Bytes of the longest signature. A mangled name refers to its own parts, so that a signature can be exponentially longer;
/// real ones stay far below.
const LONGEST_SIGNATURE: usize = 1 << 20;

/// The names of one kernel. Demangling costs a few microseconds: make one per kernel, not per dispatch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KernelName {
    symbol: String,
    demangled: String,
    /// The signature without the return type in front, which only templates have.
    without_return: Option<String>,
}

impl KernelName {
    /// Names the kernel of `symbol`, which may be the descriptor's name (with `.kd`) or the kernel's.
    pub fn new(symbol: &str) -> Self {
        let symbol = symbol.strip_suffix(DESCRIPTOR_SUFFIX).unwrap_or(symbol);
        let demangled = demangle(symbol, &DemangleOptions::new());
        let without_return = demangle(symbol, &DemangleOptions::new().no_return_type());
        Self {
            symbol: symbol.to_owned(),
            without_return: (without_return != demangled).then_some(without_return),
            demangled,
        }
    }

    /// The mangled name without `.kd`: the report's `symbol`.
    pub fn symbol(&self) -> &str {
        &self.symbol
    }

    /// The demangled signature, or the symbol where it is not a mangled name: the report's `kernel`.
    pub fn demangled(&self) -> &str {
        &self.demangled
    }

    /// The names that a filter is tried on, in order: the signature, the signature without its return type (an instance of a
    /// template has one: `void scale<float>(float*)`), the symbol.
    pub fn spellings(&self) -> impl Iterator<Item = &str> {
        [Some(&self.demangled), self.without_return.as_ref(), Some(&self.symbol)]
            .into_iter()
            .flatten()
            .map(String::as_str)
    }

    /// Whether this is one of HIP's own copies and fills.
    pub fn is_runtime_internal(&self) -> bool {
        self.symbol.starts_with(RUNTIME_PREFIX)
    }
}

fn demangle(symbol: &str, options: &DemangleOptions) -> String {
    // Only Itanium names: `cpp_demangle` would also accept bare type encodings, and a C kernel named `f` is not
    // `float`.
    if !symbol.starts_with("_Z") {
        return symbol.to_owned();
    }
    let mut text = Bounded(String::new());
    match Symbol::new(symbol) {
        Ok(parsed) if parsed.structured_demangle(&mut text, options).is_ok() => text.0,
        _ => symbol.to_owned(),
    }
}

/// Text that refuses to grow above [`LONGEST_SIGNATURE`].
struct Bounded(String);

impl fmt::Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST_SIGNATURE {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_name_gives_signature_and_symbol() {
        let name = KernelName::new("_Z5saxpyfPKfPf.kd");
        assert_eq!(name.symbol(), "_Z5saxpyfPKfPf");
        assert_eq!(name.demangled(), "saxpy(float, float const*, float*)");
    }

    #[test]
    fn an_instance_of_a_template_has_a_spelling_without_its_return_type() {
        let name = KernelName::new("_Z5scaleIfEvPT_f.kd");
        let spellings: Vec<&str> = name.spellings().collect();
        assert_eq!(
            spellings,
            ["void scale<float>(float*, float)", "scale<float>(float*, float)", "_Z5scaleIfEvPT_f"]
        );
        assert_eq!(KernelName::new("_Z5saxpyfPKfPf").spellings().count(), 2);
    }

    #[test]
    fn a_c_name_is_left_as_it_is() {
        assert_eq!(KernelName::new("f").demangled(), "f");
        assert_eq!(KernelName::new("_Zbroken").demangled(), "_Zbroken");
    }

    #[test]
    fn hips_own_kernels_are_known_by_their_prefix() {
        assert!(KernelName::new("__amd_rocclr_copyBuffer.kd").is_runtime_internal());
        assert!(!KernelName::new("_Z20__amd_rocclr_mimicryv").is_runtime_internal());
    }

    #[test]
    fn a_hostile_name_neither_overflows_the_stack_nor_takes_for_ever() {
        let nested = format!("_Z1f{}i", "P".repeat(100_000));
        assert!(!KernelName::new(&nested).demangled().is_empty());
        let templates = format!("_Z{}", "1aI".repeat(33_000));
        assert!(!KernelName::new(&templates).demangled().is_empty());
    }

    #[test]
    fn a_name_whose_signature_doubles_with_each_part_is_left_mangled() {
        let digits = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut symbol = "_Z1fSt4pairIiiE".to_owned();
        for &digit in digits {
            let part = char::from(digit);
            symbol.push_str(&format!("S_IS{part}_S{part}_E"));
        }
        // A few doublings are fine: that is what templates do.
        assert!(KernelName::new(&symbol[..45]).demangled().starts_with("f(std::pair<int, int>"));
        assert_eq!(KernelName::new(&symbol).demangled(), symbol);
    }
}
