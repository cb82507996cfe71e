//! Quantiles of any number of values in bounded memory: exact at first, then within half a percent.

/// Values kept as they are before they become a histogram.
const EXACT: usize = 1 << 16;

/// Buckets for each power of two: the width of a bucket is at most 1/128 of its value.
const BUCKETS_BITS: u32 = 7;

/// A growing set of values.
#[derive(Debug, Default)]
pub struct Samples {
    exact: Vec<u64>,
    buckets: Vec<u64>,
    count: u64,
    min: u64,
    max: u64,
}

impl Samples {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        if !self.buckets.is_empty() {
            self.buckets[bucket_of(value)] += 1;
            return;
        }
        self.exact.push(value);
        if self.exact.len() > EXACT {
            self.buckets = vec![0; bucket_of(u64::MAX) + 1];
            for value in std::mem::take(&mut self.exact) {
                self.buckets[bucket_of(value)] += 1;
            }
        }
    }

    /// The smallest value, if any.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The largest value, if any.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The middle value, of an even number the mean of the middle two, rounded down, as in a record; if there is any.
    pub fn median(&self) -> Option<u64> {
        let lower = self.at_rank(self.count.div_ceil(2))?;
        Some(u64::midpoint(lower, self.at_rank(self.count / 2 + 1)?))
    }

    /// The value that `percent` of all values do not exceed (nearest rank), if any.
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        self.at_rank(self.count.checked_mul(percent)?.div_ceil(100))
    }

    /// The value at a place of the sorted ones, which are counted from one.
    fn at_rank(&self, rank: u64) -> Option<u64> {
        if self.buckets.is_empty() {
            let mut sorted = self.exact.clone();
            sorted.sort_unstable();
            return sorted.get(usize::try_from(rank.checked_sub(1)?).ok()?).copied();
        }
        let mut seen = 0;
        for (index, count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(middle_of(index).clamp(self.min, self.max));
            }
        }
        None
    }
}

/// Below 2^BITS every value has its bucket; above, each power of two has 2^BITS of them.
fn bucket_of(value: u64) -> usize {
    let exponent = (u64::BITS - value.leading_zeros()).saturating_sub(BUCKETS_BITS + 1);
    let mantissa = value >> exponent;
    usize::try_from((u64::from(exponent) << BUCKETS_BITS) + mantissa).unwrap_or(usize::MAX)
}

/// The middle of a bucket.
fn middle_of(index: usize) -> u64 {
    let index = u64::try_from(index).unwrap_or(u64::MAX);
    if index < 2 << BUCKETS_BITS {
        return index;
    }
    let exponent = (index >> BUCKETS_BITS) - 1;
    let mantissa = index - (exponent << BUCKETS_BITS);
    (mantissa << exponent) + ((1 << exponent) >> 1)
}

#[cfg(test)]
mod tests {
    use hsa_replay_contract::record::TimeNs;

    use super::*;

    #[test]
    fn few_values_are_exact() {
        let mut samples = Samples::default();
        assert_eq!(
            (samples.min(), samples.median(), samples.percentile(95), samples.max()),
            (None, None, None, None)
        );
        for value in [9, 1, 5, 7] {
            samples.add(value);
        }
        assert_eq!((samples.min(), samples.median(), samples.max()), (Some(1), Some(6), Some(9)));
        assert_eq!(samples.percentile(95), Some(9));
    }

    #[test]
    fn the_median_is_that_of_a_record() {
        for values in [&[][..], &[7], &[4, 1], &[9, 1, 5], &[4, 1, 9, 8], &[u64::MAX, u64::MAX]] {
            let mut samples = Samples::default();
            values.iter().for_each(|&value| samples.add(value));
            let expected = TimeNs::of(values.iter().copied()).map(|time| time.median);
            assert_eq!(samples.median(), expected, "{values:?}");
        }
    }

    #[test]
    fn many_values_are_within_half_a_percent_in_bounded_memory() {
        let mut samples = Samples::default();
        for value in 0..1_000_000 {
            samples.add(value * 1000);
        }
        for (found, expected) in [(samples.median(), 500_000_000_i64), (samples.percentile(95), 950_000_000)]
        {
            let found = i64::try_from(found.expect("value")).expect("small");
            assert!((found - expected).abs() * 200 < expected, "{found}");
        }
        assert_eq!((samples.min(), samples.max()), (Some(0), Some(999_999_000)));
        assert!(samples.exact.capacity() == 0 && samples.buckets.len() < 10_000);
    }

    #[test]
    fn each_bucket_holds_its_own_middle() {
        for index in 0..=bucket_of(u64::MAX) {
            assert_eq!(bucket_of(middle_of(index)), index);
        }
    }
}
