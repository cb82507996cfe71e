//! Numbers and names for people: times, sizes, counts, signals.

use hsa_replay_contract::record::MemoryClass;
pub use hsa_replay_contract::text::shorten;

/// A time, with three digits that matter.
pub fn time(ns: u64) -> String {
    scaled(ns, &[("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)])
}

/// A size in bytes, in powers of 1024.
pub fn size(bytes: u64) -> String {
    scaled(bytes, &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)])
}

/// `value` in the largest unit that it fills, whole in the first.
fn scaled(value: u64, units: &[(&str, u64)]) -> String {
    let (unit, one) =
        units.iter().rev().find(|(_, one)| value >= *one).or(units.first()).copied().unwrap_or(("", 1));
    let whole = value / one;
    if one == 1 {
        return format!("{value} {unit}");
    }
    // Rounded in integers; a carry into the next digit needs no special case.
    let digits: u32 = match whole {
        0..10 => 2,
        10..100 => 1,
        _ => 0,
    };
    let scale = 10_u128.pow(digits);
    let rounded = (u128::from(value) * scale + u128::from(one) / 2) / u128::from(one);
    if digits == 0 {
        return format!("{rounded} {unit}");
    }
    let (whole, fraction) = (rounded / scale, rounded % scale);
    format!("{whole}.{fraction:0width$} {unit}", width = digits as usize)
}

/// What memory of a class is called: `device memory`, `virtual memory`.
pub fn memory(class: MemoryClass) -> String {
    let name = class.name().replace('_', " ");
    if name.ends_with("memory") { name } else { name + " memory" }
}

/// A number and its noun: `1 line`, `2 lines`, `2 dispatches`.
pub fn counted(count: u64, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with("ss") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// The usual name of a signal, in brackets behind a space; empty where it is not well known.
pub fn signal_name(signal: i32) -> &'static str {
    match signal {
        libc::SIGHUP => " (SIGHUP)",
        libc::SIGINT => " (SIGINT)",
        libc::SIGQUIT => " (SIGQUIT)",
        libc::SIGILL => " (SIGILL)",
        libc::SIGTRAP => " (SIGTRAP)",
        libc::SIGABRT => " (SIGABRT)",
        libc::SIGBUS => " (SIGBUS)",
        libc::SIGFPE => " (SIGFPE)",
        libc::SIGKILL => " (SIGKILL)",
        libc::SIGUSR1 => " (SIGUSR1)",
        libc::SIGUSR2 => " (SIGUSR2)",
        libc::SIGSEGV => " (SIGSEGV)",
        libc::SIGPIPE => " (SIGPIPE)",
        libc::SIGALRM => " (SIGALRM)",
        libc::SIGTERM => " (SIGTERM)",
        libc::SIGSTKFLT => " (SIGSTKFLT)",
        libc::SIGXCPU => " (SIGXCPU, the limit on processor time)",
        libc::SIGXFSZ => " (SIGXFSZ, the limit on the size of files)",
        libc::SIGVTALRM => " (SIGVTALRM)",
        libc::SIGPROF => " (SIGPROF)",
        libc::SIGIO => " (SIGIO)",
        libc::SIGPWR => " (SIGPWR)",
        libc::SIGSYS => " (SIGSYS)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signal_that_ends_a_program_by_default_has_a_name() {
        // These stop, continue or are ignored (signal(7)).
        let others = [
            libc::SIGCHLD,
            libc::SIGCONT,
            libc::SIGSTOP,
            libc::SIGTSTP,
            libc::SIGTTIN,
            libc::SIGTTOU,
            libc::SIGURG,
            libc::SIGWINCH,
        ];
        for signal in (1..32).filter(|signal| !others.contains(signal)) {
            assert!(signal_name(signal).starts_with(" (SIG"), "{signal}");
        }
    }

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (ns, shown) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (8_050, "8.05 µs"),
            (12_345, "12.3 µs"),
            (999_499, "999 µs"),
            (1_250_000, "1.25 ms"),
            (3_200_000_000, "3.20 s"),
            (7_200_000_000_000, "7200 s"),
        ] {
            assert_eq!(time(ns), shown);
        }
        assert!(time(u64::MAX).ends_with(" s"));
    }

    #[test]
    fn memory_of_every_class_is_called_memory_once() {
        for class in MemoryClass::ALL {
            let name = memory(class);
            assert!(name.ends_with(" memory") && name.matches("memory").count() == 1, "{name}");
        }
        assert_eq!(memory(MemoryClass::VirtualMemory), "virtual memory");
        assert_eq!(memory(MemoryClass::FineGrained), "fine grained memory");
    }

    #[test]
    fn sizes_are_powers_of_1024() {
        for (bytes, shown) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (4092, "4.00 KiB"), (5 << 29, "2.50 GiB")]
        {
            assert_eq!(size(bytes), shown);
        }
        assert_eq!(size(u64::MAX), "16777216 TiB");
    }

    #[test]
    fn nouns_agree_with_their_numbers() {
        assert_eq!(counted(1, "dispatch"), "1 dispatch");
        assert_eq!(counted(2, "dispatch"), "2 dispatches");
        assert_eq!(counted(0, "line"), "0 lines");
    }
}
