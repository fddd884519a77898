//! The moments at which requests are sent: a Poisson process.
//!
//! Gaps are exponential and independent, so that requests never fall into step with the packets of
//! a line or with the answers to earlier requests, and the mean over the requests is the mean over
//! time (RFC 2330, section 11.1.1; Wolff, Poisson Arrivals See Time Averages, 1982).

use btu_medium::Stream;
use btu_units::Span;

/// Moments after a start, in ascending order and without an end.
#[derive(Debug, Clone)]
pub struct Poisson {
    stream: Stream,
    mean_ns: f64,
    /// In nanoseconds; a sum in floating point is exact to a nanosecond for 100 days.
    last_ns: f64,
}

impl Poisson {
    /// Moments with this mean distance, from the stream called `name` of the run with this seed.
    pub fn new(seed: u64, name: &str, mean: Span) -> Self {
        let mean_ns = mean.nanoseconds().max(1) as f64;
        Self { stream: Stream::new(seed, name), mean_ns, last_ns: 0.0 }
    }
}

impl Iterator for Poisson {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        self.last_ns += self.stream.exponential() * self.mean_ns;
        Some(Span::from_nanoseconds(self.last_ns as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEAN: Span = Span::from_milliseconds(20);

    fn gaps(seed: u64, count: usize) -> Vec<f64> {
        let moments: Vec<Span> = Poisson::new(seed, "requests", MEAN).take(count + 1).collect();
        moments.windows(2).map(|pair| (pair[1] - pair[0]).seconds()).collect()
    }

    #[test]
    fn a_seed_draws_the_same_moments_again() {
        assert_eq!(gaps(7, 100), gaps(7, 100));
        assert_ne!(gaps(7, 100), gaps(8, 100));
    }

    /// Mean and standard deviation of an exponential distribution are equal. Of 100,000 gaps the
    /// mean is known to 0.32 % and the deviation to 0.45 % (one standard deviation); this allows
    /// four of them.
    #[test]
    fn gaps_are_exponential() {
        let gaps = gaps(1, 100_000);
        let count = gaps.len() as f64;
        let mean = gaps.iter().sum::<f64>() / count;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
        assert!((mean / 0.02 - 1.0).abs() < 0.013, "{mean}");
        assert!((variance.sqrt() / 0.02 - 1.0).abs() < 0.018, "{}", variance.sqrt());
        // e^-1 of all gaps are longer than the mean: 36.8 %, to 0.15 % (one deviation).
        let longer = gaps.iter().filter(|gap| **gap > 0.02).count() as f64 / count;
        assert!((longer - (-1.0_f64).exp()).abs() < 0.0062, "{longer}");
    }

    /// A line that carries a packet every 12 ms is met at every phase of it: no step is kept.
    #[test]
    fn moments_keep_no_step_with_a_line() {
        let mut phases = [0_u32; 12];
        for moment in Poisson::new(3, "requests", MEAN).take(12_000) {
            phases[(moment.nanoseconds() / 1_000_000 % 12) as usize] += 1;
        }
        // Binomial: 1000 each, with a standard deviation of 30; four of them.
        assert!(phases.iter().all(|count| (879..=1121).contains(count)), "{phases:?}");
    }
}
