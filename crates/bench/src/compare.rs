//! Computes ratios with their spread from the numbers of the blocks, and the verdict on a bound.

use serde::Serialize;

use crate::case::Bound;

/// A median, its 95 % interval by ranks, and the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) median: f64,
    pub(crate) interval: (f64, f64),
    pub(crate) min: f64,
    pub(crate) max: f64,
}

/// The verdict of a bound on a ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum BoundVerdict {
    /// The whole interval keeps the bound.
    Shown,
    /// The median keeps the bound.
    Kept,
    /// The median does not keep the bound, but the interval reaches it: no significant difference.
    Open,
    /// The whole interval is beyond the bound.
    Missed,
}

impl Spread {
    /// The spread of `values`; `None` when there are none or one is not a number.
    ///
    /// Median interval by ranks: floor((n - 1.96 sqrt n) / 2) and ceil(1 + (n + 1.96 sqrt n) / 2),
    /// counted from 1 and kept within the sample (Hoefler and Belli, SC'15, rule 5; Le Boudec).
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        let n = sorted.len();
        let reach = 1.96 * (n as f64).sqrt();
        let low = (((n as f64 - reach) / 2.0).floor().max(1.0) as usize) - 1;
        let high = ((1.0 + f64::midpoint(n as f64, reach)).ceil() as usize).min(n) - 1;
        let median = f64::midpoint(sorted[(n - 1) / 2], sorted[n / 2]);
        (min.is_finite() && max.is_finite()).then_some(Self {
            median,
            interval: (sorted[low], sorted[high]),
            min,
            max,
        })
    }

    /// Judges a ratio, a number or a difference by its bound.
    pub(crate) fn verdict(&self, bound: Bound) -> BoundVerdict {
        let (worst, middle, best, limit) = match bound {
            Bound::Alike => return self.likeness(),
            Bound::AtLeast(limit) | Bound::Reaches(limit) => {
                (self.interval.0, self.median, self.interval.1, limit)
            }
            Bound::AtMost(limit) | Bound::Adds(limit) => {
                (-self.interval.1, -self.median, -self.interval.0, -limit)
            }
        };
        match limit {
            _ if worst >= limit => BoundVerdict::Shown,
            _ if middle >= limit => BoundVerdict::Kept,
            _ if best >= limit => BoundVerdict::Open,
            _ => BoundVerdict::Missed,
        }
    }
}

impl Spread {
    /// Whether a ratio does not differ significantly from 1.
    fn likeness(&self) -> BoundVerdict {
        match 1.0 {
            one if (self.interval.0..=self.interval.1).contains(&one) => BoundVerdict::Shown,
            one if (self.min..=self.max).contains(&one) => BoundVerdict::Kept,
            _ => BoundVerdict::Missed,
        }
    }
}

/// The difference a-b of each block.
pub(crate) fn differences(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The ratio a/b of each block.
pub(crate) fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_eleven_goes_from_the_second_to_the_tenth() {
        let values: Vec<_> = (1..=11).map(f64::from).collect();
        let spread = Spread::of(&values).unwrap();
        assert_eq!(spread, Spread { median: 6.0, interval: (2.0, 10.0), min: 1.0, max: 11.0 });
    }

    #[test]
    fn verdicts_go_by_interval_then_median() {
        let spread = Spread { median: 1.1, interval: (0.9, 1.3), min: 0.8, max: 1.4 };
        assert_eq!(spread.verdict(Bound::AtLeast(0.85)), BoundVerdict::Shown);
        assert_eq!(spread.verdict(Bound::AtLeast(1.0)), BoundVerdict::Kept);
        assert_eq!(spread.verdict(Bound::AtLeast(1.2)), BoundVerdict::Open);
        assert_eq!(spread.verdict(Bound::AtLeast(1.35)), BoundVerdict::Missed);
        assert_eq!(spread.verdict(Bound::AtMost(1.3)), BoundVerdict::Shown);
        assert_eq!(spread.verdict(Bound::AtMost(1.2)), BoundVerdict::Kept);
        assert_eq!(spread.verdict(Bound::AtMost(1.0)), BoundVerdict::Open);
        assert_eq!(spread.verdict(Bound::AtMost(0.85)), BoundVerdict::Missed);
        assert_eq!(spread.verdict(Bound::Reaches(0.9)), BoundVerdict::Shown);
        assert_eq!(spread.verdict(Bound::Adds(0.85)), BoundVerdict::Missed);
        assert_eq!(spread.verdict(Bound::Alike), BoundVerdict::Shown);
        assert_eq!(
            Spread { interval: (1.05, 1.3), ..spread }.verdict(Bound::Alike),
            BoundVerdict::Kept
        );
        assert_eq!(
            Spread { interval: (1.05, 1.3), min: 1.01, ..spread }.verdict(Bound::Alike),
            BoundVerdict::Missed
        );
    }

    #[test]
    fn nothing_and_not_a_number_have_no_spread() {
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
        assert_eq!(Spread::of(&ratios(&[1.0], &[0.0])), None);
    }

    proptest! {
        #[test]
        fn a_spread_is_ordered(values in prop::collection::vec(0.1f64..10.0, 1..60)) {
            let spread = Spread::of(&values).unwrap();
            prop_assert!(spread.min <= spread.interval.0 && spread.interval.0 <= spread.median);
            prop_assert!(spread.median <= spread.interval.1 && spread.interval.1 <= spread.max);
        }
    }
}
