//! Tests whether background stations were served equally. The paper's were not, which surprised its
//! author.

use btu_stats::{Histogram, KruskalWallis, jain, kruskal_wallis};
use serde::Serialize;

/// Probability below which stations count as different.
const SIGNIFICANT: f64 = 0.01;

/// A mean this much longer than the shortest is a difference that a user may feel: with thousands
/// of transactions the test also finds differences of a few microseconds.
const FELT: f64 = 1.05;

/// The comparison of the stations' transaction times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The longest mean time of a station over the shortest.
    pub longest_over_shortest: f64,
    /// Jain's index over the stations' rates: transactions in the time of one mean transaction.
    pub fairness: f64,
    /// Test of equality; `None` where all times are equal.
    pub equality: Option<KruskalWallis>,
}

impl Spread {
    /// Compares stations by the mean and the distribution of the times of all their transactions,
    /// in seconds and nanoseconds. `None` for fewer than two stations, one without a transaction,
    /// and means that are not positive.
    pub fn of(stations: &[(Option<f64>, &Histogram)]) -> Option<Self> {
        let means: Option<Vec<f64>> = stations.iter().map(|(mean, _)| *mean).collect();
        let means = means.filter(|means| {
            means.len() > 1 && means.iter().all(|mean| mean.is_finite() && *mean > 0.0)
        })?;
        let times: Vec<Vec<f64>> = stations.iter().map(|(_, times)| all_of(times)).collect();
        let shortest = means.iter().copied().fold(f64::INFINITY, f64::min);
        let longest = means.iter().copied().fold(0.0, f64::max);
        let rates: Vec<f64> = means.iter().map(|mean| shortest / mean).collect();
        Some(Self {
            longest_over_shortest: longest / shortest,
            fairness: jain(&rates)?,
            equality: kruskal_wallis(&times),
        })
    }

    /// Whether the stations differ significantly at 1 %, and the slowest takes more than 5 % longer
    /// than the fastest.
    pub fn stations_differ(&self) -> bool {
        self.longest_over_shortest > FELT
            && self.equality.is_some_and(|equality| equality.p_value < SIGNIFICANT)
    }
}

/// Every time that was recorded, to the precision of the histogram.
fn all_of(times: &Histogram) -> Vec<f64> {
    let each = |(time, count): (u64, u64)| std::iter::repeat_n(time as f64, count as usize);
    times.buckets().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use btu_medium::Stream;
    use btu_stats::arithmetic_mean;

    /// Compares stations with these times, in seconds.
    fn compared(stations: &[Vec<f64>]) -> Option<Spread> {
        let recorded = |times: &Vec<f64>| {
            let mut histogram = Histogram::new();
            for seconds in times {
                histogram.record((seconds * 1e9) as u64);
            }
            (arithmetic_mean(times), histogram)
        };
        let recorded: Vec<_> = stations.iter().map(recorded).collect();
        let each: Vec<_> = recorded.iter().map(|(mean, times)| (*mean, times)).collect();
        Spread::of(&each)
    }

    /// Ten stations with 200 exponential times each; one of them is `slower` times as slow.
    fn stations(seed: u64, slower: f64) -> Vec<Vec<f64>> {
        let mut random = Stream::new(seed, "stations");
        let mut times =
            |scale: f64| (0..200).map(|_| -scale * (1.0 - random.share()).ln()).collect();
        (0..10).map(|station| times(if station == 3 { slower } else { 1.0 })).collect()
    }

    #[test]
    fn equal_stations_are_judged_equal_and_a_throttled_one_is_found() {
        let equal = compared(&stations(1, 1.0)).unwrap();
        assert!(!equal.stations_differ(), "{equal:?}");
        assert!(equal.fairness > 0.99, "{equal:?}");
        let throttled = compared(&stations(1, 3.0)).unwrap();
        assert!(throttled.stations_differ(), "{throttled:?}");
        assert!(throttled.longest_over_shortest > 2.5, "{throttled:?}");
    }

    /// Times that differ by a thousandth and hardly scatter: the difference is significant, but no
    /// user notices it.
    #[test]
    fn what_nobody_feels_is_no_difference() {
        let station =
            |mean: f64| (0..200).map(|place| mean + f64::from(place) * 1e-6).collect::<Vec<_>>();
        let spread = compared(&[station(1.0), station(1.001)]).unwrap();
        assert!(spread.equality.unwrap().p_value < 1e-6 && !spread.stations_differ(), "{spread:?}");
    }

    /// Two stations, one twice as fast: rates 1 and 1/2, fairness 1.5² / (2 x 1.25) = 0.9.
    #[test]
    fn fairness_by_hand() {
        let spread = compared(&[vec![1.0, 1.0], vec![2.0, 2.0]]).unwrap();
        assert!((spread.fairness - 0.9).abs() < 1e-12, "{spread:?}");
        assert!((spread.longest_over_shortest - 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be_compared_has_no_spread() {
        assert_eq!(compared(&[vec![1.0]]), None);
        assert_eq!(compared(&[vec![1.0], vec![]]), None);
        assert_eq!(compared(&[vec![1.0], vec![f64::INFINITY]]), None);
    }
}
