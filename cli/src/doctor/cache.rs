//! The dynamic loader's cache, `/etc/ld.so.cache` (glibc `sysdeps/generic/dl-cache.h`, `struct cache_file_new` of version 1.1).

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER: usize = 48;
const ENTRY: usize = 24;
/// `FLAG_X8664_LIB64 | FLAG_ELF_LIBC6`.
const X86_64: u32 = 0x0303;

/// The cache's bytes, from the table of the new format on.
#[derive(Debug, Default)]
pub struct Cache {
    bytes: Vec<u8>,
}

impl Cache {
    /// Reads the machine's cache; empty where there is none.
    pub fn read() -> Self {
        let bytes = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
        // A table of the old format may stand in front; offsets count from the new one.
        let start = memchr::memmem::find(&bytes, MAGIC).unwrap_or(bytes.len());
        Self { bytes: bytes[start..].to_vec() }
    }

    /// The files that the cache has for `name`.
    pub fn look_up(&self, name: &str) -> Vec<PathBuf> {
        let entries = self.word(MAGIC.len()).and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        (0..entries)
            .map(|entry| HEADER + entry * ENTRY)
            .map_while(|at| Some((at, self.word(at)?)))
            .filter(|&(at, flags)| flags & 0xffff == X86_64 && self.text(at + 4) == Some(name.as_bytes()))
            .filter_map(|(at, _)| Some(PathBuf::from(OsStr::from_bytes(self.text(at + 8)?))))
            .collect()
    }

    fn word(&self, at: usize) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
    }

    /// The string that the word at `at` leads to.
    fn text(&self, at: usize) -> Option<&[u8]> {
        let start = usize::try_from(self.word(at)?).ok()?;
        Some(CStr::from_bytes_until_nul(self.bytes.get(start..)?).ok()?.to_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_cache_knows_the_c_library() {
        let found = Cache::read().look_up("libc.so.6");
        assert!(found.iter().any(|path| path.exists()), "{found:?}");
    }

    #[test]
    fn a_cut_off_cache_ends_early() {
        let whole = Cache::read();
        for length in [0, 5, 30, HEADER, HEADER + 10, whole.bytes.len() / 2] {
            let cut = Cache { bytes: whole.bytes[..length.min(whole.bytes.len())].to_vec() };
            let _ends = cut.look_up("libc.so.6");
        }
    }
}
