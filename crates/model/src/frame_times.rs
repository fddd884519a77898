//! The lengths of frames: a distribution of transmission times.

use crate::answer::sensible;

/// A distribution of transmission times in seconds: fixed, exponential, or any mix of these.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameTimes {
    parts: Vec<(f64, TimeComponent)>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum TimeComponent {
    Fixed(f64),
    Exponential(f64),
}

impl FrameTimes {
    /// Every frame takes this time, in seconds.
    pub fn fixed(seconds: f64) -> Self {
        Self { parts: vec![(1.0, TimeComponent::Fixed(seconds))] }
    }

    /// Exponential with this mean, in seconds.
    pub fn exponential(mean: f64) -> Self {
        Self { parts: vec![(1.0, TimeComponent::Exponential(mean))] }
    }

    /// Kinds of frames with their weights: 60 and 10 frames per second, or shares.
    pub fn mix(kinds: impl IntoIterator<Item = (f64, Self)>) -> Self {
        let kinds: Vec<_> = kinds.into_iter().collect();
        let total: f64 = kinds.iter().map(|(weight, _)| weight).sum();
        let weighted = |(weight, kind): (f64, Self)| {
            kind.parts.into_iter().map(move |(share, part)| (share * weight / total, part))
        };
        Self { parts: kinds.into_iter().flat_map(weighted).collect() }
    }

    /// The mean frame time E\[X\], in seconds.
    pub fn mean(&self) -> f64 {
        self.expect(|part| match part {
            TimeComponent::Fixed(time) | TimeComponent::Exponential(time) => time,
        })
    }

    /// The second moment, E\[X^2\].
    pub(crate) fn second_moment(&self) -> f64 {
        self.expect(|part| match part {
            TimeComponent::Fixed(time) => time * time,
            TimeComponent::Exponential(mean) => 2.0 * mean * mean,
        })
    }

    /// The Laplace transform of the density, E\[exp(-s X)\].
    pub fn laplace(&self, s: f64) -> f64 {
        self.expect(|part| match part {
            TimeComponent::Fixed(time) => (-s * time).exp(),
            TimeComponent::Exponential(mean) => 1.0 / (1.0 + s * mean),
        })
    }

    /// With which probability 0, 1, 2 and so on frames of a Poisson stream arrive during a frame.
    pub(crate) fn arrivals(&self, rate: f64, most: usize) -> Vec<f64> {
        let mut shares = vec![0.0; most + 1];
        for &(share, part) in &self.parts {
            let (mut chance, ratio): (f64, fn(f64, f64) -> f64) = match part {
                TimeComponent::Fixed(time) => ((-rate * time).exp(), |load, count| load / count),
                TimeComponent::Exponential(mean) => {
                    (1.0 / (1.0 + rate * mean), |load, _| load / (1.0 + load))
                }
            };
            let (TimeComponent::Fixed(time) | TimeComponent::Exponential(time)) = part;
            for (count, sum) in shares.iter_mut().enumerate() {
                *sum += share * chance;
                chance *= ratio(rate * time, (count + 1) as f64);
            }
        }
        shares
    }

    /// Mean and second moment of the larger of a frame's time and `least`.
    pub(crate) fn moments_of_at_least(&self, least: f64) -> (f64, f64) {
        let mean = self.expect(|part| match part {
            TimeComponent::Fixed(time) => time.max(least),
            TimeComponent::Exponential(mean) => least + mean * (-least / mean).exp(),
        });
        let second = self.expect(|part| match part {
            TimeComponent::Fixed(time) => time.max(least).powi(2),
            TimeComponent::Exponential(mean) => {
                least * least + 2.0 * mean * (least + mean) * (-least / mean).exp()
            }
        });
        (mean, second)
    }

    /// Whether weights and times are positive numbers.
    pub(crate) fn is_sensible(&self) -> bool {
        !self.parts.is_empty()
            && self.parts.iter().all(
                |&(share, TimeComponent::Fixed(time) | TimeComponent::Exponential(time))| {
                    sensible(&[share, time]) && time > 0.0
                },
            )
    }

    fn expect(&self, of: impl Fn(TimeComponent) -> f64) -> f64 {
        self.parts.iter().map(|&(share, part)| share * of(part)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_transform() {
        let fixed = FrameTimes::fixed(2.0);
        assert_eq!(
            (fixed.mean(), fixed.second_moment(), fixed.laplace(1.0)),
            (2.0, 4.0, (-2.0_f64).exp())
        );
        let exponential = FrameTimes::exponential(2.0);
        assert_eq!(
            (exponential.mean(), exponential.second_moment(), exponential.laplace(1.0)),
            (2.0, 8.0, 1.0 / 3.0)
        );
    }

    #[test]
    fn a_mix_weighs_its_kinds() {
        let mix = FrameTimes::mix([
            (60.0, FrameTimes::fixed(11_680.0)),
            (10.0, FrameTimes::fixed(1104.0)),
        ]);
        assert!((mix.mean() - 10_169.142_857).abs() < 1e-6);
        let nested = FrameTimes::mix([(1.0, mix.clone()), (1.0, mix.clone())]);
        assert!((nested.second_moment() / mix.second_moment() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_larger_of_a_frame_and_a_constant() {
        assert_eq!(FrameTimes::fixed(1.0).moments_of_at_least(3.0), (3.0, 9.0));
        assert_eq!(FrameTimes::fixed(3.0).moments_of_at_least(1.0), (3.0, 9.0));
        let (mean, second) = FrameTimes::exponential(1.0).moments_of_at_least(0.0);
        assert_eq!((mean, second), (1.0, 2.0));
    }

    #[test]
    fn impossible_times_are_noticed() {
        assert!(!FrameTimes::fixed(-1.0).is_sensible());
        assert!(!FrameTimes::mix([]).is_sensible());
        assert!(!FrameTimes::mix([(0.0, FrameTimes::fixed(1.0))]).is_sensible());
        assert!(FrameTimes::exponential(1.0).is_sensible());
    }
}
