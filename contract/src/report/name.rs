//! The `{pid}` in names of reports and logs.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const PLACEHOLDER: &[u8] = b"{pid}";

/// `template` with each `{pid}` replaced by the number.
pub fn expand_pid(template: &Path, pid: u32) -> PathBuf {
    let mut rest = template.as_os_str().as_bytes();
    let mut name = Vec::with_capacity(rest.len() + 8);
    while let Some(at) = rest.windows(PLACEHOLDER.len()).position(|window| window == PLACEHOLDER) {
        name.extend_from_slice(&rest[..at]);
        name.extend_from_slice(pid.to_string().as_bytes());
        rest = &rest[at + PLACEHOLDER.len()..];
    }
    name.extend_from_slice(rest);
    OsString::from_vec(name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_placeholder_is_replaced_and_other_bytes_stay() {
        assert_eq!(expand_pid(Path::new("a-{pid}/{pid}.jsonl"), 42), Path::new("a-42/42.jsonl"));
        assert_eq!(expand_pid(Path::new("plain.jsonl"), 42), Path::new("plain.jsonl"));
        assert_eq!(expand_pid(Path::new("{pi{pid}"), 7), Path::new("{pi7"));
        let odd = PathBuf::from(OsString::from_vec(b"\xff{pid}".to_vec()));
        assert_eq!(expand_pid(&odd, 1).as_os_str().as_bytes(), b"\xff1");
    }
}
