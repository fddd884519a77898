//! A distribution of times, recorded without allocation and stored as its non-empty buckets.

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Highest value that is told apart: one minute in nanoseconds; longer values count as this one.
const HIGHEST: u64 = 60_000_000_000;

/// A distribution of nanoseconds with three significant digits (relative error of a quantile at most 0.1 %).
///
/// Recording is a few instructions and never allocates; the whole takes about 200 kB.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram(Hdr<u64>);

impl Histogram {
    /// An empty distribution.
    pub fn new() -> Self {
        Self::reaching(HIGHEST)
    }

    /// An empty distribution that tells values apart up to `highest` nanoseconds; longer values count as this one. Only
    /// distributions that reach as far can be merged.
    #[expect(clippy::missing_panics_doc, reason = "the bounds are such as the library accepts")]
    pub fn reaching(highest: u64) -> Self {
        Self(Hdr::new_with_bounds(1, highest.max(2), 3).expect("the highest is at least twice the lowest"))
    }

    /// Counts one value; zero counts as 1 ns, more than a minute as a minute.
    pub fn record(&mut self, nanoseconds: u64) {
        self.0.saturating_record(nanoseconds.max(1));
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// The value below or at which the share `quantile` (0 to 1) of all values lies; `None` when empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(quantile))
    }

    /// The arithmetic mean in nanoseconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.mean())
    }

    /// The smallest value; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.min())
    }

    /// The largest value; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        (!self.0.is_empty()).then(|| self.0.max())
    }

    /// Adds every value of `other`, which reaches no further.
    #[expect(clippy::missing_panics_doc, reason = "nothing of what reaches no further can fall outside")]
    pub fn merge(&mut self, other: &Self) {
        self.0.add(&other.0).expect("the other reaches no further");
    }

    /// The non-empty buckets: (highest value in ns that falls into it, count), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter_recorded().map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Histogram {
    /// A list of `[nanoseconds, count]` pairs.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let pairs = Vec::<(u64, u64)>::deserialize(deserializer)?;
        let mut histogram = Self::new();
        for (value, count) in pairs {
            histogram.0.saturating_record_n(value.max(1), count);
        }
        Ok(histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn merging_equals_recording_everything(a in prop::collection::vec(0u64..1_000_000_000, 0..50),
                                               b in prop::collection::vec(0u64..1_000_000_000, 0..50)) {
            let record = |values: &[u64]| {
                let mut histogram = Histogram::new();
                for &value in values {
                    histogram.record(value);
                }
                histogram
            };
            let mut merged = record(&a);
            merged.merge(&record(&b));
            prop_assert_eq!(merged, record(&[a, b].concat()));
        }

        #[test]
        fn a_quantile_is_within_a_thousandth(value in 1u64..HIGHEST) {
            let mut histogram = Histogram::new();
            histogram.record(value);
            let median = histogram.quantile(0.5).unwrap() as f64;
            prop_assert!((median / value as f64 - 1.0).abs() <= 0.001);
        }
    }
}
