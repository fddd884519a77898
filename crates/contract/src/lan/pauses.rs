//! The pauses of a station between transactions.

use std::fmt;

use btu_medium::Stream;
use btu_units::Span;
use serde::{Deserialize, Serialize};

use super::{NormalPauses, mean_pause_seconds};

/// The distribution of pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pauses {
    /// NORM.BAS: normally distributed, with 0 for negative values.
    Normal {
        /// Mean, before pauses are cut at zero.
        #[serde(rename = "mean_ns")]
        mean: Span,
        /// Standard deviation, before they are cut.
        #[serde(rename = "deviation_ns")]
        deviation: Span,
    },
    /// Exponentially distributed: independent users.
    Exponential {
        /// The mean of the pauses.
        #[serde(rename = "mean_ns")]
        mean: Span,
    },
    /// Evenly distributed between zero and twice the mean.
    Uniform {
        /// The mean of the pauses.
        #[serde(rename = "mean_ns")]
        mean: Span,
    },
    /// All pauses are equal.
    Fixed {
        /// The length of each pause.
        #[serde(rename = "mean_ns")]
        mean: Span,
    },
}

/// Draws pauses of one distribution, one after the other.
#[derive(Debug, Clone)]
pub enum PauseStream {
    /// Normal pauses, drawn by the polar method.
    Normal(NormalPauses),
    /// By the inverse of its distribution function.
    Exponential(Span, Stream),
    /// Twice the mean times a share.
    Uniform(Span, Stream),
    /// Pauses of a fixed length, without random numbers.
    Fixed(Span),
}

impl Pauses {
    /// Their mean in seconds, as it is drawn.
    pub fn mean_seconds(self) -> f64 {
        match self {
            Self::Normal { mean, deviation } => {
                mean_pause_seconds(mean.seconds(), deviation.seconds())
            }
            Self::Exponential { mean } | Self::Uniform { mean } | Self::Fixed { mean } => {
                mean.seconds()
            }
        }
    }

    /// Pauses of this distribution, from a random stream of their own.
    pub fn stream(self, random: Stream) -> PauseStream {
        match self {
            Self::Normal { mean, deviation } => {
                PauseStream::Normal(NormalPauses::new(mean, deviation, random))
            }
            Self::Exponential { mean } => PauseStream::Exponential(mean, random),
            Self::Uniform { mean } => PauseStream::Uniform(mean, random),
            Self::Fixed { mean } => PauseStream::Fixed(mean),
        }
    }
}

impl PauseStream {
    /// Draws the next pause.
    pub fn draw(&mut self) -> Span {
        match self {
            Self::Normal(pauses) => pauses.draw(),
            // 1 - share is never zero.
            Self::Exponential(mean, random) => {
                Span::from_seconds_f64(-mean.seconds() * (1.0 - random.share()).ln())
            }
            Self::Uniform(mean, random) => {
                Span::from_seconds_f64(2.0 * mean.seconds() * random.share())
            }
            Self::Fixed(mean) => *mean,
        }
    }
}

impl fmt::Display for Pauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal { mean, deviation } => write!(f, "normal ({mean}, {deviation})"),
            Self::Exponential { mean } => write!(f, "exponential ({mean})"),
            Self::Uniform { mean } => write!(f, "uniform (0 to {})", *mean * 2),
            Self::Fixed { mean } => write!(f, "fixed ({mean})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use btu_stats::Welford;

    use super::*;

    /// The mean of 40,000 pauses has a standard deviation that is a 200th of that of one pause; the
    /// test allows five of them. Deviations are known: exponential 1, uniform 1/sqrt(3), fixed 0 of
    /// the mean; that of a sample of so many is within 5 % of it (for the exponential sqrt(8/n)/2 =
    /// 0.7 % is one standard deviation).
    #[test]
    fn drawn_pauses_have_the_mean_and_the_deviation_of_their_distribution() {
        let mean = Span::from_milliseconds(10);
        for (pauses, deviation) in [
            (Pauses::Exponential { mean }, 0.010),
            (Pauses::Uniform { mean }, 0.010 / 3f64.sqrt()),
            (Pauses::Fixed { mean }, 0.0),
        ] {
            let mut drawn = Welford::default();
            let mut stream = pauses.stream(Stream::new(3, "pauses"));
            (0..40_000).for_each(|_| drawn.push(stream.draw().seconds()));
            let found = (drawn.mean().unwrap(), drawn.deviation().unwrap());
            assert!(
                (found.0 - pauses.mean_seconds()).abs() <= deviation / 40.0 + 1e-9,
                "{pauses}: {found:?}"
            );
            assert!((found.1 - deviation).abs() <= deviation * 0.05 + 1e-9, "{pauses}: {found:?}");
        }
    }

    #[test]
    fn a_normal_pause_is_that_of_norm_bas() {
        let (mean, deviation) = (Span::from_seconds(2), Span::from_seconds(3));
        let pauses = Pauses::Normal { mean, deviation };
        assert!((pauses.mean_seconds() - 2.453_359).abs() < 1e-6);
        let mut direct = NormalPauses::new(mean, deviation, Stream::new(5, "s"));
        let mut drawn = pauses.stream(Stream::new(5, "s"));
        assert!((0..20).all(|_| drawn.draw() == direct.draw()));
    }
}
