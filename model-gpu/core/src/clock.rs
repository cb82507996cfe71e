//! Clocks: the constant-rate counter of the device and the host's, read together.

/// Rate of the device's constant clock, in hertz (`s_memrealtime`, signal timestamps, SDMA timestamps).
pub const TICKS_PER_SECOND: u64 = 100_000_000;

/// Nanoseconds in one tick.
const NANOSECONDS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_SECOND;

/// Nanoseconds of the host's raw monotonic clock, which no time daemon slews.
#[must_use]
pub fn nanoseconds() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Nanoseconds of the host's boot-time clock, which the driver reports as the system clock.
#[must_use]
pub fn system_nanoseconds() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// The device's constant clock, in ticks of 10 ns.
#[must_use]
pub fn ticks() -> u64 {
    nanoseconds() / NANOSECONDS_PER_TICK
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours; both clocks exist on every Linux that has memfd_create.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let rest = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_ten_nanoseconds_and_never_go_back() {
        let (before, tick, after) = (nanoseconds(), ticks(), nanoseconds());
        assert!(before / 10 <= tick && tick <= after / 10);
    }
}
