//! The placeholders in names of reports and logs: `{pid}`, `{host}` and `{time}`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `template` with each `{pid}` replaced by the number.
pub fn expand_pid(template: &Path, pid: u32) -> PathBuf {
    replace(template, b"{pid}", || pid.to_string().into_bytes())
}

/// `template` with each `{host}` replaced by this machine's name, and each `{time}` by the time: `20261130T081827Z`.
pub fn expand_origin(template: &Path) -> PathBuf {
    let time = || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        in_utc(now.as_secs()).into_bytes()
    };
    replace(&replace(template, b"{host}", host), b"{time}", time)
}

fn replace(template: &Path, placeholder: &[u8], value: impl FnOnce() -> Vec<u8>) -> PathBuf {
    let mut rest = template.as_os_str().as_bytes();
    let next = |bytes: &[u8]| bytes.windows(placeholder.len()).position(|window| window == placeholder);
    let Some(mut at) = next(rest) else { return template.to_owned() };
    let value = value();
    let mut name = Vec::with_capacity(rest.len() + value.len());
    loop {
        name.extend_from_slice(&rest[..at]);
        name.extend_from_slice(&value);
        rest = &rest[at + placeholder.len()..];
        match next(rest) {
            Some(found) => at = found,
            None => break,
        }
    }
    name.extend_from_slice(rest);
    OsString::from_vec(name).into()
}

/// The machine's name, which is the container's in a container. What has no place in a file's name, or is a placeholder's, becomes `_`.
fn host() -> Vec<u8> {
    let uname = rustix::system::uname();
    let name = uname.nodename().to_bytes();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    name.iter().map(|&byte| if plain(byte) { byte } else { b'_' }).collect()
}

/// Seconds since 1970 in the basic format of ISO 8601.
fn in_utc(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of the year 0, in eras of 400 years: the leap day is a year's last.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + u64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}T{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60)
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

    #[test]
    fn host_and_time_are_those_of_this_machine_and_the_number_stays_to_be_replaced() {
        let name =
            expand_origin(Path::new("{host}.{time}.{pid}")).into_os_string().into_string().expect("text");
        let rest = name.strip_prefix(std::str::from_utf8(&host()).expect("text")).expect("host");
        let time = rest.strip_prefix('.').and_then(|rest| rest.strip_suffix(".{pid}")).expect("time");
        assert!(time.len() == 16 && time.starts_with("20") && time.ends_with('Z'), "{time}");
    }

    /// Checked with date(1).
    #[test]
    fn times_are_dates_in_utc() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_782_399, "20000228T235959Z"),
            (951_782_400, "20000229T000000Z"),
            (951_868_800, "20000301T000000Z"),
            (1_796_026_707, "20261130T081827Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(in_utc(seconds), text);
        }
    }
}
