//! Which bytes differ between two states, found one byte at a time.

/// Maximal runs of bytes that differ, as offset and length.
pub fn runs(before: &[u8], after: &[u8]) -> Vec<[u64; 2]> {
    assert_eq!(before.len(), after.len());
    let mut runs: Vec<[u64; 2]> = Vec::new();
    for (offset, _) in before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after) {
        let offset = offset as u64;
        match runs.last_mut() {
            Some([start, length]) if *start + *length == offset => *length += 1,
            _ => runs.push([offset, 1]),
        }
    }
    runs
}
