//! Readable kernel names.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions, DemangleWrite};

/// A mangled name can stand for an exponentially longer one by substitutions; real templates stay far below this.
const GROWTH_LIMIT: usize = 64;
/// Short names may grow to this many bytes in any case.
const SHORT_LIMIT: usize = 4096;

/// Signature that a C++ symbol stands for, or the symbol itself when it is no mangled name or its signature would be
/// out of proportion.
///
/// ```
/// assert_eq!(code_object::demangle("_Z4incrPfi"), "incr(float*, int)");
/// assert_eq!(code_object::demangle("copy_kernel"), "copy_kernel");
/// ```
pub fn demangle(symbol: &str) -> String {
    // Only Itanium names: the parser would also accept bare type encodings, and a C variable named `d` is not `double`.
    if !symbol.starts_with("_Z") {
        return symbol.to_owned();
    }
    let Ok((parsed, tail)) = BorrowedSymbol::with_tail(symbol.as_bytes()) else {
        return symbol.to_owned();
    };
    if !tail.is_empty() && !tail.starts_with(b".") {
        return symbol.to_owned();
    }
    let mut out =
        Bounded { text: String::new(), limit: symbol.len().saturating_mul(GROWTH_LIMIT).max(SHORT_LIMIT) };
    match parsed.structured_demangle(&mut out, &DemangleOptions::default()) {
        Ok(()) => {
            // What follows a dot was added by the compiler: `.managed`, `.cold`.
            out.text.push_str(&String::from_utf8_lossy(tail));
            out.text
        }
        Err(fmt::Error) => symbol.to_owned(),
    }
}

/// Text that refuses to grow past its limit.
struct Bounded {
    text: String,
    limit: usize,
}

impl DemangleWrite for Bounded {
    fn write_string(&mut self, part: &str) -> fmt::Result {
        if self.text.len() + part.len() > self.limit {
            return Err(fmt::Error);
        }
        self.text.push_str(part);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_local_variable_names_its_function() {
        assert_eq!(demangle("_ZZ5countPi4PairE11local_calls"), "count(int*, Pair)::local_calls");
    }

    #[test]
    fn a_plain_c_name_stays() {
        assert_eq!(demangle("__amd_rocclr_copyBuffer"), "__amd_rocclr_copyBuffer");
    }

    #[test]
    fn a_short_c_name_is_not_taken_for_a_type() {
        for name in ["g", "d", "Ss", "PKc", "St"] {
            assert_eq!(demangle(name), name);
        }
    }

    #[test]
    fn a_malformed_mangled_name_stays() {
        assert_eq!(demangle("_ZN4incr"), "_ZN4incr");
    }

    #[test]
    fn an_exploding_name_stays() {
        // Each parameter's type holds the one before it twice: the last of 30 holds the first 2^29 times.
        const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let mut name = "_Z1f1AIiiE".to_owned();
        for digit in &DIGITS[..29] {
            let previous = char::from(*digit);
            name.push_str(&format!("S_IS{previous}_S{previous}_E"));
        }
        assert_eq!(
            demangle(&name[.."_Z1f1AIiiES_IS0_S0_E".len()]),
            "f(A<int, int>, A<A<int, int>, A<int, int> >)"
        );
        assert_eq!(demangle(&name), name);
    }

    #[test]
    fn a_very_long_name_is_read() {
        let name = format!("_Z100000{}v", "k".repeat(100_000));
        assert_eq!(demangle(&name).len(), 100_002);
    }
}
