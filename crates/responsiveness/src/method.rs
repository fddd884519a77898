//! The method's parameters (draft, section 5.2) and its arithmetic (sections 5.3 and 5.4).

use std::time::Duration;

use btu_stats::{arithmetic_mean, sample_deviation};

use crate::report::{Confidence, Parts, Rpm};

/// Octets that a pair of probes takes on the line, by the draft's estimate: 5000 for a foreign one, 1000
/// for one on a loaded connection.
const PAIR_OCTETS: f64 = 6000.0;

/// The parameters, with the draft's names of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Method {
    /// After each interval the method looks whether the results are stable (ID).
    pub interval: Duration,
    /// Intervals of a moving average, and averages that have to agree (MAD).
    pub distance: usize,
    /// The share of the times that a mean is made of: the longest are left out (TMP).
    pub kept: f64,
    /// How far averages that agree may deviate, as a share of the newest (SDT).
    pub tolerance: f64,
    /// Connections that fill the network at the start (INP).
    pub first_connections: usize,
    /// Connections that each interval adds (INC).
    pub more_connections: usize,
    /// The most of them (MNP).
    pub most_connections: usize,
    /// Pairs of probes in a second, at most (MPS).
    pub most_pairs_per_second: f64,
    /// The share of the measured rate that probes may take (PTC).
    pub probes_share: f64,
    /// Intervals in one direction, at most; the draft leaves that to the program.
    pub most_intervals: usize,
}

impl Method {
    /// The draft's own parameters, with intervals of this length.
    pub const fn of_draft(interval: Duration) -> Self {
        Self {
            interval,
            distance: 4,
            kept: 0.95,
            tolerance: 0.05,
            first_connections: 1,
            more_connections: 1,
            most_connections: 16,
            most_pairs_per_second: 100.0,
            probes_share: 0.05,
            most_intervals: 20,
        }
    }

    /// Pairs of probes in a second on a network that carries so much.
    pub(crate) fn pairs_per_second(&self, bits_per_second: f64) -> f64 {
        let allowed = self.probes_share * bits_per_second / (8.0 * PAIR_OCTETS);
        // One in an interval, or nothing would be known.
        let least = 1.0 / self.interval.as_secs_f64();
        allowed.clamp(least, self.most_pairs_per_second.max(least))
    }

    /// The mean of the shorter times; `None` of nothing.
    pub(crate) fn trimmed_mean(&self, times: &[f64]) -> Option<f64> {
        let mut sorted = times.to_vec();
        sorted.sort_by(f64::total_cmp);
        let kept = (sorted.len() as f64 * self.kept).ceil() as usize;
        arithmetic_mean(sorted.get(..kept)?)
    }
}

/// Averages of successive intervals, until they agree.
#[derive(Debug, Clone, Default)]
struct Stability {
    averages: Vec<f64>,
}

impl Stability {
    /// Adds the average that ends with the newest interval.
    fn add(&mut self, average: f64) {
        self.averages.push(average);
    }

    /// How much is known of the newest average (section 5.4.1).
    fn confidence(&self, method: &Method) -> Confidence {
        let Some(from) = self.averages.len().checked_sub(method.distance) else {
            return Confidence::Low;
        };
        let last = &self.averages[from..];
        let (Some(deviation), Some(newest)) = (sample_deviation(last), last.last()) else {
            return Confidence::Low;
        };
        if deviation < method.tolerance * newest { Confidence::High } else { Confidence::Medium }
    }
}

/// When a direction is known well enough (section 5.4): first the goodput has to be stable, and then it stays
/// so; only from there on averages of the responsiveness count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Convergence {
    rates: Stability,
    responses: Stability,
}

impl Convergence {
    /// Adds an interval: the average goodput, if as many intervals have passed as it is over, and the
    /// round trips a minute, if there are any.
    pub(crate) fn add(&mut self, method: &Method, rate: Option<f64>, rpm: Option<f64>) {
        if self.rates.confidence(method) < Confidence::High {
            if let Some(rate) = rate {
                self.rates.add(rate);
            }
        } else if let Some(rpm) = rpm {
            self.responses.add(rpm);
        }
    }

    /// How much is known of the goodput, and of the responsiveness.
    pub(crate) fn confidence(&self, method: &Method) -> [Confidence; 2] {
        [&self.rates, &self.responses].map(|one| one.confidence(method))
    }
}

/// Round trips a minute of means of times (section 5.3.1): those of new connections, those on loaded
/// ones, and the mean of both.
pub fn responsiveness(parts: &Parts) -> Option<Rpm> {
    // Without TLS there are two parts (section 5.3.1.2); a part of zero would make the result too high.
    let foreign: Vec<f64> =
        [parts.tcp_seconds, parts.tls_seconds, parts.http_seconds].into_iter().flatten().collect();
    let foreign = 60.0 / arithmetic_mean(&foreign)?;
    let loaded = parts.loaded_seconds.map(|seconds| 60.0 / seconds);
    let overall = loaded.map_or(foreign, |loaded| f64::midpoint(foreign, loaded));
    Some(Rpm { foreign, loaded, overall })
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: Method = Method::of_draft(Duration::from_secs(1));

    #[test]
    fn the_formula_of_section_5_3_1() {
        let parts = Parts {
            tcp_seconds: Some(0.02),
            tls_seconds: Some(0.03),
            http_seconds: Some(0.04),
            loaded_seconds: Some(0.06),
        };
        // 60,000 / 30 ms, and 60,000 / 60 ms.
        let rpm = responsiveness(&parts).expect("a result");
        for (got, expected) in
            [(rpm.foreign, 2000.0), (rpm.loaded.unwrap(), 1000.0), (rpm.overall, 1500.0)]
        {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
        let plain = responsiveness(&Parts { tls_seconds: None, ..parts }).expect("a result");
        assert!((plain.foreign - 2000.0).abs() < 1e-6, "{plain:?}");
    }

    #[test]
    fn the_longest_twentieth_is_left_out() {
        let times: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(METHOD.trimmed_mean(&times), Some(10.0));
        assert_eq!(METHOD.trimmed_mean(&[3.0]), Some(3.0));
        assert_eq!(METHOD.trimmed_mean(&[]), None);
    }

    #[test]
    fn four_averages_within_a_twentieth_agree() {
        let mut stability = Stability::default();
        for (average, expected) in [
            (10.0, Confidence::Low),
            (50.0, Confidence::Low),
            (90.0, Confidence::Low),
            (99.0, Confidence::Medium),
            (100.0, Confidence::Medium),
            (101.0, Confidence::Medium),
            (100.0, Confidence::High),
        ] {
            stability.add(average);
            assert_eq!(stability.confidence(&METHOD), expected, "{stability:?}");
        }
    }

    /// A queue that still fills while the line is full from the first second on: four averages agree at 408,
    /// before the goodput has been averaged often enough, and the last of them are a fifth lower.
    #[test]
    fn responsiveness_counts_only_once_goodput_is_stable() {
        let rpm = [418.0, 410.0, 408.0, 402.0, 389.0, 372.0, 350.0, 341.0, 338.0, 336.0, 335.0];
        let mut known = Convergence::default();
        for (interval, rpm) in (1..).zip(rpm) {
            let rate = (interval >= METHOD.distance).then_some(18.8e6);
            known.add(&METHOD, rate, Some(rpm));
            let [rate, responses] = known.confidence(&METHOD);
            assert_eq!(rate == Confidence::High, interval >= 7, "{interval}");
            assert_eq!(responses == Confidence::High, interval >= 11, "{interval}");
        }
    }

    #[test]
    fn probes_take_a_twentieth_of_a_slow_line() {
        // 5 % of 9.6 Mb/s are 480 kb/s, and a pair takes 48 kb.
        assert!((METHOD.pairs_per_second(9.6e6) - 10.0).abs() < 1e-9);
        assert!((METHOD.pairs_per_second(1e10) - 100.0).abs() < 1e-9);
        assert!((METHOD.pairs_per_second(0.0) - 1.0).abs() < 1e-9);
    }
}
