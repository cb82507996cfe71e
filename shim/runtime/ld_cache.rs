//! The dynamic loader's cache, `/etc/ld.so.cache`: where a name without a folder would be found.
//!
//! A bare name cannot be given to `dlopen`, since the loader compares it with the names of mapped libraries and would
//! hand back this very one. The format is that of glibc's `elf/dl-cache.h` and `sysdeps/generic/dl-cache.h` (`struct
//! cache_file_new`, version 1.1).

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
const HEADER_BYTES: usize = 48;
const ENTRY_BYTES: usize = 24;
/// `FLAG_X8664_LIB64 | FLAG_ELF_LIBC6`, the two low bytes of an entry's flags.
const X86_64: u32 = 0x0303;

/// Paths that the cache has for these names, in the order of the names.
pub fn runtimes(names: &[&str]) -> Vec<PathBuf> {
    let Ok(data) = std::fs::read("/etc/ld.so.cache") else { return Vec::new() };
    names.iter().flat_map(|name| look_up(&data, name)).collect()
}

fn look_up(data: &[u8], name: &str) -> Vec<PathBuf> {
    // An older table may stand in front; offsets count from the start of the new one.
    let Some(start) = data.windows(MAGIC.len()).position(|window| window == MAGIC) else { return Vec::new() };
    let cache = &data[start..];
    let Some(entries) = word(cache, MAGIC.len()) else { return Vec::new() };
    let fits = cache.len().saturating_sub(HEADER_BYTES) / ENTRY_BYTES;
    (0..index(entries).min(fits))
        .map(|entry| HEADER_BYTES + entry * ENTRY_BYTES)
        .filter(|&entry| word(cache, entry).is_some_and(|flags| flags & 0xffff == X86_64))
        .filter(|&entry| text(cache, entry + 4).is_some_and(|key| key.to_bytes() == name.as_bytes()))
        .filter_map(|entry| Some(PathBuf::from(OsStr::from_bytes(text(cache, entry + 8)?.to_bytes()))))
        .collect()
}

fn index(word: u32) -> usize {
    usize::try_from(word).unwrap_or(usize::MAX)
}

fn word(cache: &[u8], offset: usize) -> Option<u32> {
    let bytes = cache.get(offset..offset.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}

/// The string that the word at `offset` leads to.
fn text(cache: &[u8], offset: usize) -> Option<&CStr> {
    CStr::from_bytes_until_nul(cache.get(index(word(cache, offset)?)..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(entries: &[(u32, &str, &str)]) -> Vec<u8> {
        let mut data = MAGIC.to_vec();
        data.extend(u32::try_from(entries.len()).expect("few entries").to_le_bytes());
        data.resize(HEADER_BYTES, 0);
        let mut strings: Vec<u8> = Vec::new();
        for (flags, key, value) in entries {
            let mut place = |text: &str| {
                let offset = HEADER_BYTES + entries.len() * ENTRY_BYTES + strings.len();
                strings.extend(text.bytes().chain([0]));
                u32::try_from(offset).expect("a small table")
            };
            for word in [*flags, place(key), place(value), 0, 0, 0] {
                data.extend(word.to_le_bytes());
            }
        }
        data.extend(strings);
        data
    }

    #[test]
    fn finds_a_library_of_this_machine_behind_an_older_table() {
        let mut data = b"ld.so-1.7.0 and what follows it ".to_vec();
        data.extend(cache(&[
            (0x0003, "libhsa-runtime64.so.1", "/lib32/libhsa-runtime64.so.1"),
            (X86_64, "libother.so.1", "/lib/libother.so.1"),
            (X86_64, "libhsa-runtime64.so.1", "/rocm/lib/libhsa-runtime64.so.1"),
        ]));
        assert_eq!(
            look_up(&data, "libhsa-runtime64.so.1"),
            [PathBuf::from("/rocm/lib/libhsa-runtime64.so.1")]
        );
    }

    #[test]
    fn a_damaged_cache_has_nothing() {
        let whole = cache(&[(X86_64, "libhsa-runtime64.so.1", "/rocm/lib/libhsa-runtime64.so.1")]);
        for length in 0..whole.len() {
            assert!(look_up(&whole[..length], "libhsa-runtime64.so.1").is_empty(), "cut to {length} bytes");
        }
    }
}
