//! Parsing of single values. Each error completes the sentence "the value …".

use std::num::NonZeroU16;
use std::str::FromStr;
use std::time::Duration;

use crate::KernelFilter;
use crate::record::Allow;

/// The longest time accepted: beyond it, waiting for ever is what is meant, and that is not offered.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// Parses a number of passes, 1 to 65535.
pub fn passes(text: &str) -> Result<NonZeroU16, String> {
    whole(text).ok_or_else(|| "must be a whole number from 1 to 65535".to_owned())
}

/// Parses a whole number from 0.
pub fn count(text: &str) -> Result<u64, String> {
    whole(text).ok_or_else(|| format!("must be a whole number from 0 to {}", u64::MAX))
}

/// A number of digits alone; `parse` takes a sign as well.
fn whole<T: FromStr>(text: &str) -> Option<T> {
    let text = text.trim();
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Parses on or off.
pub fn switch(text: &str) -> Result<bool, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Ok(true),
        "0" | "false" | "no" | "off" => Ok(false),
        _ => Err("must be one of 1, true, yes, on, 0, false, no, off".to_owned()),
    }
}

/// Parses a number of bytes; `K`, `M`, `G` and `T` (also `KiB` or `KB`, any case) are powers of 1024, and the
/// number may have a fraction.
pub fn size(text: &str) -> Result<u64, String> {
    const WANTED: &str = "must be a number of bytes above 0, which K, M, G or T may follow (512M, 1.5G)";
    let (number, unit) = split_unit(text);
    let unit = unit.to_ascii_lowercase();
    let shift = match unit.strip_suffix("ib").or_else(|| unit.strip_suffix('b')).unwrap_or(&unit) {
        "" if !unit.ends_with("ib") => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(WANTED.to_owned()),
    };
    let bytes = if let Ok(whole) = number.parse::<u64>() {
        whole.checked_mul(1 << shift)
    } else {
        // A fraction of a unit: the value is below 2^64 and loses nothing that matters.
        Some(decimal(number).ok_or(WANTED)? * f64::from(1_u32 << (shift / 2)).powi(2))
            .filter(|bytes| (1.0..9.0e18).contains(bytes))
            .and_then(|bytes| format!("{bytes:.0}").parse().ok())
    };
    bytes.filter(|&bytes| bytes > 0).ok_or_else(|| WANTED.to_owned())
}

/// Parses a length of time above zero: seconds, or a number followed by `ms`, `s`, `m` or `h`.
pub fn duration(text: &str) -> Result<Duration, String> {
    const WANTED: &str = "must be a time above 0 in seconds, or with ms, s, m or h (90, 1.5, 500ms, 2m)";
    let (number, unit) = split_unit(text);
    let scale = match unit.to_ascii_lowercase().as_str() {
        "ms" => 1e-3,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(WANTED.to_owned()),
    };
    decimal(number)
        .and_then(|number| Duration::try_from_secs_f64(number * scale).ok())
        .filter(|time| !time.is_zero() && *time <= LONGEST)
        .ok_or_else(|| WANTED.to_owned())
}

/// Parses kinds separated by commas; ascending, without repetition.
pub fn kinds(text: &str) -> Result<Vec<Allow>, String> {
    let mut kinds = text
        .split(',')
        .map(str::trim)
        .map(|name| {
            Allow::ALL.into_iter().find(|kind| kind.name() == name).ok_or_else(|| {
                let known = Allow::ALL.map(Allow::name).join(", ");
                let nothing = if name.is_empty() { ", without a comma too many" } else { "" };
                format!("must name kinds out of {known}{nothing}")
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    kinds.sort_unstable();
    kinds.dedup();
    Ok(kinds)
}

/// Parses the expression of a filter. An empty one would match every name, and not survive as a variable.
pub fn expression(text: &str) -> Result<KernelFilter, String> {
    if text.is_empty() {
        return Err(
            "must not be empty: .* is every name, those of HIP's own copies and fills as well".to_owned()
        );
    }
    KernelFilter::new(text)
}

/// The levels of a log filter.
pub const LOG_LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Checks a log filter: directives separated by commas, each a level or `target=level`; without the blanks between them.
pub fn log_filter(text: &str) -> Result<String, String> {
    let is_level = |word: &str| LOG_LEVELS.iter().any(|known| known.eq_ignore_ascii_case(word));
    let directives = text.split(',').map(|directive| match directive.split_once('=') {
        None if is_level(directive.trim()) => Ok(directive.trim().to_owned()),
        // For `tracing` a word that is no level is a target, of which nothing comes.
        None => Err(level_meant(directive.trim())),
        Some((target, level)) if !target.trim().is_empty() && is_level(level.trim()) => {
            Ok(format!("{}={}", target.trim(), level.trim()))
        }
        Some(_) => Err(None),
    });
    directives.collect::<Result<Vec<String>, _>>().map(|directives| directives.join(",")).map_err(|meant| {
        let levels = LOG_LEVELS.join(", ");
        let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
        format!("must be levels ({levels}) or target=level pairs, separated by commas{meant}")
    })
}

/// What a word that is no level may have been meant as.
fn level_meant(word: &str) -> Option<String> {
    Some(match word.to_ascii_lowercase().as_str() {
        "" => return None,
        "warning" | "warnings" => "warn".to_owned(),
        "err" | "errors" | "fatal" => "error".to_owned(),
        "all" | "on" | "verbose" => "trace".to_owned(),
        "none" => "off".to_owned(),
        _ => format!("{word}=trace"),
    })
}

/// The number in front and the unit behind it.
fn split_unit(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

/// A decimal number of digits and at most one point: no sign, exponent, infinity or NaN.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.parse().ok().filter(|number: &f64| plain && number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_are_1_to_65535() {
        assert_eq!(passes("1").map(NonZeroU16::get), Ok(1));
        assert_eq!(passes(" 65535 ").map(NonZeroU16::get), Ok(65535));
        for bad in ["0", "65536", "-1", "", " ", "+2", "- 2", "1_0", "1 0", "٣", "two", "1.5", "0x10"] {
            assert!(passes(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn counts_are_digits() {
        assert_eq!(count("0"), Ok(0));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for bad in ["", " ", "+1", "-0", "1e3", "18446744073709551616", "1,000"] {
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_take_binary_units() {
        for (text, bytes) in [
            ("1", 1),
            ("4096", 4096),
            ("1K", 1024),
            ("3k", 3072),
            ("512M", 512 << 20),
            ("2G", 2 << 30),
            ("1T", 1 << 40),
            ("1.5G", 3 << 29),
            ("2 GiB", 2 << 30),
            ("10kb", 10_240),
            ("7B", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in [
            "",
            " ",
            "+1G",
            "+ 1",
            "1 + G",
            "0",
            "G",
            "-1G",
            "1X",
            "1iB",
            "17179869184G",
            "1e3",
            "1..5G",
            ".",
            "0.1",
            "nan",
        ] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations_are_seconds_unless_a_unit_says_otherwise() {
        for (text, millis) in
            [("60", 60_000), ("1.5", 1500), ("500ms", 500), ("2m", 120_000), ("1h", 3_600_000), ("3 s", 3000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", " ", "+1", "+", "s", "0", "-1", "inf", "nan", "1e9", "5 days", "99999999999", "1us"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn kinds_are_a_closed_list() {
        assert_eq!(kinds("hostcall, untracked,hostcall"), Ok(vec![Allow::Untracked, Allow::Hostcall]));
        for bad in ["", ",", "hostcall,", ",hostcall", "hostcall,,untracked", " ", "Hostcall"] {
            let problem = kinds(bad).expect_err(bad);
            assert!(problem.starts_with("must name kinds out of"), "{problem}");
        }
        let problem = kinds("everything").expect_err("not a kind");
        assert_eq!(problem, "must name kinds out of untracked, hostcall, cooperative, collective");
    }

    #[test]
    fn log_filters_are_levels_or_pairs() {
        for good in ["info", "hsa_replay=debug,warn", "a::b=Trace", "OFF"] {
            assert_eq!(log_filter(good).as_deref(), Ok(good));
        }
        assert_eq!(
            log_filter(" info, hsa_replay_engine = debug").as_deref(),
            Ok("info,hsa_replay_engine=debug")
        );
        for bad in ["hsa_replay=loud", "info,,warn", "info,", ",", " ", "a=", "=", ""] {
            let problem = log_filter(bad).expect_err(bad);
            assert!(!problem.contains("did you mean"), "{problem}");
        }
        for (bad, meant) in
            [("warning", "warn"), ("all", "trace"), ("info,hsa_replay_engine", "hsa_replay_engine=trace")]
        {
            let problem = log_filter(bad).expect_err(bad);
            assert!(problem.ends_with(&format!("; did you mean {meant}?")), "{problem}");
        }
    }

    #[test]
    fn switches_take_the_usual_words() {
        assert_eq!(switch("ON"), Ok(true));
        assert_eq!(switch("0"), Ok(false));
        assert!(switch("maybe").is_err());
    }
}
