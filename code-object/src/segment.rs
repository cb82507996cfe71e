//! The parts of a loaded code object that a kernel can write, and the variables in them.

use crate::Error;
use crate::elf::{File, Range, Symbols};

/// A contiguous part of the loaded image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Segment {
    /// Virtual address in the ELF file; add the load delta for the device address.
    pub address: u64,
    /// Size in memory, in bytes; never 0.
    pub size: u64,
}

impl Segment {
    /// First address behind the segment.
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Whether `size` bytes at `address` lie inside.
    pub fn contains(&self, address: u64, size: u64) -> bool {
        address >= self.address && address.checked_add(size).is_some_and(|end| end <= self.end())
    }
}

/// A variable in a writable segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Symbol name, mangled as the compiler wrote it.
    pub name: String,
    /// Virtual address in the ELF file.
    pub address: u64,
    /// Size in bytes; never 0.
    pub size: u64,
}

/// Writable LOAD segments less RELRO, merged where they touch or overlap.
pub(crate) fn writable(file: &File<'_>) -> Result<Vec<Segment>, Error> {
    let mut parts = file.writable_loads()?;
    for relro in file.relro()? {
        parts = parts.into_iter().flat_map(|part| subtract(part, relro)).collect();
        // An honest file has one RELRO range; many of them could multiply the parts.
        parts = merged(parts);
    }
    Ok(merged(parts)
        .into_iter()
        .map(|Range { start, end }| Segment { address: start, size: end - start })
        .collect())
}

/// Variables inside the writable segments by ascending address. Where several symbols have one address and size, the
/// first counts: `.dynsym` comes before `.symtab`.
pub(crate) fn variables(symbols: &Symbols, writable: &[Segment]) -> Vec<Variable> {
    let mut variables: Vec<Variable> = symbols
        .data
        .iter()
        .filter(|symbol| symbol.size > 0 && is_within(writable, symbol.address, symbol.size))
        .map(|symbol| Variable { name: symbol.name.clone(), address: symbol.address, size: symbol.size })
        .collect();
    variables.sort_by_key(|variable| (variable.address, variable.size));
    variables.dedup_by_key(|variable| (variable.address, variable.size));
    variables
}

fn is_within(segments: &[Segment], address: u64, size: u64) -> bool {
    let behind = segments.partition_point(|segment| segment.address <= address);
    behind.checked_sub(1).is_some_and(|index| segments[index].contains(address, size))
}

fn subtract(part: Range, hole: Range) -> impl Iterator<Item = Range> {
    let before = Range { start: part.start, end: part.end.min(hole.start) };
    let after = Range { start: part.start.max(hole.end), end: part.end };
    // An empty hole between the ends would give two halves that touch; merging joins them again.
    [before, after].into_iter().filter(|range| range.start < range.end)
}

fn merged(mut parts: Vec<Range>) -> Vec<Range> {
    parts.retain(|part| part.start < part.end);
    parts.sort_by_key(|part| part.start);
    let mut result: Vec<Range> = Vec::with_capacity(parts.len());
    for part in parts {
        match result.last_mut() {
            Some(last) if part.start <= last.end => last.end = last.end.max(part.end),
            _ => result.push(part),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start: u64, end: u64) -> Range {
        Range { start, end }
    }

    fn parts(part: Range, hole: Range) -> Vec<Range> {
        subtract(part, hole).collect()
    }

    #[test]
    fn a_hole_at_the_start_leaves_the_rest() {
        assert_eq!(parts(range(10, 20), range(5, 12)), [range(12, 20)]);
    }

    #[test]
    fn a_hole_in_the_middle_leaves_both_sides() {
        assert_eq!(parts(range(10, 20), range(12, 15)), [range(10, 12), range(15, 20)]);
    }

    #[test]
    fn a_hole_over_everything_leaves_nothing() {
        assert_eq!(parts(range(10, 20), range(10, 30)), []);
    }

    #[test]
    fn touching_and_overlapping_parts_become_one() {
        assert_eq!(
            merged(vec![range(8, 9), range(0, 4), range(4, 6), range(3, 5)]),
            [range(0, 6), range(8, 9)]
        );
    }

    proptest! {
        #[test]
        fn subtraction_keeps_exactly_the_addresses_outside_the_hole(
            (start, end) in (0u64..40, 0u64..40), (hole_start, hole_end) in (0u64..40, 0u64..40),
        ) {
            prop_assume!(hole_start <= hole_end);
            let left = merged(parts(range(start, end), range(hole_start, hole_end)));
            for address in 0..40 {
                let expected = (start..end).contains(&address) && !(hole_start..hole_end).contains(&address);
                let kept = left.iter().any(|r| (r.start..r.end).contains(&address));
                prop_assert_eq!(kept, expected, "address {}", address);
            }
        }
    }
}
