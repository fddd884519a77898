//! A distribution of times, recorded without allocation and stored as its non-empty buckets.

mod packed;

use std::borrow::Cow;

use hdrhistogram::Histogram as Hdr;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use packed::Packed;

/// Highest value with its own bucket: one minute in nanoseconds; longer values count as this one.
const HIGHEST: u64 = 60_000_000_000;

/// The highest value of the last bucket, which also counts all higher values.
const LAST: u64 = HIGHEST.next_power_of_two() - 1;

/// A distribution of nanoseconds with three significant digits (relative error of a quantile at
/// most 0.1 %).
///
/// Recording is a few instructions and never allocates. While it is recorded to, the whole takes
/// about 200 kB; one that was read takes what its non-empty buckets take, since thousands of those
/// are held at a time.
#[derive(Debug, Clone)]
pub struct Histogram {
    /// A count for every bucket, once something was recorded.
    recorded: Option<Hdr<u64>>,
    /// The values that were read, until then: values up to [`LAST`] and their counts.
    read: Packed,
}

impl Histogram {
    /// An empty distribution of values up to one minute; longer values count as one minute.
    pub fn new() -> Self {
        Self::reaching(HIGHEST)
    }

    /// An empty distribution of values up to `highest` nanoseconds; longer values count as this
    /// one. Only distributions that reach as far can be merged.
    pub fn reaching(highest: u64) -> Self {
        Self { recorded: Some(buckets_up_to(highest)), read: Packed::default() }
    }

    /// Counts one value; zero counts as 1 ns, more than a minute as a minute.
    pub fn record(&mut self, nanoseconds: u64) {
        self.recorded().saturating_record(nanoseconds.max(1));
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        let read = self.read.buckets().fold(0, |sum: u64, (_, count)| sum.saturating_add(count));
        self.recorded.as_ref().map_or(read, Hdr::len)
    }

    /// The value below or at which the share `quantile` (0 to 1) of all values lies; `None` when
    /// empty.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        self.of_any(|all| all.value_at_quantile(quantile))
    }

    /// Like `quantile`, but `None` if there are so few values that the largest of them would have to
    /// stand for it: the 99th percentile takes a hundred values.
    pub fn known_quantile(&self, quantile: f64) -> Option<u64> {
        // A little less than one, because 1 - 0.99 is not a hundredth exactly.
        let beyond = self.count() as f64 * (1.0 - quantile);
        self.quantile(quantile).filter(|_| beyond > 0.999_999)
    }

    /// The arithmetic mean in nanoseconds; `None` when empty.
    pub fn mean(&self) -> Option<f64> {
        self.of_any(Hdr::mean)
    }

    /// The smallest value; `None` when empty.
    pub fn min(&self) -> Option<u64> {
        self.of_any(Hdr::min)
    }

    /// The largest value; `None` when empty.
    pub fn max(&self) -> Option<u64> {
        self.of_any(Hdr::max)
    }

    /// Adds every value of `other`, which reaches no further.
    #[expect(
        clippy::missing_panics_doc,
        reason = "nothing of what reaches no further can fall outside"
    )]
    pub fn merge(&mut self, other: &Self) {
        self.recorded().add(&*other.all()).expect("the other reaches no further");
    }

    /// The non-empty buckets: (highest value in ns that falls into it, count), ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let recorded = self.recorded.iter().flat_map(Hdr::iter_recorded);
        let recorded = recorded
            .map(|bucket| (bucket.value_iterated_to(), bucket.count_since_last_iteration()));
        recorded.chain(self.read.buckets())
    }

    fn of_any<T>(&self, ask: impl FnOnce(&Hdr<u64>) -> T) -> Option<T> {
        (self.count() > 0).then(|| ask(&self.all()))
    }

    /// A count for every bucket.
    fn all(&self) -> Cow<'_, Hdr<u64>> {
        self.recorded.as_ref().map_or_else(|| Cow::Owned(spread(&self.read)), Cow::Borrowed)
    }

    /// Like `all`, to be recorded to.
    fn recorded(&mut self) -> &mut Hdr<u64> {
        let read = std::mem::take(&mut self.read);
        self.recorded.get_or_insert_with(|| spread(&read))
    }
}

fn buckets_up_to(highest: u64) -> Hdr<u64> {
    Hdr::new_with_bounds(1, highest.max(2), 3).expect("the highest is at least twice the lowest")
}

fn spread(read: &Packed) -> Hdr<u64> {
    let mut all = buckets_up_to(HIGHEST);
    for (value, count) in read.buckets() {
        all.saturating_record_n(value, count);
    }
    all
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl PartialEq for Histogram {
    /// Two histograms are equal when they hold the same values, in whatever form.
    fn eq(&self, other: &Self) -> bool {
        self.all() == other.all()
    }
}

impl Serialize for Histogram {
    /// A list of `[nanoseconds, count]` pairs.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.buckets())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    /// Any pairs in any order; values that recording puts into one bucket are in one bucket when
    /// read, too.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut pairs = Vec::<(u64, u64)>::deserialize(deserializer)?;
        pairs.retain(|(_, count)| *count > 0);
        for (value, _) in &mut pairs {
            *value = (*value).clamp(1, LAST);
        }
        pairs.sort_unstable();
        pairs.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                kept.1 = kept.1.saturating_add(later.1);
            }
            is_same
        });
        Ok(Self { recorded: None, read: Packed::of(&pairs) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn b12_a_percentile_of_few_values_is_not_known() {
        let of = |count: u64| {
            let mut histogram = Histogram::new();
            (1..=count).for_each(|value| histogram.record(value * 1000));
            [0.5, 0.9, 0.99, 0.999].map(|quantile| histogram.known_quantile(quantile).is_some())
        };
        assert_eq!(of(1), [false; 4]);
        assert_eq!((of(2), of(9)), ([true, false, false, false], [true, false, false, false]));
        assert_eq!((of(10), of(99)), ([true, true, false, false], [true, true, false, false]));
        assert_eq!((of(100), of(999)), ([true, true, true, false], [true, true, true, false]));
        assert_eq!(of(1000), [true; 4]);
    }

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
        fn what_is_read_says_what_was_recorded(values in prop::collection::vec(0u64..100_000_000_000, 0..50), share in 0.0f64..=1.0) {
            let mut histogram = Histogram::new();
            for value in &values {
                histogram.record(*value);
            }
            let written = serde_json::to_string(&histogram).unwrap();
            let mut read: Histogram = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(&read, &histogram);
            prop_assert_eq!(serde_json::to_string(&read).unwrap(), written);
            prop_assert_eq!((read.count(), read.quantile(share)), (histogram.count(), histogram.quantile(share)));
            prop_assert_eq!((read.min(), read.max(), read.mean()), (histogram.min(), histogram.max(), histogram.mean()));
            histogram.record(7);
            read.record(7);
            prop_assert_eq!(read, histogram);
        }

        #[test]
        fn pairs_that_nobody_wrote_are_taken_as_well(pairs in prop::collection::vec(any::<(u64, u64)>(), 0..20)) {
            let read: Histogram = serde_json::from_str(&serde_json::to_string(&pairs).unwrap()).unwrap();
            let again: Histogram = serde_json::from_str(&serde_json::to_string(&read).unwrap()).unwrap();
            prop_assert_eq!(again.count(), read.count());
            prop_assert_eq!(again.quantile(0.5).is_some(), pairs.iter().any(|(_, count)| *count > 0));
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
