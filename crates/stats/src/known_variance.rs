//! A variance that earlier samples of the same kind tell.

use serde::{Deserialize, Serialize};
use statrs::function::gamma::digamma;

use crate::log_sample::LogSample;

/// How much the logarithms of values vary in samples of one kind, and how much these samples differ in it.
///
/// A sample of a few values tells its variance badly: with five, Student's t is 2.8 instead of 2.0. Earlier samples of the
/// same kind tell the variance that a further one may have. The more they differ from each other, the less it counts next to the
/// sample's own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct KnownVariance {
    variance: f64,
    degrees: f64,
}

/// A variance that was read, and may be anything.
#[derive(Deserialize)]
struct Stored {
    variance: f64,
    degrees: f64,
}

impl TryFrom<Stored> for KnownVariance {
    type Error = &'static str;

    fn try_from(Stored { variance, degrees }: Stored) -> Result<Self, Self::Error> {
        let is_sound = [variance, degrees].iter().all(|value| value.is_finite() && *value > 0.0);
        is_sound.then_some(Self { variance, degrees }).ok_or("a known variance has to be positive")
    }
}

impl KnownVariance {
    /// The scaled inverse chi-squared distribution that variances of samples come from, by moments of their logarithms:
    /// G. K. Smyth, Linear models and empirical Bayes methods for assessing differential expression in microarray
    /// experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004), article 3, section 6.2, with a mean
    /// over the degrees of freedom. It never counts for more than all samples together would.
    /// `None` where fewer than two samples have a variance.
    pub fn of(samples: &[LogSample]) -> Option<Self> {
        let told: Vec<(f64, f64)> = samples
            .iter()
            .filter_map(|sample| Some((sample.variance()?, sample.degrees())))
            .filter(|(variance, _)| *variance > 0.0)
            .collect();
        if told.len() < 2 {
            return None;
        }
        let count = told.len() as f64;
        let all: f64 = told.iter().map(|(_, degrees)| degrees).sum();
        let logarithms: Vec<f64> =
            told.iter().map(|(variance, degrees)| variance.ln() - bias(*degrees)).collect();
        let mean = logarithms.iter().sum::<f64>() / count;
        let squares: f64 = logarithms.iter().map(|value| (value - mean).powi(2)).sum();
        let by_errors: f64 = told.iter().map(|(_, degrees)| trigamma(degrees / 2.0)).sum::<f64>();
        let between = squares / (count - 1.0) - by_errors / count;
        if between <= 0.0 {
            let pooled = told.iter().map(|(variance, degrees)| variance * degrees).sum::<f64>();
            return Some(Self { variance: pooled / all, degrees: all });
        }
        let degrees = 2.0 * inverse_trigamma(between);
        Some(Self { variance: (mean + bias(degrees)).exp(), degrees: degrees.min(all) })
    }

    /// The variance of a sample with one of its own, and the degrees of freedom of both.
    pub(crate) fn with(self, own: f64, degrees: f64) -> (f64, f64) {
        let all = self.degrees + degrees;
        ((self.variance * self.degrees + own * degrees) / all, all)
    }
}

/// The mean logarithm of a chi-squared variable of so many degrees of freedom over their number.
fn bias(degrees: f64) -> f64 {
    digamma(degrees / 2.0) - (degrees / 2.0).ln()
}

/// The second derivative of the logarithm of the gamma function, above 0: M. Abramowitz and I. A. Stegun, Handbook of
/// Mathematical Functions (1964), 6.4.6 and 6.4.12.
fn trigamma(mut at: f64) -> f64 {
    const LEAST_OF_SERIES: f64 = 8.0;
    let mut sum = 0.0;
    while at < LEAST_OF_SERIES {
        sum += at.powi(-2);
        at += 1.0;
    }
    let square = at.powi(-2);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + at.recip() + square / 2.0 + square / at * series
}

/// Where the trigamma function has this value above 0, by halving: it falls from infinity to 0.
fn inverse_trigamma(value: f64) -> f64 {
    const HALVINGS: u32 = 200;
    let (mut low, mut high) = (1e-6, 1e6);
    for _ in 0..HALVINGS {
        let middle = f64::sqrt(low * high);
        if trigamma(middle) > value { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use rand_pcg::Pcg64;

    use super::*;
    use crate::interval::Level;
    use crate::log_sample::contrast;
    use crate::log_sample::tests::{covered, log_normal};

    #[test]
    fn trigamma_and_its_inverse_are_known() {
        for (at, expected) in
            [(1.0, PI * PI / 6.0), (0.5, PI * PI / 2.0), (2.0, PI * PI / 6.0 - 1.0)]
        {
            assert!((trigamma(at) - expected).abs() < 1e-9, "{at}");
            assert!((inverse_trigamma(expected) - at).abs() < 1e-7, "{at}");
        }
    }

    #[test]
    fn samples_that_are_alike_count_as_one() {
        let sample = LogSample::of(&[1.0, 2.0, 4.0]).unwrap();
        let variance = 2f64.ln().powi(2);
        let known = KnownVariance::of(&[sample; 4]).unwrap();
        assert!((known.variance - variance).abs() < 1e-12, "{known:?}");
        assert!((known.degrees - 8.0).abs() < 1e-12, "{known:?}");
        let own = LogSample::of(&[3.0, 3.0, 3.0]).unwrap().knowing(Some(known));
        assert!((own.variance().unwrap() - 0.8 * variance).abs() < 1e-12);
        assert!((own.degrees() - 10.0).abs() < 1e-12);
        assert_eq!((own.count(), own.knowing(None)), (3, own));
        assert_eq!(KnownVariance::of(&[sample]), None);
        let single = LogSample::of(&[3.0]).unwrap();
        assert_eq!(KnownVariance::of(&[sample, single]), None);
        assert!((single.knowing(Some(known)).variance().unwrap() - variance).abs() < 1e-12);
    }

    #[test]
    fn samples_that_differ_count_for_less() {
        let of = |spreads: &[f64]| {
            let sample =
                |spread: &f64| LogSample::of(&[1.0, spread.exp(), (2.0 * spread).exp()]).unwrap();
            KnownVariance::of(&spreads.iter().map(sample).collect::<Vec<_>>()).unwrap()
        };
        let (alike, apart) = (of(&[0.1, 0.11, 0.09, 0.1]), of(&[0.01, 1.0, 0.1, 0.03]));
        assert!((alike.degrees - 8.0).abs() < 1e-12 && apart.degrees < 2.0, "{alike:?} {apart:?}");
    }

    #[test]
    fn only_sound_variances_are_read() {
        let known = KnownVariance { variance: 0.25, degrees: 7.5 };
        let text = serde_json::to_string(&known).unwrap();
        assert_eq!(serde_json::from_str::<KnownVariance>(&text).unwrap(), known);
        for (good, bad) in [("0.25", "-0.25"), ("0.25", "0.0"), ("7.5", "0.0"), ("7.5", "-1.0")] {
            let wrong = text.replace(good, bad);
            assert!(
                wrong != text && serde_json::from_str::<KnownVariance>(&wrong).is_err(),
                "{wrong}"
            );
        }
    }

    /// The mean of five values after so many samples of five, whose spreads differ by this factor's standard deviation.
    #[test]
    fn intervals_with_a_known_variance_hold_what_they_say() {
        let cases = [(5, 0.0), (10, 0.0), (5, 0.3), (5, 0.5), (10, 0.5), (5, 1.0), (10, 1.0)];
        for ((earlier, differ), seed) in cases.into_iter().zip(0x00d1..) {
            let mut widths = [0.0; 2];
            let what = format!("five values after {earlier} samples, spreads differ by {differ}");
            let share = covered(&what, seed, |random| {
                let sample = |random: &mut Pcg64| {
                    let spread = 0.2 * log_normal(random, 1.0, f64::max(differ, 1e-9), 1)[0];
                    LogSample::of(&log_normal(random, 10.0, spread, 5)).unwrap()
                };
                let before: Vec<LogSample> = (0..earlier).map(|_| sample(random)).collect();
                let own = sample(random);
                let both = own.knowing(KnownVariance::of(&before));
                let interval = |of| contrast(&[(1.0, of)], Level::P95).unwrap().interval.unwrap();
                widths[0] += interval(own).map(f64::ln).width();
                widths[1] += interval(both).map(f64::ln).width();
                interval(both).contains(10.0)
            });
            let narrower = widths[1] / widths[0];
            println!("width {narrower:.3} of that without earlier samples");
            assert!((0.93..=0.97).contains(&share), "{share}");
            assert!(narrower < 0.9, "{narrower}");
        }
    }
}
